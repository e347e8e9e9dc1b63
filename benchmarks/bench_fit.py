"""Is a whole fit faster than the engines' own rankers? Same trees, leaves and threads.

Binning, objective and trees, from arrays to a fitted ranker: TreeDirectRanker (logistic loss, NDCG
weights, without and with the default smoothing) against LGBMRanker (lambdarank) and XGBRanker
(rank:ndcg). We find bins from fewer rows than LightGBM does by default, so LGBMRanker is also timed
with as few rows. The NDCG@10 of each on fresh queries is printed, to show that no quality is lost.
"""

import argparse

import lightgbm
import numpy as np
import xgboost
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank import NDCG, TreeDirectRanker
from treerank.datasets.web_search import make_web_search
from treerank.feature_parts.trees.bin_sample import SAMPLE_SIZE
from treerank.feature_parts.trees.lightgbm import LightGBMTrees
from treerank.feature_parts.trees.xgboost import XGBoostTrees


def make_fits(X, y, qid, n_trees, n_leaves, n_jobs):
    """Return a function per ranker that fits it and returns its predict."""
    sizes = np.unique(qid, return_counts=True)[1]
    tree = {"n_estimators": n_trees, "n_jobs": n_jobs}
    lossguide = {"grow_policy": "lossguide", "max_depth": 0, "learning_rate": 0.1}
    own = {"num_leaves": n_leaves, "learning_rate": 0.1, "colsample_bytree": 1.0, **tree}

    def ours(part, **settings):
        return TreeDirectRanker(part, random_state=0, **settings).fit(X, y, qid).predict

    def lgbm(**settings):
        ranker = lightgbm.LGBMRanker(num_leaves=n_leaves, verbosity=-1, **tree, **settings)
        return ranker.fit(X, y, group=sizes).predict

    def xgb():
        settings = {"tree_method": "hist", "max_leaves": n_leaves, **lossguide, **tree}
        ranker = xgboost.XGBRanker(objective="rank:ndcg", **settings)
        return ranker.fit(X, y, qid=qid).predict

    return {
        "LightGBMTrees": lambda: ours(LightGBMTrees(**own), smoothing=0.0),
        "LightGBMTrees, smoothed": lambda: ours(LightGBMTrees(**own)),
        "LGBMRanker": lgbm,
        "LGBMRanker, our sample for bins": lambda: lgbm(bin_construct_sample_cnt=SAMPLE_SIZE),
        "XGBoostTrees": lambda: ours(XGBoostTrees(**own), smoothing=0.0),
        "XGBoostTrees, smoothed": lambda: ours(XGBoostTrees(**own)),
        "XGBRanker": xgb,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--jobs", type=int, default=2, help="threads; 0 does not say how many")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(2 * arguments.queries, random_state=0)
    fresh = qid >= arguments.queries
    n_jobs = arguments.jobs or None
    fits = make_fits(X[~fresh], y[~fresh], qid[~fresh], arguments.trees, arguments.leaves, n_jobs)
    say_versions("lightgbm", "xgboost", "numba")
    print(f"{(~fresh).sum()} x {X.shape[1]}, {arguments.trees} trees of {arguments.leaves} leaves")
    times = time_in_turn(fits, arguments.repetitions)
    say_times(times)
    for name, fit in fits.items():
        print(f"{name:44} NDCG@10 {NDCG(k=10)(y[fresh], fit()(X[fresh]), qid[fresh]):.4f}")
    for ours, theirs, bar in (
        ("LightGBMTrees", "LGBMRanker", 0.90),
        ("LightGBMTrees, smoothed", "LGBMRanker", 0.90),
        ("LightGBMTrees, smoothed", "LGBMRanker, our sample for bins", 0.90),
        ("XGBoostTrees", "XGBRanker", 0.80),
        ("XGBoostTrees, smoothed", "XGBRanker", 0.80),
    ):
        say_ratio(f"{ours} against {theirs}", times, ours, theirs, f">= {1 / bar:.2f}")


if __name__ == "__main__":
    main()
