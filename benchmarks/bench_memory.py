"""How much memory does a fit of a million rows take, against the engines' own rankers?

Each fit runs in a process of its own; the figure is the peak of its resident memory. All processes
hold the same data before the fit starts.
"""

import argparse
import resource
import subprocess
import sys

import numpy as np
from timing import say_versions

PARTS = {"LightGBMTrees": "lightgbm", "XGBoostTrees": "xgboost", "HistogramTrees": "histogram"}
PAIRS = {name: "XGBRanker" if name == "XGBoostTrees" else "LGBMRanker" for name in PARTS}


def make_data(n_rows, n_features, dtype, documents_per_query=120):
    """Normal features; the label leans on a few of them. Made in place: no second copy."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=dtype)
    y = np.digitize(X[:, :5].sum(axis=1) + 2 * rng.standard_normal(n_rows), [0, 2, 4, 6])
    return X, y, np.arange(n_rows) // documents_per_query


def fit(name, X, y, qid, n_trees):
    """Fit one ranker with the engine's own defaults but for the number of trees."""
    tree = {"n_estimators": n_trees, "n_jobs": 2}
    if name == "nothing":
        return
    if name == "LGBMRanker":
        import lightgbm

        sizes = np.unique(qid, return_counts=True)[1]
        lightgbm.LGBMRanker(verbosity=-1, **tree).fit(X, y, group=sizes)
    elif name == "XGBRanker":
        import xgboost

        xgboost.XGBRanker(objective="rank:ndcg", **tree).fit(X, y, qid=qid)
    else:
        from treerank import TreeDirectRanker
        from treerank.feature_parts.registry import make_feature_part

        alike = {"num_leaves": 31, "learning_rate": 0.1, "colsample_bytree": 1.0}
        part = make_feature_part(PARTS[name]).set_params(**tree, **alike)
        TreeDirectRanker(part).fit(X, y, qid)


def peak_of(name, arguments):
    """Return the peak resident megabytes of a process that fits ``name``."""
    sizes = ["--rows", str(arguments.rows), "--features", str(arguments.features)]
    sizes += ["--trees", str(arguments.trees), "--dtype", arguments.dtype]
    command = [sys.executable, __file__, "--fit", name, *sizes]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=5)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        data = make_data(arguments.rows, arguments.features, arguments.dtype)
        fit(arguments.fit, *data, arguments.trees)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    say_versions("lightgbm", "xgboost")
    names = dict.fromkeys(["nothing", *PARTS, *PAIRS.values()])
    peaks = {name: peak_of(name, arguments) for name in names}
    for name, peak in peaks.items():
        print(f"{name:16} {peak:8.0f} MB")
    for ours, theirs in PAIRS.items():
        print(f"{ours} over {theirs}: {peaks[ours] / peaks[theirs]:.3f}")


if __name__ == "__main__":
    main()
