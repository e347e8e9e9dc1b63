"""Growing of one tree: its leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child. Threads share the work by blocks of
features: one thread sums a block. Sums are exact, so trees do not depend on the number of threads,
nor on that of workers. Each worker adds up the histograms of all workers for a share of the blocks,
and searches that for splits; then all tell each other the best ones they have found.
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from treerank.feature_parts.histogram.binned import WIDTH, Binned
from treerank.feature_parts.histogram.buffers import Buffers, TreeLimits, shares_of
from treerank.feature_parts.histogram.categories import best_set
from treerank.feature_parts.histogram.histograms import N_BINS, STRIDE, fill, subtract
from treerank.feature_parts.histogram.packed_derivatives import Layout, add_up
from treerank.feature_parts.histogram.partition import partition_rows
from treerank.feature_parts.histogram.splits import SPLIT, Rules, best_cut, finish_gain, newton_step
from treerank.numerics.compiling import njit, register_jitable
from treerank.team import current_team

GROW_POLICIES = {"leafwise": False, "depthwise": True}
#: Steps of a search.
_FILL, _CUT = 1, 2

#: A node of a growing tree:
#:
#: - place: byte of the words that holds the feature that splits it, see ``binned.PLACE``; -1 in a
#:   leaf.
#: - bin, missing_left: the last bin that goes left, and whether missing values go left.
#: - first: the left child; the right child is the node after it.
#: - gain: gain of the split.
#: - begin, end: its rows of this worker, as a range of the sorted rows.
#: - depth: number of splits above it.
#: - slot: number of its histogram.
#: - gradient, hessian, count: sums over its rows of all workers.
#: - lower, upper: bounds of its value, from monotone constraints.
_INTEGERS = ("place", "bin", "missing_left", "first", "begin", "end", "depth", "slot")
_NUMBERS = ("gain", "gradient", "hessian", "count", "lower", "upper")
_FIELDS = [(name, np.int64) for name in _INTEGERS] + [(name, np.float64) for name in _NUMBERS]
NODE = np.dtype((np.record, _FIELDS))


class GrownTree(NamedTuple):
    """A tree whose splits are by bins.

    Attributes
    ----------
    nodes : ndarray of NODE
        The nodes, the root first.
    goes_left : ndarray of uint8, shape (n_nodes, 256)
        Whether each bin of the feature of a node goes left.
    """

    nodes: np.ndarray
    goes_left: np.ndarray


def grow(
    binned: Binned,
    words: np.ndarray,
    layout: Layout,
    rules: Rules,
    limits: TreeLimits,
    rows: np.ndarray,
    buffers: Buffers,
) -> GrownTree:
    """Grow one tree on ``rows``, and sort ``rows`` by leaf.

    Parameters
    ----------
    binned : Binned
        Bins of all rows.
    words : ndarray of int64
        Derivatives of all rows, see :mod:`~treerank.feature_parts.histogram.packed_derivatives`.
    layout : Layout
        The bits of a word that hold gradient, hessian and count.
    rules : Rules
        Rules for splits.
    limits : TreeLimits
        Limits of the size of the tree.
    rows : ndarray of uint32
        Rows to grow on; sorted by leaf in place.
    buffers : Buffers
        Memory.

    Returns
    -------
    GrownTree
        The tree.
    """
    n_most = 2 * len(buffers.histograms) - 1
    nodes, best = np.zeros(n_most, dtype=NODE), np.zeros(n_most, dtype=SPLIT)
    nodes["place"], nodes["lower"], nodes["upper"] = -1, -np.inf, np.inf
    best["gain"] = -np.inf
    goes_left = np.zeros((n_most, N_BINS), dtype=np.uint8)
    team = current_team()
    _write_root(team.total(_total(words, rows, layout.n_words)), len(rows), layout, nodes)
    pair = np.array([0, -1])  # the leaves to search next
    steps = binned, words, layout, rules, limits, rows, buffers, nodes, best, goes_left, pair
    n = _grow(*steps) if team.size == 1 else _grow_by_team(team, *steps)
    return GrownTree(nodes[:n].copy(), goes_left[:n].copy())


@njit(error_model="numpy")
def _grow(binned, words, layout, rules, limits, rows, buffers, nodes, best, goes_left, pair):
    """Grow the tree; return the number of its nodes.

    Arrays are in no tuples but those of the arguments: numba compiles much code for others.
    """
    n_nodes = np.int64(1)  # a literal 1 has another type for numba
    while True:
        if _is_worth_a_search(nodes, n_nodes, pair, rules, limits):
            into = buffers.histograms[nodes[pair[0]].slot]
            both = _FILL | _CUT
            _search(both, binned, words, layout, rules, limits, rows, buffers, nodes, pair, into)
            _keep_best(buffers, nodes, pair, best, goes_left, rules)
        n_more = _split_next(
            binned, rules, limits, rows, buffers, nodes, n_nodes, best, goes_left, pair
        )
        if n_more == 0:
            return n_nodes
        n_nodes += n_more


def _grow_by_team(
    team, binned, words, layout, rules, limits, rows, buffers, nodes, best, goes_left, pair
):
    """Grow the tree as ``_grow`` does, with histograms of the rows of all workers."""
    n_nodes = 1
    data = words, layout, rules, limits, rows, buffers, nodes, pair, buffers.filled
    shares = shares_of(len(buffers.filled), team.size)
    own = shares[team.rank]
    places = binned.places[WIDTH * own.start : WIDTH * own.stop]
    while True:
        if _is_worth_a_search(nodes, n_nodes, pair, rules, limits):
            _search_now(_FILL, binned, *data)
            total = team.total_of_own([buffers.filled[share] for share in shares])
            buffers.histograms[nodes["slot"][pair[0]]] = total
            _search_now(_CUT, binned._replace(places=places), *data)
            proposals = _proposals(team, buffers, WIDTH * own.start)
            _keep_best_now(proposals, nodes, pair, best, goes_left, rules)
        tree = nodes, n_nodes, best, goes_left, pair
        n_more = _split_next_now(binned, rules, limits, rows, buffers, *tree)
        if n_more == 0:
            return n_nodes
        n_nodes += n_more


def _proposals(team, buffers, first_place):
    """Return memory with the best splits of each worker, in place of those of each block."""
    own = b"", b""
    if len(buffers.splits):
        block = np.argmax(buffers.splits["gain"], axis=0), [0, 1]
        splits = buffers.splits[block]
        splits["place"] += first_place
        own = splits.tobytes(), buffers.sets[block].tobytes()
    splits, sets = map(b"".join, zip(*team.gather(own), strict=True))
    return buffers._replace(
        splits=np.frombuffer(bytearray(splits), dtype=SPLIT).reshape(-1, 2),
        sets=np.frombuffer(bytearray(sets), dtype=np.uint8).reshape(-1, 2, N_BINS),
    )


@register_jitable(error_model="numpy")
def _split_next(binned, rules, limits, rows, buffers, nodes, n_nodes, best, goes_left, pair):
    """Split the next leaf, whose leaves are the next pair; return how many nodes there are more."""
    node, n_more = _next_leaf(nodes, n_nodes, best, limits.level_by_level), 0
    if node >= 0 and n_nodes < len(nodes):
        _split(binned, nodes, best[node], node, n_nodes, goes_left, rows, buffers, rules)
        right_is_small = np.int64(nodes[n_nodes].count > nodes[n_nodes + 1].count)
        pair[0], pair[1] = n_nodes + right_is_small, n_nodes + 1 - right_is_small
        nodes[pair[0]].slot, nodes[pair[1]].slot = (n_nodes + 1) // 2, nodes[node].slot
        n_more = 2
    return n_more


def _total(words, rows, n_words):
    """Return the sums over all rows of this worker."""
    words = words.reshape(-1, n_words)
    words = words if len(rows) == len(words) else words[rows]
    return np.array([column.sum() for column in words.T])


def _write_root(total, n_rows, layout, nodes):
    """Write the sums over all rows to the root."""
    root = np.empty((4, 1))
    add_up(total, np.int64(1), layout, root)
    nodes[0].gradient, nodes[0].hessian, nodes[0].count = root[0, 0], root[1, 0], root[2, 0]
    nodes[0].end = n_rows


@register_jitable(error_model="numpy")
def _is_worth_a_search(nodes, n_nodes, pair, rules, limits):
    """Return whether there is room for more nodes, and one of two leaves may be split."""
    may_split = _may_split(nodes[pair[0]], rules, limits.max_depth)
    may_split |= pair[1] >= 0 and _may_split(nodes[pair[1]], rules, limits.max_depth)
    return n_nodes < len(nodes) and may_split


@register_jitable
def _may_split(node, rules, max_depth):
    """Return whether a leaf is large enough to be split, and not too deep."""
    enough = node.count >= 2 * rules.min_child_samples
    heavy = node.hessian >= 2 * rules.min_child_weight
    return enough and heavy and not 0 < max_depth <= node.depth


@register_jitable
def _next_leaf(nodes, n_nodes, best, level_by_level):
    """Return the leaf to split next, the first among equals, or -1 if no split gains."""
    chosen = -1
    for i in range(n_nodes):
        if nodes[i].place >= 0 or best[i].gain == -np.inf:
            continue
        if chosen >= 0 and level_by_level and nodes[i].depth != nodes[chosen].depth:
            if nodes[i].depth < nodes[chosen].depth:
                chosen = i
        elif chosen < 0 or best[i].gain > best[chosen].gain:
            chosen = i
    return chosen


@register_jitable(parallel=True, error_model="numpy")
def _search(steps, binned, words, layout, rules, limits, rows, buffers, nodes, pair, into):
    """Find the best split in each block for one or two leaves, in one or two steps.

    Step ``_FILL`` writes the histogram of the first leaf, and step ``_CUT`` searches both. The slot
    of the second leaf holds the histogram of both together. Each task works on several neighboring
    blocks, independently of the other tasks.
    """
    n_tasks, n_blocks = len(buffers.bins), len(binned.places) // WIDTH
    n_each = -(-n_blocks // n_tasks)
    of_small = rows[nodes[pair[0]].begin : nodes[pair[0]].end]
    for task in prange(n_tasks):
        begin = min(task * n_each, n_blocks)
        end = min(begin + n_each, n_blocks)
        if steps & _FILL:
            near, near_words = buffers.bins[task, : end - begin], buffers.words[task]
            own = into[begin:end]
            fill(binned.words, words, layout.n_words, of_small, begin, own, near, near_words)
        for block in range(begin, end if steps & _CUT else begin):
            before = block - 1 if block > begin else -1
            _search_block(binned.places, layout, rules, limits, buffers, nodes, pair, block, before)


@register_jitable(error_model="numpy")
def _search_block(places, layout, rules, limits, buffers, nodes, pair, block, before):
    """Find the best split of each of the two leaves in one block.

    It must gain more than that in the block ``before``, or at all if that is -1.
    """
    for child in range(2):
        gain = buffers.splits[before, child].gain if before >= 0 else -np.inf
        buffers.splits[block, child].gain = gain
        if pair[child] >= 0:
            leaf = nodes[pair[child]]
            histogram = buffers.histograms[leaf.slot, block]
            if child == 1:
                subtract(histogram, buffers.histograms[nodes[pair[0]].slot, block])
            if _may_split(leaf, rules, limits.max_depth):
                sums = buffers.sums[block]
                split = buffers.splits[block, child]
                is_left = buffers.sets[block, child]
                ordered = _of_block(buffers.ordered, block)
                _search_leaf(
                    places, block, layout, rules, histogram, leaf, sums, split, is_left, ordered
                )


@register_jitable(error_model="numpy")
def _of_block(memory, block):
    """Return the memory of a block, None if there is none."""
    return None if memory is None else memory[block]


@register_jitable(error_model="numpy")
def _search_leaf(places, block, layout, rules, histogram, leaf, sums, split, goes_left, ordered):
    """Write the best split of a leaf by a feature of one block."""
    no_extra = 0.0 * leaf.hessian  # a literal 0.0 would be compiled once more
    for j in range(WIDTH):
        place = places[block * WIDTH + j]
        if place.usable:
            words = histogram[j * STRIDE * layout.n_words :]
            if place.is_category:
                n_bins = place.n_values + place.has_missing
                better = best_set(
                    words, n_bins, layout, leaf, rules, sums, split, goes_left, ordered
                )
            else:
                add_up(words, place.n_values, layout, sums)
                better = best_cut(sums, place.n_values, leaf, rules, place.sign, no_extra, split)
            if better:
                split.place = block * WIDTH + j


@register_jitable(error_model="numpy")
def _keep_best(buffers, nodes, pair, best, goes_left, rules):
    """Store the best splits of the leaves over all blocks, the first among equals."""
    for child in range(2):
        if pair[child] >= 0:
            chosen = 0
            for block in range(len(buffers.splits)):
                if buffers.splits[block, child].gain > buffers.splits[chosen, child].gain:
                    chosen = block
            best[pair[child]] = buffers.splits[chosen, child]
            if best[pair[child]].gain > -np.inf:
                finish_gain(best[pair[child]], nodes[pair[child]], rules)
            for b in range(N_BINS):
                goes_left[pair[child], b] = buffers.sets[chosen, child, b]


@register_jitable(error_model="numpy")
def _split(binned, nodes, split, node, first, goes_left, rows, buffers, rules):
    """Turn a leaf into a node with two leaves."""
    parent, left, right = nodes[node], nodes[first], nodes[first + 1]
    place = binned.places[split.place]
    parent.place, parent.bin, parent.first = split.place, split.bin, first
    parent.missing_left, parent.gain = split.missing_left, split.gain
    if not place.is_category:
        for b in range(N_BINS):
            goes_left[node, b] = b <= split.bin
        goes_left[node, place.n_values] = split.missing_left
    of_parent = rows[parent.begin : parent.end]
    bins = binned.columns[split.place]
    n_left = partition_rows(of_parent, bins, goes_left[node], buffers.rows, buffers.before)
    left.begin, left.end = parent.begin, parent.begin + n_left
    right.begin, right.end = parent.begin + n_left, parent.end
    left.gradient, left.hessian, left.count = split.gradient, split.hessian, split.count
    right.gradient = parent.gradient - split.gradient
    right.hessian = parent.hessian - split.hessian
    right.count = parent.count - split.count
    left.depth = right.depth = parent.depth + 1
    _bound(parent, left, right, rules, place.sign)


@register_jitable(error_model="numpy")
def _bound(parent, left, right, rules, sign):
    """Pass the bounds of values on to the children.

    A split by a feature with a monotone constraint narrows them to the middle of its two values.
    """
    low, high = parent.lower, parent.upper
    left.lower = right.lower = low
    left.upper = right.upper = high
    middle = newton_step(left.gradient, left.hessian, rules, low, high)
    middle = (middle + newton_step(right.gradient, right.hessian, rules, low, high)) / 2
    if sign > 0:
        left.upper = right.lower = middle
    elif sign < 0:
        left.lower = right.upper = middle


#: Steps that Python takes between the sums of a team.
_compiled = njit(error_model="numpy")
_keep_best_now, _split_next_now = map(_compiled, (_keep_best, _split_next))
_search_now = njit(parallel=True, error_model="numpy")(_search)
