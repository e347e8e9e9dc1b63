"""Grower: one tree, whose leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child. The steps are:

- of many rows, sum the histograms of parts of them, one part for each thread;
- sum the histogram of the smaller of two new leaves, block by block of features, or add up those of
  its parts; subtract it from that of their parent, which gives the other one; and find the best
  split of each leaf;
- choose the leaf to split next, sort its rows by side, and make two new leaves of it.

Blocks whose features are 0 in nearly all documents of a leaf can split neither it nor a leaf below:
there they are not filled any more, and their histogram is not kept.

Threads share the first two steps, and the one that finishes the last piece of the second one does
the third, see ``pieces``. Where the rows are those of one worker of several, a function adds up the
histograms of the smaller leaf over all workers before they search: one message for each split, or
for each level, whose leaves are all split and filled before they are searched. Sums of integers are
exact in any order, so every worker then searches the same numbers and finds the same splits.
"""

import os
import time
from collections.abc import Callable
from functools import partial

import numba as nb
import numpy as np

from treerank.feature_parts.histogram import pieces, splitter
from treerank.feature_parts.histogram.histogram import fill
from treerank.feature_parts.histogram.packing import Layout, unpack
from treerank.feature_parts.histogram.partition import partition
from treerank.feature_parts.histogram.splitter import SPLIT, TreeRules
from treerank.feature_parts.histogram.tree import NODE, STEP, Data, Growth
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_parts

#: From how many rows times blocks on threads share a step; fewer take less time than to meet.
_SHARED = 10_000
#: Rows of a leaf whose histogram takes as long to fill as a search.
_SEARCH_IN_ROWS = 1500
#: Fewest rows of a part, per word: to add the part and to wait for it takes much less.
_ROWS_OF_PART = 10_000
#: About how many blocks are filled and searched in turn: histograms stay in the second cache.
_TOGETHER, _MOST_TOGETHER = 16, 24

#: Lets a thread run that has taken a piece and has no core.
_give_way = os.sched_yield if hasattr(os, "sched_yield") else partial(time.sleep, 0)
#: The kinds of steps. Histograms of several workers are added up before ``_SEARCH``. ``_START`` has
#: one piece without work: when it is finished, the root is searched.
_START, _PARTS, _FILL, _SEARCH, _END = range(5)


