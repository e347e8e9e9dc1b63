"""A regression for the tests of boosted trees: data and a small fit."""

from importlib.util import find_spec

import numpy as np
import pytest
from own_objective import HalfSquare

import treerank.feature_parts
from treerank.feature_parts import HistogramTrees, LightGBMTrees

PARTS = [LightGBMTrees]
if find_spec("xgboost"):
    PARTS.append(treerank.feature_parts.XGBoostTrees)
ALL = [*PARTS, HistogramTrees]
own_trees_too = pytest.mark.parametrize("part_class", ALL)
SMALL = {"n_estimators": 15, "n_jobs": 1, "random_state": 0, "learning_rate": 0.3}
SMALL |= {"num_leaves": 31, "colsample_bytree": 1.0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
TARGET = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=600)
TARGETS = np.column_stack([TARGET, X[:, 3], np.abs(X[:, 0])])
HELD_OUT = RNG.normal(size=(200, 4))


def held_out_fit(scores):
    return -float(((scores - HELD_OUT[:, 0] - HELD_OUT[:, 1] * HELD_OUT[:, 2]) ** 2).mean())


VALIDATION = HELD_OUT, held_out_fit


def fitted(part_class, target=TARGET, data=X, validation=None, **params):
    return part_class(**{**SMALL, **params}).fit(data, HalfSquare(target), validation=validation)
