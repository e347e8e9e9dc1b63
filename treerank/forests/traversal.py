"""Traversal: the nodes of a forest, arranged so that several documents go down a tree together.

The children of a split are neighbors, so that a comparison is added to the place of the left one.
A leaf is its own child, so that documents wait there for others. Nothing depends on a guess of the
processor, and it fetches the nodes of some documents while it waits for those of others.
"""

from typing import Any, NamedTuple

import numpy as np


class Traversal(NamedTuple):
    """The nodes of a forest, tree after tree.

    A column is a feature with missing values on one side. The last column is 0, which leaves
    compare with infinity.
    """

    #: For each column its feature, whether missing values go left, and -1: none is of categories.
    feature: np.ndarray
    missing_left: np.ndarray
    set_node: np.ndarray
    #: Place of each root.
    roots: np.ndarray
    #: For each node its column, the largest value that goes left, the place of its left child (or
    #: of the leaf itself), and its values.
    column: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    values: np.ndarray


def make_traversal(forest: Any) -> Traversal | None:
    """Return the nodes of a forest in the order of a traversal; None with splits by category."""
    if forest.categories is not None:
        return None
    order, place = forest.by_tree, forest.place_by_tree
    is_leaf, (keys, column) = forest.is_leaf, column_keys(forest)
    return Traversal(
        feature=keys // 2,
        missing_left=keys % 2 == 1,
        set_node=np.full(len(keys), -1),
        roots=place[forest.roots],
        column=column[order].astype(np.int32),
        threshold=np.where(is_leaf, np.inf, forest.threshold)[order],
        child=np.where(is_leaf, place, place[forest.left])[order].astype(np.int32),
        values=forest.values[order],
    )


def column_keys(forest: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the key of each column, and the column of each node; leaves have the last one.

    A key is twice a feature, plus 1 if missing values go left.
    """
    is_number = ~forest.is_leaf & ~forest.is_by_set
    keys = forest.feature * np.int64(2) + forest.missing_left
    found, place = np.unique(keys[is_number], return_inverse=True)
    column = np.full(forest.n_nodes, len(found))
    column[is_number] = place
    return found, column
