"""Rankers of ``bench_quality.py``: ours and the engines' own, with the same trees.

Each function fits a ranker, stops it early on the validation part, and returns its ``predict``.
Without a validation part (None) it grows all trees.
"""

import catboost
import lightgbm
import numpy as np
import xgboost

from treerank import TreeDirectRanker
from treerank.feature_parts.registry import make_feature_part

TREES, RATE, LEAVES, PATIENCE, JOBS = 1000, 0.05, 15, 100, 1
#: Depth of CatBoost's trees, which are symmetric.
DEPTH = 6


def sorted_by_query(X, y, qid):
    """Return rows sorted by query, their codes, and the sizes of queries."""
    _, codes = np.unique(qid, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return X[order], y[order], codes[order], np.bincount(codes)


def patience(valid):
    """Return the patience of early stopping, or None without a validation part."""
    return None if valid is None else PATIENCE


def fit_ours(settings, train, valid, seed):
    """Fit TreeDirectRanker with some settings."""
    settings = {"feature_part": "lightgbm"} | settings
    part = make_feature_part(settings.pop("feature_part"))
    leaves = "num_leaves" if hasattr(part, "num_leaves") else "max_leaves"
    part.set_params(
        n_estimators=TREES,
        learning_rate=RATE,
        colsample_bytree=1.0,
        early_stopping_rounds=patience(valid),
        n_jobs=JOBS,
        **{leaves: LEAVES},
    )
    if leaves == "max_leaves":
        part.set_params(grow_policy="lossguide", max_depth=0)
    return TreeDirectRanker(part, random_state=seed, **settings).fit(*train, eval_set=valid).predict


def fit_lightgbm(train, valid, seed):
    """Fit LightGBM's lambdarank."""
    X, y, _, sizes = sorted_by_query(*train)
    ranker = lightgbm.LGBMRanker(
        n_estimators=TREES,
        learning_rate=RATE,
        num_leaves=LEAVES,
        random_state=seed,
        verbosity=-1,
        n_jobs=JOBS,
    )
    if valid is None:
        return ranker.fit(X, y, group=sizes).predict
    X_valid, y_valid, _, valid_sizes = sorted_by_query(*valid)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    held_out = {"eval_set": [(X_valid, y_valid)], "eval_group": [valid_sizes], "eval_at": [10]}
    return ranker.fit(X, y, group=sizes, callbacks=[stop], **held_out).predict


def fit_xgboost(train, valid, seed):
    """Fit XGBoost's rank:ndcg."""
    X, y, qid, _ = sorted_by_query(*train)
    ranker = xgboost.XGBRanker(
        objective="rank:ndcg", n_estimators=TREES, learning_rate=RATE, random_state=seed,
        max_leaves=LEAVES, max_depth=0, grow_policy="lossguide", eval_metric="ndcg@10",
        early_stopping_rounds=patience(valid), n_jobs=JOBS,
    )  # fmt: skip
    if valid is None:
        return ranker.fit(X, y, qid=qid).predict
    X_valid, y_valid, valid_qid, _ = sorted_by_query(*valid)
    ranker.fit(X, y, qid=qid, eval_set=[(X_valid, y_valid)], eval_qid=[valid_qid], verbose=False)
    return ranker.predict


def fit_catboost(train, valid, seed):
    """Fit CatBoost's YetiRank."""
    ranker = catboost.CatBoostRanker(
        loss_function="YetiRank", eval_metric="NDCG:top=10", iterations=TREES, random_seed=seed,
        learning_rate=RATE, depth=DEPTH, early_stopping_rounds=patience(valid), silent=True,
        thread_count=JOBS, allow_writing_files=False,
    )  # fmt: skip
    parts = [sorted_by_query(*part) for part in (train, valid) if part is not None]
    pools = [catboost.Pool(X, y, group_id=qid) for X, y, qid, _ in parts]
    return ranker.fit(pools[0], eval_set=pools[1:] or None).predict


PEERS = {
    "LGBMRanker lambdarank": fit_lightgbm,
    "XGBRanker rank:ndcg": fit_xgboost,
    "CatBoostRanker YetiRank": fit_catboost,
}
