"""Grower: one tree, whose leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child. It takes these steps, and threads
share those that read documents or bins:

- ``FILL``: sum the histogram of the smaller of two new leaves;
- ``SEARCH``: subtract it from that of their parent, which gives the other one, and find the best
  split of each leaf in some blocks of features. Each thread has neighboring blocks;
- ``KEEP``: store the best splits over all blocks;
- ``CHOOSE``: choose the leaf to split next;
- ``PART`` and ``JOIN``: sort its rows by side, in chunks, and make two new leaves of it.

Workers go the same way with their own rows: after ``FILL`` each adds up the histograms of all
workers for a share of the blocks, and after ``SEARCH`` all tell each other the best splits that
they have found. Sums are exact, so trees depend neither on threads nor on workers.
"""

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import N_BINS, STRIDE, fill
from treerank.feature_parts.histogram.packing import unpack
from treerank.feature_parts.histogram.partition import join_chunk, n_chunks_of, part_chunk
from treerank.feature_parts.histogram.splitter import (
    SPLIT,
    finish_gain,
    newton_step,
    search_feature,
)
from treerank.feature_parts.histogram.tree import NODE, NOW, Data, Memory, Tree, shares_of
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_parts
from treerank.team import Team, current_team

OPEN, FILL, SEARCH, KEEP, CHOOSE, PART, JOIN, END = range(8)
#: From how many blocks of eight bins on threads share a step; fewer take less time than a wake-up.
_SHARED = 16_384
#: Rows of a leaf whose histogram takes as long to fill as a search.
_SEARCH_IN_ROWS = 1500


def grow(data: Data, rows: np.ndarray, memory: Memory) -> Tree:
    """Grow one tree on ``rows``, and sort ``rows`` by leaf."""
    team, n_most = current_team(), 2 * len(memory.histograms) - 1
    nodes, best = np.zeros(n_most, dtype=NODE), np.zeros(n_most, dtype=SPLIT)
    nodes["place"], nodes["lower"], nodes["upper"] = -1, -np.inf, np.inf
    best["gain"] = -np.inf
    words = data.words if len(rows) == len(data.words) else data.words[rows]
    total = team.total(np.array([column.sum() for column in words.T]))
    root = np.empty((3, 1))
    unpack(total, 1, data.layout[0], root)
    nodes[0].gradient, nodes[0].hessian, nodes[0].count = root[:, 0]
    nodes[0].end = len(rows)
    goes_left = np.zeros((n_most, N_BINS), dtype=np.uint8)
    tree = Tree(nodes, goes_left, best, np.array([(1, 0, 0, -1)], dtype=NOW), rows)
    step, n_tasks = _grow(0, 0, OPEN, data, tree, memory)
    while step != END:
        if step == SEARCH:
            parts = [memory.filled[share] for share in shares_of(len(memory.filled), team.size)]
            memory.histograms[nodes["slot"][tree.now["small"][0]]] = team.total_of_own(parts)
        elif step == KEEP:
            _tell_splits(team, memory.splits)
        if n_tasks:
            in_parts(_grow, n_tasks, step, data, tree, memory)
        step, n_tasks = _grow(0, 0, step, data, tree, memory)
    n = tree.now["n_nodes"][0]
    return tree._replace(nodes=nodes[:n].copy(), goes_left=goes_left[:n].copy())


def _tell_splits(team: Team, splits: np.ndarray) -> None:
    """Replace the best splits of this worker by those of all workers, the first among equals."""
    pair = [0, 1]
    told = team.gather(splits[np.argmax(splits["gain"], axis=0), pair].tobytes())
    found = np.frombuffer(b"".join(told), dtype=SPLIT).reshape(-1, 2)
    splits[:] = found[np.argmax(found["gain"], axis=0), pair]


@njit(error_model="numpy", nogil=True)  # one kernel, because two would both hold the code of steps
def _grow(first, last, step, data, tree, memory):
    """Do some tasks of a step; or, if there are none, go on until threads or workers must meet.

    Returns the step that is next, and the number of its tasks that threads should share.
    """
    goes_on = first == last
    while True:
        for task in range(first, last):
            _work(step, np.int64(task), data, tree, memory)
        if not goes_on:
            return step, 0
        step = _next_step(step, data, tree, memory)
        last, effort = _size_of(step, data, tree, memory)
        if step == END or (len(memory.filled) and step in (SEARCH, KEEP)):
            return step, last
        if len(memory.near) > 1 and effort >= _SHARED:
            return step, last


