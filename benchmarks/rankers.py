"""Rankers at their own defaults, on one thread: treerank's and the engines' own.

Each function fits a ranker to a training part and returns its ``predict``. With a validation part
it stops early there; the peers may then grow 1,000 trees and stop after 50 without a better
NDCG@10. Without one, nothing but the number of threads and the seed is set.
"""

import numpy as np

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.rankers.tree_direct_ranker import adds_second_loss, trees_for_few


def sorted_by_query(X, y, qid):
    """Return rows sorted by query, their codes, and the sizes of queries."""
    _, codes = np.unique(qid, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return X[order], y[order], codes[order], np.bincount(codes)


def _on(part):
    def fit(train, validation, seed):
        ranker = TreeDirectRanker(part(n_jobs=1), random_state=seed)
        return ranker.fit(*train, eval_set=validation).predict

    return fit


def _default(train, validation, seed):
    """Fit ``TreeDirectRanker()``, whose feature part follows from the data, on one thread."""
    ranker, n_queries = TreeDirectRanker(random_state=seed), len(np.unique(train[2]))
    is_few = validation is None and adds_second_loss(ranker, n_queries)
    part = trees_for_few(n_queries, n_jobs=1) if is_few else LightGBMTrees(n_jobs=1)
    return ranker.set_params(feature_part=part).fit(*train, eval_set=validation).predict


def _best(train, validation, seed):
    ranker = TreeDirectRanker.best(random_state=seed)
    ranker.set_params(**{f"feature_part__{number}__n_jobs": 1 for number in range(2)})
    return ranker.fit(*train, eval_set=validation).predict


def _lightgbm(train, validation, seed):
    from lightgbm import LGBMRanker, early_stopping

    X, y, _, sizes = sorted_by_query(*train)
    if validation is None:
        ranker = LGBMRanker(n_jobs=1, random_state=seed, verbosity=-1)
        return ranker.fit(X, y, group=sizes).predict
    X_valid, y_valid, _, sizes_valid = sorted_by_query(*validation)
    ranker = LGBMRanker(n_estimators=1000, n_jobs=1, random_state=seed, verbosity=-1)
    return ranker.fit(
        X,
        y,
        group=sizes,
        eval_set=[(X_valid, y_valid)],
        eval_group=[sizes_valid],
        eval_at=[10],
        callbacks=[early_stopping(50, verbose=False)],
    ).predict


def _xgboost(train, validation, seed):
    from xgboost import XGBRanker

    X, y, _, sizes = sorted_by_query(*train)
    if validation is None:
        return XGBRanker(n_jobs=1, random_state=seed).fit(X, y, group=sizes).predict
    X_valid, y_valid, _, sizes_valid = sorted_by_query(*validation)
    ranker = XGBRanker(
        n_estimators=1000,
        n_jobs=1,
        random_state=seed,
        early_stopping_rounds=50,
        eval_metric="ndcg@10",
    )
    return ranker.fit(
        X, y, group=sizes, eval_set=[(X_valid, y_valid)], eval_group=[sizes_valid], verbose=False
    ).predict


def _catboost(train, validation, seed):
    from catboost import CatBoostRanker, Pool

    ranker = CatBoostRanker(
        loss_function="YetiRank",
        thread_count=1,
        random_seed=seed,
        silent=True,
        allow_writing_files=False,
        **{}
        if validation is None
        else {"eval_metric": "NDCG:top=10", "early_stopping_rounds": 50, "iterations": 1000},
    )
    pools = [
        Pool(X, y, group_id=codes)
        for X, y, codes, _ in (sorted_by_query(*part) for part in (train, validation) if part)
    ]
    return ranker.fit(pools[0], eval_set=pools[1:] or None).predict


DEFAULT, BEST = "TreeDirectRanker()", "TreeDirectRanker.best()"
OURS = {
    DEFAULT: _default,
    'TreeDirectRanker("xgboost")': _on(XGBoostTrees),
    'TreeDirectRanker("histogram")': _on(HistogramTrees),
    BEST: _best,
}
PEERS = {
    "LGBMRanker()": _lightgbm,
    "XGBRanker()": _xgboost,
    'CatBoostRanker("YetiRank")': _catboost,
}
RANKERS = OURS | PEERS
