"""Grower: one tree, whose leaves are split one after the other, each by its best split.

``"leafwise"`` always splits the leaf with the largest gain; ``"depthwise"`` splits level by level.
A split costs one pass over the documents of its smaller child:

- sum the histogram of the smaller of two new leaves;
- subtract it from that of their parent, which gives the other one, and find the best split of each
  leaf. Threads share the blocks of features in these two steps;
- choose the leaf to split next, sort its rows by side, and make two new leaves of it.

Workers do so with their own rows. After the first step each adds up the histograms of all workers
for a share of the blocks, and after the second all tell each other the best splits they have found.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import pairwise

import numba as nb
import numpy as np

from treerank.feature_parts.histogram import splitter
from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import N_BINS, fill
from treerank.feature_parts.histogram.packing import Layout, unpack
from treerank.feature_parts.histogram.partition import partition
from treerank.feature_parts.histogram.tree import NODE, Data, Node, shares_of
from treerank.numerics.threads import in_parts
from treerank.team import current_team

#: From how many bins of eight features on threads share a step; fewer take less than a wake-up.
_SHARED = 40_000
#: Rows of a leaf whose histogram takes as long to fill as a search.
_SEARCH_IN_ROWS = 1500
#: Fewest rows of a part, per word: to add the part and to wait for it takes much less.
_ROWS_OF_PART = 10_000
#: About how many blocks are filled and searched in turn: histograms stay in the second cache.
_TOGETHER = 16
_PAIR = np.arange(2)


def grow(
    data: Data, words: np.ndarray, layout: Layout, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Grow one tree on ``rows``, and sort ``rows`` by leaf; ``words`` are those of all rows.

    Returns the nodes, the root first, and 1 for the bins that go left in each of them.
    """
    n_most, rules = 2 * len(data.histograms) - 1, data.rules
    leaves: list[tuple[int, float, int, np.ndarray]] = []
    goes_left = np.zeros((n_most, N_BINS), dtype=np.uint8)
    nodes, new = [_root(words, layout, rows)], [0]
    open_groups = [np.ones(len(data.groups), dtype=bool)]  # that all features above are of
    how = splitter.record_of(layout, rules)
    while len(nodes) < n_most:
        pair = [nodes[number] for number in new]
        if any(splitter.may_split(leaf, rules) for leaf in pair):
            usable = np.logical_or.reduce(data.groups[open_groups[new[0]]])
            splits = _best_splits(data, words, usable, how, rows, pair)
            for number, leaf, split in zip(new, pair, splits, strict=False):
                gain = splitter.whole_gain(float(split["gain"]), leaf, rules)
                if gain > -np.inf:  # the first among equals is split first
                    depth = leaf.depth if rules.level_by_level else 0
                    heappush(leaves, (depth, -gain, number, split))
        if not leaves:
            break
        _, loss, number, split = heappop(leaves)
        first, goes_left[number] = len(nodes), split["goes_left"]
        nodes += _children(nodes[number], first, split, rows, data)
        cut = dict(zip(("place", "bin", "missing_left"), split.item(), strict=False))
        nodes[number] = nodes[number]._replace(**cut, first=first, gain=-loss)
        new = sorted((first, first + 1), key=lambda number: nodes[number].n_documents)
        open_groups += [open_groups[number] & data.groups[:, cut["place"]]] * 2
    return np.array(nodes, dtype=NODE), goes_left[: len(nodes)].copy()


def _root(words: np.ndarray, layout: Layout, rows: np.ndarray) -> Node:
    """Return the root, whose sums are those over the rows of all workers."""
    words = words if len(rows) == len(words) else words[rows]
    total = current_team().total(np.array([column.sum() for column in words.T]))
    sums = np.empty((3, 1))
    unpack(total, 1, layout, sums)
    g, h, n = sums[:, 0].tolist()
    return Node(0, len(rows), 0, 0, g, h, n)


def _share(n_bins: int, kernel: Callable[..., None], n: int) -> None:
    """Call a kernel for all of ``n`` blocks, in threads if it reads many bins."""
    if n_bins < _SHARED:
        kernel(0, n)
    else:
        in_parts(kernel, n)


