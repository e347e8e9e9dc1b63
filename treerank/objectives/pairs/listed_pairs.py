"""Listed pairs: sums over pairs that are given, in double precision."""

import functools
from typing import NamedTuple

import numpy as np

from treerank.numerics.compiling import kernel_for
from treerank.numerics.threads import in_parts, in_turn
from treerank.objectives.pairs.exact_pairs import weigh
from treerank.objectives.pairs.label_order import Sums
from treerank.objectives.pairs.problem import PairProblem


class PairList(NamedTuple):
    """Listed pairs of slots; query ``q`` has the pairs ``indptr[q]`` to ``indptr[q + 1]``.

    Attributes
    ----------
    i, j : ndarray of shape (n_pairs,)
        Slots of the two documents.
    weight, target : ndarray of shape (n_pairs,)
        Weight of the pair, and probability that i is to stand above j.
    indptr : ndarray of shape (n_queries + 1,)
        First pair of each query, and the number of pairs.
    """

    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray
    target: np.ndarray
    indptr: np.ndarray


def sums(problem: PairProblem, scores: np.ndarray, iteration: int) -> Sums:
    """Return the sums over the listed pairs; ``iteration`` is a key of random numbers."""
    totals = Sums(*np.empty((2, len(scores))), *np.empty((2, problem.groups.n_queries)))
    x, ranks, ranking = problem.ranking(scores, iteration)
    truncated = problem.pairs.top is not None
    kernel = _listed_kernel(problem.loss.of_margin, problem.weight.of_pair, truncated)
    call = kernel, x, _list_pairs(problem), problem.labels, problem.weights, ranks, *totals
    in_parts(in_turn(*ranking, call), problem.labels.indptr)
    return totals


def _list_pairs(problem):
    """Return the given pairs of a problem with slots instead of rows, sorted by query."""
    row_pairs, labels = problem.pairs, problem.labels
    slot = np.empty(len(labels.row), dtype=np.int64)
    slot[labels.row] = np.arange(len(slot))
    row_pairs = row_pairs.at(np.argsort(slot[row_pairs.i], kind="stable"))  # query by query
    i, j = slot[row_pairs.i], slot[row_pairs.j]
    return PairList(i, j, row_pairs.weight, row_pairs.target, np.searchsorted(i, labels.indptr))


@functools.cache
def _listed_kernel(of_margin, of_pair, truncated):
    """Return the kernel over listed pairs, in double precision, for any loss and weight.

    With ``truncated``, pairs count by the probability that one of the two is in the top.
    """

    @kernel_for(of_margin, of_pair, truncated, nogil=True, error_model="numpy")
    def over_list(first, last, x, pairs, labels, weights, ranks, g, h, total_weight, value):
        for q in range(first, last):
            g[labels.indptr[q] : labels.indptr[q + 1]] = 0
            h[labels.indptr[q] : labels.indptr[q + 1]] = 0
            total, price = 0.0, 0.0
            for n in range(pairs.indptr[q], pairs.indptr[q + 1]):
                i, j, target = pairs.i[n], pairs.j[n], pairs.target[n]
                ahead = of_margin(x[i] - x[j])
                back = of_margin(x[j] - x[i])
                slope = target * ahead[1] - (1 - target) * back[1]
                curvature = target * ahead[2] + (1 - target) * back[2]
                # The weight asks for the more relevant document first.
                upper, lower = (i, j) if weights.gain[i] >= weights.gain[j] else (j, i)
                w = pairs.weight[n] * weigh(of_pair, truncated, upper, lower, weights, ranks)
                g[i] += w * slope
                g[j] -= w * slope
                h[i] += w * curvature
                h[j] += w * curvature
                total += w
                price += w * (target * ahead[0] + (1 - target) * back[0])
            total_weight[q], value[q] = total, price

    return over_list
