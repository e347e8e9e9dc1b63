"""Growing: a tree from binned rows and their derivatives, one best split after another.

``"leafwise"`` always splits the leaf that gains most, ``"depthwise"`` level after level. A new
split costs one pass over the documents of its smaller child. Work is shared out by blocks of
features, each summed by one thread, and sums are exact, so trees do not depend on threads.
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from treerank.feature_parts.histogram.binned import WIDTH
from treerank.feature_parts.histogram.categories import best_set
from treerank.feature_parts.histogram.histograms import BATCH, STRIDE, fill, subtract
from treerank.feature_parts.histogram.packed_derivatives import add_up
from treerank.feature_parts.histogram.partition import part_rows
from treerank.feature_parts.histogram.splits import SPLIT, best_cut, make_gain, newton_step
from treerank.numerics.compiling import njit

GROW_POLICIES = {"leafwise": False, "depthwise": True}

#: A node: the place of its feature (-1 in leaves), the last bin that goes left, whether missing
#: values do, the left child (the right one is next to it), what the split gained, its rows and
#: depth, where its histogram is, its sums, and the bounds of its value.
NODE = np.dtype(
    [
        ("place", np.int64),
        ("bin", np.int64),
        ("missing_left", np.int64),
        ("first", np.int64),
        ("gain", np.float64),
        ("begin", np.int64),
        ("end", np.int64),
        ("depth", np.int64),
        ("slot", np.int64),
        ("gradient", np.float64),
        ("hessian", np.float64),
        ("count", np.float64),
        ("lower", np.float64),
        ("upper", np.float64),
    ]
)


class Shape(NamedTuple):
    """How far a tree may grow."""

    num_leaves: int
    max_depth: int
    level_by_level: bool


class GrownTree(NamedTuple):
    """A tree in terms of bins.

    Attributes
    ----------
    nodes : ndarray of NODE
        The nodes, the root first.
    goes_left : ndarray of uint8, shape (n_nodes, 256)
        Whether each bin of a node's feature goes left.
    """

    nodes: np.ndarray
    goes_left: np.ndarray


class Room(NamedTuple):
    """Memory that all trees of a fit share.

    Attributes
    ----------
    histograms : ndarray of int64, shape (n_leaves, n_blocks, words)
        One histogram per leaf.
    bins, words : ndarray of shape (n_tasks, n_blocks, BATCH) and (n_tasks, BATCH * n_words)
        What has been collected to be added up.
    rows : ndarray of uint32
        Spare rows while those of a leaf are parted.
    sums : ndarray of shape (n_blocks, 4, 256)
        Running sums of a feature, and the worth of its cuts.
    splits : ndarray of SPLIT, shape (n_blocks, 2)
        Best split of either child in each block.
    sets : ndarray of uint8, shape (n_blocks, 2, 256)
        The bins that it sends left, where it is one of categories.
    """

    histograms: np.ndarray
    bins: np.ndarray
    words: np.ndarray
    rows: np.ndarray
    sums: np.ndarray
    splits: np.ndarray
    sets: np.ndarray


def make_room(n_rows, n_blocks, n_words, shape, n_tasks=1):
    """Set aside memory for trees over so many rows."""
    n_leaves = min(shape.num_leaves, n_rows)
    if 0 < shape.max_depth < 31:
        n_leaves = min(n_leaves, 2**shape.max_depth)
    return Room(
        np.empty((n_leaves, n_blocks, WIDTH * STRIDE * n_words), dtype=np.int64),
        np.empty((n_tasks, -(-n_blocks // n_tasks), BATCH), dtype=np.uint64),
        np.empty((n_tasks, BATCH * n_words), dtype=np.int64),
        np.empty(n_rows, dtype=np.uint32),
        np.empty((n_blocks, 4, STRIDE)),
        np.empty((n_blocks, 2), dtype=SPLIT),
        np.zeros((n_blocks, 2, STRIDE), dtype=np.uint8),
    )


def grow(binned, words, layout, rules, shape, rows, room):
    """Grow one tree on ``rows``, which come to lie leaf by leaf.

    Parameters
    ----------
    binned : Binned
        Bins of all rows.
    words : ndarray of int64
        Derivatives of all rows, see :mod:`~treerank.feature_parts.histogram.packed_derivatives`.
    layout : Layout
        Where in a word is what.
    rules : Rules
        What splits must keep to.
    shape : Shape
        How far the tree may grow.
    rows : ndarray of uint32
        Rows to grow on; reordered.
    room : Room
        Memory.

    Returns
    -------
    GrownTree
        The tree.
    """
    n_most = 2 * len(room.histograms) - 1
    nodes, best = np.zeros(n_most, dtype=NODE), np.zeros(n_most, dtype=SPLIT)
    nodes["place"], nodes["lower"], nodes["upper"] = -1, -np.inf, np.inf
    best["gain"] = -np.inf
    goes_left = np.zeros((n_most, STRIDE), dtype=np.uint8)
    n = _grow(binned, words, layout, rules, shape, rows, room, nodes, best, goes_left)
    return GrownTree(nodes[:n].copy(), goes_left[:n].copy())


@njit(error_model="numpy")
def _grow(binned, words, layout, rules, shape, rows, room, nodes, best, goes_left):
    """Grow the tree; return the number of its nodes."""
    _add_up_root(words, rows, layout, room.sums, nodes)
    pair, n_nodes = np.full(2, -1), np.int64(1)  # a literal would be a type of its own
    pair[0] = 0
    while True:
        small, large = pair[0], pair[1]
        may_part = _may_part(nodes[small], rules, shape.max_depth)
        may_part |= large >= 0 and _may_part(nodes[large], rules, shape.max_depth)
        if n_nodes < len(nodes) and may_part:
            own = rows[nodes[small].begin : nodes[small].end]
            _search(binned, words, layout, rules, shape.max_depth, own, room, nodes, pair)
            _take_best(room, nodes, pair, best, goes_left, rules)
        node = _next_leaf(nodes[:n_nodes], best, shape.level_by_level)
        if node < 0 or n_nodes == len(nodes):
            return n_nodes
        _split(binned, nodes, best[node], node, n_nodes, goes_left, rows, room, rules)
        right_is_small = np.int64(nodes[n_nodes].count > nodes[n_nodes + 1].count)
        pair[0], pair[1] = n_nodes + right_is_small, n_nodes + 1 - right_is_small
        nodes[pair[0]].slot, nodes[pair[1]].slot = (n_nodes + 1) // 2, nodes[node].slot
        n_nodes += 2


@njit(error_model="numpy")
def _add_up_root(words, rows, layout, sums, nodes):
    """Write the sums over all rows."""
    total = np.zeros(layout.n_words, dtype=np.int64)
    for i in range(len(rows)):
        for k in range(layout.n_words):
            total[k] += words[np.int64(rows[i]) * layout.n_words + k]
    root = np.empty((4, 1))
    add_up(total, np.int64(1), layout, root)
    nodes[0].gradient, nodes[0].hessian, nodes[0].count = root[0, 0], root[1, 0], root[2, 0]
    nodes[0].end = len(rows)


@njit
def _may_part(node, rules, max_depth):
    """Say whether a leaf is large enough for two, and not too deep."""
    enough = node.count >= 2 * rules.min_child_samples
    heavy = node.hessian >= 2 * rules.min_child_weight
    return enough and heavy and not 0 < max_depth <= node.depth


@njit
def _next_leaf(nodes, best, level_by_level):
    """Return the leaf to split, the first of the best, or -1 if no leaf gains."""
    chosen = -1
    for i in range(len(nodes)):
        if nodes[i].place >= 0 or best[i].gain == -np.inf:
            continue
        if chosen >= 0 and level_by_level and nodes[i].depth != nodes[chosen].depth:
            if nodes[i].depth < nodes[chosen].depth:
                chosen = i
        elif chosen < 0 or best[i].gain > best[chosen].gain:
            chosen = i
    return chosen


@njit(parallel=True, error_model="numpy")
def _search(binned, words, layout, rules, max_depth, rows, room, nodes, pair):
    """Find the best split in each block for one or two leaves.

    The first leaf owns ``rows``; the second has the histogram of both in its slot. A task takes
    some blocks next to each other; what it does for one depends on no other.
    """
    n_tasks, n_each, _ = room.bins.shape
    for task in prange(n_tasks):
        begin = min(task * n_each, binned.words.shape[1])
        end = min(begin + n_each, binned.words.shape[1])
        own = room.histograms[nodes[pair[0]].slot, begin:end]
        near = room.bins[task, : end - begin]
        fill(binned.words, words, layout.n_words, rows, begin, own, near, room.words[task])
        for block in range(begin, end):
            _search_block(binned.places, layout, rules, max_depth, room, nodes, pair, block)


@njit(error_model="numpy")
def _search_block(places, layout, rules, max_depth, room, nodes, pair, block):
    """Find the best split of either leaf in one block."""
    for child in range(2):
        room.splits[block, child].gain = -np.inf
        if pair[child] >= 0:
            leaf = nodes[pair[child]]
            histogram = room.histograms[leaf.slot, block]
            if child == 1:
                subtract(histogram, room.histograms[nodes[pair[0]].slot, block])
            if _may_part(leaf, rules, max_depth):
                own = places[block * WIDTH : (block + 1) * WIDTH]
                split, is_left = room.splits[block, child], room.sets[block, child]
                _search_leaf(own, layout, rules, histogram, leaf, room.sums[block], split, is_left)
                split.place += block * WIDTH


@njit(error_model="numpy")
def _search_leaf(places, layout, rules, histogram, leaf, sums, split, goes_left):
    """Write the best split of a leaf by a feature of a block."""
    no_extra = 0.0 * leaf.hessian  # a literal would be a type of its own, and compiled once more
    for j in range(WIDTH):
        place = places[j]
        if place.usable:
            words = histogram[j * STRIDE * layout.n_words :]
            if place.is_category:
                n_bins = place.n_values + place.has_missing
                better = best_set(words, n_bins, layout, leaf, rules, sums, split, goes_left)
            else:
                add_up(words, place.n_values, layout, sums)
                better = best_cut(sums, place.n_values, leaf, rules, place.sign, no_extra, split)
            if better:
                split.place = j


@njit(error_model="numpy")
def _take_best(room, nodes, pair, best, goes_left, rules):
    """Note the best splits of leaves over all blocks; the first of equals."""
    for child in range(2):
        if pair[child] >= 0:
            chosen = 0
            for block in range(len(room.splits)):
                if room.splits[block, child].gain > room.splits[chosen, child].gain:
                    chosen = block
            best[pair[child]] = room.splits[chosen, child]
            if best[pair[child]].gain > -np.inf:
                make_gain(best[pair[child]], nodes[pair[child]], rules)
            for b in range(STRIDE):
                goes_left[pair[child], b] = room.sets[chosen, child, b]


@njit(error_model="numpy")
def _split(binned, nodes, split, node, left, goes_left, rows, room, rules):
    """Make a leaf a node with two leaves."""
    parent, below, above = nodes[node], nodes[left], nodes[left + 1]
    place = binned.places[split.place]
    parent.place, parent.bin, parent.first = split.place, split.bin, left
    parent.missing_left, parent.gain = split.missing_left, split.gain
    if not place.is_category:
        for b in range(STRIDE):
            goes_left[node, b] = b <= split.bin
        goes_left[node, place.n_values] = split.missing_left
    bins = binned.words[:, split.place // WIDTH]
    shift = np.uint64(8 * (split.place % WIDTH))
    own = rows[parent.begin : parent.end]
    n_left = part_rows(own, bins, shift, goes_left[node], room.rows)
    below.begin, below.end = parent.begin, parent.begin + n_left
    above.begin, above.end = parent.begin + n_left, parent.end
    below.gradient, below.hessian, below.count = split.gradient, split.hessian, split.count
    above.gradient = parent.gradient - split.gradient
    above.hessian = parent.hessian - split.hessian
    above.count = parent.count - split.count
    below.depth = above.depth = parent.depth + 1
    _bound(parent, below, above, rules, place.sign)


@njit(error_model="numpy")
def _bound(parent, left, right, rules, sign):
    """Hand bounds down; a signed split parts them in the middle of its two values."""
    low, high = parent.lower, parent.upper
    left.lower = right.lower = low
    left.upper = right.upper = high
    middle = newton_step(left.gradient, left.hessian, rules, low, high)
    middle = (middle + newton_step(right.gradient, right.hessian, rules, low, high)) / 2
    if sign > 0:
        left.upper = right.lower = middle
    elif sign < 0:
        left.lower = right.upper = middle
