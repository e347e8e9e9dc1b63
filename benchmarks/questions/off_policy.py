"""Off-policy: whether estimates from logs are right, and drawn lists as likely as they say.

Logs are drawn from the click model that the estimators assume, so the truth is known. An old ranker
that is unlike the new one seldom shows what the new one would, which is the hard case. Lists of
``sample`` are compared with their propensities, and those of ``diversify`` with the definition of
maximal marginal relevance (MMR).
"""

import functools
import warnings

import numpy as np

from benchmarks.drawing import intervals, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from treerank.clicks import ClickLog, Items, evaluate_from_log, simulate_clicks
from treerank.reranking import diversify, sample_lists
from treerank.reranking.sampling import position_probabilities

TITLE = "Are estimates from click logs right?"
IS_TIMING = False
N_QUERIES, N_DOCUMENTS, N_POSITIONS = 25, 8, 5
THETA = 1 / np.arange(1.0, N_POSITIONS + 1)
ESTIMATORS = ("ips", "self_normalized", "doubly_robust")
#: Whether the old ranker knows relevance, sessions of a query, and scale of exploration.
SETTINGS = {
    "like the new one": (True, 40, 1.0),
    "unlike": (False, 40, 0.7),
    "unlike, more sessions": (False, 100, 0.7),
    "at random, fewer sessions": (False, 20, 2.0),
}


