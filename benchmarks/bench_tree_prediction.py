"""Do our own trees score faster than LightGBM's? The same data, trees, leaves and threads.

A whole matrix, and a single query of a hundred documents, where a call costs more than the trees.
"""

import argparse

import lightgbm
import numpy as np
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank.baselines.boosted.lambdamart import LambdaMART
from treerank.datasets.web_search import make_web_search


def fit_both(X, y, qid, n_trees, n_leaves, n_jobs):
    """Return LambdaMART and LightGBM's ranker of the same size, fitted."""
    common = {"n_jobs": n_jobs, "random_state": 0}
    ours = LambdaMART(n_trees, num_leaves=n_leaves, **common).fit(X, y, qid)
    theirs = lightgbm.LGBMRanker(n_estimators=n_trees, num_leaves=n_leaves, verbosity=-1, **common)
    return ours, theirs.fit(X, y, group=np.unique(qid, return_counts=True)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=20)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    few = qid < min(300, arguments.queries)
    shape = arguments.trees, arguments.leaves, arguments.jobs
    ours, theirs = fit_both(X[few], y[few], qid[few], *shape)
    query, part = X[:100].copy(), ours.feature_part_
    say_versions("lightgbm", "numba")
    print(f"{X.shape}, {arguments.trees} trees of {arguments.leaves} leaves")
    times = time_in_turn(
        {
            "HistogramTrees.transform": lambda: part.transform(X),
            "LambdaMART.predict": lambda: ours.predict(X),
            "LGBMRanker.predict": lambda: theirs.predict(X),
        },
        arguments.repetitions,
    )
    # Timed apart from the whole matrix, which would leave the caches cold for the next function.
    times |= time_in_turn(
        {
            "HistogramTrees.transform, one query": lambda: part.transform(query),
            "LambdaMART.predict, one query": lambda: ours.predict(query),
            "LGBMRanker.predict, one query": lambda: theirs.predict(query),
            "Booster.predict, one query": lambda: theirs.booster_.predict(query),
        },
        10 * arguments.repetitions,
    )
    say_times(times)
    for ours_, theirs_, bar in (
        ("LambdaMART.predict", "LGBMRanker.predict", 0.7),
        ("LambdaMART.predict, one query", "LGBMRanker.predict, one query", 0.5),
        ("HistogramTrees.transform, one query", "Booster.predict, one query", 0.5),
    ):
        say_ratio(f"{ours_} against {theirs_}", times, ours_, theirs_, f">= {1 / bar:.2f}")


if __name__ == "__main__":
    main()
