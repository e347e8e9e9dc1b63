"""Grower: one tree, whose leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child. The steps are:

1. In a leaf of many rows, compute the histograms of parts of the rows, one part for each thread.
2. Block by block of features, compute the histogram of the smaller of the two new leaves, or add
   the histograms of its parts; subtract it from the histogram of the parent, which gives the
   histogram of the larger leaf; and find the best split of both leaves.
3. Choose the leaf to split next.
4. Sort its rows by side: those of a large leaf part by part, one part for each thread. Then make
   two new leaves.

A block whose features are 0 in nearly all documents of a leaf cannot split the leaf or a leaf below
it. Its histogram is then neither computed nor stored any more.

Threads share the tasks of steps 1, 2 and 4, and the thread that finishes the last task of a step
does what follows alone, see ``tasks``. In step 2, one of the threads also sorts the rows of another
leaf, the one with the largest gain so far: it will probably be split next, and then step 4 has
nothing to sort.

With several workers, a function adds up the histograms of the smaller leaf over all workers before
the search. One message adds up the histograms of several leaves: of all leaves of a level, or of
leaves that will be split soon, see ``speculation``. Sums of integers are exact in any order, so
every worker then searches the same numbers and finds the same splits.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numba as nb
import numpy as np

from treerank.feature_parts.histogram import speculation, splitter, tasks
from treerank.feature_parts.histogram.histogram import fill
from treerank.feature_parts.histogram.packing import Layout, unpack
from treerank.feature_parts.histogram.partition import join_parts, sort_part
from treerank.feature_parts.histogram.splitter import SPLIT, TreeRules
from treerank.feature_parts.histogram.tree import NODE, STEP, Data, Growth
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_parts
from treerank.numerics.vectors import aligned

#: Rows times blocks from which threads share a step; with fewer, waiting would take longer.
_SHARED = 10_000
#: Number of rows whose histogram takes as long to compute as a search for splits.
_SEARCH_IN_ROWS = 1500
#: Fewest rows of a part per packed integer: adding the part and waiting for it takes much less.
_ROWS_OF_PART = 10_000
#: Fewest rows of a part of a leaf that a thread sorts: waiting for other threads takes much less.
_SORTED_ROWS_OF_PART = 5000
#: Number of blocks, about, that are filled before they are searched: they fit into the L2 cache.
_TOGETHER = 16

#: Yields the core to a thread that has taken a task and waits for a core.
_give_way = os.sched_yield if hasattr(os, "sched_yield") else partial(time.sleep, 0)
#: Kinds of steps. Histograms of several workers are added before ``_SEARCH``. ``_START`` has one
#: empty task: when it is finished, the search of the root begins, or leaves that are ``planned``
#: are split. ``_PLAN`` has none: leaves are planned after the threads have ended.
_START, _SORT, _PARTS, _FILL, _SEARCH, _PLAN, _END = range(7)


def grow(
    data: Data,
    packed: np.ndarray,
    layout: Layout,
    rules: TreeRules,
    rows: np.ndarray,
    total: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Grow one tree on ``rows``, and sort ``rows`` by leaf, in place.

    Parameters
    ----------
    data : Data
        Bins of all rows, and memory for histograms.
    packed : ndarray of shape (n_rows, n_integers)
        Packed gradients of all rows.
    layout : Layout
        Bits of the packed gradients.
    rules : TreeRules
        Rules for trees.
    rows : ndarray of uint32
        Rows on which the tree is grown.
    total : callable, default=None
        Returns the sum of an array over all workers; None if there are no other workers.

    Returns
    -------
    tuple
        ``(nodes, goes_left)``: an array of NODE, the root first, and an array of shape (n_nodes,
        256) that is 1 for each bin of a node that goes left.
    """
    tree = _new_tree(data, packed, layout, rules, rows, total)
    step, settings = tree.step[0], splitter.record_of(layout, rules)
    needs_extras = total is not None or rules.is_monotone or rules.level_by_level
    extras = True if needs_extras or data.columns["is_category"].any() else None

    state = tree

    def work(first: int, last: int) -> None:
        try:
            while _work(first, (*data, packed, rows, *state), settings, extras):
                _give_way()
        except BaseException:  # other threads would wait for the task of this one
            tree.counters[:] = -1
            raise

    while step["kind"] != _END:
        in_parts(work, nb.get_num_threads())
        state = tree
        if total is not None and step["kind"] == _SEARCH:
            state = _with_sums(total, tree)
        elif step["kind"] == _PLAN:
            _plan(tree, rules)
    if step["speculates"]:
        return speculation.true_tree(tree, rules.num_leaves, rows)
    n = step["n_nodes"]
    is_split = tree.nodes["column"][:n, None] >= 0
    return tree.nodes[:n].copy(), tree.splits["goes_left"][:n] * is_split


