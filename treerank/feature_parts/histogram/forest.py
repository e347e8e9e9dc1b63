"""Forest: the fitted trees, in terms of features rather than bins, as arrays over all nodes."""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from treerank.feature_parts.histogram.quickscorer import find_strikes


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose nodes lie one after the other, a root before its tree.

    A document goes from node ``i`` to node ``first[i]``, or to the next one if its feature is
    larger than the threshold, or missing and ``missing_right``. A leaf leads to itself.

    Attributes
    ----------
    n_features : int
        Columns of X.
    starts : ndarray of int64, shape (n_trees + 1,)
        Root of each tree, and the number of nodes.
    feature, threshold, missing_right, first : ndarray of shape (n_nodes,)
        See above.
    gain : ndarray of shape (n_nodes,)
        What the split gained; 0 in leaves.
    values : ndarray of shape (n_nodes, n_outputs)
        Values of leaves; 0 elsewhere.
    set_of_node : ndarray of int32, shape (n_nodes,)
        Which of ``sets`` goes left at a split of categories; -1 elsewhere.
    sets : ndarray of uint8, shape (n_sets, 256)
        1 for each place in a table of codes that goes left; unknown codes and missing values
        have the place after the last.
    table_of_set : ndarray of int64, shape (n_sets,)
        Which of ``tables`` that is.
    tables : ndarray of shape (n_tables, 256)
        Codes, sorted, padded with infinity.
    n_codes : ndarray of int64, shape (n_tables,)
        Codes in each table.
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
    def n_trees(self):
        """Number of trees."""
        return len(self.starts) - 1

    @property
    def n_outputs(self):
        """Number of values of a leaf."""
        return self.values.shape[1]

    @property
    def is_leaf(self):
        """Whether each node is a leaf."""
        return self.first == np.arange(len(self.first))

    @cached_property
    def most_leaves(self):
        """Most leaves of a tree; every split adds one."""
        return (int(np.diff(self.starts).max(initial=1)) + 1) // 2

    @cached_property
    def strikes(self):
        """The splits, as they are predicted with."""
        return find_strikes(self)

    @cached_property
    def values_of_leaves(self):
        """The values of leaves, in the order of those of ``strikes``."""
        return self.values[self.strikes.leaves]

    def __getstate__(self):
        """Leave out what follows from the rest."""
        return self.as_state()

    def first_trees(self, n_trees):
        """Keep the first trees."""
        return self._trees(0, n_trees)

    def last_trees(self, n_trees):
        """Keep the last trees."""
        return self._trees(self.n_trees - n_trees, self.n_trees)

    def faded(self, share):
        """Multiply all values by ``share``."""
        return self if share == 1 else replace(self, values=self.values * share)

    def _trees(self, begin, end):
        starts = self.starts[begin : end + 1]
        per_node = {name: getattr(self, name)[starts[0] : starts[-1]] for name in _PER_NODE}
        per_node["first"] = per_node["first"] - np.uint32(starts[0])
        return replace(self, starts=starts - starts[0], **per_node)

    def followed_by(self, other):
        """Return the trees of both."""
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

    def as_state(self):
        """Return plain numbers and arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_ARRAYS = [field.name for field in fields(Forest) if field.name != "n_features"]
_PER_NODE = ("feature", "threshold", "missing_right", "first", "gain", "values", "set_of_node")


def make_forest(trees, values, binned, bins):
    """Translate grown trees from bins to features.

    Parameters
    ----------
    trees : list of GrownTree
        The trees.
    values : list of ndarray of shape (n_nodes, n_outputs)
        Values of their leaves.
    binned, bins : Binned and Bins
        What the trees were grown on.
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
    threshold = np.where(by_number, bins.bounds[feature, last], np.inf)
    # Bounds end with infinity, above which nothing is: all values left, missing ones right.
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