def _best_splits(
    data: Data,
    words: np.ndarray,
    usable: np.ndarray,
    how: np.ndarray,
    rows: np.ndarray,
    pair: list[Node],
) -> np.ndarray:
    """Return the best splits of new leaves, the smaller one first, over all blocks."""
    team, small, n_blocks = current_team(), pair[0], data.binned.shape[1]
    shares = shares_of(n_blocks)
    own = shares[team.rank]
    into = kept = data.histograms[small.slot]
    if team.size > 1:
        into = np.empty((n_blocks, kept.shape[1]), dtype=np.int64)
    fill_blocks = _filling(data, words, rows[small.begin : small.end], into)
    splits = np.zeros((max(1, len(kept)), 2), dtype=splitter.SPLIT)
    splits["gain"] = -np.inf
    searched = slice(WIDTH * own.start, WIDTH * own.stop)
    search = data.bins.places[searched], usable[searched], how
    leaves = np.array(pair, dtype=NODE)

    def search_blocks(first: int, last: int) -> None:
        splitter.search_blocks(first, last, search, leaves, data.histograms, splits)

    def fill_and_search(first: int, last: int) -> None:
        n_groups = max(1, round((last - first) / _TOGETHER))
        ends = (first + (last - first) * group // n_groups for group in range(n_groups + 1))
        for at in pairwise(ends):
            fill_blocks(*at)
            search_blocks(*at)

    n_bins = (small.end - small.begin + _SEARCH_IN_ROWS) * n_blocks
    if team.size == 1:
        _share(n_bins, fill_and_search, n_blocks)
        return _best(splits)
    _share(n_bins, fill_blocks, n_blocks)
    kept[:] = team.total_of_own([into[share] for share in shares])
    _share(n_bins, search_blocks, len(kept))
    splits["place"] += WIDTH * own.start
    told = b"".join(team.gather(_best(splits).tobytes()))
    return _best(np.frombuffer(told, dtype=splitter.SPLIT).reshape(-1, 2))


def _best(splits: np.ndarray) -> np.ndarray:
    """Return the best split of each of two leaves, the first among equals."""
    return splits[splits["gain"].argmax(axis=0), _PAIR]


def _filling(
    data: Data, words: np.ndarray, rows: np.ndarray, into: np.ndarray
) -> Callable[[int, int], None]:
    """Return a function of first and last block that fills the histogram of a leaf.

    Of many rows, each thread has filled that of a part before, and the blocks are added up. So a
    row is fetched once, and by one thread. Parts need no more memory than all leaves.
    """
    binned, n_most = (data.binned, data.bins.zeros), len(data.histograms)
    n_parts = min(nb.get_num_threads(), n_most, len(rows) // (_ROWS_OF_PART * words.shape[1]))
    if n_parts < 2:
        return lambda first, last: fill(first, last, binned, words, rows, into)
    parts, rows_of_part = np.empty((n_parts, *into.shape), np.int64), np.array_split(rows, n_parts)

    def fill_parts(first: int, last: int) -> None:
        for part in range(first, last):
            fill(0, len(into), binned, words, rows_of_part[part], parts[part])

    def add_parts(first: int, last: int) -> None:
        np.sum(parts[:, first:last], axis=0, out=into[first:last])

    in_parts(fill_parts, n_parts)
    return add_parts


def _children(
    leaf: Node, first: int, split: np.ndarray, rows: np.ndarray, data: Data
) -> tuple[Node, Node]:
    """Sort the rows of a leaf by side; return two new leaves below it, the left one first.

    ``first`` will be the number of the left one. The smaller one gets a new slot for its histogram.
    """
    place, _, _, _, g, h, n, goes_left = split.item()
    own = rows[leaf.begin : leaf.end]
    middle = leaf.begin + partition(own, data.columns[place], goes_left)
    others = leaf.gradient - g, leaf.hessian - h, leaf.n_documents - n
    slots = (first + 1) // 2, leaf.slot
    left_slot, right_slot = slots if n <= others[2] else slots[::-1]
    depth, bounds = leaf.depth + 1, (leaf.lower, leaf.upper)
    left = Node(leaf.begin, middle, depth, left_slot, g, h, n, *bounds)
    right = Node(middle, leaf.end, depth, right_slot, *others, *bounds)
    sign = data.bins.places["sign"][place]
    return _bounded(left, right, data.rules, sign) if sign else (left, right)


def _bounded(left: Node, right: Node, rules: splitter.TreeRules, sign: int) -> tuple[Node, Node]:
    """Return the leaves of a monotone split with the middle of their values as a bound of both."""
    step = splitter.newton_step
    middle = sum(step(leaf.gradient, leaf.hessian, rules, leaf) for leaf in (left, right)) / 2
    if sign > 0:
        return left._replace(upper=middle), right._replace(lower=middle)
    return left._replace(lower=middle), right._replace(upper=middle)
