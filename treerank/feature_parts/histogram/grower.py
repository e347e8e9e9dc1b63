"""Grower: one tree, whose leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child. The steps are:

1. Choose the leaf to split next.
2. Sort its rows by side. Then make two new leaves.
3. Block by block of features, compute the histogram of the smaller of the two new leaves; subtract
   it from the histogram of the parent, which gives the histogram of the larger leaf; and find the
   best split of both leaves.

A block whose features are 0 in nearly all documents of a leaf cannot split the leaf or a leaf below
it. Its histogram is then neither computed nor stored any more.

All threads split a large leaf together: each sorts a part of its rows, computes the histogram of a
part of the rows of the smaller new leaf, and searches a part of the blocks. The thread that
finishes the last task of a step does what follows, see ``tasks``. Other leaves are split by one
thread each, which chooses its next leaf when it has finished one. So threads hardly wait for each
other, and each row is read by one thread only. A leaf may then be split before it is known that the
tree needs it, see ``speculation``.

With several workers, a function adds up the histograms of the smaller leaf over all workers before
the search. One message adds up the histograms of several leaves: of all leaves of a level, or of
leaves that will be split soon, see ``speculation``. Sums of integers are exact in any order, so
every worker then searches the same numbers and finds the same splits.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numba as nb
import numpy as np

from treerank.feature_parts.histogram import speculation, splitter, tasks
from treerank.feature_parts.histogram.histogram import fill, size_of_batch
from treerank.feature_parts.histogram.packing import Layout, unpack
from treerank.feature_parts.histogram.partition import join_parts, sort_part
from treerank.feature_parts.histogram.splitter import SPLIT, TreeRules
from treerank.feature_parts.histogram.tree import NODE, SPLITTING, STEP, Data, Growth, most_leaves
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_parts
from treerank.numerics.vectors import aligned

#: Rows times blocks from which threads share a step; with fewer, waiting would take longer.
_SHARED = 10_000
#: All threads split a leaf, even if each could have one of its own, if the smaller new leaf has at
#: least this share of the rows per thread: at the end, the others would wait for it.
_LARGE = 1 / 4
#: Number of rows whose histogram takes as long to compute as a search for splits.
_SEARCH_IN_ROWS = 1500
#: Fewest rows of a part per packed integer: adding the part and waiting for it takes much less.
_ROWS_OF_PART = 10_000
#: Fewest rows of a part of a leaf that a thread sorts: waiting for other threads takes much less.
_SORTED_ROWS_OF_PART = 5000
#: Number of blocks, about, that are filled before they are searched: they fit into the L2 cache.
_TOGETHER = 8
#: Number of blocks of a thread from which threads share the blocks of a large leaf, not its rows.
_BLOCKS_OF_THREAD = 16

#: Yields the core to a thread that has taken a task and waits for a core.
_give_way = os.sched_yield if hasattr(os, "sched_yield") else partial(time.sleep, 0)
#: Kinds of steps. In ``_ALONE``, each task splits another leaf. In others, threads split one leaf:
#: they sort parts of its rows, compute histograms of parts of the rows, or fill and search blocks.
#: Histograms of several workers are added before ``_SEARCH``. ``_PLAN`` has no tasks: leaves are
#: planned after the threads have ended.
_SORT, _PARTS, _FILL, _SEARCH, _ALONE, _PLAN, _END = range(7)
#: States of a node: it is a leaf, it is being split, or its new leaves are searched, too.
_WAITS, _IN_WORK, _IS_SPLIT = range(3)
#: Instead of a leaf: the tree is complete; or what is next depends on leaves that are being split.
_COMPLETE, _LATER = -1, -2


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
    needs_extras = total is not None or rules.is_monotone or len(data.groups) > 1
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
    if total is not None:
        speculation.number_nodes(tree, rules)
    return speculation.true_tree(tree, rows)


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
    n_pairs = 0 if total is None else speculation.n_at_a_time(rules)
    n_nodes = 2 * len(data.histograms) - 1
    packed = packed if len(rows) == len(packed) else packed[rows]
    sums, of_rows = np.empty((3, 1)), np.array([column.sum() for column in packed.T])
    running = np.empty((2, 1), dtype=np.int64)
    unpack(of_rows if total is None else total(of_rows), 0, 1, layout, running, sums)
    nodes, splits = np.zeros(n_nodes, dtype=NODE), np.zeros(n_nodes, dtype=SPLIT)
    nodes["column"], nodes["lower"], nodes["upper"] = -1, -np.inf, np.inf
    nodes["number"][1:] = -1
    for name, value in zip(("gradient", "hessian", "n_documents"), sums[:, 0], strict=True):
        nodes[name][0] = value
    nodes["end"][0], splits["gain"] = len(rows), -np.inf
    n_threads, n_blocks = nb.get_num_threads(), data.binned.shape[1]
    n_leaves, _, n_integers = data.histograms.shape
    n_batch = size_of_batch(packed.shape[1], n_blocks)
    sizes = packed.shape[1], n_threads, n_blocks, n_leaves
    n_parts, n_tasks = _n_sharing(len(rows), *sizes)
    n_filled = n_parts + n_pairs
    step = np.zeros(1, dtype=STEP)
    n_kept = min(most_leaves(rules, len(packed)), n_leaves) if total is None else n_leaves
    begin = {"kind": _PARTS if n_parts else _FILL, "n_parts": n_parts, "n_tasks": n_tasks}
    begin |= {"n_nodes": 1, "n_most": 2 * n_kept - 1, "n_threads": n_threads}
    begin |= {"adds_up": total is not None, "n_numbered": 1, "n_waiting": 1}
    for name, value in begin.items():
        step[name] = value
    splitting = np.zeros(n_threads + 1, dtype=SPLITTING)
    splitting["leaf"], splitting["pair"][-1] = -1, (0, -1)
    best, is_open = np.zeros((n_threads, 2), dtype=SPLIT), np.zeros((n_nodes, n_blocks), dtype=bool)
    best["gain"], is_open[0] = -np.inf, True
    root = SimpleNamespace(hessian=sums[1, 0], n_documents=sums[2, 0], depth=0)
    if not splitter.may_split(root, rules):
        step["kind"] = _END
    return Growth(
        nodes,
        splits,
        paths=np.ones((n_nodes, len(data.groups)), dtype=bool),
        is_open=is_open,
        best=best,
        filled=aligned((n_filled, n_blocks, n_integers), np.int64),
        pairs=np.empty((n_pairs, 2), dtype=np.int64),
        planned=np.empty(n_pairs, dtype=np.int64),
        memory=aligned((n_threads,), splitter.MEMORY),
        scratch=aligned((n_threads, -(-n_blocks // 8) * 8 + n_batch), np.int64),
        working=np.empty_like(rows),
        splitting=splitting,
        waiting=np.zeros(n_nodes, dtype=np.int64),
        step=step,
        counters=tasks.new_counters(n_threads, n_parts or n_tasks),
    )


def _records(array: np.ndarray) -> Any:
    """Return a view of an array of records that have their fields as attributes, as in kernels."""
    return array.view(np.recarray)


def _with_sums(total: Callable[[np.ndarray], np.ndarray], tree: Growth) -> Growth:
    """Return the tree to search: its filled histograms are sums over all workers.

    Blocks that can split neither leaf, which are the same in all workers, are skipped. ``total``
    returns the sum of an array over all workers. The tasks of the search are opened.
    """
    step = tree.step[0]
    histograms = tree.filled[len(tree.filled) - len(tree.pairs) :][: step["n_filled"]]
    is_open = tree.is_open[tree.nodes["parent"][tree.pairs[: step["n_filled"], 0]]]
    tree.counters[:] = tasks.new_counters(len(tree.counters) - 1, step["n_tasks"])
    if is_open.all():
        return tree._replace(filled=total(histograms), pairs=tree.pairs[: step["n_filled"]])
    histograms[is_open] = total(histograms[is_open])
    return tree


def _plan(tree: Growth, rules: TreeRules) -> None:
    """Plan the leaves whose histograms the next message adds, and open the tasks of the first."""
    step, (leaves, is_last) = _records(tree.step)[0], speculation.next_leaves(tree, rules)
    tree.planned[: len(leaves)] = leaves
    step.n_planned, step.n_begun, step.kind, n_tasks = len(leaves), 1, _END, 0
    step.n_numbered, step.n_most = step.n_nodes, step.n_nodes + 2 * len(leaves) if is_last else -1
    if leaves:
        nodes, current = _records(tree.nodes), _records(tree.splitting)[-1]
        n_tasks = _begin_to_split(leaves[0], current, step, nodes)
    tree.counters[:] = tasks.new_counters(len(tree.counters) - 1, n_tasks)


@njit(error_model="numpy", nogil=True, optimization=1)
def _work(thread, shared, settings, extras):
    """Do tasks until none is free now; return whether there may be more later.

    The thread that finishes the last task of a step begins the next step. A thread that has split a
    leaf alone chooses its next one.

    ``extras`` is None where there are neither categories, nor constraints, nor other workers. The
    compiler then leaves out what only those need, which is a third of the code.

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
        scratch,
        working,
        splitting,
        waiting,
        steps,
        counters,
    ) = arrays
    step, rules, n_blocks = steps[0], settings[0], filled.shape[1]
    numbers, batch = scratch[thread], scratch[thread, (n_blocks + 7) // 8 * 8 :]
    while True:
        task = tasks.take_task(counters, thread) - 1
        if task < 0:
            return task == -1

        # A task sorts the rows of a leaf, or some of them.
        kind, n_parts, n = step.kind, step.n_parts, step.n_tasks
        is_alone, is_search = kind == _ALONE, kind == _SEARCH
        n_groups, first, last = 0, 0, n_blocks
        current = splitting[task if is_alone else len(splitting) - 1]
        if kind == _SORT or is_alone:
            part = task if kind == _SORT else 0
            n_parts = n_parts if kind == _SORT else 1
            leaf, split = nodes[current.leaf], splits[current.leaf]
            sort_part(part, n_parts, leaf, split, rows, binned_by_column, working, memory[task])
        # Or it fills histograms, of some rows or of some blocks, or it searches blocks.
        needs_histograms = kind == _FILL or is_search
        if is_alone:
            join_parts(1, nodes[current.leaf], rows, working, memory[task:])
            needs_histograms = _begin(current, nodes, splits, rules)
            if extras is not None:
                _constrain(current.leaf, nodes, groups, paths, rules, columns)
            n, n_parts = 1, 0
        small = nodes[current.pair[0]]
        open_blocks, leaf_rows = is_open[small.parent], rows[small.begin : small.end]
        if kind == _PARTS:
            begin, end = len(leaf_rows) * task // n_parts, len(leaf_rows) * (task + 1) // n_parts
            blocks = _open_blocks(0, n_blocks, open_blocks, numbers)
            fill(0, blocks, binned, zeros, packed, leaf_rows[begin:end], filled[task], batch)
        elif needs_histograms:
            if not is_alone:
                first, last = n_blocks * task // n, n_blocks * (task + 1) // n
            n_groups = (last - first + _TOGETHER // 2) // _TOGETHER
            n_groups += n_groups == 0
        for group in range(n_groups):
            begin = first + (last - first) * group // n_groups
            end = first + (last - first) * (group + 1) // n_groups
            into = histograms[small.slot, begin:end]
            if extras is not None and step.adds_up:
                at = step.n_filled if kind == _FILL else step.searched
                into = filled[len(filled) - len(pairs) + at, begin:end]
            if kind == _FILL and n_parts:
                _add_parts(begin, end, n_parts, filled, into)
            elif not is_search:  # a second call, so that the compiler inlines ``fill`` nowhere
                blocks = _open_blocks(begin, end, open_blocks, numbers)
                fill(begin, blocks, binned, zeros, packed, leaf_rows, into, batch)
            if is_search or step.adds_up == 0:
                splitter.search_blocks(
                    begin,
                    into,
                    columns,
                    groups,
                    histograms,
                    rules,
                    current.pair,
                    nodes,
                    paths,
                    is_open,
                    best[task],
                    memory[thread],
                    extras,
                    step.adds_up > 0,
                )
        if is_alone:
            _keep_best(task, task + 1, current.pair, nodes, splits, best, rules, columns)
            if not tasks.lock(counters):
                continue
            step.n_alone -= 1
            nodes[current.leaf].state, current.leaf = _IS_SPLIT, -1
        elif not tasks.finish_task(counters):
            continue

        # The end of a step: the next one is begun, or the best splits are stored.
        n_tasks, number = -1, _COMPLETE
        if kind == _PARTS:
            step.kind, n_tasks = _FILL, n
        elif kind == _SORT:
            join_parts(n_parts, nodes[current.leaf], rows, working, memory)
            needs_histograms = _begin(current, nodes, splits, rules)
            if extras is not None:
                _constrain(current.leaf, nodes, groups, paths, rules, columns)
            if needs_histograms:
                small, n_integers = nodes[current.pair[0]], packed.shape[1]
                sizes = n_integers, step.n_threads, n_blocks, len(histograms)
                n_parts, n = _n_sharing(small.end - small.begin, *sizes)
                step.n_parts, step.n_tasks, n_tasks = n_parts, n, n_parts if n_parts else n
                step.kind = _PARTS if n_parts else _FILL
        elif extras is not None and kind == _FILL and step.adds_up:
            # One by one: to assign an array to a row takes two seconds to compile, for its errors.
            pairs[step.n_filled, 0], pairs[step.n_filled, 1] = current.pair[0], current.pair[1]
            step.n_filled += 1
        elif not is_alone:
            _keep_best(0, len(best), current.pair, nodes, splits, best, rules, columns)
        if extras is not None and is_search:
            step.searched += 1
            if step.searched < step.n_filled:
                n_tasks = _search_pair(step, current, pairs)
            else:
                step.n_filled = 0
        if n_tasks >= 0:
            tasks.open_tasks(counters, n_tasks)
            continue

        # A leaf has been split: the next ones are chosen.
        if extras is not None and step.adds_up:
            if step.n_begun < step.n_planned:
                number, step.n_numbered = planned[step.n_begun], step.n_nodes
                step.n_begun += 1
        else:
            if not is_alone:
                tasks.lock(counters)
                if current.leaf >= 0:  # not the root, which has been searched only
                    nodes[current.leaf].state = _IS_SPLIT
            number = _give_leaves(
                step, nodes, splits, waiting, splitting, counters, rules, n_blocks
            )
        if number >= 0:
            n_tasks = _begin_to_split(number, splitting[len(splitting) - 1], step, nodes)
            tasks.open_tasks(counters, n_tasks)
        elif number == _LATER:
            tasks.unlock(counters)
        else:  # other threads may still split leaves that nobody needs
            tasks.open_tasks(counters, -1)
            step.kind = _END
            if extras is not None and step.adds_up:
                step.kind, step.searched = _PLAN, 0
                if step.n_filled:
                    step.kind = _SEARCH
                    _search_pair(step, current, pairs)


@register_jitable(error_model="numpy")
def _open_blocks(first, last, is_open, blocks):
    """Return the numbers of the blocks from ``first`` to ``last`` that may split the new leaves.

    They are written to ``blocks``.
    """
    n = 0
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
def _search_pair(step, current, pairs):
    """Prepare the search of the next pair of filled leaves; return the number of tasks."""
    current.pair[0], current.pair[1] = pairs[step.searched, 0], pairs[step.searched, 1]
    return step.n_tasks


@register_jitable(error_model="numpy")
def _n_sharing(n_rows, n_integers, n_threads, n_blocks, n_leaves):
    """Return how many threads share the rows of a leaf, and how many share the blocks after that.

    In a leaf of many rows, each thread first computes the histogram of a part of the rows. So each
    row is read once, by one thread. The parts are at most as many as leaves whose histograms are
    stored, so that they need no more memory; there are none (0) if one thread would have all rows.
    """
    n_parts = 0
    if n_blocks < n_threads * _BLOCKS_OF_THREAD:  # else threads share the blocks alone
        n_parts = n_rows // (_ROWS_OF_PART * n_integers)
        n_parts = n_parts if n_parts < n_threads else n_threads
        n_parts = n_parts if n_parts < n_leaves else n_leaves
    is_shared = (n_rows + _SEARCH_IN_ROWS) * n_blocks >= _SHARED
    n_tasks = n_threads if n_threads < n_blocks else n_blocks
    return n_parts if n_parts > 1 else 0, n_tasks if is_shared else 1


@register_jitable(error_model="numpy")
def _keep_best(first, last, pair, nodes, splits, best, settings, columns):
    """Store the best split of both new leaves over tasks from ``first`` to ``last`` - 1.

    Of equal ones, it is the one by the first feature. Its gain becomes the net gain, or -inf if
    that is too small.
    """
    for child in range(2):
        number, chosen = pair[child], first
        for task in range(first, last):
            split, other = best[task, child], best[chosen, child]
            is_first = columns[split.column].feature < columns[other.column].feature
            if split.gain > other.gain or (is_first and split.gain == other.gain):
                chosen = task
        if number >= 0:
            splitter.copy_split(best[chosen, child], splits[number])
            gain = splitter.net_gain(splits[number].gain, nodes[number], settings)
            splits[number].gain = gain
        for task in range(first, last):  # for the next leaf
            best[task, child].gain = -np.inf


@register_jitable(error_model="numpy")
def _take(number, is_last, current, step, nodes):
    """Begin to split leaf ``number``: its new leaves get the next two numbers."""
    current.leaf, current.is_last = number, is_last
    nodes[number].state, nodes[number].first = _IN_WORK, step.n_nodes
    step.n_nodes += 2


@register_jitable(error_model="numpy")
def _give_leaves(step, nodes, splits, waiting, splitting, counters, settings, n_blocks):
    """Give each thread without a leaf one that it splits alone, if there is one.

    Return a leaf that all threads split together, ``_COMPLETE`` or ``_LATER``.

    Leaves that are being split by other threads may have new leaves that gain more than those that
    wait. So leaves are split before it is known that the tree needs them, as many in vain as there
    is memory for. What is known is the order in which one thread would split the leaves up to the
    first one that is still being split; nodes are numbered in this order.
    """
    # ``waiting`` has the leaf last that one thread would split first.
    n, n_nodes = step.n_waiting, step.n_numbered
    while n > 0 and n_nodes < step.n_most and nodes[waiting[n - 1]].state == _IS_SPLIT:
        n -= 1
        left = nodes[waiting[n]].first
        for new in range(left, left + 2):
            nodes[new].number, at = n_nodes, n
            n_nodes += 1
            if splits[new].gain == -np.inf:
                continue
            while at > 0 and not _comes_first(new, waiting[at - 1], nodes, splits, settings):
                waiting[at] = waiting[at - 1]
                at -= 1
            waiting[at] = new
            n += 1
    step.n_waiting, step.n_numbered = n, n_nodes
    if n == 0 or n_nodes == step.n_most or splits[waiting[n - 1]].gain == -np.inf:
        return _COMPLETE
    n_threads, task = len(splitting) - 1, 0
    for at in range(n - 1, -1, -1):
        number = waiting[at]
        n_nodes += 2  # of the finished tree at least, if it is one where this leaf is split
        while task < n_threads and splitting[task].leaf >= 0:
            task += 1
        n_needed = 0 if at == n - 1 else step.n_most - step.n_numbered
        if n_nodes > step.n_most or task == n_threads or step.n_nodes + 2 + n_needed > len(nodes):
            break
        if nodes[number].state == _WAITS:
            is_shared = _is_shared(
                nodes[number], splits[number], nodes[0].end, n, n_threads, n_blocks
            )
            if is_shared and step.n_alone > 0:
                break
            if is_shared:
                return number
            _take(number, n_nodes == step.n_most, splitting[task], step, nodes)
            step.kind = _ALONE
            step.n_alone += 1
            tasks.open_task(counters, task + 1)
    return _LATER


@register_jitable(error_model="numpy")
def _comes_first(leaf, other, nodes, splits, settings):
    """Return whether a leaf is split before another one, whose number is lower.

    Its split gains more; level by level, leaves of the highest level come first.
    """
    if settings.level_by_level and nodes[leaf].depth != nodes[other].depth:
        return nodes[leaf].depth < nodes[other].depth
    return splits[leaf].gain > splits[other].gain


@register_jitable(error_model="numpy")
def _is_shared(leaf, split, n_rows, n_waiting, n_threads, n_blocks):
    """Return whether all threads split a leaf together, of a tree grown on ``n_rows``.

    They do if it is large, or if there are fewer leaves than threads; but not if it is so small
    that waiting would take longer.
    """
    n_right = leaf.n_documents - split.n_documents
    n_filled = split.n_documents if split.n_documents < n_right else n_right
    is_needed = n_waiting < n_threads or n_filled * n_threads >= _LARGE * n_rows
    is_enough = (n_filled + _SEARCH_IN_ROWS) * n_blocks >= _SHARED
    return n_threads > 1 and is_needed and is_enough


@register_jitable(error_model="numpy")
def _begin_to_split(number, current, step, nodes):
    """Take a leaf that all threads split; return the number of tasks that sort its rows."""
    _take(number, step.n_numbered + 2 == step.n_most, current, step, nodes)
    n_parts = (nodes[number].end - nodes[number].begin) // _SORTED_ROWS_OF_PART
    n_parts = n_parts if n_parts < step.n_threads else step.n_threads
    step.kind, step.n_parts = _SORT, n_parts if n_parts > 1 else 1
    return step.n_parts


@register_jitable(error_model="numpy")
def _begin(current, nodes, splits, settings):
    """Split ``current.leaf``, whose rows are sorted by side; return whether histograms are needed.

    They are not if the new leaves may not be split: by the rules, or in this tree. ``current`` gets
    the numbers of the new leaves, the one with fewer documents first.
    """
    parent, split = nodes[current.leaf], splits[current.leaf]
    first, middle = parent.first, parent.middle
    left, right = nodes[first], nodes[first + 1]
    parent.column, parent.bin, parent.missing_left = split.column, split.bin, split.missing_left
    parent.gain = split.gain
    left.begin, left.end, right.begin, right.end = parent.begin, middle, middle, parent.end
    left.gradient, right.gradient = split.gradient, parent.gradient - split.gradient
    left.hessian, right.hessian = split.hessian, parent.hessian - split.hessian
    left.n_documents = split.n_documents
    right.n_documents = parent.n_documents - split.n_documents
    left.depth = right.depth = parent.depth + 1
    left.slot = right.slot = parent.slot
    left.parent = right.parent = current.leaf
    small = first + np.int64(left.n_documents > right.n_documents)  # its histogram is computed
    nodes[small].slot = (first + 1) // 2  # the number of leaves before
    current.pair[0], current.pair[1] = small, 2 * first + 1 - small
    may = splitter.may_split(left, settings) or splitter.may_split(right, settings)
    return may and current.is_last == 0


@register_jitable(error_model="numpy")
def _constrain(number, nodes, groups, paths, settings, columns):
    """Set what constraints leave to the two new leaves below a node.

    ``paths`` tells which groups of features the splits above allow: the groups that contain all
    features of these splits. With a monotone constraint (a sign that is not 0), the mean of the
    values of the new leaves bounds both; else the bounds of the node do.
    """
    parent, left, right = nodes[number], nodes[nodes[number].first], nodes[nodes[number].first + 1]
    for group in range(len(groups)):
        allows = paths[number, group] and groups[group, parent.column]
        paths[parent.first, group] = paths[parent.first + 1, group] = allows
    sign = columns[parent.column].sign
    left.lower = right.lower = parent.lower
    left.upper = right.upper = parent.upper
    middle = splitter.newton_step(left.gradient, left.hessian, settings, parent)
    middle = (middle + splitter.newton_step(right.gradient, right.hessian, settings, parent)) / 2
    if sign > 0:
        left.upper = right.lower = middle
    elif sign < 0:
        left.lower = right.upper = middle
