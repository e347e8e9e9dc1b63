"""Hinges: all pairs of a loss that is zero beyond a margin, by sorting.

A partner counts if its score is within the margin. The kernel goes through the documents of a
query in the order of their scores, so that more and more partners come within the margin. Their
sums by level of relevance, in a Fenwick tree, give the exact gradient of each document, in
O(n log n).
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.fenwick import add_moments, moments_below
from treerank.objectives.pairs.kernels.level_sums import sums_in_closed_form
from treerank.objectives.pairs.kernels.places import Sums
from treerank.objectives.pairs.kernels.ranking import BINS, sort_by_score
from treerank.objectives.pairs.losses import hinge, squared_hinge
from treerank.objectives.pairs.problem import PairProblem


@register_jitable
def _hinge_of_sums(short, sums):
    return short * sums[0] + sums[1], -sums[0], sums[0]


@register_jitable
def _squared_hinge_of_sums(short, sums):
    value = short * short * sums[0] + 2 * short * sums[1] + sums[2]
    return value, -2 * (short * sums[0] + sums[1]), 2 * sums[0]


#: Losses that end at a margin, and how sums over the partners within it become derivatives.
HINGES = {hinge: _hinge_of_sums, squared_hinge: _squared_hinge_of_sums}


def sums(problem: PairProblem, x: np.ndarray, iteration: int) -> Sums:
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
            n, value[q], top = b - a, 0, 0
            # In this order for both sides: rows in any order would leave the cache.
            order, falling = np.arange(n), np.empty(n)
            bins, free = np.empty(n, np.uint32), np.empty(BINS * n, np.uint32)
            sort_by_score(order, x[a:b], False, falling, bins, free)
            middle = falling[n // 2] if n > 0 else 0.0
            place, level, owns = np.empty(n), np.empty(n, np.int32), np.empty((n, 2))
            sums_of = np.zeros((n, 2))
            for k in range(n):
                t = a + order[n - 1 - k]
                place[k], level[k] = x[t] - middle, levels[t] - levels[a]
                owns[k, 0], owns[k, 1] = weight[t], upper[t]
                top = max(top, level[k])
            for side in (1, -1):
                trees = np.zeros((top + 2, 3))
                reached = n
                for m in range(n - 1, -1, -1):
                    # mirrored: the highest level comes first, as do low scores
                    k, own = (m, level[m]) if side == 1 else (n - 1 - m, top - level[n - 1 - m])
                    short = 1 - shift - side * place[k]
                    while reached > 0:
                        j = reached - 1 if side == 1 else n - reached
                        if not short + side * place[j] > 0:
                            break
                        reached -= 1
                        w = owns[j, 0] * (1.0 if side == 1 else owns[j, 1])
                        its = level[j] if side == 1 else top - level[j]
                        add_moments(trees, its, w, side * place[j])
                    sums = moments_below(trees, own)
                    if adjacent:
                        lower = moments_below(trees, own - 1)
                        sums = sums[0] - lower[0], sums[1] - lower[1], sums[2] - lower[2]
                    price, slope, curvature = of_sums(short, sums)
                    w = owns[k, 0] * (owns[k, 1] if side == 1 else 1.0)
                    sums_of[k, 0] += side * w * slope
                    sums_of[k, 1] += w * curvature
                    if side == 1:
                        value[q] += w * price
            for k in range(n):
                t = a + order[n - 1 - k]
                g[t], h[t] = sums_of[k, 0], sums_of[k, 1]

    return over_sorted
