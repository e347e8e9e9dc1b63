"""Rankers of ``bench_first_line.py``, each at its own defaults, on one thread.

Those of ``STOPPED`` take a validation part. Ours stops by itself; the peers may grow 1,000 trees,
and stop after 50 without a better NDCG@10.
"""

from catboost import CatBoostRanker
from lightgbm import LGBMRanker, early_stopping
from quality_rankers import sorted_by_query
from xgboost import XGBRanker

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.baselines import LambdaMART


def on(part):
    """Return what makes a ranker on trees of this class."""
    return lambda seed: TreeDirectRanker(part(n_jobs=1), random_state=seed)


def best(seed, time=None):
    """Return the best ranker, within a time if one is given."""
    jobs = {f"feature_part__{place}__n_jobs": 1 for place in range(2)}
    return TreeDirectRanker.best(time, random_state=seed).set_params(**jobs)


OURS = {
    "TreeDirectRanker()": on(LightGBMTrees),
    "on XGBoostTrees()": on(XGBoostTrees),
    "on HistogramTrees()": on(HistogramTrees),
    "best()": best,
    "best(time=60)": lambda seed: best(seed, time=60),
    "LambdaMART()": lambda seed: LambdaMART(n_jobs=1, random_state=seed),
}


def lightgbm_ranker(X, y, qid, sizes, seed):
    return LGBMRanker(n_jobs=1, random_state=seed, verbosity=-1).fit(X, y, group=sizes)


def xgboost_ranker(X, y, qid, sizes, seed):
    return XGBRanker(n_jobs=1, random_state=seed).fit(X, y, group=sizes)


def catboost_ranker(X, y, qid, sizes, seed):
    ranker = CatBoostRanker(
        loss_function="YetiRank", thread_count=1, random_seed=seed, silent=True,
        allow_writing_files=False,
    )  # fmt: skip
    return ranker.fit(X, y, group_id=qid)


def stopped(seed, train, validation):
    """Return our default ranker, which stops by itself."""
    return on(LightGBMTrees)(seed).fit(*train, eval_set=validation)


def lightgbm_stopped(seed, train, validation):
    X, y, _, sizes = sorted_by_query(*train)
    X_valid, y_valid, _, sizes_valid = sorted_by_query(*validation)
    ranker = LGBMRanker(n_estimators=1000, n_jobs=1, random_state=seed, verbosity=-1)
    return ranker.fit(
        X, y, group=sizes, eval_set=[(X_valid, y_valid)], eval_group=[sizes_valid], eval_at=[10],
        callbacks=[early_stopping(50, verbose=False)],
    )  # fmt: skip


def xgboost_stopped(seed, train, validation):
    X, y, _, sizes = sorted_by_query(*train)
    X_valid, y_valid, _, sizes_valid = sorted_by_query(*validation)
    ranker = XGBRanker(
        n_estimators=1000, n_jobs=1, random_state=seed, early_stopping_rounds=50,
        eval_metric="ndcg@10",
    )  # fmt: skip
    return ranker.fit(
        X, y, group=sizes, eval_set=[(X_valid, y_valid)], eval_group=[sizes_valid], verbose=False
    )


STOPPED = {
    "TreeDirectRanker(), eval_set": stopped,
    "LGBMRanker, stopped early": lightgbm_stopped,
    "XGBRanker, stopped early": xgboost_stopped,
}

PEERS = {
    "LGBMRanker()": lightgbm_ranker,
    "XGBRanker()": xgboost_ranker,
    "CatBoostRanker('YetiRank')": catboost_ranker,
}
