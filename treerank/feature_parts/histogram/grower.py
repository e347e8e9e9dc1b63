"""Grower: one tree, whose leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child. It takes these steps, and threads
share the first two, and the third one of a large leaf:

- sum the histogram of the smaller of two new leaves, if it is large each thread that of some rows;
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

from treerank.feature_parts.histogram import splitter
from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import N_BINS, add_parts, fill
from treerank.feature_parts.histogram.packing import unpack
from treerank.feature_parts.histogram.partition import CHUNK, join_chunks, part_chunks
from treerank.feature_parts.histogram.tree import NODE, Data, Memory, Node, Tree, shares_of
from treerank.numerics.threads import in_parts, in_turn
from treerank.team import current_team

#: From how many bins of eight features on threads share a step; fewer take less than a wake-up.
_SHARED = 16_384
#: Rows of a leaf whose histogram takes as long to fill as a search.
_SEARCH_IN_ROWS = 1500
#: Fewest rows of a part, per word: to fill them takes four times as long as to add the part.
_ROWS_OF_PART = 1500
_PAIR = np.arange(2)


def grow(data: Data, rows: np.ndarray, memory: Memory) -> Tree:
    """Grow one tree on ``rows``, and sort ``rows`` by leaf."""
    n_most, rules = 2 * len(memory.histograms) - 1, data.rules
    leaves: list[tuple[int, float, int, splitter.BestSplit]] = []
    goes_left = np.zeros((n_most, N_BINS), dtype=np.uint8)
    nodes, new = [_root(data, rows)], [0]
    open_groups = {0: np.ones(len(data.groups), dtype=bool)}  # that all features above are of
    records = splitter.record_of(data.layout), splitter.record_of(rules)
    while len(nodes) < n_most:
        pair = [nodes[number] for number in new]
        if any(splitter.may_split(leaf, rules) for leaf in pair):
            places = data.binned.places.copy()
            places["usable"] &= data.groups[open_groups[new[0]]].any(axis=0)
            search = splitter.SplitSearch(places[WIDTH * memory.first_block :], *records)
            splits = _best_splits(data, search, rows, pair, memory)
            for number, leaf, split in zip(new, pair, splits, strict=False):
                gain = splitter.whole_gain(split.gain, leaf, rules)
                if gain > -np.inf:  # the first among equals is split first
                    depth = leaf.depth if rules.level_by_level else 0
                    heappush(leaves, (depth, -gain, number, split))
        if not leaves:
            break
        _, loss, number, split = heappop(leaves)
        leaf, sides = nodes[number], (data.binned.columns[split.place], goes_left[number])
        _set_sides(sides[1], split, data.binned.places[split.place])
        middle = leaf.begin + _partition(rows[leaf.begin : leaf.end], sides, memory.spare)
        new, children = _children(leaf, len(nodes), split, middle, data)
        nodes[number] = Node(*split[:3], len(nodes), *leaf[4:8], -loss, *leaf[9:])
        nodes += children
        open_groups |= dict.fromkeys(new, open_groups[number] & data.groups[:, split.place])
    return Tree(np.array(nodes, dtype=NODE), goes_left[: len(nodes)].copy(), rows)


def _root(data: Data, rows: np.ndarray) -> Node:
    """Return the root, whose sums are those over the rows of all workers."""
    words = data.words if len(rows) == len(data.words) else data.words[rows]
    total = current_team().total(np.array([column.sum() for column in words.T]))
    sums = np.empty((3, 1))
    unpack(total, 1, data.layout, sums)
    g, h, n = sums[:, 0].tolist()
    return Node(-1, 0, 0, 0, 0, len(rows), 0, 0, 0.0, g, h, n, -np.inf, np.inf)


def _share(n_bins: int, kernel: Callable[..., None], n: int, *arguments: Any) -> None:
    """Call a kernel for all of ``n`` parts, in threads if it reads many bins."""
    if n_bins < _SHARED:
        kernel(0, n, *arguments)
    else:
        in_parts(kernel, n, *arguments)


def _best_splits(
    data: Data, search: splitter.SplitSearch, rows: np.ndarray, pair: list[Node], memory: Memory
) -> list[splitter.BestSplit]:
    """Return the best splits of new leaves, the smaller one first, over all blocks."""
    team, small, histograms, splits = current_team(), pair[0], memory.histograms, memory.splits
    into = memory.filled if len(memory.filled) else histograms[small.slot]
    filling = _filling(data, rows[small.begin : small.end], memory, into)
    searching = splitter.search_blocks, search, np.array(pair, dtype=NODE), histograms, splits
    n_bins = (small.end - small.begin + _SEARCH_IN_ROWS) * len(into)
    splits["gain"] = -np.inf
    if len(memory.filled):
        _share(n_bins, in_turn(filling), len(into))
        parts = [memory.filled[share] for share in shares_of(len(memory.filled), team.size)]
        histograms[small.slot] = team.total_of_own(parts)
        _share(n_bins, in_turn(searching), histograms.shape[1])
        splits["place"] += WIDTH * memory.first_block
        told = team.gather(splits[splits["gain"].argmax(axis=0), _PAIR].tobytes())
        splits = np.frombuffer(b"".join(told), dtype=splitter.SPLIT).reshape(-1, 2)
    else:
        _share(n_bins, in_turn(filling, searching), len(into))
    first = splits["gain"].argmax(axis=0).tolist()  # among equals
    found = [splitter.BestSplit(*splits[row, child].item()) for child, row in enumerate(first)]
    return [split._replace(goes_left=split.goes_left.copy()) for split in found]


def _filling(data: Data, rows: np.ndarray, memory: Memory, into: np.ndarray) -> tuple[Any, ...]:
    """Return what threads call for some blocks each to fill the histogram of a leaf.

    Of many rows, each thread has filled that of a part before, and the blocks are added up. So a
    row is fetched once, and by one thread.
    """
    bins, words, near = data.binned.words, data.words, memory.near
    n_parts = min(len(memory.parts), len(rows) // (_ROWS_OF_PART * words.shape[1]))
    if n_parts < 2:
        return fill, (bins, words, near[0]), rows, into
    parts = memory.parts[:n_parts]

    def fill_parts(first: int, last: int) -> None:
        for part in range(first, last):
            own = rows[part * len(rows) // n_parts : (part + 1) * len(rows) // n_parts]
            fill(0, len(into), (bins, words, near[part]), own, parts[part])

    in_parts(fill_parts, n_parts)
    return add_parts, parts, into


def _set_sides(goes_left: np.ndarray, split: splitter.BestSplit, place: np.ndarray) -> None:
    """Write whether each bin goes left."""
    if place["is_category"]:
        goes_left[:] = split.goes_left
    else:
        goes_left[: split.bin + 1] = 1
        goes_left[place["n_values"]] = split.missing_left


def _children(
    leaf: Node, first: int, split: splitter.BestSplit, middle: int, data: Data
) -> tuple[list[int], list[Node]]:
    """Return two new leaves below a leaf, the left one first, and the numbers of both.

    The number of the smaller leaf comes first. ``first`` is that of the left one, and ``middle``
    where its rows end.
    """
    sums = split[4:7]
    g, h, n = (whole - part for whole, part in zip(leaf[9:12], sums, strict=True))
    left_is_small = split.n_documents <= leaf.n_documents - split.n_documents
    slots = ((first + 1) // 2, leaf.slot)[:: 1 if left_is_small else -1]
    depth, bounds = leaf.depth + 1, leaf[12:]
    left = Node(-1, 0, 0, 0, leaf.begin, middle, depth, slots[0], 0.0, *sums, *bounds)
    right = Node(-1, 0, 0, 0, middle, leaf.end, depth, slots[1], 0.0, g, h, n, *bounds)
    new = [first, first + 1] if left_is_small else [first + 1, first]
    return new, _bounded(left, right, data, data.binned.places["sign"][split.place])


def _partition(rows: np.ndarray, sides: tuple[np.ndarray, np.ndarray], spare: np.ndarray) -> int:
    """Sort rows by side; return how many go left."""
    n_chunks = -(-len(rows) // CHUNK)
    ends = np.zeros(n_chunks, dtype=np.int64)
    _share(len(rows) // 8, part_chunks, n_chunks, rows, sides, spare, ends)
    ends = np.cumsum(ends)
    _share(len(rows) // 8, join_chunks, n_chunks, ends, spare, rows)
    return int(ends[-1]) if n_chunks else 0


def _bounded(left: Node, right: Node, data: Data, sign: int) -> list[Node]:
    """Return children with bounds of their values, which are those of their parent before.

    A split by a feature with a monotone constraint narrows them to the middle of its two values.
    """
    if not sign:
        return [left, right]
    steps = (
        splitter.newton_step(node.gradient, node.hessian, data.rules, node.lower, node.upper)
        for node in (left, right)
    )
    middle = sum(steps) / 2
    if sign > 0:
        return [left._replace(upper=middle), right._replace(lower=middle)]
    return [left._replace(lower=middle), right._replace(upper=middle)]