def problem(knows):
    """Return query, label, old and new score, and a wrong relevance of each document."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    y = rng.choice(5, len(qid), p=[0.5, 0.2, 0.15, 0.1, 0.05])
    y[0] = 4  # the highest label is there
    old = rng.normal(size=len(y)) * 1.5 + knows * y
    new = y + rng.normal(size=len(y))
    wrong = np.clip(relevance(y) * np.exp(0.5 * rng.normal(size=len(y))), 0, 1)
    return qid, y, old, new, wrong


def relevance(y):
    """Return the probability of a click once a document is examined."""
    return np.asarray(0.1 + 0.9 * (2.0**y - 1) / 15)


def holds(setting, is_known, seed):
    """Tell for each estimator whether the interval of one log holds the truth."""
    knows, n_sessions, exploration = SETTINGS[setting]
    qid, y, old, new, wrong = problem(knows)
    options = {"n_positions": N_POSITIONS, "exploration": exploration, "random_state": seed}
    log = simulate_clicks(y, qid, old, n_sessions=n_sessions, **options)
    best_first = np.lexsort((-new, qid)).reshape(N_QUERIES, N_DOCUMENTS)[:, :N_POSITIONS]
    truth = float((relevance(y)[best_first] * THETA).sum(axis=1).mean())
    with warnings.catch_warnings(action="ignore"):  # of documents that are never shown
        found = evaluate_from_log(
            log,
            new,
            candidates=Items(qid, np.arange(len(y))),
            reward=THETA,
            propensities=THETA if is_known else None,
            relevance=wrong,
            random_state=seed,
        ).estimates
    return [found[name].low <= truth <= found[name].high for name in ESTIMATORS]


def coverage(setting, is_known, n_logs):
    """Return the share of intervals that hold the truth by estimator."""
    shares = np.mean([holds(setting, is_known, seed) for seed in range(n_logs)], axis=0)
    return dict(zip(ESTIMATORS, shares, strict=True)) | {"logs": n_logs}


def frequencies(n_draws):
    """Return the largest error of a frequency of a document at a position, in standard errors."""
    scores = np.random.default_rng(1).normal(size=8)
    expected, counts = position_probabilities(scores, 5), np.zeros((8, 5))
    for seed, n in enumerate(np.diff(np.linspace(0, n_draws, 11).astype(int))):
        queries = np.repeat(np.arange(n), 8)
        drawn = sample_lists(np.tile(scores, n), queries, k=5, random_state=seed)
        np.add.at(counts, (drawn.row % 8, drawn.position - 1), 1)
    error = np.sqrt(expected * (1 - expected) / n_draws)
    return {
        "standard errors": np.abs((counts / n_draws - expected) / error).max(),
        "propensities": counts.size,
        "draws": n_draws,
    }


def clicks_of_new(n_logs):
    """Return the clicks of a session of a new ranker: estimated from sampled lists, and true."""
    n_queries, n_documents, k, n_sessions = 10, 6, 3, 40
    query = np.repeat(np.arange(n_queries), n_documents)
    old, new, attraction = np.random.default_rng(0).random((3, len(query)))
    theta = 1 / np.arange(1.0, k + 1)
    estimates = []
    for seed in range(n_logs):
        lists_of_all = np.repeat(np.arange(n_sessions * n_queries), n_documents)
        lists = sample_lists(np.tile(old, n_sessions), lists_of_all, k=k, random_state=seed)
        document = lists.row % len(query)
        looks = theta[lists.position - 1] * attraction[document]
        table_of_log = {
            "session": lists_of_all[lists.row],
            "query": query[document],
            "document": document,
            "position": lists.position,
            "click": (np.random.default_rng(seed).random(len(looks)) < looks).astype(int),
            "propensity": lists.propensity,
        }
        log = ClickLog.from_table(table_of_log, extra=["propensity"])
        with warnings.catch_warnings(action="ignore"):  # of documents that are never shown
            items = Items(query, np.arange(len(query)))
            found = evaluate_from_log(log, new, candidates=items, n_resamples=2, random_state=seed)
        estimates.append(found.estimates["policy_ips"].estimate)
    best = np.lexsort((-new, query)).reshape(n_queries, n_documents)[:, :k]
    return {
        "estimate": np.mean(estimates),
        "standard error": np.std(estimates, ddof=1) / np.sqrt(n_logs),
        "truth": (attraction[best] * theta).sum(axis=1).mean(),
    }


def by_definition(scores, k, vectors, trade_off):
    """Return the list of MMR, chosen one by one."""
    scaled = (scores - scores.min()) / np.ptp(scores)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = []
    while len(chosen) < k:
        similarity = (units @ units[chosen].T).max(axis=1) if chosen else np.zeros(len(scores))
        value = (1 - trade_off) * scaled - trade_off * similarity
        value[chosen] = -np.inf
        chosen.append(int(value.argmax()))
    return chosen


def equal_lists(n_lists):
    """Return how many lists of ``diversify`` are those of the definition."""
    rng, equal = np.random.default_rng(2), 0
    for _ in range(n_lists):
        scores, vectors, weight = rng.random(12), rng.normal(size=(12, 4)), rng.random()
        found = diversify(scores, 8, vectors=vectors, trade_off=weight)
        equal += found.tolist() == by_definition(scores, 8, vectors, weight)
    return {"lists": n_lists, "equal": equal}


def measurements(options):
    """Yield the coverage of intervals, and checks of drawn and diverse lists."""
    quick = options.quick
    n_logs = 2 if quick else 200
    for setting in list(SETTINGS)[: 1 if quick else None]:
        for is_known in (True, False):
            conditions = {"old ranker": setting, "propensities known": is_known}
            yield Measurement(conditions, functools.partial(coverage, setting, is_known, n_logs))
    n_draws = 1000 if quick else 1_000_000
    yield Measurement({"check": "sampled lists"}, functools.partial(frequencies, n_draws))
    measure = functools.partial(clicks_of_new, 3 if quick else 300)
    yield Measurement({"check": "clicks of a new ranker"}, measure)
    measure = functools.partial(equal_lists, 5 if quick else 1000)
    yield Measurement({"check": "diverse lists"}, measure)


def section(rows):
    """Return coverage by setting, and the checks."""
    cells = [
        (row["conditions"], row["values"]) for row in rows if "old ranker" in row["conditions"]
    ]
    groups, body = {}, []
    for c, v in cells:
        name = f"{c['old ranker']}, {'known' if c['propensities known'] else 'estimated'}"
        groups[name] = {each: (v[each], None, None) for each in ESTIMATORS}
        known = "known" if c["propensities known"] else "estimated"
        body.append([c["old ranker"], known, *(f"{v[each]:.3f}"[1:] for each in ESTIMATORS)])
    shares = [v[name] for _, v in cells for name in ESTIMATORS]
    checks = {
        row["conditions"]["check"]: row["values"] for row in rows if "check" in row["conditions"]
    }
    parts = [
        f"For each of {len(cells)} settings, {cells[0][1]['logs']} click logs were simulated. "
        "Depending on the setting and the estimator, the 95 % intervals of `evaluate_from_log` "
        f"contain the true value in {100 * min(shares):.1f} to {100 * max(shares):.1f} % of these "
        "logs."
    ]
    if "sampled lists" in checks:
        v = checks["sampled lists"]
        parts.append(
            f"The propensities of 8 documents at 5 positions, as `sample_lists` computes them, "
            f"were compared with the frequencies of these documents in {v['draws']:,} sampled "
            f"lists; the largest of the {v['propensities']} differences is "
            f"{v['standard errors']:.1f} standard errors."
        )
    if "clicks of a new ranker" in checks:
        v = checks["clicks of a new ranker"]
        parts.append(
            "For one new ranker, the number of clicks per session was estimated from 300 logs of "
            f"sampled lists. The mean of the estimates is {v['estimate']:.3f} (standard error "
            f"{v['standard error']:.3f}); the true value is {v['truth']:.3f}."
        )
    if "diverse lists" in checks:
        v = checks["diverse lists"]
        share = "all" if v["equal"] == v["lists"] else f"{v['equal']:,} of"
        parts.append(
            f"In {share} {v['lists']:,} tests, `diversify` returns the same list as a direct "
            "implementation of maximal marginal relevance (MMR)."
        )
    answer = " ".join(parts)
    label = "share of intervals that cover the true value"
    chart = intervals(answer, groups, label, reference=0.95)
    head = ["old ranker", "propensities", *(f"`{name}`" for name in ESTIMATORS)]
    notes = (
        "All logs are simulated. A setting is a combination of an old ranker, whose lists are "
        "logged, and known or estimated propensities of positions. The scores of the old ranker "
        '"like the new one" depend on relevance; the scores of the other old rankers are random. '
        '"At random" also means that the logged lists are sampled with more exploration.'
    )
    return Section(answer, [chart], [("Coverage", table(head, body))], notes)