@register_jitable(error_model="numpy")
def _size_of(step, data, tree, memory):
    """Return the number of tasks of a step, and about how many bins they read or search."""
    if step in (FILL, SEARCH):
        small = tree.nodes[tree.now[0].small]
        return len(memory.near), (small.end - small.begin + _SEARCH_IN_ROWS) * data.bins.shape[1]
    if step in (PART, JOIN):
        node = tree.nodes[tree.now[0].node]
        return n_chunks_of(node.end - node.begin), node.end - node.begin
    return 0, 0


@register_jitable(error_model="numpy")
def _work(step, task, data, tree, memory):
    """Do one of the tasks of a step, independently of the others."""
    if step == FILL:
        _fill_blocks(task, data, tree, memory)
    if step == SEARCH or (step == FILL and not len(memory.filled)):
        _search_blocks(task, data, tree, memory)
    if step in (PART, JOIN):
        node = tree.nodes[tree.now[0].node]
        rows = tree.rows[node.begin : node.end]
        if step == PART:
            bins, goes_left = data.columns[node.place], tree.goes_left[tree.now[0].node]
            memory.before[task + 1] = part_chunk(task, rows, bins, goes_left, memory.spare)
        else:
            join_chunk(task, memory.before, memory.spare, rows)


@register_jitable(error_model="numpy")
def _next_step(step, data, tree, memory):
    """Finish a step; return the next one."""
    now = tree.now[0]
    if step == FILL and len(memory.filled):
        return SEARCH
    if step in (FILL, SEARCH):
        return KEEP
    if step == KEEP:
        _keep_best(tree, memory.splits, data.rules[0])
        return CHOOSE
    if step == CHOOSE:
        now.node = _next_leaf(tree, data.rules[0].level_by_level)
        if now.node < 0 or now.n_nodes == len(tree.nodes):
            return END
        _begin_split(data.places, tree)
        return PART
    if step == PART:
        node = tree.nodes[now.node]
        for c in range(n_chunks_of(node.end - node.begin)):
            memory.before[c + 1] += memory.before[c]
        return JOIN
    if step == JOIN:
        _end_split(data, tree, memory.before)
    may_split = _may_split(tree.nodes[now.small], data.rules[0])
    may_split |= now.large >= 0 and _may_split(tree.nodes[now.large], data.rules[0])
    return FILL if may_split and now.n_nodes < len(tree.nodes) else CHOOSE


@register_jitable
def _may_split(node, rules):
    """Return whether a leaf is large enough to be split, and not too deep."""
    enough = node.count >= 2 * rules.min_child_samples
    heavy = node.hessian >= 2 * rules.min_child_weight
    return enough and heavy and not 0 < rules.max_depth <= node.depth


