"""Written forest: what a format writes, and the order of nodes that most formats use."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from treerank.forests.forest import Forest


@dataclass(frozen=True, eq=False)
class Written:
    """A forest of one output, and its thresholds as the program that reads it needs them.

    Attributes
    ----------
    forest : Forest
        The trees.
    thresholds : ndarray of shape (n_nodes,)
        Thresholds to write.
    names : list of str
        Names of the features.
    """

    forest: Forest
    thresholds: np.ndarray
    names: list[str]

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """The arrays of the forest as lists, which Python reads faster one by one."""
        forest = self.forest
        arrays = {
            "feature": forest.feature,
            "left": forest.left,
            "right": forest.right,
            "missing_left": forest.missing_left,
            "value": forest.values[:, 0],
            "threshold": self.thresholds,
        }
        return {name: array.tolist() for name, array in arrays.items()}

    def nested(self, root: int, split: Any, leaf: Any) -> Any:
        """Return a tree of nested values, made from its leaves upwards.

        Parameters
        ----------
        root : int
            Node to begin with.
        split : callable
            ``split(node, left, right)`` returns the value of a split from those of its children.
        leaf : callable
            ``leaf(node)`` returns the value of a leaf.
        """
        left, right = self.columns["left"], self.columns["right"]
        made: dict[int, Any] = {}
        for node in reversed(self.nodes_of(root)):
            if left[node] < 0:
                made[node] = leaf(node)
            else:
                made[node] = split(node, made.pop(left[node]), made.pop(right[node]))
        return made[root]

    def nodes_of(self, root: int) -> list[int]:
        """Return the nodes of a tree, parents before children, left before right."""
        left, right = self.columns["left"], self.columns["right"]
        waiting, nodes = [root], []
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            if left[node] >= 0:
                waiting += [right[node], left[node]]
        return nodes


def shortest(number: float, *, single: bool = False) -> str:
    """Return the shortest text that is read as this number again.

    Examples
    --------
    >>> shortest(0.1), shortest(0.1, single=True)
    ('0.1', '0.1')
    """
    return repr(float(number)) if not single else str(np.float32(number))
