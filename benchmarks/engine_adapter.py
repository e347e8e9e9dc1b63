"""Adapter: the engines' own rankers with ``fit(X, y, qid)``, for ``bench_conformance.py``.

The adapter does what a careful user would do. It numbers the ids if they are no integers, sorts the
rows by id (rows of a query keep their order), passes group sizes or ids as the engine needs them,
fixes the seed, and requests ``qid`` from metadata routing. ``score`` is the engine's own NDCG@10
with exponential gain, on rows sorted in the same way; LGBMRanker has none. The loss is the engine's
default for ranking.
"""

from typing import ClassVar

import numpy as np
import pandas as pd
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from xgboost import XGBRanker


class Adapter(BaseEstimator):
    """An engine's ranker that takes one query id per row, of any type, in any order."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def __init__(self, engine="LGBMRanker", n_estimators=20, n_jobs=1):
        self.engine = engine
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs

    def fit(self, X, y, qid):
        """Fit the engine to rows sorted by query."""
        fit_sorted = ENGINES[self.engine]
        self.ranker_ = fit_sorted(*by_query(X, y, qid), self.n_estimators, self.n_jobs)
        return self

    def predict(self, X):
        """Return the engine's scores."""
        return self.ranker_.predict(X)

    @available_if(lambda self: self.engine in SCORES)
    def score(self, X, y, qid):
        """Return the engine's NDCG@10."""
        return SCORES[self.engine](self.ranker_, *by_query(X, y, qid))


def fit_lightgbm(X, y, qid, n_trees, n_jobs):
    ranker = LGBMRanker(n_estimators=n_trees, n_jobs=n_jobs, random_state=0, verbose=-1)
    return ranker.fit(X, y, group=np.unique(qid, return_counts=True)[1])


def fit_xgboost(X, y, qid, n_trees, n_jobs):
    ranker = XGBRanker(n_estimators=n_trees, n_jobs=n_jobs, random_state=0, eval_metric="ndcg@10")
    return ranker.fit(X, y, qid=qid)


def fit_catboost(X, y, qid, n_trees, n_jobs):
    quiet = {"verbose": False, "allow_writing_files": False}
    ranker = CatBoostRanker(iterations=n_trees, thread_count=n_jobs, random_seed=0, **quiet)
    return ranker.fit(X, y, group_id=qid)


def score_xgboost(ranker, X, y, qid):
    named = pd.DataFrame(X, columns=[str(column) for column in range(X.shape[1])])
    return ranker.score(named.assign(qid=qid), y)


def score_catboost(ranker, X, y, qid):
    return ranker.score(X, y, group_id=qid, top=10, type="Exp")


ENGINES = {"LGBMRanker": fit_lightgbm, "XGBRanker": fit_xgboost, "CatBoostRanker": fit_catboost}
SCORES = {"XGBRanker": score_xgboost, "CatBoostRanker": score_catboost}


def by_query(X, y, qid):
    qid = qid if qid.dtype.kind in "iu" else np.unique(qid, return_inverse=True)[1]
    order = np.argsort(qid, kind="stable")
    return X[order], y[order], qid[order]
