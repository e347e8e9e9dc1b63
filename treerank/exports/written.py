"""Written forest: what a format writes, tree after tree, in the order that most formats use."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treerank.feature_parts.linear_term import LinearTerm
from treerank.feature_parts.network_term import Network
from treerank.forests.forest import Forest


@dataclass(frozen=True, eq=False)
class WrittenTree:
    """A tree as lists over its nodes, parents before children and left before right.

    So the left child of a split is the next node. A node is told by its place in the lists.
    """

    #: Feature of each split; -1 in leaves.
    feature: list[int]
    #: Threshold to write for each split.
    threshold: list[float]
    #: Right child of each split.
    right: list[int]
    missing_left: list[bool]
    #: Value of each leaf.
    value: list[float]
    #: Number of splits above each node.
    depth: list[int]
    #: The codes of each split by category.
    sets: dict[int, list[float]]

    def nested(self, texts: list[str], between: str, end: str) -> str:
        """Return a text of texts: that of each leaf, and the begin of that of each split.

        After the left child of a split ``between`` is written, and ``end`` after the right one.
        """
        tails = [end * n + between for n in range(max(self.depth) + 1)]
        next_depth = [*self.depth[1:], 0]
        parts = [
            text if following > depth else text + tails[depth - following]
            for text, depth, following in zip(texts, self.depth, next_depth, strict=True)
        ]
        whole = "".join(parts)
        return whole[: len(whole) - len(between)]


@dataclass(frozen=True, eq=False)
class Written:
    """A forest of one output, its thresholds as the program needs them, and what is added."""

    forest: Forest
    thresholds: np.ndarray
    names: list[str]
    line: LinearTerm | None = None
    networks: tuple[Network, ...] = ()

    def line_of_names(self) -> Iterator[tuple[str, float, float]]:
        """Yield the name, the factor and the constant of each feature that the line has."""
        if self.line is not None:
            for j in self.line.features:
                yield self.names[j], float(self.line.coef[j]), float(self.line.offset[j])

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

    def trees(self) -> Iterator[WrittenTree]:
        """Yield tree after tree."""
        forest = self.forest
        place, sizes, depth = forest.preorder
        order = np.empty(forest.n_nodes, dtype=np.int32)
        order[place] = np.arange(forest.n_nodes)
        begins = place[forest.roots]
        for begin, size in zip(begins.tolist(), sizes[forest.roots].tolist(), strict=True):
            nodes = order[begin : begin + size]
            own = enumerate(nodes.tolist()) if self.sets else ()
            yield WrittenTree(
                feature=forest.feature[nodes].tolist(),
                threshold=self.thresholds[nodes].tolist(),
                right=(place[forest.right[nodes]] - begin).tolist(),
                missing_left=forest.missing_left[nodes].tolist(),
                value=forest.values[nodes, 0].tolist(),
                depth=depth[nodes].tolist(),
                sets={i: self.sets[node] for i, node in own if node in self.sets},
            )
