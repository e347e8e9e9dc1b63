"""Forest: fitted trees as arrays over all nodes, with features and thresholds instead of bins."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from treerank.feature_parts.histogram.binned import Binned
from treerank.feature_parts.histogram.bins import Bins
from treerank.feature_parts.histogram.growing import GrownTree
from treerank.feature_parts.histogram.quickscorer import QuickScorer, make_quickscorer


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays over all nodes, tree after tree; the first node of a tree is its root.

    A document at node ``i`` goes left, to node ``first[i]``, or right, to the node after it. It
    goes right if its feature is larger than the threshold, or missing and ``missing_right``. A
    leaf is a node whose ``first`` is itself.

    Attributes
    ----------
    n_features : int
        Number of columns of X.
    starts : ndarray of int64, shape (n_trees + 1,)
        Root of each tree, and the number of nodes.
    feature, threshold, missing_right, first : ndarray of shape (n_nodes,)
        The splits, as described above.
    gain : ndarray of shape (n_nodes,)
        Gain of each split; 0 in leaves.
    values : ndarray of shape (n_nodes, n_outputs)
        Values of leaves; 0 in other nodes.
    set_of_node : ndarray of int32, shape (n_nodes,)
        Number of the set that goes left at a split by category; -1 in other nodes.
    sets : ndarray of uint8, shape (n_sets, 256)
        1 for each position in a table of codes that goes left. Unknown codes and missing values
        have the position after the last.
    table_of_set : ndarray of int64, shape (n_sets,)
        Number of the table of each set.
    tables : ndarray of shape (n_tables, 256)
        Codes in ascending order, padded with infinity.
    n_codes : ndarray of int64, shape (n_tables,)
        Number of codes of each table.
    """

    n_features: int
    starts: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_right: np.ndarray
    first: np.ndarray
    gain: np.ndarray
    values: np.ndarray
    set_of_node: np.ndarray
    sets: np.ndarray
    table_of_set: np.ndarray
    tables: np.ndarray
    n_codes: np.ndarray

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.starts) - 1

    @property
    def n_outputs(self) -> int:
        """Number of values of a leaf."""
        return self.values.shape[1]

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf."""
        return self.first == np.arange(len(self.first))

    @cached_property
    def most_leaves(self) -> int:
        """Largest number of leaves of a tree; a tree of n leaves has 2n - 1 nodes."""
        return (int(np.diff(self.starts).max(initial=1)) + 1) // 2

    @cached_property
    def quickscorer(self) -> QuickScorer:
        """The splits in the form that fast scoring reads."""
        return make_quickscorer(self)

    @cached_property
    def leaf_values(self) -> np.ndarray:
        """Values of the leaves, in the order of the leaves of ``quickscorer``."""
        return self.values[self.quickscorer.leaves]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without the cached properties, which are computed from them."""
        return self.as_state()

    def first_trees(self, n_trees: int) -> "Forest":
        """Return a forest of the first trees."""
        return self._trees(0, n_trees)

    def last_trees(self, n_trees: int) -> "Forest":
        """Return a forest of the last trees."""
        return self._trees(self.n_trees - n_trees, self.n_trees)

    def scaled(self, factor: float) -> "Forest":
        """Return a forest with all values multiplied by ``factor``."""
        return self if factor == 1 else replace(self, values=self.values * factor)

    def _trees(self, begin: int, end: int) -> "Forest":
        starts = self.starts[begin : end + 1]
        per_node = {name: getattr(self, name)[starts[0] : starts[-1]] for name in _PER_NODE}
        per_node["first"] = per_node["first"] - np.uint32(starts[0])
        return replace(self, starts=starts - starts[0], **per_node)

    def followed_by(self, other: "Forest") -> "Forest":
        """Return a forest of these trees and then those of ``other``."""
        shifts = {
            "starts": self.starts[-1],
            "first": np.uint32(self.starts[-1]),
            "set_of_node": np.where(other.set_of_node >= 0, len(self.sets), 0).astype(np.int32),
            "table_of_set": len(self.tables),
        }
        joined = {}
        for name in _ARRAYS:
            theirs = getattr(other, name) + shifts[name] if name in shifts else getattr(other, name)
            theirs = theirs[1:] if name == "starts" else theirs
            joined[name] = np.concatenate([getattr(self, name), theirs])
        return Forest(self.n_features, **joined)

    def as_state(self) -> dict[str, Any]:
        """Return the fields as plain numbers and arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_ARRAYS = [field.name for field in fields(Forest) if field.name != "n_features"]
_PER_NODE = ("feature", "threshold", "missing_right", "first", "gain", "values", "set_of_node")


def make_forest(
    trees: Sequence[GrownTree], values: Sequence[np.ndarray], binned: Binned, bins: Bins
) -> Forest:
    """Return grown trees as a forest, with features and thresholds instead of places and bins.

    Parameters
    ----------
    trees : list of GrownTree
        The trees.
    values : list of ndarray of shape (n_nodes, n_outputs)
        Values of their nodes.
    binned, bins : Binned and Bins
        The data that the trees were grown on.

    Returns
    -------
    Forest
        The trees.
    """
    sizes = [len(tree.nodes) for tree in trees]
    starts = np.append(0, np.cumsum(sizes, dtype=np.int64))
    nodes = np.concatenate([tree.nodes for tree in trees])
    goes_left = np.concatenate([tree.goes_left for tree in trees])
    is_split = nodes["place"] >= 0
    feature = np.zeros(len(nodes), dtype=np.int64)
    feature[is_split] = binned.places["feature"][nodes["place"][is_split]]
    is_set = is_split & bins.is_category[feature]
    last = np.minimum(nodes["bin"], 255)
    by_number = is_split & ~is_set
    # Bounds end with infinity. A split there sends all values left and missing values right.
    threshold = np.where(by_number, bins.bounds[feature, last], np.inf)
    shift = np.repeat(starts[:-1], sizes)
    categorical = np.flatnonzero(bins.is_category)
    return Forest(
        len(bins.n_values),
        starts,
        feature.astype(np.uint32),
        threshold,
        by_number & (nodes["missing_left"] == 0),
        np.where(is_split, nodes["first"] + shift, np.arange(len(nodes))).astype(np.uint32),
        nodes["gain"],
        np.concatenate(values),
        np.where(is_set, np.cumsum(is_set) - 1, -1).astype(np.int32),
        goes_left[is_set],
        np.searchsorted(categorical, feature[is_set]),
        bins.bounds[categorical],
        bins.n_values[categorical],
    )