def _new_tree(
    data: Data,
    packed: np.ndarray,
    layout: Layout,
    rules: TreeRules,
    rows: np.ndarray,
    total: Callable[[np.ndarray], np.ndarray] | None,
) -> Growth:
    """Return a tree that is only a root, with sums over the rows of all workers.

    The arguments are as in :func:`grow`.
    """
    speculates = total is not None and not rules.level_by_level
    n_pairs = max(1, rules.num_leaves // 2)  # of leaves whose histograms one message adds
    if total is None:
        n_pairs = 0
    elif speculates:
        n_pairs = 1 + speculation.n_spare(rules)
    n_most = 2 * len(data.histograms) - 1
    packed = packed if len(rows) == len(packed) else packed[rows]
    sums, of_rows = np.empty((3, 1)), np.array([column.sum() for column in packed.T])
    running = np.empty((2, 1), dtype=np.int64)
    unpack(of_rows if total is None else total(of_rows), 0, 1, layout, running, sums)
    nodes, splits = np.zeros(n_most, dtype=NODE), np.zeros(n_most, dtype=SPLIT)
    nodes["column"], nodes["lower"], nodes["upper"] = -1, -np.inf, np.inf
    nodes["middle"] = -1
    for name, value in zip(("gradient", "hessian", "n_documents"), sums[:, 0], strict=True):
        nodes[name][0] = value
    nodes["end"][0], splits["gain"] = len(rows), -np.inf
    n_threads, n_blocks = nb.get_num_threads(), data.binned.shape[1]
    n_leaves, _, n_integers = data.histograms.shape
    n_filled = _n_parts(len(rows), packed.shape[1], n_threads, n_blocks, n_leaves) + n_pairs
    step = np.zeros(1, dtype=STEP)
    begin = {"kind": _START, "n_nodes": 1, "n_most": n_most, "n_threads": n_threads, "n_tasks": 1}
    begin |= {"adds_up": total is not None, "speculates": speculates, "ahead": -1}
    for name, value in begin.items():
        step[name] = value
    step["pair"] = 0, -1
    return Growth(
        nodes,
        splits,
        paths=np.ones((n_most, len(data.groups)), dtype=bool),
        is_open=np.ones((n_most, n_blocks), dtype=bool),
        best=np.zeros((n_threads, 2), dtype=SPLIT),
        filled=aligned((n_filled, n_blocks, n_integers), np.int64),
        pairs=np.empty((n_pairs, 2), dtype=np.int64),
        planned=np.empty(n_pairs, dtype=np.int64),
        memory=aligned((n_threads,), splitter.MEMORY),
        working=np.empty_like(rows),
        step=step,
        counters=tasks.new_counters(n_threads + 1),
    )


def _with_sums(total: Callable[[np.ndarray], np.ndarray], tree: Growth) -> Growth:
    """Return the tree to search: its filled histograms are sums over all workers.

    Blocks that can split neither leaf, which are the same in all workers, are skipped. ``total``
    returns the sum of an array over all workers. The tasks of the search are opened.
    """
    step = tree.step[0]
    histograms = tree.filled[len(tree.filled) - len(tree.pairs) :][: step["n_filled"]]
    is_open = tree.is_open[tree.pairs[: step["n_filled"], 0]]
    tree.counters[:] = tasks.new_counters(len(tree.counters) - 1, step["n_tasks"])
    if is_open.all() and step["speculates"]:  # then a search fills no other histograms
        return tree._replace(filled=total(histograms), pairs=tree.pairs[: step["n_filled"]])
    histograms[is_open] = total(histograms[is_open])
    return tree


def _plan(tree: Growth, rules: TreeRules) -> None:
    """Plan the leaves whose histograms the next message adds, and open the task before them."""
    step, (leaves, is_last) = tree.step[0], speculation.next_leaves(tree, rules)
    tree.planned[: len(leaves)] = leaves
    step["n_planned"], step["n_begun"] = len(leaves), 0
    if is_last:
        step["n_most"] = step["n_nodes"] + 2
    step["kind"] = _START if leaves else _END
    tree.counters[:] = tasks.new_counters(len(tree.counters) - 1)


@njit(error_model="numpy", nogil=True, optimization=1)
def _work(thread, shared, settings, extras):
    """Do tasks until none is free now; return whether there may be more later.

    The thread that finishes the last task of a step begins the next step.

    ``extras`` is None where there are neither categories, nor monotone constraints, nor other
    workers, and trees do not grow level by level. The compiler then leaves out what only those
    need, which is a third of the code.

    ``shared`` has the fields of ``Data``, the packed gradients, the rows and the fields of
    ``Growth``. A task and the end of a step are no functions of their own, since the compiler
    handles each array once more in each call. At level 1 of optimization, trees grow as fast, and
    their first fit takes 3 % less.
    """
    # The caller owns the arrays; threads need not count who uses them.
    arrays: Any = tasks.uncounted(shared)  # type: ignore[call-arg]
    (
        columns,
        zeros,
        groups,
        binned,
        binned_by_column,
        histograms,
        packed,
        rows,
        nodes,
        splits,
        paths,
        is_open,
        best,
        filled,
        pairs,
        planned,
        memory,
        working,
        steps,
        counters,
    ) = arrays
    step, rules, n_blocks = steps[0], settings[0], filled.shape[1]
    while True:
        task = tasks.take_task(counters, thread) - 1
        if task < 0:
            return task == -1

        # A task sorts a part of the rows, or fills the histogram of one, or fills or searches some
        # of the blocks, or, after those, sorts the rows of another leaf.
        n_parts, n, n_groups, first, last = step.n_parts, step.n_tasks, 0, 0, n_blocks
        small = nodes[step.pair[0]]
        open_blocks, leaf_rows = is_open[step.pair[0]], rows[small.begin : small.end]
        if step.kind == _PARTS:
            begin, end = len(leaf_rows) * task // n_parts, len(leaf_rows) * (task + 1) // n_parts
            blocks = _open_blocks(0, n_blocks, open_blocks)
            fill(0, blocks, binned, zeros, packed, leaf_rows[begin:end], filled[task])
        elif step.kind == _SORT or (task == n and step.ahead >= 0):
            leaf, split, part = nodes[step.ahead], splits[step.ahead], task
            if step.kind != _SORT:
                part, n_parts = 0, 1
            sort_part(part, n_parts, leaf, split, rows, binned_by_column, working, memory[part])
            if step.kind != _SORT:
                join_parts(1, leaf, rows, working, memory)
        elif step.kind == _FILL or step.kind == _SEARCH:
            first, last = n_blocks * task // n, n_blocks * (task + 1) // n
            n_groups = (last - first + _TOGETHER // 2) // _TOGETHER
            n_groups += n_groups == 0
        for group in range(n_groups):
            begin = first + (last - first) * group // n_groups
            end = first + (last - first) * (group + 1) // n_groups
            into = histograms[small.slot, begin:end]
            if extras is not None and step.adds_up:
                at = step.n_filled if step.kind == _FILL else step.searched
                into = filled[len(filled) - len(pairs) + at, begin:end]
            if step.kind == _FILL and n_parts:
                _add_parts(begin, end, n_parts, filled, into)
            elif step.kind == _FILL:  # a second call, so that the compiler inlines ``fill`` nowhere
                blocks = _open_blocks(begin, end, open_blocks)
                fill(begin, blocks, binned, zeros, packed, leaf_rows, into)
            if step.kind == _SEARCH or step.adds_up == 0:
                splitter.search_blocks(
                    begin,
                    into,
                    columns,
                    groups,
                    histograms,
                    rules,
                    step.pair,
                    nodes,
                    paths,
                    is_open,
                    best[task],
                    memory[thread],
                    extras,
                    step.adds_up > 0,
                )
        if not tasks.finish_task(counters):
            continue

        # The end of a step: best splits are stored, and the next leaf is split if it is known.
        n_tasks, kind = -1, step.kind  # -1 ends the threads
        if kind == _PARTS:
            step.kind, n_tasks = _FILL, n + (step.ahead >= 0)
        elif extras is not None and kind == _FILL and step.adds_up:
            # One by one: to assign an array to a row takes two seconds to compile, for its errors.
            pairs[step.n_filled, 0] = step.pair[0]
            pairs[step.n_filled, 1] = step.pair[1]
            step.n_filled += 1
        elif kind == _SORT:
            join_parts(step.n_parts, nodes[step.ahead], rows, working, memory)
        elif kind != _START:
            _keep_best(step, nodes, splits, best, rules, columns)
        if extras is not None and kind == _SEARCH:
            step.searched += 1
            if step.searched < step.n_filled:
                n_tasks = _search_pair(step, pairs, best)
            else:
                step.n_filled = 0
        is_root, ends = kind == _START and step.n_planned == 0, False
        while n_tasks < 0 and not ends:
            ends = step.n_nodes == len(nodes)
            if extras is not None and step.n_filled > 0:
                several = rules.level_by_level or step.speculates > 0
                ends |= not (several and step.adds_up > 0)
            if not ends and not is_root:
                if extras is None:
                    number = _best_leaf(step.n_nodes, nodes, splits, False)
                elif step.kind == _SORT:
                    number = step.ahead
                else:
                    number = _next_leaf(step, planned, nodes, splits, rules.level_by_level)
                ends = number < 0
                if not ends:
                    leaf, split = nodes[number], splits[number]
                    n_parts = 0 if leaf.middle >= 0 else _n_parts_to_sort(leaf, step.n_threads)
                    if n_parts > 1:
                        step.kind, step.ahead = _SORT, number
                        step.n_parts = n_tasks = n_parts
                        break
                    if n_parts == 1:
                        sort_part(0, 1, leaf, split, rows, binned_by_column, working, memory[0])
                        join_parts(1, leaf, rows, working, memory)
                    _split(leaf, split, step, nodes)
                    if extras is not None:
                        _bound(number, nodes, rules, columns)
                    _pass_on(number, nodes, groups, paths, is_open)
            if not ends:
                step.kind, step.ahead, is_root = _FILL, -1, False
                if _may_split_either(step, nodes, rules):
                    sizes = n_blocks, packed.shape[1], len(histograms)
                    n_tasks = _first_tasks(step, nodes, best, sizes)
                    if step.n_tasks > 1 and step.adds_up == 0:  # rows of a leaf may be sorted
                        step.ahead = _best_leaf(step.n_nodes, nodes, splits, True)
                    n_tasks += step.kind == _FILL and step.ahead >= 0
        if ends:
            step.kind = _END
            if extras is not None:
                step.kind, step.searched = (_PLAN if step.speculates else _END), 0
                if step.n_filled:
                    step.kind = _SEARCH
                    _search_pair(step, pairs, best)
        tasks.open_tasks(counters, n_tasks)


@register_jitable(error_model="numpy")
def _open_blocks(first, last, is_open):
    """Return the numbers of the blocks from ``first`` to ``last`` that may split the new leaves."""
    blocks, n = np.empty(last - first, np.int64), 0
    for block in range(first, last):
        blocks[n] = block
        n += is_open[block]
    return blocks[:n]


@register_jitable(error_model="numpy")
def _add_parts(first, last, n_parts, filled, into):
    """Write the sum over parts of ``filled[part, block]`` to ``into[block - first]``.

    Blocks are ``first`` to ``last`` - 1. Sums of closed blocks mean nothing and are not read.
    """
    for block in range(first, last):
        for i in range(into.shape[1]):
            total = np.int64(0)
            for part in range(n_parts):
                total += filled[part, block, i]
            into[block - first, i] = total


@register_jitable(error_model="numpy")
def _search_pair(step, pairs, best):
    """Prepare the search of the next pair of filled leaves; return the number of tasks."""
    step.pair[0], step.pair[1] = pairs[step.searched, 0], pairs[step.searched, 1]
    for task in range(len(best)):
        best[task, 0].gain = best[task, 1].gain = -np.inf
    return step.n_tasks


@register_jitable(error_model="numpy")
def _may_split_either(step, nodes, settings):
    """Return whether one of the two new leaves may be split: by the rules, and in this tree."""
    if step.n_nodes == step.n_most:  # their histograms are not needed
        return False
    small, large = step.pair[0], step.pair[1]
    may = splitter.may_split(nodes[small], settings)
    return may or (large >= 0 and splitter.may_split(nodes[large], settings))


@register_jitable(error_model="numpy")
def _first_tasks(step, nodes, best, sizes):
    """Prepare the search of two new leaves; return the number of tasks of its first step.

    In a leaf of many rows, each thread first computes the histogram of a part of the rows. So each
    row is read once, by one thread. The histograms of parts need no more memory than those of all
    leaves. ``sizes`` are the numbers of blocks, of packed integers and of leaves.
    """
    n_blocks, n_integers, n_leaves = sizes
    small = nodes[step.pair[0]]
    n_rows = small.end - small.begin
    for task in range(len(best)):
        best[task, 0].gain = best[task, 1].gain = -np.inf
    is_shared = (n_rows + _SEARCH_IN_ROWS) * n_blocks >= _SHARED
    n_sharing = step.n_threads if step.n_threads < n_blocks else n_blocks
    step.n_tasks = n_sharing if is_shared else 1
    step.n_parts = _n_parts(n_rows, n_integers, step.n_threads, n_blocks, n_leaves)
    if step.n_parts == 0:
        return step.n_tasks
    step.kind = _PARTS
    return step.n_parts


@register_jitable(error_model="numpy")
def _n_parts(n_rows, n_integers, n_threads, n_blocks, n_leaves):
    """Return the number of parts into which the rows of a leaf are divided; 0 for no division.

    They are at most as many as threads, and as leaves whose histograms are stored.
    """
    if n_blocks >= n_threads * _TOGETHER:  # threads share the blocks as well
        return 0
    n_parts = n_rows // (_ROWS_OF_PART * n_integers)
    n_parts = n_parts if n_parts < n_threads else n_threads
    n_parts = n_parts if n_parts < n_leaves else n_leaves
    return n_parts if n_parts > 1 else 0


@register_jitable(error_model="numpy")
def _keep_best(step, nodes, splits, best, settings, columns):
    """Store the best split of both new leaves over all tasks, by the first feature of equal ones.

    Its gain becomes the net gain, or -inf if that is too small.
    """
    for child in range(2):
        number, chosen = step.pair[child], 0
        for task in range(len(best)):
            split, other = best[task, child], best[chosen, child]
            is_first = columns[split.column].feature < columns[other.column].feature
            if split.gain > other.gain or (is_first and split.gain == other.gain):
                chosen = task
        if number >= 0:
            splitter.copy_split(best[chosen, child], splits[number])
            gain = splitter.net_gain(splits[number].gain, nodes[number], settings)
            splits[number].gain = gain


@register_jitable(error_model="numpy")
def _best_leaf(n_nodes, nodes, splits, unsorted):
    """Return the leaf whose split gains most, the first of equal ones; -1 if no split has a gain.

    It is what :func:`_next_leaf` returns for trees that grow leaf by leaf, in one process. If
    ``unsorted``, it is one whose rows are not sorted by the side of its split.
    """
    chosen, largest = -1, -np.inf
    for i in range(n_nodes):
        if unsorted and nodes[i].middle >= 0:
            continue
        if nodes[i].column < 0 and splits[i].gain > largest:
            chosen, largest = i, splits[i].gain
    return chosen


@register_jitable(error_model="numpy")
def _next_leaf(step, planned, nodes, splits, level_by_level):
    """Return the leaf to split next, the first of equal ones; -1 if no split has a gain.

    Level by level, leaves of the highest level come first. If leaves are planned (see
    ``speculation``), it is the next of them.
    """
    chosen = -1
    if step.speculates:
        if step.n_begun == step.n_planned:
            return chosen
        step.n_begun += 1
        return planned[step.n_begun - 1]
    for i in range(step.n_nodes):
        if nodes[i].column >= 0 or splits[i].gain == -np.inf:
            continue
        levels = nodes[i].depth - nodes[chosen].depth if chosen >= 0 and level_by_level else 0
        if chosen < 0 or levels < 0 or (levels == 0 and splits[i].gain > splits[chosen].gain):
            chosen = i
    return chosen


@register_jitable(error_model="numpy")
def _n_parts_to_sort(leaf, n_threads):
    """Return the number of parts of the rows of a leaf, each of which one thread sorts."""
    n_parts = (leaf.end - leaf.begin) // _SORTED_ROWS_OF_PART
    n_parts = n_parts if n_parts < n_threads else n_threads
    return n_parts if n_parts > 1 else 1


@register_jitable(error_model="numpy")
def _split(parent, split, step, nodes):
    """Split ``parent``, whose rows are sorted by side, by ``split``: add two leaves to ``nodes``.

    ``step`` gets the numbers of the new leaves, the one with fewer documents first.
    """
    first, middle = step.n_nodes, parent.middle
    left, right = nodes[first], nodes[first + 1]
    parent.column, parent.bin, parent.missing_left = split.column, split.bin, split.missing_left
    parent.first, parent.gain = first, split.gain
    left.begin, left.end, right.begin, right.end = parent.begin, middle, middle, parent.end
    left.gradient, right.gradient = split.gradient, parent.gradient - split.gradient
    left.hessian, right.hessian = split.hessian, parent.hessian - split.hessian
    left.n_documents = split.n_documents
    right.n_documents = parent.n_documents - split.n_documents
    left.depth = right.depth = parent.depth + 1
    left.slot = right.slot = parent.slot
    small = first + np.int64(left.n_documents > right.n_documents)  # its histogram is computed
    nodes[small].slot = (first + 1) // 2  # the number of leaves before
    step.pair[0], step.pair[1] = small, 2 * first + 1 - small
    step.n_nodes += 2


@register_jitable(error_model="numpy")
def _pass_on(number, nodes, groups, paths, is_open):
    """Copy the constraints and the open blocks of leaf ``number`` to its two children.

    ``paths`` tells which groups of features the splits above allow: the groups that contain all
    features of these splits. ``is_open`` tells which blocks may split a node.
    """
    first, column = nodes[number].first, nodes[number].column
    for group in range(len(groups)):
        allows = paths[number, group] and groups[group, column]
        paths[first, group] = paths[first + 1, group] = allows
    for block in range(is_open.shape[1]):
        is_open[first, block] = is_open[first + 1, block] = is_open[number, block]


@register_jitable(error_model="numpy")
def _bound(number, nodes, settings, columns):
    """Set the bounds of values of the two new leaves below a node, from the node's.

    With a monotone constraint (a sign that is not 0), the mean of their values bounds both.
    """
    parent, left, right = nodes[number], nodes[nodes[number].first], nodes[nodes[number].first + 1]
    sign = columns[parent.column].sign
    left.lower = right.lower = parent.lower
    left.upper = right.upper = parent.upper
    middle = splitter.newton_step(left.gradient, left.hessian, settings, parent)
    middle = (middle + splitter.newton_step(right.gradient, right.hessian, settings, parent)) / 2
    if sign > 0:
        left.upper = right.lower = middle
    elif sign < 0:
        left.lower = right.upper = middle
