"""Fenwick tree: running totals by level, to which amounts can be added in any order.

A tree is an array of zeros with one entry more than there are levels. Adding an amount and summing
all lower levels take O(log n_levels) each.

>>> tree = np.zeros(4)  # of levels 0, 1 and 2
>>> add(tree, 0, 1.5)
>>> add(tree, 2, 4.0)
>>> sum_below(tree, 2), sum_below(tree, 3)
(1.5, 5.5)
"""

import numpy as np

from treerank.numerics.compiling import njit


@njit
def add(tree: np.ndarray, level: int, amount: float) -> None:
    """Add an amount to the total of a level."""
    node = level + 1
    while node < len(tree):
        tree[node] += amount
        node += node & -node


@njit
def sum_below(tree: np.ndarray, level: int) -> float:
    """Return the sum of the totals of all levels below a level."""
    total = 0.0
    while level > 0:
        total += tree[level]
        level -= level & -level
    return total
