"""Adaptation: thresholds with which a program decides as the model does, and what stays different.

Thresholds are chosen for each split: the one that decides equally for all values, if the program
has such a number, or one that decides equally for the documents given. What no threshold can mend
is found by sending the documents through both forests.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from treerank.exports.split_rule import SplitRule
from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_leaves

_BLOCK = 4096  # documents that are compared together, which bounds the memory


@dataclass(frozen=True)
class Deviation:
    """Documents that a program would score differently, and why.

    Attributes
    ----------
    reason : {"missing", "rounding"}
        Whether missing values or rounded numbers go to another side of a split.
    feature : str
        Name of the feature.
    rows : ndarray of int
        Row numbers of these documents.
    """

    #: Whether missing values ("missing") or rounded numbers ("rounding") go to another side.
    reason: str
    #: Name of the feature.
    feature: str
    #: Numbers of these documents.
    rows: np.ndarray

    def __str__(self) -> str:
        """Return the deviation as a clause."""
        problem = "is missing" if self.reason == "missing" else "is rounded over a threshold"
        return f"feature {self.feature!r} {problem} in {len(self.rows)}"


def adapted_thresholds(forest: Forest, rule: SplitRule, X: Any = None) -> np.ndarray:
    """Return one threshold per node, for a program that compares by ``rule``.

    ``X`` are documents, an array or a sparse matrix, for which it must decide as the forest does.
    Leaves and splits by category get 0.
    """
    thresholds = np.zeros(forest.n_nodes, dtype=rule.dtype)
    splits = np.flatnonzero(~forest.is_leaf & ~forest.is_by_set)
    for feature in np.unique(forest.feature[splits]).tolist():
        nodes = splits[forest.feature[splits] == feature]
        wanted = forest.threshold[nodes]
        if X is None:
            thresholds[nodes] = rule.thresholds(wanted)
            continue
        values = np.unique(_column(X, feature))
        values = np.concatenate([[-np.inf], values[~np.isnan(values)], [np.inf]])
        slot = np.searchsorted(values[:-1], wanted, side="right")
        low, high = values[np.maximum(slot - 1, 0)], values[slot]
        thresholds[nodes] = rule.thresholds(wanted, low, high)
    return thresholds


def find_deviations(forest: Forest, other: Forest, X: Any, names: list[str]) -> list[Deviation]:
    """Return where documents reach other leaves in another forest of the same structure.

    The forests are the model, and what a program evaluates; ``names`` are the names of the
    features. A document counts for a feature if the value of this feature is the first that another
    side is taken for, in some tree.
    """
    parent, splits = np.full(forest.n_nodes, -1), np.flatnonzero(~forest.is_leaf)
    parent[forest.left[splits]] = parent[forest.right[splits]] = splits
    tree = parent, forest.preorder[2]
    parts = [_parted(forest, other, X, begin, *tree) for begin in range(0, X.shape[0], _BLOCK)]
    rows, features = np.unique(np.concatenate([np.zeros((2, 0), int), *parts], axis=1), axis=1)
    deviations = []
    for feature in np.unique(features).tolist():
        feature_rows = rows[features == feature]
        values = _column(X, feature)[feature_rows]
        is_missing = np.isnan(values) | (np.abs(values) <= forest.missing_up_to)
        by_reason = {"missing": feature_rows[is_missing], "rounding": feature_rows[~is_missing]}
        deviations += [Deviation(why, names[feature], r) for why, r in by_reason.items() if len(r)]
    return sorted(deviations, key=lambda deviation: deviation.reason)


def find_missing(features: np.ndarray, X: Any, names: list[str]) -> list[Deviation]:
    """Return a deviation for each feature that is missing in some documents of ``X``.

    ``features`` are indices of columns, and ``names`` the names of all columns.
    """
    missing = {j: np.flatnonzero(np.isnan(_column(X, j))) for j in features.tolist()}
    return [Deviation("missing", names[j], rows) for j, rows in missing.items() if len(rows)]


def _parted(forest, other, X, begin, parent, depth):
    """Return an array of shape (2, n): rows of ``X``, and features of the splits where paths part.

    The rows are those from ``begin`` on, of one block, that reach other leaves in ``other``.
    ``parent`` is the parent of each node, -1 for roots, and ``depth`` the number of splits above
    it.
    """
    rows = X[begin : begin + _BLOCK]
    leaves, other_leaves = forest_leaves(forest, rows), forest_leaves(other, rows)
    row, tree = np.nonzero(leaves != other_leaves)
    one, two = leaves[row, tree], other_leaves[row, tree]
    while (apart := one != two).any():
        goes_up = apart & (depth[one] >= depth[two])
        one, two = np.where(goes_up, parent[one], one), np.where(apart & ~goes_up, parent[two], two)
    return np.unique(np.stack([row + begin, forest.feature[one]]), axis=1)


def _column(X: Any, feature: int) -> np.ndarray:
    column = X[:, [feature]].toarray().ravel() if issparse(X) else X[:, feature]
    return np.asarray(column, dtype=np.float64)
