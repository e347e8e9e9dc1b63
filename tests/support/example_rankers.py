"""Small rankers of both engines, a feature part that grows nothing, and data to fit them to."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.feature_parts.rows import as_rows

#: The check of scikit-learn that rankers fail: it wants columns in the order of ``fit``.
COLUMNS_BY_NAME = {"check_dataframe_column_names_consistency": "columns are found by name"}

PARTS = {
    "lightgbm": LightGBMTrees(n_estimators=8, min_child_samples=5, n_jobs=1),
    "xgboost": XGBoostTrees(n_estimators=8, n_jobs=1),
}
every_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


class Column(BaseEstimator):
    """The smallest feature part: some columns of X, as they are."""

    def __init__(self, columns=(0,)):
        self.columns = columns

    def fit(self, X, objective, *, validation=None):
        self.n_outputs_ = len(self.columns)
        self.objective_, self.validation_ = objective, validation
        return self

    def transform(self, X):
        return np.asarray(as_rows(X).array(), dtype=np.float64)[:, list(self.columns)]


def some_ranker(**settings):
    return TreeDirectRanker(PARTS["lightgbm"], random_state=0, **settings)


@cache
def ranking_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 4))
    X[:, 3] = rng.integers(4, size=160)
    y = np.clip(np.round(X[:, 0] + (X[:, 3] == 2) + 0.3 * rng.normal(size=160)), 0, 3)
    return X, y, np.repeat(np.arange(8), 20)


@cache
def fitted_rankers():
    data = ranking_data()
    return {name: TreeDirectRanker(part, random_state=0).fit(*data) for name, part in PARTS.items()}
