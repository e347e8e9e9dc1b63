"""Forest: fitted trees as arrays over all nodes, with features and thresholds instead of bins."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from treerank.feature_parts.histogram.binned import Binned
from treerank.feature_parts.histogram.bins import Bins
from treerank.feature_parts.histogram.growing import GrownTree
from treerank.feature_parts.histogram.quickscorer import QuickScorer, make_quickscorer
from treerank.files.states import array, check_state, count


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

    @classmethod
    def of_state(cls, state: Any) -> Self:
        """Return a forest of the fields that :meth:`as_state` returned; refuse anything else.

        Kernels check no index and stop at leaves only, so all of this is checked here.
        """
        sizes = {"n_features": state["n_features"], "n_nodes": len(state["first"])}
        check_state(state, _RULES, **sizes)
        forest = cls(**state)
        forest._check_paths()
        forest._check_sets()
        with np.errstate(over="ignore"):
            total = np.abs(forest.values).sum()
        if not np.isfinite(total):
            raise ValueError("The sum of all values must be finite.")
        return forest

    def _check_paths(self) -> None:
        """Refuse nodes that are not trees: each has one parent, before it in its tree."""
        starts, first, n_nodes = self.starts, self.first.astype(np.int64), len(self.first)
        if starts[0] != 0 or starts[-1] != n_nodes or (np.diff(starts) < 1).any():
            raise ValueError("starts must rise from 0 to the number of nodes.")
        split = np.flatnonzero(~self.is_leaf)
        end = np.repeat(starts[1:], np.diff(starts))
        left = first[split]
        n_parents = np.bincount(np.concatenate([left, left + 1]), minlength=n_nodes)
        n_parents[starts[:-1]] += 1  # roots need none
        if (left <= split).any() or (left + 1 >= end[split]).any() or (n_parents != 1).any():
            raise ValueError("first must name a later pair of nodes of the tree, each pair once.")

    def _check_sets(self) -> None:
        """Refuse sets of several nodes, and leaves that a document would leave."""
        used = self.set_of_node[self.set_of_node >= 0]
        leaf = self.is_leaf
        if len(np.unique(used)) != len(used) or (self.set_of_node[leaf] >= 0).any():
            raise ValueError("set_of_node must name each set once, and none in leaves.")
        if self.missing_right[leaf].any() or (self.threshold[leaf] < np.inf).any():
            raise ValueError("threshold and missing_right must keep documents in leaves.")


_ARRAYS = [field.name for field in fields(Forest) if field.name != "n_features"]
_RULES = {
    "n_features": count(1),
    "starts": array("int64", "n_starts"),
    "feature": array("uint32", "n_nodes", below="n_features"),
    "threshold": array("float64", "n_nodes", infinite=True),
    "missing_right": array("bool", "n_nodes"),
    "first": array("uint32", "n_nodes", below="n_nodes"),
    "gain": array("float64", "n_nodes"),
    "values": array("float64", "n_nodes", "n_outputs"),
    "tables": array("float64", "n_tables", 256, infinite=True),
    "n_codes": array("int64", "n_tables", at_least=0, at_most=255),
    "table_of_set": array("int64", "n_sets", at_least=0, below="n_tables"),
    "sets": array("uint8", "n_sets", 256, at_most=1),
    "set_of_node": array("int32", "n_nodes", at_least=-1, below="n_sets"),
}
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
