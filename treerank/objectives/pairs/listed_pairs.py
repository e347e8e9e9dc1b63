"""Listed pairs: sums over pairs that are sampled or given, in double precision."""

import functools
from typing import NamedTuple

import numpy as np
from numba import prange

from treerank.numerics.compiling import kernel_for, njit
from treerank.numerics.random_keys import uniform
from treerank.numerics.threads import in_parts, in_turn
from treerank.objectives.pairs.exact_pairs import weigh
from treerank.objectives.pairs.label_order import Sums
from treerank.objectives.pairs.problem import PairProblem
from treerank.objectives.pairs.rules import GivenPairs


class PairList(NamedTuple):
    """Listed pairs of places, those of query ``q`` at ``indptr[q]`` to ``indptr[q + 1]``."""

    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray
    target: np.ndarray
    indptr: np.ndarray


def sums(problem: PairProblem, scores: np.ndarray, iteration: int) -> Sums:
    """Return the sums over the listed pairs."""
    found = Sums(*np.empty((2, len(scores))), *np.empty((2, problem.groups.n_queries)))
    x, ranks, ranking = problem.ranking(scores, iteration)
    truncated = problem.pairs.top is not None
    kernel = _listed_kernel(problem.loss.of_margin, problem.weight.of_pair, truncated)
    is_given = isinstance(problem.pairs, GivenPairs)
    pairs = _list_pairs(problem) if is_given else _draw_pairs(problem, iteration)
    call = kernel, x, pairs, problem.labels, problem.weights, ranks, *found
    in_parts(in_turn(*ranking, call), problem.labels.indptr)
    return found


def _draw_pairs(problem, iteration):
    """Draw less relevant partners for each place that has any."""
    labels, sampled = problem.labels, problem.pairs.sampled
    width = (labels.high - labels.low).astype(np.int64)
    i = np.repeat(np.flatnonzero(width > 0), sampled)
    first = labels.indptr[:-1].repeat(np.diff(labels.indptr))
    j = np.empty(len(i), dtype=np.int64)
    keys = problem.judgments.keys_of(labels.row).astype(np.int64)
    _draw(i, keys, width, sampled, problem.judgments.seed, iteration, j)
    j += (first + labels.low)[i]
    weight = width[i] / sampled * problem.balance[i]  # in expectation, the sum over all partners
    indptr = np.searchsorted(i, labels.indptr)
    return PairList(i, j, weight, np.ones(len(i)), indptr)


@njit(parallel=True)
def _draw(i, keys, width, sampled, seed, iteration, j):
    for n in prange(len(i)):
        key = (keys[i[n]] + 1) * (sampled + 1) + n % sampled
        j[n] = int(uniform(seed + 1, iteration, key) * width[i[n]])


def _list_pairs(problem):
    """Turn pairs of rows into pairs of places."""
    given, labels = problem.pairs, problem.labels
    place = np.empty(len(labels.row), dtype=np.int64)
    place[labels.row] = np.arange(len(place))
    given = given.at(np.argsort(place[given.i], kind="stable"))  # query by query
    i, j = place[given.i], place[given.j]
    return PairList(i, j, given.weight, given.target, np.searchsorted(i, labels.indptr))


@functools.cache
def _listed_kernel(of_margin, of_pair, truncated):
    """Make the kernel over listed pairs, in double precision, for any loss."""

    @kernel_for(of_margin, of_pair, truncated, nogil=True, error_model="numpy")
    def over_list(first, last, x, pairs, labels, weights, ranks, g, h, mass, value):
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
            mass[q], value[q] = total, price

    return over_list
