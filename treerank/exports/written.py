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

    @property
    def roots(self) -> list[int]:
        """Root of each tree."""
        return self.forest.roots.tolist()

    @cached_property
    def sets(self) -> dict[int, list[float]]:
        """The codes of each split by category."""
        sets = self.forest.categories
        if sets is None:
            return {}
        nodes = np.flatnonzero(sets.of_node >= 0)
        codes = np.split(sets.codes, sets.starts[1:-1])
        numbers = sets.of_node[nodes].tolist()
        return {n: codes[i].tolist() for n, i in zip(nodes.tolist(), numbers, strict=True)}

    @cached_property
    def neighbors(self) -> np.ndarray:
        """Nodes tree after tree and level after level, so that children are neighbors."""
        forest = self.forest
        level, tree = forest.roots, np.arange(forest.n_trees)
        found = [(tree, level)]
        while len(level):
            is_split = ~forest.is_leaf[level]
            parents, tree = level[is_split], np.repeat(tree[is_split], 2)
            level = np.stack([forest.left[parents], forest.right[parents]], axis=1).ravel()
            found.append((tree, level))
        trees, nodes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return nodes[np.argsort(trees, kind="stable")]

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
