"""Speculation: leaves that are split before it is known that the tree needs it.

A tree that grows leaf by leaf needs the gains of the last two leaves to choose the next, so its
workers would have to add up histograms split by split, and wait for each other as often; and all
its threads would have to split one leaf together. But the leaves of large gain will be split soon,
whatever the leaves below the others gain. So several of them are split at a time: by threads one
each, and by workers with one message that adds up their histograms. What a leaf gains does not
depend on when it is split. So the order in which one process with one thread would have split the
leaves is found from their gains, and splits that it would not have reached are taken back. If
workers split half of the leaves that wait, there are hardly any: 30 splits then need some 10
messages, 254 some 50.
"""

from heapq import heappop, heappush

import numpy as np

from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.feature_parts.histogram.tree import Growth

#: Most leaves that workers may split in vain, and each of several threads of one process: each leaf
#: takes memory for a histogram.
_MOST_SPARE, _SPARE_OF_THREAD = 16, 4
#: Share that workers split at a time, of the leaves that are split unless leaves below gain more.
_SHARE = 0.5


def n_spare(rules: TreeRules, n_threads: int, *, has_workers: bool) -> int:
    """Return the number of leaves that may be split in vain."""
    if has_workers:
        n_spare = 0 if rules.level_by_level else _MOST_SPARE
    else:
        n_spare = _SPARE_OF_THREAD * n_threads if n_threads > 1 else 0
    return min(rules.num_leaves // 2, n_spare)


def n_at_a_time(rules: TreeRules) -> int:
    """Return the largest number of leaves that workers split at a time."""
    if rules.level_by_level:
        return max(1, rules.num_leaves // 2)
    return 1 + n_spare(rules, 1, has_workers=True)


def _order_of_splits(tree: Growth, rules: TreeRules) -> list[int]:
    """Return the nodes in the order in which one process splits them, as far as the tree may grow.

    Of a leaf that is not split yet, the leaves below are unknown: they come after all others.
    """
    n = tree.step[0]["n_nodes"]
    columns, children = tree.nodes["column"][:n].tolist(), tree.nodes["first"][:n].tolist()
    gains: list[float] = tree.splits["gain"][:n].tolist()
    order, n_nodes = list[int](), 1
    # With the level if it comes first, and the number of the node in the tree of one process.
    leaves = [(0, -gains[0], 0, 0)]
    while leaves and len(order) < rules.num_leaves - 1:
        level, loss, _, node = heappop(leaves)
        if loss == np.inf:
            continue
        order.append(node)
        if columns[node] >= 0:
            for child in (0, 1):
                number = children[node] + child
                below = level + rules.level_by_level, -gains[number], n_nodes + child, number
                heappush(leaves, below)
        n_nodes += 2
    return order


def next_leaves(tree: Growth, rules: TreeRules) -> tuple[list[int], bool]:
    """Return the leaves that workers split next, possibly none; and whether none follows for sure.

    The first is the one that one process splits next; the others are expected to be split soon, or
    are of the same level where trees grow level by level.
    """
    order = _order_of_splits(tree, rules)
    is_split = tree.nodes["column"][order] >= 0
    waiting = [node for node, done in zip(order, is_split, strict=True) if not done]
    if not waiting:
        return [], False
    n_needed = order.index(waiting[0])
    if rules.level_by_level:
        depths = tree.nodes["depth"][waiting].tolist()
        n_leaves = depths.count(depths[0])
    else:
        n_ahead = (tree.step[0]["n_nodes"] - 1) // 2 - n_needed
        n_most = n_at_a_time(rules) - n_ahead
        n_leaves = max(1, min(n_most, round(len(waiting) * _SHARE)))
    is_last = n_needed + n_leaves == rules.num_leaves - 1
    return waiting[:n_leaves], is_last and (n_leaves == 1 or rules.level_by_level)


def number_nodes(tree: Growth, rules: TreeRules) -> None:
    """Number the nodes of a tree that workers have grown as one process numbers them."""
    for k, node in enumerate(_order_of_splits(tree, rules)):
        first = tree.nodes["first"][node]
        tree.nodes["number"][first : first + 2] = 2 * k + 1, 2 * k + 2


def true_tree(tree: Growth, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(nodes, goes_left)`` as one process makes them with one thread.

    Splits that it would not have made are taken back. ``rows`` of such leaves are sorted again, in
    place.
    """
    n, numbers = tree.step[0]["n_nodes"], tree.nodes["number"]
    if (numbers[:n] == np.arange(n)).all():
        nodes = tree.nodes[:n].copy()
        nodes["state"] = 0
        return nodes, tree.splits["goes_left"][:n] * (nodes["column"] >= 0)[:, None]
    numbered = np.flatnonzero(numbers >= 0)
    numbered = numbered[np.argsort(numbers[numbered])]
    nodes, goes_left = tree.nodes[numbered], tree.splits["goes_left"][numbered]
    is_leaf = (nodes["column"] < 0) | (numbers[nodes["first"]] < 0)
    nodes["first"], nodes["parent"] = numbers[nodes["first"]], numbers[nodes["parent"]]
    for leaf in np.flatnonzero(is_leaf & (nodes["column"] >= 0)):
        rows[nodes["begin"][leaf] : nodes["end"][leaf]].sort(kind="stable")  # a few sorted runs
    nodes["column"][is_leaf], nodes["state"] = -1, 0
    for name in ("first", "bin", "missing_left", "gain"):
        nodes[name][is_leaf] = 0
    return nodes, goes_left * ~is_leaf[:, None]
