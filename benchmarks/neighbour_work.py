"""What ``bench_neighbours.py`` times: fits of rankers, and derivatives.

The engines are imported where they are used, after the script has chosen how their threads wait.
"""

import numpy as np

RANKERS = ["LightGBMTrees", "XGBoostTrees", "HistogramTrees", "LGBMRanker", "XGBRanker", "ndcg"]


def work_of(name, X, y, qid):
    """Return a function that fits a ranker, or computes derivatives."""
    import lightgbm
    import xgboost

    import treerank

    size = np.bincount(qid)
    if name == "LGBMRanker":
        ranker = lightgbm.LGBMRanker(n_estimators=60, verbosity=-1, n_jobs=2)
        return lambda: ranker.fit(X, y, group=size)
    if name == "XGBRanker":
        ranker = xgboost.XGBRanker(n_estimators=60, n_jobs=2)
        return lambda: ranker.fit(X, y, group=size)
    if name == "ndcg":
        objective = treerank.make_objective(y, qid, loss="logistic", weight="ndcg")
        return lambda: [objective.derivatives(X[:, 0].astype(float)) for _ in range(50)]
    part = getattr(treerank, name)(60, num_leaves=31, learning_rate=0.1, colsample_bytree=1.0)
    ranker = treerank.TreeDirectRanker(feature_part=part)
    return lambda: ranker.fit(X, y, qid)
