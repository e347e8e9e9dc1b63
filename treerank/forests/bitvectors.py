"""Bit vectors: the splits of a forest, arranged for scoring without following paths [1]_.

The leaves of a tree are the bits of a word, from left to right. At first all bits of a document are
1. Each split sets the bits of the leaves on its other side to 0. After all splits, in any order,
the lowest bit that is 1 is the leaf of the document.

References
----------
.. [1] Lucchese et al. (2015). QuickScorer: a fast algorithm to rank documents with additive
   ensembles of regression trees. SIGIR.
"""

from typing import Any, NamedTuple

import numpy as np

#: Bits of a word.
N_BITS = 64
_ALL = np.uint64(2**64 - 1)


class BitVectors(NamedTuple):
    """The splits and leaves of a forest, tree after tree.

    A column is what splits compare with their thresholds: a feature with missing values on one
    side, or for a split by category 0 for documents that go left and 1 for others.

    Attributes
    ----------
    feature : ndarray of int64, shape (n_columns,)
        Feature of each column.
    missing_left : ndarray of bool, shape (n_columns,)
        Whether missing values go left.
    set_node : ndarray of int64, shape (n_columns,)
        The split by category of the column; -1 for columns of numbers.
    column : ndarray of int64, shape (n_splits,)
        Column of each split.
    threshold : ndarray of float64, shape (n_splits,)
        Largest value that goes left.
    kept_left, kept_right : ndarray of uint64, shape (n_splits,)
        Bits that remain if a document goes left, and if it goes right.
    split_starts, leaf_starts : ndarray of int64, shape (n_trees + 1,)
        First split and first leaf of each tree.
    values : ndarray of float64, shape (n_leaves, n_values)
        Values of each leaf.
    """

    feature: np.ndarray
    missing_left: np.ndarray
    set_node: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    kept_left: np.ndarray
    kept_right: np.ndarray
    split_starts: np.ndarray
    leaf_starts: np.ndarray
    values: np.ndarray


def make_bitvectors(forest: Any) -> BitVectors | None:
    """Return the splits of a forest as bit vectors.

    Parameters
    ----------
    forest : Forest
        The trees.

    Returns
    -------
    BitVectors or None
        ``None`` if a tree has more than 64 leaves.
    """
    is_leaf = forest.is_leaf
    tree, (first, size) = forest.tree_of_node, _number_leaves(forest)
    if (size > N_BITS).any():
        return None
    splits, leaves = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    splits = splits[np.argsort(tree[splits], kind="stable")]
    leaves = leaves[np.lexsort((first[leaves], tree[leaves]))]
    by_set = forest.is_by_set[splits]
    # Columns of numbers have a number from 0 on, those of a split by category one below 0.
    key = forest.feature[splits] * np.int64(2) + forest.missing_left[splits]
    keys, column = np.unique(np.where(by_set, -1 - splits, key), return_inverse=True)
    set_node = np.where(keys < 0, -1 - keys, -1)
    without_left, without_right = (
        ~_bits(first[child], (first + size)[child])
        for child in (forest.left[splits], forest.right[splits])
    )
    bounds = np.arange(forest.n_trees + 1)
    return BitVectors(
        feature=np.where(keys < 0, forest.feature[set_node], keys // 2),
        missing_left=keys % 2 == 1,
        set_node=set_node,
        column=column,
        threshold=np.where(by_set, 0.5, forest.threshold[splits]),
        kept_left=without_right,
        kept_right=without_left,
        split_starts=np.searchsorted(tree[splits], bounds),
        leaf_starts=np.searchsorted(tree[leaves], bounds),
        values=forest.values[leaves],
    )


def _bits(begin, end):
    """Return words whose bits from ``begin`` to ``end`` are 1."""
    ones = np.append(np.uint64(2) ** np.arange(N_BITS, dtype=np.uint64) - np.uint64(1), _ALL)
    return ones[end] & ~ones[begin]


def _number_leaves(forest):
    """Return the first leaf below each node and the number of leaves there."""
    first, size = np.zeros((2, forest.n_nodes), dtype=np.int64)
    size[forest.is_leaf] = 1
    splits = [nodes[forest.feature[nodes] >= 0] for nodes, _ in forest.by_depth]
    levels = [(nodes, forest.left[nodes], forest.right[nodes]) for nodes in splits]
    for nodes, left, right in reversed(levels):
        size[nodes] = size[left] + size[right]
    for nodes, left, right in levels:
        first[left], first[right] = first[nodes], first[nodes] + size[left]
    return first, size