def grow(
    data: Data,
    words: np.ndarray,
    layout: Layout,
    rules: TreeRules,
    rows: np.ndarray,
    total: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Grow one tree on ``rows``, and sort ``rows`` by leaf; ``words`` are those of all rows.

    ``total`` returns the sum of an array over all workers; None if these are the rows of all.
    Returns the nodes, the root first, and 1 for the bins that go left in each of them.
    """
    n_pairs = max(1, rules.num_leaves // 2) if rules.level_by_level else 1
    tree = _new_tree(data, words, layout, rows, total, n_pairs)
    step, how = tree.step[0], splitter.record_of(layout, rules)

    def work(first: int, last: int) -> None:
        try:
            while _work(data, words, how, rows, tree):
                _give_way()
        except BaseException:  # others would wait for the piece of this thread
            tree.counters[:] = pieces.new_counters(-1)
            raise

    while step["kind"] != _END:
        in_parts(work, nb.get_num_threads())
        if total is not None and step["kind"] == _SEARCH:
            _add_histograms(total, tree)
    n = step["n_nodes"]
    is_split = tree.nodes["place"][:n, None] >= 0
    return tree.nodes[:n].copy(), tree.splits["goes_left"][:n] * is_split


def _new_tree(
    data: Data,
    words: np.ndarray,
    layout: Layout,
    rows: np.ndarray,
    total: Callable[[np.ndarray], np.ndarray] | None,
    n_pairs: int,
) -> Growth:
    """Return a tree that is only a root, whose sums are those over the rows of all workers.

    ``n_pairs`` are the most pairs of leaves whose histograms are added up together.
    """
    n_pairs = 0 if total is None else n_pairs
    n_most = 2 * len(data.histograms) - 1
    words = words if len(rows) == len(words) else words[rows]
    sums, of_rows = np.empty((3, 1)), np.array([column.sum() for column in words.T])
    unpack(of_rows if total is None else total(of_rows), 0, 1, layout, sums)
    nodes, splits = np.zeros(n_most, dtype=NODE), np.zeros(n_most, dtype=SPLIT)
    nodes["place"], nodes["lower"], nodes["upper"] = -1, -np.inf, np.inf
    for name, value in zip(("gradient", "hessian", "n_documents"), sums[:, 0], strict=True):
        nodes[name][0] = value
    nodes["end"][0], splits["gain"] = len(rows), -np.inf
    n_threads, n_blocks = nb.get_num_threads(), data.binned.shape[1]
    n_leaves, _, n_words = data.histograms.shape
    n_filled = _n_parts(len(rows), words, n_threads, n_blocks, n_leaves) + n_pairs
    step = _START, 1, n_threads, total is not None, 0, 1, 0, 0, (0, -1)
    return Growth(
        nodes,
        splits,
        paths=np.ones((n_most, len(data.groups)), dtype=bool),
        slots=np.zeros((n_most, n_blocks), dtype=np.int64),
        n_kept=np.zeros(n_blocks, dtype=np.int64),
        found=np.zeros((n_threads, 2), dtype=SPLIT),
        filled=np.empty((n_filled, n_blocks, n_words), dtype=np.int64),
        pairs=np.empty((n_pairs, 2), dtype=np.int64),
        near=np.empty((n_threads, _MOST_TOGETHER, n_words), dtype=np.int64),
        step=np.array([step], dtype=STEP),
        counters=pieces.new_counters(),
    )


def _add_histograms(total: Callable[[np.ndarray], np.ndarray], tree: Growth) -> None:
    """Add up the histograms that workers have filled, and let threads search them.

    Blocks that can split neither leaf are left out, which are the same for all.
    """
    step = tree.step[0]
    histograms = tree.filled[len(tree.filled) - len(tree.pairs) :][: step["n_filled"]]
    is_open = tree.slots[tree.pairs[: step["n_filled"], 0]] >= 0
    histograms[is_open] = total(histograms[is_open])
    tree.counters[:] = pieces.new_counters(step["n_pieces"])


@njit(error_model="numpy", nogil=True)
def _work(data, words, how, rows, tree):
    """Do pieces of steps; return whether there may be more of them later."""
    while True:
        piece = pieces.take_piece(tree.counters)
        if piece <= 0:
            return piece == 0
        _do_piece(piece - 1, data, words, how[0], rows, tree)
        if pieces.finish_piece(tree.counters):
            pieces.open_pieces(tree.counters, _end_step(data, words, how[0], rows, tree))


@register_jitable(inline="always", error_model="numpy")
def _do_piece(piece, data, words, how, rows, tree):
    """Fill the histogram of a part of the rows, or fill and search some blocks."""
    step, n_parts, n = tree.step[0], tree.step[0].n_parts, tree.step[0].n_pieces
    small, bins = tree.nodes[step.pair[0]], (data.binned, data.zeros)
    own, is_alone = rows[small.begin : small.end], step.adds_up == 0
    first, last = 0, tree.filled.shape[1]
    if step.kind == _PARTS:
        part = own[len(own) * piece // n_parts : len(own) * (piece + 1) // n_parts]
        fill(0, _open_blocks(0, last, tree), bins, words, part, tree.filled[piece])
    if step.kind != _FILL and step.kind != _SEARCH:
        return
    first, last = first + (last - first) * piece // n, first + (last - first) * (piece + 1) // n
    n_groups = max(1, (last - first + _TOGETHER // 2) // _TOGETHER)
    for group in range(n_groups):
        begin = first + (last - first) * group // n_groups
        end = first + (last - first) * (group + 1) // n_groups
        if is_alone:
            into = tree.near[piece][: end - begin]
        else:
            place = step.n_filled if step.kind == _FILL else step.at
            into = tree.filled[len(tree.filled) - len(tree.pairs) + place][begin:end]
        if step.kind == _FILL and n_parts:
            _add_parts(begin, end, n_parts, tree.filled, into)
        elif step.kind == _FILL:  # called at two places, so that the compiler copies it to none
            fill(begin, _open_blocks(begin, end, tree), bins, words, own, into)
        if step.kind == _SEARCH or is_alone:
            splitter.search_blocks(piece, begin, into, data, how, tree)


@register_jitable(error_model="numpy")
def _open_blocks(first, last, tree):
    """Return those of some blocks that may split one of the leaves."""
    slots, blocks, n = tree.slots[tree.step[0].pair[0]], np.empty(last - first, np.int64), 0
    for block in range(first, last):
        blocks[n] = block
        n += slots[block] >= 0
    return blocks[:n]


@register_jitable(error_model="numpy")
def _add_parts(first, last, n_parts, filled, into):
    """Write the sums of the histograms of parts of the rows."""
    for block in range(first, last):
        for i in range(into.shape[1]):
            total = np.int64(0)
            for part in range(n_parts):
                total += filled[part, block, i]
            into[block - first, i] = total


@register_jitable(inline="always", error_model="numpy")
def _end_step(data, words, how, rows, tree):
    """Choose the next step after one; return its number of pieces, or -1 if threads have to end."""
    step = tree.step[0]
    if step.kind == _PARTS:
        step.kind = _FILL
        return step.n_pieces
    if step.kind == _FILL and step.adds_up:
        tree.pairs[step.n_filled] = step.pair
        step.n_filled += 1
    elif step.kind != _START:
        _keep_best(how, tree)
    if step.kind == _SEARCH:
        step.at += 1
        if step.at < step.n_filled:
            return _search_pair(tree)
        step.n_filled = 0
    while step.n_nodes < len(tree.nodes) and (step.n_filled == 0 or how.level_by_level):
        if step.kind != _START:
            number = _next_leaf(tree, how)  # of this level, as those below are not searched yet
            if number < 0:
                break
            _split(number, data, how, rows, tree)
        step.kind = _FILL
        if _is_worth_a_search(how, tree):
            return _first_pieces(data, words, tree)
    step.kind, step.at = (_SEARCH if step.n_filled else _END), 0
    if step.n_filled:
        _search_pair(tree)
    return -1


@register_jitable(error_model="numpy")
def _search_pair(tree):
    """Prepare the search of a pair of leaves that is filled; return the number of pieces."""
    step = tree.step[0]
    step.pair[0], step.pair[1] = tree.pairs[step.at, 0], tree.pairs[step.at, 1]
    for piece in range(len(tree.found)):
        tree.found[piece, 0].gain = tree.found[piece, 1].gain = -np.inf
    return step.n_pieces


@register_jitable(error_model="numpy")
def _is_worth_a_search(how, tree):
    """Return whether one of two new leaves may be split."""
    small, large = tree.step[0].pair[0], tree.step[0].pair[1]
    may = splitter.may_split(tree.nodes[small], how)
    return may or (large >= 0 and splitter.may_split(tree.nodes[large], how))


@register_jitable(error_model="numpy")
def _first_pieces(data, words, tree):
    """Prepare the search of two new leaves; return the number of pieces of its first step.

    Of many rows, each thread fills the histogram of a part before, and the blocks are added up. So
    a row is fetched once, and by one thread. Parts need no more memory than all leaves.
    """
    step = tree.step[0]
    small = tree.nodes[step.pair[0]]
    n_rows, n_blocks = small.end - small.begin, tree.filled.shape[1]
    for piece in range(len(tree.found)):
        tree.found[piece, 0].gain = tree.found[piece, 1].gain = -np.inf
    is_shared = (n_rows + _SEARCH_IN_ROWS) * n_blocks >= _SHARED
    step.n_pieces = min(step.n_threads, n_blocks) if is_shared else 1
    step.n_parts = _n_parts(n_rows, words, step.n_threads, n_blocks, len(data.histograms))
    if step.n_parts == 0:
        return step.n_pieces
    step.kind = _PARTS
    return step.n_parts


@register_jitable(error_model="numpy")
def _n_parts(n_rows, words, n_threads, n_blocks, n_leaves):
    """Return in how many parts the rows of a leaf are filled, 0 if not in several."""
    if n_blocks >= n_threads * _TOGETHER:  # then threads can just as well share the blocks
        return 0
    n_parts = min(n_rows // (_ROWS_OF_PART * words.shape[1]), n_threads, n_leaves)
    return n_parts if n_parts > 1 else 0


@register_jitable(error_model="numpy")
def _keep_best(how, tree):
    """Store the best splits of two leaves, the first among equals, if they gain enough."""
    for child in range(2):
        number, best = tree.step[0].pair[child], 0
        for piece in range(len(tree.found)):
            if tree.found[piece, child].gain > tree.found[best, child].gain:
                best = piece
        if number >= 0:
            tree.splits[number] = tree.found[best, child]
            gain = splitter.whole_gain(tree.splits[number].gain, tree.nodes[number], how)
            tree.splits[number].gain = gain


@register_jitable(error_model="numpy")
def _next_leaf(tree, how):
    """Return the leaf to split next, the first among equals, or -1 if no split gains."""
    chosen, nodes, splits = -1, tree.nodes, tree.splits
    for i in range(tree.step[0].n_nodes):
        if nodes[i].place >= 0 or splits[i].gain == -np.inf:
            continue
        levels = nodes[i].depth - nodes[chosen].depth if chosen >= 0 and how.level_by_level else 0
        if chosen < 0 or levels < 0 or (levels == 0 and splits[i].gain > splits[chosen].gain):
            chosen = i
    return chosen


@register_jitable(error_model="numpy")
def _split(number, data, how, rows, tree):
    """Split a leaf: sort its rows by side, and make two new leaves below it."""
    step, nodes, split = tree.step[0], tree.nodes, tree.splits[number]
    first = step.n_nodes
    parent, left, right = nodes[number], nodes[first], nodes[first + 1]
    own = rows[parent.begin : parent.end]
    middle = parent.begin + partition(own, data.columns[split.place], split.goes_left)
    parent.place, parent.bin, parent.missing_left = split.place, split.bin, split.missing_left
    parent.first, parent.gain = first, split.gain
    left.begin, left.end, right.begin, right.end = parent.begin, middle, middle, parent.end
    left.gradient, right.gradient = split.gradient, parent.gradient - split.gradient
    left.hessian, right.hessian = split.hessian, parent.hessian - split.hessian
    left.n_documents = split.n_documents
    right.n_documents = parent.n_documents - split.n_documents
    left.depth = right.depth = parent.depth + 1
    small = first + np.int64(left.n_documents > right.n_documents)  # it gets a new histogram
    step.pair[0], step.pair[1] = small, 2 * first + 1 - small
    _bound(parent, left, right, how, data.places[split.place].sign)
    for group in range(len(data.groups)):
        is_open = tree.paths[number, group] and data.groups[group, split.place]
        tree.paths[first, group] = tree.paths[first + 1, group] = is_open
    for block in range(tree.slots.shape[1]):
        tree.slots[first, block] = tree.slots[first + 1, block] = tree.slots[number, block]
    step.n_nodes += 2


@register_jitable(error_model="numpy")
def _bound(parent, left, right, how, sign):
    """Pass on the bounds of values; the middle of the values of a monotone split is one of both."""
    left.lower = right.lower = parent.lower
    left.upper = right.upper = parent.upper
    middle = splitter.newton_step(left.gradient, left.hessian, how, parent)
    middle = (middle + splitter.newton_step(right.gradient, right.hessian, how, parent)) / 2
    if sign > 0:
        left.upper = right.lower = middle
    elif sign < 0:
        left.lower = right.upper = middle
