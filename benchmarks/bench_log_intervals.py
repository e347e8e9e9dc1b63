"""Do the intervals of evaluate_from_log hold the truth as often as they say?

Logs are drawn from the model of clicks that the estimators assume, so the truth is known. An old
ranker that is unlike the new one seldom shows what the new one would, which is the hard case.

    python benchmarks/bench_log_intervals.py --replications 1000
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from treerank.clicks import Items, evaluate_from_log, simulate_clicks

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


def problem(knows: bool) -> tuple[np.ndarray, ...]:
    """Return query, label, old and new score, and a wrong relevance of each document."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    y = rng.choice(5, len(qid), p=[0.5, 0.2, 0.15, 0.1, 0.05])
    y[0] = 4  # the highest label is there
    old = rng.normal(size=len(y)) * 1.5 + knows * y
    new = y + rng.normal(size=len(y))
    wrong = np.clip(relevance(y) * np.exp(0.5 * rng.normal(size=len(y))), 0, 1)
    return qid, y, old, new, wrong


def relevance(y: np.ndarray) -> np.ndarray:
    """Return the probability of a click once a document is examined."""
    return np.asarray(0.1 + 0.9 * (2.0**y - 1) / 15)


def holds(setting: str, is_known: bool, seed: int) -> list[bool]:
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


def main() -> None:
    """Print the share of intervals that hold the truth, by setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print("| old ranker | propensities |", " | ".join(ESTIMATORS), "|")
    print("|---|---|" + "---|" * len(ESTIMATORS))
    for setting in SETTINGS:
        for is_known in (True, False):
            jobs = (delayed(holds)(setting, is_known, s) for s in range(options.replications))
            shares = np.mean(Parallel(options.jobs)(jobs), axis=0)
            cells = " | ".join(f"{share:.3f}" for share in shares)
            print(f"| {setting} | {'known' if is_known else 'estimated'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
