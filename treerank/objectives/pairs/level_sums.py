r"""Level sums: all pairs of ``half_squared`` and ``exponential``, without visiting any pair.

For these losses the sum over a document's partners needs two or three sums over each level of
relevance: exact, in O(n), however long the query.

Partners above a document are partners below it in mirrored coordinates. So each kernel is written
for one side and runs for both.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.threads import in_parts, in_turn
from treerank.objectives.pairs import exact_pairs
from treerank.objectives.pairs.label_order import Sums
from treerank.objectives.pairs.losses import exponential, half_squared
from treerank.objectives.pairs.problem import PairProblem


@register_jitable
def _add_moments(sums, w, x):
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


#: Losses, how a partner is added to the sums, and how the sums become derivatives.
LEVEL_SUMS = {
    half_squared: (_add_moments, _squared_of_sums),
    exponential: (_add_exponential, _exponential_of_sums),
}


#: Difference of two scores of a query beyond which sums of exponentials would overflow.
MOST_APART = 1400.0


def sums(problem: PairProblem, scores: np.ndarray, iteration: int) -> Sums:
    """Return the sums over all pairs."""
    x = problem.placed(scores)
    if problem.loss.of_margin is exponential and _widest(x, problem.labels.indptr) > MOST_APART:
        return exact_pairs.sums(problem, scores, iteration)
    kernel = _level_kernel(*LEVEL_SUMS[problem.loss.of_margin], problem.pairs.adjacent)
    return sums_in_closed_form(kernel, problem, x)


def sums_in_closed_form(
    kernel: Callable[..., Any], problem: PairProblem, x: np.ndarray, *sorts: tuple[Any, ...]
) -> Sums:
    """Call a kernel that sums the pairs of a separable problem without visiting them.

    Before it comes one that sorts, if any, whose order and sorted scores it gets.
    """
    g, h = np.empty((2, len(x)))
    values = np.empty(problem.groups.n_queries)
    weights = problem.weights
    places = problem.labels.indptr, problem.levels
    call = kernel, x, *places, weights.document, weights.gain, g, h, values
    ranked = (array for sort in sorts for array in sort[-2:])
    in_parts(in_turn(*sorts, (*call, *ranked)), problem.labels.indptr)
    return Sums(g, h, problem.fixed_mass, values)


def _widest(x, indptr):
    """Return the largest difference of two scores of a query."""
    starts = indptr[:-1]
    return (np.maximum.reduceat(x, starts) - np.minimum.reduceat(x, starts)).max()


@functools.cache
def _level_kernel(add, of_sums, adjacent):
    """Make the kernel of a loss; ``upper`` weighs a document's pairs with those below it."""

    @kernel_for(add, of_sums, adjacent, nogil=True, error_model="numpy")
    def over_levels(first, last, x, indptr, level, weight, upper, g, h, value):
        for q in range(first, last):
            a, b = indptr[q], indptr[q + 1]
            g[a:b] = 0
            h[a:b] = 0
            value[q] = 0
            middle = (x[a:b].min() + x[a:b].max()) / 2 if b > a else 0.0
            for side in (1, -1):
                sums = _sums_of_levels(add, x, middle, level, weight, upper, a, b, side)
                _gather(sums, side, adjacent)
                for t in range(a, b):
                    own = sums[level[t] - level[a]]
                    price, slope, curvature = of_sums(side * (x[t] - middle), own)
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
    """Replace the sums of each level by those of its partner levels."""
    n_levels = len(sums)
    reached = np.zeros(3)
    for step in range(n_levels):
        c = step if side == 1 else n_levels - 1 - step
        for k in range(3):
            own = sums[c, k]
            sums[c, k] = reached[k]
            reached[k] = own if adjacent else reached[k] + own
