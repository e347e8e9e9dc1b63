"""Layouts: the nodes of a forest, arranged in the two ways in which scoring reads them.

Bit vectors score without following paths [1]_. The leaves of a tree are the bits of a 64-bit mask,
from left to right. At first all bits of a document are 1. Each split sets the bits of the leaves on
its other side to 0. After all splits, in any order, the lowest bit that is 1 is the leaf of the
document.

In a traversal, several documents go down a tree together. The children of a split are neighbors:
the result of a comparison is added to the index of the left one. A leaf is its own child, so that
documents wait there for others. No step depends on a branch prediction, and the processor loads
the nodes of some documents while it waits for those of others.

References
----------
.. [1] Lucchese et al. (2015). QuickScorer: a fast algorithm to rank documents with additive
   ensembles of regression trees. SIGIR.
"""

from typing import Any, NamedTuple

import numpy as np

#: Bits of a mask.
N_BITS = 64
_ALL = np.uint64(2**64 - 1)


class BitVectors(NamedTuple):
    """Splits and leaves of a forest, tree after tree, for scoring by bit vectors.

    A column holds the values that splits compare with their thresholds: a feature whose missing
    values go to one side, or, for a split by category, 0 for documents that go left and 1 for
    others.
    """

    #: Feature of each column, whether its missing values go left, and the node of its split by
    #: category; -1 for a column of numbers.
    feature: np.ndarray
    missing_left: np.ndarray
    set_node: np.ndarray
    #: Column of each split, the largest value that goes left, and the masks (uint64) of the leaves
    #: that a document can still reach after it went left, and after it went right.
    column: np.ndarray
    threshold: np.ndarray
    kept_left: np.ndarray
    kept_right: np.ndarray
    #: First split and first leaf of each tree; a last entry has the number of splits and leaves.
    split_starts: np.ndarray
    leaf_starts: np.ndarray
    #: Values of each leaf, of shape (n_leaves, n_values).
    values: np.ndarray


def make_bitvectors(forest: Any) -> BitVectors | None:
    """Return the splits of a forest as bit vectors; None if a tree has more than 64 leaves."""
    position, n_nodes, _ = forest.preorder
    n_leaves = (n_nodes + 1) // 2  # below each node
    if (n_leaves > N_BITS).any():
        return None
    order = np.argsort(position)
    tree, is_leaf = forest.tree_of_node, forest.is_leaf[order]
    splits, leaves = order[~is_leaf], order[is_leaf]
    before = (np.cumsum(is_leaf) - is_leaf)[position]  # leaves of all trees left of each node
    first = before - before[forest.roots][tree]
    by_set = forest.is_by_set[splits]
    # Keys of columns of numbers are at least 0, keys of splits by category are negative.
    key = forest.feature[splits] * np.int64(2) + forest.missing_left[splits]
    keys, column = np.unique(np.where(by_set, -1 - splits, key), return_inverse=True)
    set_node = np.where(keys < 0, -1 - keys, -1)
    mask_without_left, mask_without_right = (
        ~_bits(first[child], (first + n_leaves)[child])
        for child in (forest.left[splits], forest.right[splits])
    )
    bounds = np.arange(forest.n_trees + 1)
    return BitVectors(
        feature=np.where(keys < 0, forest.feature[set_node], keys // 2),
        missing_left=keys % 2 == 1,
        set_node=set_node,
        column=column,
        threshold=np.where(by_set, 0.5, forest.threshold[splits]),
        kept_left=mask_without_right,
        kept_right=mask_without_left,
        split_starts=np.searchsorted(tree[splits], bounds),
        leaf_starts=np.searchsorted(tree[leaves], bounds),
        values=forest.values[leaves],
    )


def _bits(begin, end):
    """Return an array of masks; the bits from ``begin`` to ``end`` - 1 of each are 1."""
    ones = np.append(np.uint64(2) ** np.arange(N_BITS, dtype=np.uint64) - np.uint64(1), _ALL)
    return ones[end] & ~ones[begin]


class Traversal(NamedTuple):
    """Nodes of a forest, tree after tree, for documents that go down a tree together.

    A column is a feature whose missing values go to one side. The last column is 0 for all
    documents: leaves compare it with infinity.
    """

    #: Feature of each column, whether its missing values go left, and -1: no splits by category.
    feature: np.ndarray
    missing_left: np.ndarray
    set_node: np.ndarray
    #: Index of each root.
    roots: np.ndarray
    #: Column of each node, the largest value that goes left, the index of its left child (or of
    #: the leaf itself), and its values.
    column: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    values: np.ndarray


def make_traversal(forest: Any) -> Traversal | None:
    """Return the nodes of a forest as a traversal; None if there are splits by category."""
    if forest.categories is not None:
        return None
    order, index = forest.by_tree, forest.index_by_tree
    is_leaf, (keys, column) = forest.is_leaf, column_keys(forest)
    return Traversal(
        feature=keys // 2,
        missing_left=keys % 2 == 1,
        set_node=np.full(len(keys), -1),
        roots=index[forest.roots],
        column=column[order].astype(np.int32),
        threshold=np.where(is_leaf, np.inf, forest.threshold)[order],
        child=np.where(is_leaf, index, index[forest.left])[order].astype(np.int32),
        values=forest.values[order],
    )


def column_keys(forest: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(keys, column)``: the key of each column, and the column of each node.

    A key is twice a feature, plus 1 if missing values go left. Leaves and splits by category have
    the number behind the last column.
    """
    is_number = ~forest.is_leaf & ~forest.is_by_set
    keys = forest.feature * np.int64(2) + forest.missing_left
    column_key, column_of_split = np.unique(keys[is_number], return_inverse=True)
    column = np.full(forest.n_nodes, len(column_key))
    column[is_number] = column_of_split
    return column_key, column
