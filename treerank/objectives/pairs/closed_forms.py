r"""Closed forms: exact sums over all pairs for losses that need no visit to any pair.

For ``half_squared`` and ``exponential`` the sum over a document's partners needs two or three sums
over each level of relevance: O(n) for a query of n documents.

Hinges are zero beyond a margin, so a partner counts if its score is within the margin. The kernel
goes through the documents of a query in the order of their scores, so that more and more partners
come within the margin. Their sums by level of relevance, in a Fenwick tree, give the exact gradient
of each document, in O(n log n).

Partners above a document are partners below it in mirrored coordinates. So each kernel is written
for one side and runs for both.

A Fenwick tree is an array of zeros with one entry more than there are levels. Amounts are added by
level, in any order. Adding an amount and summing all lower levels take O(log n_levels) each.

>>> trees = np.zeros((4, 3))  # of levels 0, 1 and 2
>>> add_moments(trees, 0, 1.0, 2.0)
>>> add_moments(trees, 2, 1.0, 4.0)
>>> [float(total) for total in moments_below(trees, 3)]
[2.0, 6.0, 20.0]
"""

import functools
import math
from typing import Any

import numpy as np

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.threads import in_parts, in_turn
from treerank.numerics.ties import extent
from treerank.objectives.pairs import exact_pairs
from treerank.objectives.pairs.label_order import Sums
from treerank.objectives.pairs.losses import exponential, half_squared, hinge, squared_hinge
from treerank.objectives.pairs.problem import PairProblem
from treerank.objectives.pairs.ranking import sort_queries

#: Difference of two scores of a query beyond which sums of exponentials would overflow.
MOST_APART = 1400.0
#: What each document has in the kernel of hinges, in the order of scores.
PLACE, WEIGHT, UPPER, SLOPE, CURVATURE = range(5)


@register_jitable
def _add_powers(sums, w, x):
    """Add a document of weight ``w`` at ``x`` to sums of w, w x and w x^2."""
    sums[0] += w
    sums[1] += w * x
    sums[2] += w * x * x


@register_jitable
def _squared_of_sums(x, sums):
    short = 1 - x  # 1 - margin, less what the partner adds
    value = (short * short * sums[0] + 2 * short * sums[1] + sums[2]) / 2
    return value, -(short * sums[0] + sums[1]), sums[0]


@register_jitable
def _add_exponential(sums, w, x):
    sums[0] += w * math.exp(x)


@register_jitable
def _exponential_of_sums(x, sums):
    value = math.exp(-x) * sums[0]
    return value, -value, value


@register_jitable
def _hinge_of_sums(short, sums):
    return short * sums[0] + sums[1], -sums[0], sums[0]


@register_jitable
def _squared_hinge_of_sums(short, sums):
    value = short * short * sums[0] + 2 * short * sums[1] + sums[2]
    return value, -2 * (short * sums[0] + sums[1]), 2 * sums[0]


def sums(problem: PairProblem, scores: np.ndarray, iteration: int) -> Sums:
    """Return the sums over all pairs of a problem that is separable; see :class:`PairProblem`.

    ``iteration`` is a key of random numbers. An exponential loss whose scores range too far in a
    query is left to the exact kernel.
    """
    of_margin, labels, weights = problem.loss.of_margin, problem.labels, problem.weights
    x, _, placing = problem.ranking(scores, iteration)
    in_parts(in_turn(*placing), labels.indptr)
    if of_margin is exponential and _widest(x, labels.indptr) > MOST_APART:
        return exact_pairs.sums(problem, scores, iteration)
    g, h = np.empty((2, len(x)))
    values = np.empty(problem.groups.n_queries)
    slots = labels.indptr, problem.levels, weights.document, weights.gain
    kernel = FORMS[of_margin](problem.pairs.adjacent)
    calls: list[tuple[Any, ...]] = [(kernel, x, *slots, g, h, values)]
    if of_margin in (hinge, squared_hinge):
        ranked = np.empty(len(x), np.int32), np.empty(len(x))
        calls = [(sort_queries, x, labels.indptr, *ranked), (*calls[0], *ranked)]
    in_parts(in_turn(*calls), labels.indptr)
    return Sums(g, h, problem.fixed_total_weight, values)


def _widest(x, indptr):
    """Return the largest difference of two scores of a query."""
    starts = indptr[:-1]
    return (np.maximum.reduceat(x, starts) - np.minimum.reduceat(x, starts)).max()


@functools.cache
def _level_kernel(add, of_sums, adjacent):
    """Return the kernel of a loss that is summed by levels of relevance, without sorting by score.

    Parameters
    ----------
    add : callable
        ``add(sums, w, x)`` adds a document of weight ``w`` and score ``x`` to the sums of its
        level.
    of_sums : callable
        ``of_sums(x, sums)`` returns the value of a document of score ``x`` against partners with
        these sums, and its first and second derivative.
    adjacent : bool
        Whether only the next level has partners, instead of all lower or all higher ones.

    Returns
    -------
    callable
        Fills in ``g`` and ``h`` by slot and ``value`` by query. Its argument ``upper`` is the
        factor of the pairs in which a document is the more relevant one.
    """

    @kernel_for(add, of_sums, adjacent, nogil=True, error_model="numpy")
    def over_levels(first, last, x, indptr, level, weight, upper, g, h, value):
        for q in range(first, last):
            a, b = indptr[q], indptr[q + 1]
            g[a:b] = 0
            h[a:b] = 0
            value[q] = 0
            least, largest = extent(x, a, b)
            middle = (least + largest) / 2 if b > a else 0.0
            for side in (1, -1):
                sums = _sums_of_levels(add, x, middle, level, weight, upper, a, b, side)
                _gather(sums, side, adjacent)
                for t in range(a, b):
                    partner_sums = sums[level[t] - level[a]]
                    price, slope, curvature = of_sums(side * (x[t] - middle), partner_sums)
                    w = weight[t] * (upper[t] if side == 1 else 1.0)
                    g[t] += side * w * slope
                    h[t] += w * curvature
                    if side == 1:
                        value[q] += w * price

    return over_levels


