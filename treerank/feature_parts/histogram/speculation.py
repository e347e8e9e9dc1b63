"""Speculation: leaves that workers split before it is known that the tree needs it.

A tree that grows leaf by leaf needs the gains of the last two leaves to choose the next, so its
workers would have to add up histograms split by split, and wait for each other as often. But the
leaves of large gain will be split soon, whatever the leaves below the others gain. So several of
them are split at a time, and one message adds up their histograms. What a leaf gains does not
depend on when it is split. So in the end the order in which one process would have split the leaves
is found from their gains, and splits that it would not have reached are taken back: with half of
the leaves that wait, hardly any. 30 splits need some 10 messages, 254 some 50.
"""

from heapq import heappop, heappush

import numpy as np

from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.feature_parts.histogram.tree import Growth

#: Most leaves that may be split in vain: each takes memory for a histogram.
_MOST_SPARE = 16
#: Share that is split at a time, of the leaves that will be split unless leaves below gain more.
_SHARE = 0.5


def n_spare(rules: TreeRules) -> int:
    """Return the number of leaves that may be split in vain; 0 for trees that grow by levels."""
    return 0 if rules.level_by_level else min(rules.num_leaves // 2, _MOST_SPARE)


def _order_of_splits(tree: Growth, num_leaves: int) -> list[int]:
    """Return the nodes in the order in which one process splits them, at most ``num_leaves`` - 1.

    Of a leaf that is not split yet, the leaves below are unknown: they come after all others.
    """
    n = tree.step[0]["n_nodes"]
    columns, children = tree.nodes["column"][:n].tolist(), tree.nodes["first"][:n].tolist()
    gains: list[float] = tree.splits["gain"][:n].tolist()
    order, n_nodes = list[int](), 1
    leaves = [(-gains[0], 0, 0)]  # with the number that the node has in the tree of one process
    while leaves and len(order) < num_leaves - 1:
        loss, _, node = heappop(leaves)
        if loss == np.inf:
            break
        order.append(node)
        if columns[node] >= 0:
            for child in (0, 1):
                number = children[node] + child
                heappush(leaves, (-gains[number], n_nodes + child, number))
        n_nodes += 2
    return order


def next_leaves(tree: Growth, rules: TreeRules) -> tuple[list[int], bool]:
    """Return the leaves to split next, possibly none, and whether the first completes the tree.

    The first is the one that one process splits next; the others are expected to be split soon.
    """
    order = _order_of_splits(tree, rules.num_leaves)
    is_split = tree.nodes["column"][order] >= 0
    waiting = [node for node, done in zip(order, is_split, strict=True) if not done]
    if not waiting:
        return [], False
    n_needed = order.index(waiting[0])
    n_ahead = (tree.step[0]["n_nodes"] - 1) // 2 - n_needed
    n_most = 1 + n_spare(rules) - n_ahead
    n_leaves = max(1, min(n_most, round(len(waiting) * _SHARE)))
    return waiting[:n_leaves], n_needed == rules.num_leaves - 2


def true_tree(tree: Growth, num_leaves: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(nodes, goes_left)`` as one process makes them.

    Splits that it would not have made are taken back. ``rows`` of such leaves are sorted again, in
    place.
    """
    splits = _order_of_splits(tree, num_leaves)
    first = tree.nodes["first"]
    numbers = np.array([0, *(first[node] + child for node in splits for child in (0, 1))])
    nodes, goes_left = tree.nodes[numbers], tree.splits["goes_left"][numbers]
    number_of = {node: number for number, node in enumerate(numbers.tolist())}
    is_split = np.zeros(len(nodes), dtype=bool)
    for k, node in enumerate(splits):
        is_split[number_of[node]] = True
        nodes["first"][number_of[node]] = 2 * k + 1
    for leaf in np.flatnonzero(~is_split & (nodes["column"] >= 0)):
        rows[nodes["begin"][leaf] : nodes["end"][leaf]].sort()
        nodes["column"][leaf] = -1
        for name in ("bin", "missing_left", "first", "gain"):
            nodes[name][leaf] = 0
    return nodes, goes_left * is_split[:, None]
