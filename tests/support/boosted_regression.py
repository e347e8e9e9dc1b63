"""A regression for the tests of boosted trees: data, the objective and a small fit."""

from dataclasses import dataclass, field

import numba as nb
import numpy as np

from treerank.feature_parts import LightGBMTrees, XGBoostTrees
from treerank.forests.scoring import forest_leaves
from treerank.inputs.grouping import QueryGroups

PARTS = [LightGBMTrees, XGBoostTrees]
SMALL = {"n_estimators": 15, "n_jobs": 1, "random_state": 0, "learning_rate": 0.3}
SMALL |= {"num_leaves": 31, "colsample_bytree": 1.0}


@dataclass
class HalfSquare:
    """Half the squared distance to a target: what the engines' own regression fits."""

    target: np.ndarray
    weight: np.ndarray | float = 1.0
    groups: QueryGroups | None = None
    seen: list = field(default_factory=list)

    @property
    def n_outputs(self):
        return 1 if self.target.ndim == 1 else self.target.shape[1]

    def derivatives(self, scores, *, iteration=0):
        self.seen.append((iteration, scores.copy(), nb.get_num_threads()))
        return self.weight * (scores - self.target), self.weight * np.ones_like(scores)


@dataclass
class Given:
    """An objective that returns the given derivatives."""

    gradient: np.ndarray
    hessian: np.ndarray
    n_outputs: int = 1

    def derivatives(self, scores, *, iteration=0):
        return self.gradient, self.hessian


RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
TARGET = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=600)
TARGETS = np.column_stack([TARGET, X[:, 3], np.abs(X[:, 0])])
HELD_OUT = RNG.normal(size=(200, 4))


def held_out_fit(scores):
    return -float(((scores - HELD_OUT[:, 0] - HELD_OUT[:, 1] * HELD_OUT[:, 2]) ** 2).mean())


def fitted(part_class, target=TARGET, data=X, validation=None, **params):
    return part_class(**{**SMALL, **params}).fit(data, HalfSquare(target), validation=validation)


def values_of_trees(part, X):
    """Return the value of each tree, side by side."""
    leaves = forest_leaves(part.forest(), X)
    return part.forest().values[leaves].reshape(len(leaves), -1)
