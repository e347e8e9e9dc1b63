"""Written forest: what a format writes, tree after tree, in the order that most formats use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from treerank.feature_parts.linear_component import LinearComponent
from treerank.feature_parts.network_component import Network
from treerank.forests.forest import Forest

T = TypeVar("T")


class Node(NamedTuple):
    """A node of a tree, whose nodes are listed with parents before children, left before right.

    So the left child of a split is the next node.

    Attributes
    ----------
    number : int
        Index in the list, from 0.
    feature : int
        Feature of a split; -1 in leaves.
    threshold : float
        Threshold to write for a split.
    right : int
        Index of the right child of a split.
    missing_left : bool
        Whether missing values go left.
    value : float
        Value of a leaf.
    depth : int
        Number of splits above.
    n_leaves : int
        Number of leaves below a split; 1 for a leaf.
    codes : list of float or None
        The codes that go left at a split by category.
    """

    #: Place in the list, from 0.
    number: int
    #: Feature of a split; -1 in leaves.
    feature: int
    #: Threshold to write for a split.
    threshold: float
    #: Index of the right child of a split.
    right: int
    missing_left: bool
    #: Value of a leaf.
    value: float
    #: Number of splits above.
    depth: int
    #: Number of leaves below a split; 1 for a leaf.
    n_leaves: int
    #: The codes of a split by category.
    codes: list[float] | None


def nested(tree: list[Node], leaf: Callable[[Node], T], split: Callable[[Node, T, T], T]) -> T:
    """Fold a tree from its leaves to its root, and return the result of the root.

    ``leaf(node)`` is the result of a leaf, and ``split(node, left, right)`` is the result of a
    split, given the results of its two children.
    """
    made: dict[int, T] = {}
    for node in reversed(tree):
        if node.feature < 0:
            made[node.number] = leaf(node)
        else:
            made[node.number] = split(node, made.pop(node.number + 1), made.pop(node.right))
    return made[0]


@dataclass(frozen=True, eq=False)
class Written:
    """What a format writes: a forest of one output, and what is added to its scores.

    Attributes
    ----------
    forest : Forest
        The trees.
    thresholds : ndarray of shape (n_nodes,)
        Thresholds as the program needs them.
    names : list of str
        Names of the features in the file.
    linear : LinearComponent or None
        Linear model to add.
    networks : tuple of Network
        Networks to add.
    log_odds : ndarray of shape (n_lines, 2) or None
        Slopes and intercepts of linear functions of the score, of which the lowest value is the log
        odds of relevance.
    levels : dict from int to list
        Categories by index of the column, in the order of their codes, as far as known.
    prefix : str
        Beginning of the names of functions, or name of the table, for formats that have these.
    booleans : frozenset of int
        Columns of truth values in the documents of the check, as far as known.
    """

    forest: Forest
    thresholds: np.ndarray
    names: list[str]
    linear: LinearComponent | None = None
    networks: tuple[Network, ...] = ()
    log_odds: np.ndarray | None = None
    levels: dict[int, list[Any]] = field(default_factory=dict)
    prefix: str = "treerank"
    booleans: frozenset[int] = frozenset()

    @property
    def levels_by_name(self) -> dict[str, list[Any]]:
        """The categories of columns by the names in the file."""
        return {self.names[j]: levels for j, levels in sorted(self.levels.items())}

    @cached_property
    def sets(self) -> dict[int, list[float]]:
        """The codes that go left at each split by category, by index of the node."""
        sets = self.forest.categories
        if sets is None:
            return {}
        nodes = np.flatnonzero(sets.of_node >= 0)
        codes = np.split(sets.codes, sets.starts[1:-1])
        numbers = sets.of_node[nodes].tolist()
        return {n: codes[i].tolist() for n, i in zip(nodes.tolist(), numbers, strict=True)}

    def trees(self) -> Iterator[list[Node]]:
        """Yield the list of nodes of each tree."""
        forest = self.forest
        preorder_index, sizes, depth = forest.preorder
        n_leaves = (sizes + 1) // 2  # every split has two children
        order = np.argsort(preorder_index)
        begins = preorder_index[forest.roots]
        for begin, size in zip(begins.tolist(), sizes[forest.roots].tolist(), strict=True):
            nodes = order[begin : begin + size]
            columns = (
                np.arange(size),
                forest.feature[nodes],
                self.thresholds[nodes],
                preorder_index[forest.right[nodes]] - begin,
                forest.missing_left[nodes],
                forest.values[nodes, 0],
                depth[nodes],
                n_leaves[nodes],
            )
            codes = map(self.sets.get, nodes.tolist())
            rows = zip(*(column.tolist() for column in columns), codes, strict=True)
            yield [Node(*row) for row in rows]