@register_jitable(error_model="numpy")
def _fill_blocks(task, data, tree, memory):
    """Sum the histogram of the smaller of two leaves, in the blocks of a task."""
    small = tree.nodes[tree.now[0].small]
    into = memory.filled if len(memory.filled) else memory.histograms[small.slot]
    n_each = -(-len(into) // len(memory.near))
    begin, end = min(task * n_each, len(into)), min((task + 1) * n_each, len(into))
    rows = tree.rows[small.begin : small.end]
    fill(data.bins, data.words, rows, begin, into[begin:end], memory.near[task])


@register_jitable(error_model="numpy")
def _search_blocks(task, data, tree, memory):
    """Find the best splits of one or two leaves in the blocks of a task."""
    now, n_blocks = tree.now[0], memory.histograms.shape[1]
    n_each = -(-n_blocks // len(memory.near))
    for child in range(2):
        memory.splits[task, child].gain = -np.inf
    for block in range(min(task * n_each, n_blocks), min((task + 1) * n_each, n_blocks)):
        for child in range(2):
            number = now.large if child else now.small
            if number < 0 or not _may_split(tree.nodes[number], data.rules[0]):
                continue
            leaf = tree.nodes[number]
            words = memory.histograms[leaf.slot, block]
            if child:
                of_small = memory.histograms[tree.nodes[now.small].slot, block]
                for i in range(len(words)):
                    words[i] -= of_small[i]
            scratch = memory.sums[task], memory.ordered[task]
            place = memory.first_block + block
            _search_block(place, words, leaf, data, scratch, memory.splits[task, child])


@register_jitable(error_model="numpy")
def _search_block(block, words, leaf, data, scratch, split):
    """Write the best split of a leaf by a feature of one block, if it is better."""
    how = data.rules[0], data.layout[0]
    for j in range(WIDTH):
        place = data.places[block * WIDTH + j]
        if place.usable:
            own = words[j * STRIDE * how[1].n_words :]
            if search_feature(own, place, leaf, how, scratch, split):
                split.place = block * WIDTH + j


@register_jitable(error_model="numpy")
def _keep_best(tree, splits, rules):
    """Store the best splits of the newest leaves, the first among equals."""
    now = tree.now[0]
    for child in range(2):
        number, chosen = now.large if child else now.small, 0
        if number >= 0:
            for task in range(len(splits)):
                if splits[task, child].gain > splits[chosen, child].gain:
                    chosen = task
            tree.best[number] = splits[chosen, child]
            if tree.best[number].gain > -np.inf:
                finish_gain(tree.best[number], tree.nodes[number], rules)


@register_jitable
def _next_leaf(tree, level_by_level):
    """Return the leaf to split next, the first among equals, or -1 if no split gains."""
    nodes, best, chosen = tree.nodes, tree.best, -1
    for i in range(tree.now[0].n_nodes):
        if nodes[i].place >= 0 or best[i].gain == -np.inf:
            continue
        if chosen >= 0 and level_by_level and nodes[i].depth != nodes[chosen].depth:
            if nodes[i].depth < nodes[chosen].depth:
                chosen = i
        elif chosen < 0 or best[i].gain > best[chosen].gain:
            chosen = i
    return chosen


@register_jitable(error_model="numpy")
def _begin_split(places, tree):
    """Turn a leaf into a node."""
    number = tree.now[0].node
    node, split, goes_left = tree.nodes[number], tree.best[number], tree.goes_left[number]
    node.place, node.bin, node.first = split.place, split.bin, tree.now[0].n_nodes
    node.missing_left, node.gain = split.missing_left, split.gain
    for b in range(N_BINS):
        goes_left[b] = split.goes_left[b] if places[node.place].is_category else b <= split.bin
    if not places[node.place].is_category:
        goes_left[places[node.place].n_values] = split.missing_left


@register_jitable(error_model="numpy")
def _end_split(data, tree, before):
    """Make two leaves below a node whose rows are sorted by side."""
    now = tree.now[0]
    node, split = tree.nodes[now.node], tree.best[now.node]
    left, right = tree.nodes[node.first], tree.nodes[node.first + 1]
    left.begin, right.end = node.begin, node.end
    left.end = right.begin = node.begin + before[n_chunks_of(node.end - node.begin)]
    left.gradient, left.hessian, left.count = split.gradient, split.hessian, split.count
    right.gradient = node.gradient - split.gradient
    right.hessian = node.hessian - split.hessian
    right.count = node.count - split.count
    left.depth = right.depth = node.depth + 1
    _bound(node, left, right, data.rules[0], data.places[node.place].sign)
    right_is_small = np.int64(left.count > right.count)
    now.small, now.large = node.first + right_is_small, node.first + 1 - right_is_small
    tree.nodes[now.small].slot, tree.nodes[now.large].slot = (now.n_nodes + 1) // 2, node.slot
    now.n_nodes += 2


@register_jitable(error_model="numpy")
def _bound(node, left, right, rules, sign):
    """Pass the bounds of values on to the children.

    A split by a feature with a monotone constraint narrows them to the middle of its two values.
    """
    low, high = node.lower, node.upper
    left.lower = right.lower = low
    left.upper = right.upper = high
    middle = newton_step(left.gradient, left.hessian, rules, low, high)
    middle = (middle + newton_step(right.gradient, right.hessian, rules, low, high)) / 2
    if sign > 0:
        left.upper = right.lower = middle
    elif sign < 0:
        left.lower = right.upper = middle
