"""Hinges: all pairs of a loss that is zero beyond a margin, by sorting.

A partner counts if its score is within the margin. The kernel goes through the documents of a
query in the order of their scores, so that more and more partners come within the margin. Their
sums by level of relevance, in a Fenwick tree, give the exact gradient of each document, in
O(n log n).
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.fenwick import add, sum_below
from treerank.objectives.kernels.level_sums import sums_in_closed_form
from treerank.objectives.kernels.places import Sums
from treerank.objectives.losses import hinge, squared_hinge

if TYPE_CHECKING:
    from treerank.objectives.pair_problem import PairProblem


@register_jitable
def _hinge_of_sums(short, sums):
    return short * sums[0] + sums[1], -sums[0], sums[0]


@register_jitable
def _squared_hinge_of_sums(short, sums):
    value = short * short * sums[0] + 2 * short * sums[1] + sums[2]
    return value, -2 * (short * sums[0] + sums[1]), 2 * sums[0]


#: Losses that end at a margin, and how sums over the partners within it become derivatives.
HINGES = {hinge: _hinge_of_sums, squared_hinge: _squared_hinge_of_sums}


def can_sum(problem: "PairProblem") -> bool:
    """Tell whether the pairs of a problem can be summed by sorting."""
    return problem.is_separable and problem.loss.of_margin in HINGES


def sums(problem: "PairProblem", x: np.ndarray, iteration: int) -> Sums:
    """Return the sums over all pairs."""
    kernel = hinge_kernel(HINGES[problem.loss.of_margin], problem.pairs.adjacent)
    return sums_in_closed_form(kernel, problem, x)


@functools.cache
def hinge_kernel(of_sums: Callable[..., Any], adjacent: bool) -> Callable[..., Any]:
    """Make the kernel of a loss; ``upper`` weighs a document's pairs with those below it."""

    @kernel_for(of_sums, adjacent, parallel=True, error_model="numpy")
    def over_sorted(x, shift, indptr, levels, weight, upper, g, h, value):
        for q in prange(len(indptr) - 1):
            a, b = indptr[q], indptr[q + 1]
            g[a:b] = 0
            h[a:b] = 0
            value[q] = 0
            order = a + np.argsort(x[a:b])
            middle = x[order[(b - a) // 2]] if b > a else 0.0
            for side in (1, -1):
                level = levels[a:b] - levels[a]
                if side == -1:  # mirrored: the highest level comes first, as do low scores
                    level, order = level.max() - level, order[::-1].copy()
                size = level.max() + 2
                trees = np.zeros(size), np.zeros(size), np.zeros(size)
                reached = b - a
                for n in range(b - a - 1, -1, -1):
                    t = order[n]
                    short = 1 - shift - side * (x[t] - middle)
                    while reached > 0 and short + side * (x[order[reached - 1]] - middle) > 0:
                        reached -= 1
                        j = order[reached]
                        w = weight[j] * (1.0 if side == 1 else upper[j])
                        _add_moments(trees, level[j - a], w, side * (x[j] - middle))
                    sums = _moments_below(trees, level[t - a])
                    if adjacent:
                        lower = _moments_below(trees, level[t - a] - 1)
                        sums = sums[0] - lower[0], sums[1] - lower[1], sums[2] - lower[2]
                    price, slope, curvature = of_sums(short, sums)
                    w = weight[t] * (upper[t] if side == 1 else 1.0)
                    g[t] += side * w * slope
                    h[t] += w * curvature
                    if side == 1:
                        value[q] += w * price

    return over_sorted


@register_jitable
def _add_moments(trees, level, w, x):
    """Add a document of weight ``w`` at ``x`` to the sums of w, w x and w x^2."""
    add(trees[0], level, w)
    add(trees[1], level, w * x)
    add(trees[2], level, w * x * x)


@register_jitable
def _moments_below(trees, level):
    """Return the sums over the documents of all lower levels."""
    return sum_below(trees[0], level), sum_below(trees[1], level), sum_below(trees[2], level)
