"""Growing forest: trees that are read node after node, parents before children."""

import math
from array import array
from typing import Any

import numpy as np

from treerank.forests.forest import Forest


class GrowingForest:
    """Arrays of the nodes that were read so far; a node is a leaf until it is split.

    They are those of :class:`~treerank.forests.forest.Forest`. The value of a leaf is NaN, which
    no forest takes, until it is set.

    Examples
    --------
    >>> growing = GrowingForest()
    >>> left, right = growing.split(growing.add_tree(), 0, 0.5, True)
    >>> growing.values[left], growing.values[right] = 1.0, 2.0
    >>> growing.forest(1).n_nodes
    3
    """

    def __init__(self) -> None:
        self.roots, self.feature, self.left, self.right = (array("i") for _ in range(4))
        self.missing_left = array("i")
        self.threshold, self.values = array("d"), array("d")

    def add_tree(self, value: float = math.nan) -> int:
        """Add a tree of one leaf and return its root."""
        self.roots.append(self._add())
        self.values[-1] = value
        return self.roots[-1]

    def split(
        self, node: int, feature: int, threshold: float, missing_left: bool
    ) -> tuple[int, int]:
        """Split a leaf and return its children."""
        self.feature[node], self.threshold[node] = feature, threshold
        self.missing_left[node], self.values[node] = missing_left, 0.0
        self.left[node], self.right[node] = self._add(), self._add()
        return self.left[node], self.right[node]

    def forest(self, n_features: int, **fields: Any) -> Forest:
        """Return the forest of all trees."""
        return Forest(
            n_features=n_features,
            roots=np.array(self.roots, dtype=np.int32),
            feature=np.array(self.feature, dtype=np.int32),
            threshold=np.array(self.threshold, dtype=np.float64),
            left=np.array(self.left, dtype=np.int32),
            right=np.array(self.right, dtype=np.int32),
            missing_left=np.array(self.missing_left, dtype=bool),
            values=np.array(self.values, dtype=np.float64)[:, None],
            tree_output=np.zeros(len(self.roots), dtype=np.int32),
            constant=np.zeros(1),
            **fields,
        )

    def _add(self) -> int:
        for column in (self.feature, self.left, self.right):
            column.append(-1)
        self.threshold.append(0.0)
        self.missing_left.append(False)
        self.values.append(math.nan)
        return len(self.values) - 1
