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

from treerank.numerics.compiling import njit, register_jitable


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


@register_jitable
def add_moments(trees: np.ndarray, level: int, w: float, x: float) -> None:
    """Add a document of weight ``w`` at ``x`` to three trees: sums of w, w x and w x^2.

    The trees are the columns of one array, because three arrays take 1.4 times as long to read.
    """
    node = level + 1
    while node < len(trees):
        trees[node, 0] += w
        trees[node, 1] += w * x
        trees[node, 2] += w * x * x
        node += node & -node


@register_jitable
def moments_below(trees: np.ndarray, level: int) -> tuple[float, float, float]:
    """Return the sums of w, w x and w x^2 over the documents of all levels below a level."""
    weight, first, second = 0.0, 0.0, 0.0
    while level > 0:
        weight += trees[level, 0]
        first += trees[level, 1]
        second += trees[level, 2]
        level -= level & -level
    return weight, first, second
