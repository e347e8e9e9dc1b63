"""Grower: one tree, whose leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child. It takes these steps, and threads
share the first two, and the third one of a large leaf:

- sum the histogram of the smaller of two new leaves;
- subtract it from that of their parent, which gives the other one, and find the best split of each
  leaf in some blocks of features. Each thread has neighboring blocks;
- choose the leaf to split next, sort its rows by side, and make two new leaves of it.

Workers go the same way with their own rows: after the first step each adds up the histograms of all
workers for a share of the blocks, and after the second all tell each other the best splits that
they have found. Sums are exact, so trees depend neither on threads nor on workers.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import N_BINS, fill
from treerank.feature_parts.histogram.packing import unpack
from treerank.feature_parts.histogram.partition import CHUNK, join_chunks, part_chunks
from treerank.feature_parts.histogram.splitter import (
    SPLIT,
    Search,
    may_split,
    newton_step,
    search_blocks,
    whole_gain,
)
from treerank.feature_parts.histogram.tree import NODE, Data, Memory, Node, Tree, shares_of
from treerank.numerics.threads import in_parts, in_turn
from treerank.team import Team, current_team

#: From how many bins of eight features on threads share a step; fewer take less than a wake-up.
_SHARED = 16_384
#: Rows of a leaf whose histogram takes as long to fill as a search.
_SEARCH_IN_ROWS = 1500


def grow(data: Data, rows: np.ndarray, memory: Memory) -> Tree:
    """Grow one tree on ``rows``, and sort ``rows`` by leaf."""
    n_most = 2 * len(memory.histograms) - 1
    nodes, goes_left = np.zeros(n_most, dtype=NODE), np.zeros((n_most, N_BINS), dtype=np.uint8)
    tree = Tree(nodes, goes_left, rows)
    nodes[0] = _root(data, rows)
    places = data.binned.places[WIDTH * memory.first_block :]
    search = Search.of(places, data.layout, data.rules)
    n_nodes, new, leaves = 1, [0], []
    while n_nodes < n_most:
        if any(may_split(_node(nodes, number), data.rules) for number in new):
            splits = _best_splits(data, search, tree, new, memory)
            for number, split in zip(new, splits, strict=False):
                gain = whole_gain(float(split["gain"]), _node(nodes, number), data.rules)
                if gain > -np.inf:  # the first among equals is split first
                    depth = nodes["depth"][number] if data.rules.level_by_level else 0
                    heappush(leaves, (depth, -gain, number, split))
        if not leaves:
            break
        _, loss, number, split = heappop(leaves)
        nodes["gain"][number] = -loss
        new = _split(data, tree, (number, n_nodes), split, memory.spare)
        n_nodes += 2
    return Tree(nodes[:n_nodes].copy(), goes_left[:n_nodes].copy(), rows)


def _root(data: Data, rows: np.ndarray) -> Node:
    """Return the root, whose sums are those over the rows of all workers."""
    words = data.words if len(rows) == len(data.words) else data.words[rows]
    total = current_team().total(np.array([column.sum() for column in words.T]))
    sums = np.empty((3, 1))
    unpack(total, 1, data.layout, sums)
    return Node(-1, 0, 0, 0, 0, len(rows), 0, 0, 0.0, *sums[:, 0].tolist(), -np.inf, np.inf)


def _node(nodes: np.ndarray, number: int) -> Node:
    return Node(*nodes[number].item())


def _share(n_bins: int, kernel: Callable[..., None], n: int, *arguments: Any) -> None:
    """Call a kernel for all of ``n`` parts, in threads if it reads many bins."""
    if n_bins < _SHARED:
        kernel(0, n, *arguments)
    else:
        in_parts(kernel, n, *arguments)


def _best_splits(
    data: Data, search: Search, tree: Tree, new: list[int], memory: Memory
) -> np.ndarray:
    """Return the best splits of new leaves, the smaller one first, over all blocks."""
    team, leaves = current_team(), tree.nodes[new]
    small, histograms, splits = leaves[0], memory.histograms, memory.splits
    rows = tree.rows[small["begin"] : small["end"]]
    into = memory.filled if len(memory.filled) else histograms[small["slot"]]
    n_bins = (len(rows) + _SEARCH_IN_ROWS) * len(into)
    filling = fill, data.binned.words, data.words, rows, into
    searching = search_blocks, search, leaves, histograms, splits
    splits["gain"] = -np.inf
    if len(memory.filled):
        _share(n_bins, in_turn(filling), len(into))
        parts = [memory.filled[share] for share in shares_of(len(memory.filled), team.size)]
        histograms[small["slot"]] = team.total_of_own(parts)
        _share(n_bins, in_turn(searching), histograms.shape[1])
    else:
        _share(n_bins, in_turn(filling, searching), len(into))
    best = splits[np.argmax(splits["gain"], axis=0), [0, 1]]
    best["place"] += WIDTH * memory.first_block
    return _told(team, best) if len(memory.filled) else best


def _told(team: Team, own: np.ndarray) -> np.ndarray:
    """Return the best of the splits that workers have found, the first among equals."""
    found = np.frombuffer(b"".join(team.gather(own.tobytes())), dtype=SPLIT).reshape(-1, 2)
    return found[np.argmax(found["gain"], axis=0), [0, 1]]


def _split(
    data: Data, tree: Tree, at: tuple[int, int], split: np.ndarray, spare: np.ndarray
) -> list[int]:
    """Split a leaf, and make two of it; return their numbers, that of the smaller one first.

    ``at`` are the numbers of the leaf and of its left child.
    """
    number, first = at
    nodes, node, goes_left = tree.nodes, _node(tree.nodes, number), tree.goes_left[number]
    place, bin_, missing_left, _, gradient, hessian, count, by_code = split.item()
    description = data.binned.places[place]
    if description["is_category"]:
        goes_left[:] = by_code
    else:
        goes_left[: bin_ + 1] = 1
        goes_left[description["n_values"]] = missing_left
    for name, value in zip(Node._fields, (place, bin_, missing_left, first), strict=False):
        nodes[name][number] = value
    rows, sides = tree.rows[node.begin : node.end], (data.binned.columns[place], goes_left)
    middle = node.begin + _partition(rows, sides, spare)
    left = node._replace(end=middle, gradient=gradient, hessian=hessian, count=count)
    right = node._replace(
        begin=middle,
        gradient=node.gradient - gradient,
        hessian=node.hessian - hessian,
        count=node.count - count,
    )
    left, right = _bounded(left, right, data, description["sign"])
    sisters = [(first, left), (first + 1, right)]
    if left.count > right.count:
        sisters.reverse()
    for (child, leaf), slot in zip(sisters, ((first + 1) // 2, node.slot), strict=True):
        nodes[child] = leaf._replace(depth=node.depth + 1, slot=slot)
    return [child for child, _ in sisters]


def _partition(rows: np.ndarray, sides: tuple[np.ndarray, np.ndarray], spare: np.ndarray) -> int:
    """Sort rows by side; return how many go left."""
    n_chunks = -(-len(rows) // CHUNK)
    ends = np.zeros(n_chunks, dtype=np.int64)
    _share(len(rows), part_chunks, n_chunks, rows, sides, spare, ends)
    ends = np.cumsum(ends)
    _share(len(rows), join_chunks, n_chunks, ends, spare, rows)
    return int(ends[-1]) if n_chunks else 0


def _bounded(left: Node, right: Node, data: Data, sign: int) -> tuple[Node, Node]:
    """Return children with bounds of their values, which are those of their parent before.

    A split by a feature with a monotone constraint narrows them to the middle of its two values.
    """
    if not sign:
        return left, right
    steps = (
        newton_step(node.gradient, node.hessian, data.rules, node.lower, node.upper)
        for node in (left, right)
    )
    middle = sum(steps) / 2
    if sign > 0:
        return left._replace(upper=middle), right._replace(lower=middle)
    return left._replace(lower=middle), right._replace(upper=middle)
