"""Adaptation: thresholds with which a program decides as the model does, and what stays different.

Thresholds are chosen for each split: the one that decides equally for all values, if the program
has such a number, or one that decides equally for the documents given. What no threshold can mend
is found by sending the documents through both forests.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from treerank.export.comparison import Comparison
from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_leaves


@dataclass(frozen=True)
class Difference:
    """Documents that a program would score differently, and why.

    Attributes
    ----------
    reason : {"missing", "rounding"}
        Whether missing values or rounded numbers go to another side.
    feature : str
        Name of the feature.
    n_documents : int
        Number of these documents.
    """

    reason: str
    feature: str
    n_documents: int

    def __str__(self) -> str:
        """Return the difference as a clause."""
        what = "is missing" if self.reason == "missing" else "is rounded over a threshold"
        return f"feature {self.feature!r} {what} in {self.n_documents}"


def adapted_thresholds(forest: Forest, comparison: Comparison, X: Any = None) -> np.ndarray:
    """Return one threshold per node, for a program that compares in its own way.

    Parameters
    ----------
    forest : Forest
        The trees.
    comparison : Comparison
        How the program compares.
    X : ndarray or sparse matrix of shape (n_documents, n_features), default=None
        Documents for which it must decide as the forest does.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Zeros in leaves and in splits by category.
    """
    thresholds = np.zeros(forest.n_nodes, dtype=comparison.dtype)
    for feature, nodes in _nodes_by_feature(forest):
        wanted = forest.threshold[nodes]
        if X is None:
            thresholds[nodes] = comparison.thresholds(wanted)
            continue
        values = np.unique(_column(X, feature))
        values = np.concatenate([[-np.inf], values[~np.isnan(values)], [np.inf]])
        place = np.searchsorted(values[:-1], wanted, side="right")
        low, high = values[np.maximum(place - 1, 0)], values[place]
        thresholds[nodes] = comparison.thresholds(wanted, low, high)
    return thresholds


def find_differences(forest: Forest, other: Forest, X: Any, names: list[str]) -> list[Difference]:
    """Return where documents reach other leaves in another forest of the same structure.

    Parameters
    ----------
    forest, other : Forest
        The model, and what a program evaluates.
    X : ndarray or sparse matrix of shape (n_documents, n_features)
        Documents.
    names : list of str
        Names of the features.

    Returns
    -------
    list of Difference
        By reason and feature.
    """
    differs = (forest_leaves(forest, X) != forest_leaves(other, X)).any(axis=1)
    if not differs.any():
        return []
    rows, found = X[np.flatnonzero(differs)], []
    for feature, nodes in _nodes_by_feature(forest):
        values = _column(rows, feature)
        missing = np.isnan(values) | (np.abs(values) <= forest.missing_up_to)
        sides = forest.missing_left[nodes] != other.missing_left[nodes]
        n_missing = int(missing.sum()) if sides.any() or forest.missing_up_to >= 0 else 0
        n_rounded = int((_is_between(values, forest, other, nodes) & ~missing).sum())
        for reason, count in (("missing", n_missing), ("rounding", n_rounded)):
            if count:
                found.append(Difference(reason, names[feature], count))
    return found


def _is_between(values: np.ndarray, forest: Forest, other: Forest, nodes: np.ndarray) -> np.ndarray:
    """Return whether each value is between the two thresholds of any of the nodes."""
    pair = np.stack([forest.threshold[nodes], other.threshold[nodes]])
    lower, upper = pair.min(axis=0), pair.max(axis=0)
    apart = lower < upper
    lower, upper = np.sort(lower[apart]), np.sort(upper[apart])
    # More intervals began below the value than ended below it.
    return np.searchsorted(lower, values, "left") > np.searchsorted(upper, values, "left")


def _nodes_by_feature(forest: Forest) -> list[tuple[int, np.ndarray]]:
    """Return the splits by number of each feature that has some."""
    is_number = ~forest.is_leaf
    if forest.categories is not None:
        is_number &= forest.categories.of_node < 0
    nodes = np.flatnonzero(is_number)
    nodes = nodes[np.argsort(forest.feature[nodes], kind="stable")]
    features, starts = np.unique(forest.feature[nodes], return_index=True)
    return list(zip(features.tolist(), np.split(nodes, starts[1:]), strict=True))


def _column(X: Any, feature: int) -> np.ndarray:
    column = X[:, [feature]].toarray().ravel() if issparse(X) else X[:, feature]
    return np.asarray(column, dtype=np.float64)
