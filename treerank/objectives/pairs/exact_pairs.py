r"""Exact pairs: value and derivatives of any pair loss and weight, in double precision.

A kernel is made for a loss and a weight, which are compiled into it. The kernels of built-in
losses are kept on disk; the kernel of a user's own jitted function is compiled once per process.
Kernels run in parallel over queries, and each query has slots of its own, so the bits are the
same for any number of threads.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.threads import in_parts, in_turn
from treerank.objectives.pairs.label_order import Sums, Weights
from treerank.objectives.pairs.position_values import (
    ABOVE,
    BELOW,
    BLOCK,
    INSIDE,
    INSIDE_TIE,
    WITHIN,
)
from treerank.objectives.pairs.problem import PairProblem
from treerank.objectives.pairs.ranking import Ranks


def sums(problem: PairProblem, scores: np.ndarray, iteration: int) -> Sums:
    """Return the sums over all pairs, with values; ``iteration`` is a key of random numbers."""
    n_queries = problem.groups.n_queries
    totals = Sums(*np.empty((2, len(scores))), *np.empty((2, n_queries)))
    fill_in(totals, np.arange(n_queries), problem, scores, iteration)
    return totals


def fill_in(
    sums: Sums, queries: np.ndarray, problem: PairProblem, scores: np.ndarray, iteration: int
) -> None:
    """Compute ``sums``, in place, over all pairs of the queries with these numbers.

    ``scores`` are by document; ``iteration`` decides on the noise of the ranking, if the weights
    have any.
    """
    x, ranks, ranking = problem.ranking(scores, iteration)
    in_parts(in_turn(*ranking), problem.labels.indptr)
    truncated, ties = problem.pairs.top is not None, problem.pairs.ties
    kernel = exact_kernel(problem.loss.of_margin, problem.weight.of_pair, truncated, ties)
    slots = x, problem.labels, problem.weights, ranks
    ends = np.append(0, np.cumsum(problem.groups.sizes[queries]))
    in_parts(kernel, ends, queries, *slots, *sums)


@functools.cache
def exact_kernel(
    of_margin: Callable[..., Any], of_pair: Callable[..., Any], truncated: bool, ties: bool
) -> Callable[..., Any]:
    """Return the compiled kernel for a loss and a weight.

    Parameters
    ----------
    of_margin, of_pair : callable
        Compiled loss of a margin, and weight of a pair.
    truncated : bool
        Whether pairs count by the probability that one of the two is in the top.
    ties : bool
        Whether pairs of equal labels count, too.
    """

    @kernel_for(of_margin, of_pair, truncated, ties, nogil=True, error_model="numpy")
    def over_runs(first, last, wanted, x, labels, weights, ranks, g, h, total_weight, value):
        for n in range(first, last):
            q = wanted[n]
            a = labels.indptr[q]
            g[a : labels.indptr[q + 1]] = 0
            h[a : labels.indptr[q + 1]] = 0
            total, price = 0.0, 0.0
            for i in range(a, labels.indptr[q + 1]):
                # Documents of the same level are the slots from `high` on.
                for j in range(a + labels.low[i], i if ties else a + labels.high[i]):
                    w = weigh(of_pair, truncated, i, j, weights, ranks)
                    if w == 0:  # beyond the top, where the loss need not be computed
                        continue
                    margin = x[i] - x[j]
                    pair_value, slope, curvature = of_margin(margin)
                    if ties and j >= a + labels.high[i]:
                        back = of_margin(-margin)
                        pair_value = (pair_value + back[0]) / 2
                        slope, curvature = (slope - back[1]) / 2, (curvature + back[2]) / 2
                    g[i] += w * slope
                    g[j] -= w * slope
                    h[i] += w * curvature
                    h[j] += w * curvature
                    total += w
                    price += w * pair_value
            total_weight[q], value[q] = total, price

    return over_runs


@register_jitable(inline="always")
def weigh(
    of_pair: Callable[..., Any], truncated: bool, i: int, j: int, weights: Weights, ranks: Ranks
) -> float:
    """Return the weight of the pair of slots ``i`` and ``j``, times both document weights.

    ``i`` is the more relevant one. With ``truncated``, the weight is multiplied by the probability
    that one of the two is in the top.
    """
    gain, values = weights.gain, ranks.values
    tied = values[BLOCK, i] == values[BLOCK, j]
    above = values[ABOVE, i], values[ABOVE, j]
    below = values[BELOW, i], values[BELOW, j]
    w = of_pair(gain[i], gain[j], *above, *below, values[WITHIN, i], tied)
    if truncated:
        inside_i, inside_j = values[INSIDE, i], values[INSIDE, j]
        # Equal: both inside the top, both outside, or of the block across its edge.
        w *= values[INSIDE_TIE, i] if inside_i == inside_j else max(inside_i, inside_j)
    return w * weights.document[i] * weights.document[j]
