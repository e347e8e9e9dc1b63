"""Are drawn lists as likely as they say, and diverse lists exact? And how long do these take?

Frequencies of draws against their propensities; the estimate of clicks from logs of drawn lists
against the truth, which clicks of a known model have; MMR against its definition.
"""

import argparse
import warnings

import numpy as np
from timing import say_times, say_versions, time_turns

from treerank.clicks import ClickLog, Items, evaluate_from_log
from treerank.reranking import diversify, sample_lists
from treerank.reranking.sampling import position_probabilities

N_QUERIES, N_DOCUMENTS, N_POSITIONS, N_SESSIONS = 10, 6, 3, 40
QUERY = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
OLD, NEW, RELEVANCE = np.random.default_rng(0).random((3, len(QUERY)))
THETA = 1 / np.arange(1.0, N_POSITIONS + 1)


def largest_error(n_draws):
    """Return the largest error of a frequency of a document at a place, in standard errors."""
    scores = np.random.default_rng(1).normal(size=8)
    expected, counts = position_probabilities(scores, 5), np.zeros((8, 5))
    for seed, n in enumerate(np.diff(np.linspace(0, n_draws, 11).astype(int))):
        queries = np.repeat(np.arange(n), 8)
        drawn = sample_lists(np.tile(scores, n), queries, k=5, random_state=seed)
        np.add.at(counts, (drawn.row % 8, drawn.position - 1), 1)
    error = np.sqrt(expected * (1 - expected) / n_draws)
    return np.abs((counts / n_draws - expected) / error).max()


def estimate(seed):
    """Return the clicks of a session of the new ranker, estimated from a log of the old one."""
    lists_of_all = np.repeat(np.arange(N_SESSIONS * N_QUERIES), N_DOCUMENTS)
    lists = sample_lists(np.tile(OLD, N_SESSIONS), lists_of_all, k=N_POSITIONS, random_state=seed)
    document = lists.row % len(QUERY)
    looks = THETA[lists.position - 1] * RELEVANCE[document]
    table = {
        "session": lists_of_all[lists.row],
        "query": QUERY[document],
        "document": document,
        "position": lists.position,
        "click": (np.random.default_rng(seed).random(len(looks)) < looks).astype(int),
        "propensity": lists.propensity,
    }
    log = ClickLog.from_table(table, extra=["propensity"])
    with warnings.catch_warnings(action="ignore"):  # of documents that are never shown
        items = Items(QUERY, np.arange(len(QUERY)))
        found = evaluate_from_log(log, NEW, candidates=items, n_resamples=2, random_state=seed)
    return found.estimates["policy_ips"].estimate


def true_clicks():
    """Return the clicks of a session of the new ranker."""
    best = np.lexsort((-NEW, QUERY)).reshape(N_QUERIES, N_DOCUMENTS)[:, :N_POSITIONS]
    return (RELEVANCE[best] * THETA).sum(axis=1).mean()


def by_definition(scores, k, vectors, trade_off):
    """Return the list of MMR, chosen one by one."""
    relevance = (scores - scores.min()) / np.ptp(scores)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = []
    while len(chosen) < k:
        likeness = (units @ units[chosen].T).max(axis=1) if chosen else np.zeros(len(scores))
        value = (1 - trade_off) * relevance - trade_off * likeness
        value[chosen] = -np.inf
        chosen.append(int(value.argmax()))
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--replications", type=int, default=300)
    options = parser.parse_args()
    say_versions("numba")
    error = largest_error(options.draws)
    print(f"frequencies of {options.draws} draws: {error:.2f} standard errors off at most, of 40")
    values = np.array([estimate(seed) for seed in range(options.replications)])
    error = values.std(ddof=1) / np.sqrt(len(values))
    print(f"clicks: {values.mean():.4f} ± {error:.4f} estimated, {true_clicks():.4f} true")
    rng, same = np.random.default_rng(2), 0
    for _ in range(1_000):
        scores, vectors, weight = rng.random(12), rng.normal(size=(12, 4)), rng.random()
        found = diversify(scores, 8, vectors=vectors, trade_off=weight)
        same += found.tolist() == by_definition(scores, 8, vectors, weight)
    print(f"MMR: {same} of 1000 lists are those of its definition")
    scores, vectors, groups = rng.random(1_000), rng.normal(size=(1_000, 64)), np.arange(1_000) % 9
    by_vectors = {"100 of 1,000 by vectors": lambda: diversify(scores, 100, vectors=vectors)}
    by_groups = {"100 of 1,000 by groups": lambda: diversify(scores, 100, groups=groups)}
    say_times(time_turns(by_vectors | by_groups, 50))


if __name__ == "__main__":
    main()
