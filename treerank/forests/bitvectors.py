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
    """

    #: For each column its feature, whether missing values go left, and its split by category; -1
    #: if it is a column of numbers.
    feature: np.ndarray
    missing_left: np.ndarray
    set_node: np.ndarray
    #: For each split its column, the largest value that goes left, and the bits (uint64) that
    #: remain if a document goes left, and if it goes right.
    column: np.ndarray
    threshold: np.ndarray
    kept_left: np.ndarray
    kept_right: np.ndarray
    #: First split and first leaf of each tree, and one more entry: the number of all.
    split_starts: np.ndarray
    leaf_starts: np.ndarray
    #: Values of each leaf, of shape (n_leaves, n_values).
    values: np.ndarray


def make_bitvectors(forest: Any) -> BitVectors | None:
    """Return the splits of a forest as bit vectors; None if a tree has more than 64 leaves."""
    place, n_nodes, _ = forest.preorder
    n_leaves = (n_nodes + 1) // 2  # from each node on
    if (n_leaves > N_BITS).any():
        return None
    order = np.argsort(place)
    tree, is_leaf = forest.tree_of_node, forest.is_leaf[order]
    splits, leaves = order[~is_leaf], order[is_leaf]
    before = (np.cumsum(is_leaf) - is_leaf)[place]  # leaves of all trees left of each node
    first = before - before[forest.roots][tree]
    by_set = forest.is_by_set[splits]
    # Columns of numbers have a number from 0 on, those of a split by category one below 0.
    key = forest.feature[splits] * np.int64(2) + forest.missing_left[splits]
    keys, column = np.unique(np.where(by_set, -1 - splits, key), return_inverse=True)
    set_node = np.where(keys < 0, -1 - keys, -1)
    without_left, without_right = (
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
