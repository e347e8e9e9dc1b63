"""How long does ``predict`` take for one query, checks included, beside the bare engine?

100 documents of 136 features, 60 trees of 63 leaves, one thread. Times are CPU times, medians of
several rounds in which all ways take turns, since other work may run on the machine.
"""

import argparse
import time
from functools import partial

import numpy as np
from timing import say_versions

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.baselines.boosted import LambdaMART

SIZE = {"n_estimators": 60, "num_leaves": 63, "learning_rate": 0.1, "n_jobs": 1}
RANKERS = {
    "LightGBMTrees": TreeDirectRanker(LightGBMTrees(**SIZE), random_state=0),
    "XGBoostTrees": TreeDirectRanker(
        XGBoostTrees(max_depth=0, grow_policy="lossguide", **SIZE), random_state=0
    ),
    "HistogramTrees": TreeDirectRanker(HistogramTrees(**SIZE), random_state=0),
    "LambdaMART": LambdaMART(random_state=0, **SIZE),
}
#: Scores of the engine itself. Histogram trees are compared to LightGBM's trees of the same size.
BARE = {
    "LightGBMTrees": lambda booster, X: booster.predict(X, num_threads=1),
    "XGBoostTrees": lambda booster, X: booster.inplace_predict(X, predict_type="margin"),
}


def ways(ranker, query, bare):
    """Return functions that score the query, by name."""
    part, scorer = ranker.feature_part_, ranker.scorer()
    return {
        "bare Booster": lambda: bare(query),
        "predict": lambda: ranker.predict(query),
        "transform of the part": lambda: part.transform(query),
        "scorer()": lambda: scorer(query),
    }


def cpu_milliseconds(functions, n_rounds, n_calls):
    """Return the median CPU time of a call of each function."""
    times = np.empty((n_rounds, len(functions)))
    for i, j in np.ndindex(times.shape):
        begin = time.process_time()
        for _ in range(n_calls):
            functions[j]()
        times[i, j] = (time.process_time() - begin) / n_calls
    return 1e3 * np.median(times, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--missing", type=float, default=0.0, help="share of missing values")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=200)
    arguments = parser.parse_args()
    say_versions("lightgbm", "xgboost", "numba", "numpy", "scikit-learn")
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(10_000, 136)), np.repeat(np.arange(100), 100)
    y = np.clip(np.round(X[:, :10].sum(axis=1) / 2 + 2), 0, 4)
    X[random.random(X.shape) < arguments.missing] = np.nan
    query, lightgbm = X[: arguments.documents].copy(), None
    for name, ranker in RANKERS.items():
        ranker.fit(X, y, qid)
        booster = ranker.feature_part_.booster_
        lightgbm = lightgbm or booster
        engine = (name, booster) if name in BARE else ("LightGBMTrees", lightgbm)
        ranker.predict(X[:2])  # the engine's trees are read
        functions = ways(ranker, query, partial(BARE[engine[0]], engine[1]))
        times = cpu_milliseconds([*functions.values()], arguments.rounds, arguments.calls)
        for way, spent in zip(functions, times, strict=True):
            print(f"{name:15} {way:22} {spent:6.3f} ms, {spent / times[0]:5.2f} of {engine[0]}")


if __name__ == "__main__":
    main()