@register_jitable(inline="always")
def _sums_of_levels(add, x, middle, level, weight, upper, a, b, side):
    sums = np.zeros((level[b - 1] - level[a] + 1 if b > a else 0, 3))
    for t in range(a, b):
        w = weight[t] * (1.0 if side == 1 else upper[t])
        add(sums[level[t] - level[a]], w, side * (x[t] - middle))
    return sums


@register_jitable(inline="always")
def _gather(sums, side, adjacent):
    """Replace the sums of each level by the sums over its partner levels, in place.

    Partners are all lower levels for ``side`` 1, and all higher ones for -1; only the next one with
    ``adjacent``.
    """
    n_levels = len(sums)
    reached = np.zeros(3)
    for step in range(n_levels):
        c = step if side == 1 else n_levels - 1 - step
        for k in range(3):
            level_sum = sums[c, k]
            sums[c, k] = reached[k]
            reached[k] = level_sum if adjacent else reached[k] + level_sum


@register_jitable(inline="always")
def add_moments(trees: np.ndarray, level: int, w: float, x: float) -> None:
    """Add a document of weight ``w`` at score ``x`` to three Fenwick trees: of w, w x and w x^2.

    The trees are the columns of one array, because three arrays take 1.4 times as long to read.
    """
    node = level + 1
    while node < len(trees):
        trees[node, 0] += w
        trees[node, 1] += w * x
        trees[node, 2] += w * x * x
        node += node & -node


@register_jitable(inline="always")
def moments_below(trees: np.ndarray, level: int) -> tuple[float, float, float]:
    """Return the sums ``(w, w x, w x^2)`` over the documents of all levels below ``level``.

    ``trees`` is a Fenwick tree of these sums, with a row per level from 1.
    """
    weight, first, second = 0.0, 0.0, 0.0
    while level > 0:
        weight += trees[level, 0]
        first += trees[level, 1]
        second += trees[level, 2]
        level -= level & -level
    return weight, first, second


@functools.cache
def _hinge_kernel(of_sums, adjacent):
    """Return the kernel of a hinge loss, which goes through the documents by score.

    ``of_sums(short, sums)`` returns value, first and second derivative of a document whose score is
    ``1 - short``, given the sums of w, w x and w x^2 of the partners within the margin. The kernel
    fills in ``g`` and ``h`` by slot and ``value`` by query. Its argument ``upper`` is the factor of
    the pairs in which a document is the more relevant one.
    """

    @kernel_for(of_sums, adjacent, nogil=True, error_model="numpy")
    def over_sorted(first, last, x, indptr, levels, weight, upper, g, h, value, order, falling):
        for q in range(first, last):
            a, b = indptr[q], indptr[q + 1]
            n, value[q], top = b - a, 0, 0
            middle = falling[a + n // 2] if n > 0 else 0.0
            # In this order for both sides: rows in any order would leave the cache.
            level, own_of = np.empty(n, np.int32), np.zeros((n, CURVATURE + 1))
            for k in range(n):
                t = a + order[b - 1 - k]
                own_of[k, PLACE], level[k] = x[t] - middle, levels[t] - levels[a]
                own_of[k, WEIGHT], own_of[k, UPPER] = weight[t], upper[t]
                top = level[k] if level[k] > top else top
            for side in (1, -1):
                trees = np.zeros((top + 2, 3))
                reached = n
                for m in range(n - 1, -1, -1):
                    # mirrored: the highest level comes first, as do low scores
                    k, own_level = (
                        (m, level[m]) if side == 1 else (n - 1 - m, top - level[n - 1 - m])
                    )
                    short = 1 - side * own_of[k, PLACE]
                    while reached > 0:
                        j = reached - 1 if side == 1 else n - reached
                        if not short + side * own_of[j, PLACE] > 0:
                            break
                        reached -= 1
                        w = own_of[j, WEIGHT] * (1.0 if side == 1 else own_of[j, UPPER])
                        its = level[j] if side == 1 else top - level[j]
                        add_moments(trees, its, w, side * own_of[j, PLACE])
                    sums = moments_below(trees, own_level)
                    if adjacent:
                        lower = moments_below(trees, own_level - 1)
                        sums = sums[0] - lower[0], sums[1] - lower[1], sums[2] - lower[2]
                    price, slope, curvature = of_sums(short, sums)
                    w = own_of[k, WEIGHT] * (own_of[k, UPPER] if side == 1 else 1.0)
                    own_of[k, SLOPE] += side * w * slope
                    own_of[k, CURVATURE] += w * curvature
                    if side == 1:
                        value[q] += w * price
            for k in range(n):
                t = a + order[b - 1 - k]
                g[t], h[t] = own_of[k, SLOPE], own_of[k, CURVATURE]

    return over_sorted


#: By loss, the function that makes its kernel, given ``adjacent``: from a function that adds a
#: partner to the sums, which hinges share, and one that turns the sums into derivatives.
FORMS = {
    half_squared: functools.partial(_level_kernel, _add_powers, _squared_of_sums),
    exponential: functools.partial(_level_kernel, _add_exponential, _exponential_of_sums),
    hinge: functools.partial(_hinge_kernel, _hinge_of_sums),
    squared_hinge: functools.partial(_hinge_kernel, _squared_hinge_of_sums),
}
