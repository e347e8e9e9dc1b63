"""Is LambdaMART on our own trees faster than LightGBM's? Same trees, leaves and threads.

Whole fits with binning: ours with float and with 16-bit derivatives, against LGBMRanker
(lambdarank); and the squared error of one and of eight outputs. The NDCG@10 on fresh queries is
printed, to show that no quality is lost.
"""

import argparse

import lightgbm
import numpy as np
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank import NDCG
from treerank.baselines.boosted import LambdaMART
from treerank.datasets.web_search import make_web_search
from treerank.feature_parts.histogram.trees import HistogramTrees


class HalfSquare:
    """Half the squared distance of each output to its target."""

    def __init__(self, target):
        self.target = target
        self.n_outputs = 1 if target.ndim == 1 else target.shape[1]

    def derivatives(self, scores, *, iteration=0):
        """Return gradient and hessian."""
        return scores - self.target, np.ones_like(scores)


def make_fits(X, y, qid, n_trees, n_leaves, n_jobs):
    """Return a function per ranker that fits it and returns its predict."""
    sizes = np.unique(qid, return_counts=True)[1]
    common = {"num_leaves": n_leaves, "n_jobs": n_jobs, "random_state": 0}
    common |= {"learning_rate": 0.1, "colsample_bytree": 1.0}

    def lgbm():
        tree = {"n_estimators": n_trees, "num_leaves": n_leaves, "n_jobs": n_jobs}
        return lightgbm.LGBMRanker(verbosity=-1, **tree).fit(X, y, group=sizes).predict

    def ours(precision):
        ranker = LambdaMART(n_trees, precision=precision, **common)
        return lambda: ranker.fit(X, y, qid).predict

    return {"LambdaMART": ours("float32"), "LambdaMART, int16": ours("int16"), "LGBMRanker": lgbm}


def make_outputs(X, y, n_trees, n_leaves, n_jobs):
    """Return a function per number of outputs that fits them."""
    rng = np.random.default_rng(0)
    targets = (y[:, None] >= 1 + np.arange(8) / 2) + 0.1 * rng.normal(size=(len(y), 8))
    size = {"num_leaves": n_leaves, "learning_rate": 0.1, "colsample_bytree": 1.0}
    part = HistogramTrees(n_trees, **size, n_jobs=n_jobs, random_state=0)
    return {
        "one output": lambda: part.fit(X, HalfSquare(targets[:, 0].copy())),
        "eight outputs": lambda: part.fit(X, HalfSquare(targets)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(2 * arguments.queries, random_state=0)
    fresh = qid >= arguments.queries
    shape = arguments.trees, arguments.leaves, arguments.jobs
    fits = make_fits(X[~fresh], y[~fresh], qid[~fresh], *shape)
    outputs = make_outputs(X[~fresh], y[~fresh], *shape)
    say_versions("lightgbm", "numba")
    print(f"{(~fresh).sum()} x {X.shape[1]}, {arguments.trees} trees of {arguments.leaves} leaves")
    times = time_in_turn(fits | outputs, arguments.repetitions)
    say_times(times)
    for name, fit in fits.items():
        print(f"{name:44} NDCG@10 {NDCG(k=10)(y[fresh], fit()(X[fresh]), qid[fresh]):.4f}")
    for ours, theirs, bar in (
        ("LambdaMART", "LGBMRanker", 1.0),
        ("LambdaMART, int16", "LGBMRanker", 0.75),
        ("eight outputs", "one output", 2.5),
    ):
        say_ratio(f"{ours} against {theirs}", times, ours, theirs, f">= {1 / bar:.2f}")


if __name__ == "__main__":
    main()
