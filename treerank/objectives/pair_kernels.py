r"""Kernels over pairs: gradient and curvature of any pair loss under any pair weight.

A kernel is made for a loss and a weight, which are compiled into it, so that the innermost
loop holds no call and no branch. Kernels of built-in losses come from numba's cache on disk:
their functions are plain Python (``register_jitable``), which the cache can name; a jitted
function of the user's own is compiled once per process.

``fast_kernel`` works in single precision for the sigmoid family, by ``u = e_j / (e_i + e_j)``.
Queries whose scores range too far for that are handed back. ``exact_kernel`` works in double
precision from the margin, takes any loss, and sums the value as well. Both run in parallel
over queries only, each of which owns its places: the same bits for any number of threads.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numba.core.dispatcher import Dispatcher
from numba.extending import register_jitable

from treerank.kernel_cache import kept_apart
from treerank.objectives.ranking import Ranks, rank_query

#: What the vectoriser needs: order of sums free; NaN and infinity still mean what they mean.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
#: Runs are read in so many places at a time, so that no loop over single places is left over.
LANES = np.uint64(16)
#: Half the range of scores within which single precision holds e and its reciprocal.
HALF_RANGE = 40.0
#: Steps of 1 in the table of exponentials from -HALF_RANGE to HALF_RANGE.
STEPS = 8
POWERS = np.exp(np.arange(2 * HALF_RANGE * STEPS + 2) / STEPS - HALF_RANGE)


class Weights(NamedTuple):
    """Weights that stay the same, per place: by label, and by the user."""

    gain: np.ndarray
    document: np.ndarray


@njit(parallel=True, cache=True)
def place_scores(scores, row, sigma, offset, x):
    """Fill ``x`` with sigma times the score of each place, less its offset."""
    for t in prange(len(row)):
        x[t] = sigma * scores[row[t]] - offset[t]


@functools.cache
def fast_kernel(of_upset, of_pair, fill, ranked, ties_matter, truncated, weighted, normalized):
    """Make the kernel in single precision, for a loss that has a shape.

    It ranks each query on the way, starting from ``order``. It fills ``g`` and ``h`` without the
    constants of the shape, ``mass`` with the sum of pair weights of each query, and ``wide``
    where it left a query to the exact kernel.
    """
    one, none = np.float32(1), np.float32(0)
    cache = not isinstance(of_pair, Dispatcher) and not isinstance(fill, Dispatcher)

    @njit(parallel=True, error_model="numpy", fastmath=FASTMATH, cache=cache)
    @kept_apart(of_upset, of_pair, fill, ranked, ties_matter, truncated, weighted, normalized)
    def over_runs(
        x, steepness, shift, labels, weights, names, iteration, rule, order, g, h, mass, wide
    ):
        for q in prange(len(labels.indptr) - 1):
            a, b = labels.indptr[q], labels.indptr[q + 1]
            columns = np.zeros((12, _rounded_up(b - a)), np.float32)
            e, partner, G, H = columns[0], columns[1], columns[2], columns[3]
            wide[q] = not _exponentials(x[a:b], steepness, e)
            if wide[q]:
                continue
            gain, document, block = columns[4], columns[5], columns[6]
            up, down, tie = columns[7], columns[8], columns[9]
            inside, inside_tie = columns[10], columns[11]
            _load(gain, weights.gain[a:b])
            if weighted:
                _load(document, weights.document[a:b])
            if ranked:
                ranks = Ranks(order[a:b], block, up, down, tie, inside, inside_tie)
                wanted = truncated, ties_matter
                rank_query(fill, wanted, x[a:b], gain, names[a:b], iteration, rule, ranks)
            filled = emptied = 0
            total = np.float64(0)
            for i in range(b - a):
                low, high = labels.low[a + i], labels.high[a + i]
                if low == high:
                    continue
                if filled < high or emptied < low:
                    filled, emptied = _set_partners(partner, e, filled, high, emptied, low)
                e_i, slope_i, curvature_i, mass_i = e[i] * shift, none, none, none
                # Read before the loop, which else must prove that it does not overwrite them.
                gain_i, up_i, down_i, tie_i, block_i = gain[i], up[i], down[i], tie[i], block[i]
                inside_i, inside_tie_i, document_i = inside[i], inside_tie[i], document[i]
                # Whole vectors: an e of 0 makes u, and so all that follows from it, 0. (An
                # unsigned j also spares a test for negative places, which would not vectorise.)
                for j in range(np.uint64(low) // LANES * LANES, _rounded_up(high)):
                    r = one / (e_i + partner[j])
                    slope, curvature = of_upset(partner[j] * r, e_i * r)
                    tied = block_i == block[j]
                    w = of_pair(gain_i, gain[j], up_i, up[j], down_i, down[j], tie_i, tied)
                    if truncated:
                        w *= inside_tie_i if tied else max(inside_i, inside[j])
                    if weighted:
                        w *= document_i * document[j]
                    G[j] += slope * w
                    H[j] += curvature * w
                    slope_i += slope * w
                    curvature_i += curvature * w
                    if normalized:
                        mass_i += w if partner[j] > 0 else none
                G[i] -= slope_i
                H[i] += curvature_i
                total += mass_i
            mass[q] = total
            g[a:b], h[a:b] = G[: b - a], H[: b - a]

    return over_runs


@njit(cache=True, error_model="numpy")
def _exponentials(x, steepness, e):
    """Fill ``e`` with exp(steepness * x), centred; say whether single precision can hold it."""
    top, bottom = -np.inf, np.inf
    for t in range(len(x)):
        top, bottom = max(top, x[t]), min(bottom, x[t])
    middle = (top + bottom) / 2
    if not steepness * (top - middle) <= HALF_RANGE:
        return False
    for t in range(len(x)):
        # An entry of the table times a short series: four times as fast as the library's.
        z = steepness * (x[t] - middle)
        nearest = int(z * STEPS + (HALF_RANGE * STEPS + 0.5))
        r = z - (nearest * (1 / STEPS) - HALF_RANGE)
        series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120)))))
        e[t] = POWERS[nearest] * series
    return True


@njit(cache=True)
def _rounded_up(size):
    return (np.uint64(size) + LANES - np.uint64(1)) // LANES * LANES


@njit(cache=True)
def _load(column, values):
    for t in range(len(values)):
        column[t] = values[t]


@njit(cache=True)
def _set_partners(partner, e, filled, high, emptied, low):
    """Let the partners be places ``low`` to ``high``; both only grow."""
    for t in range(filled, high):
        partner[t] = e[t]
    for t in range(emptied, low):
        partner[t] = 0
    return max(filled, high), max(emptied, low)


@functools.cache
def exact_kernel(of_margin, of_pair, truncated, ties):
    """Make the kernel in double precision, for any loss."""
    cache = not isinstance(of_margin, Dispatcher) and not isinstance(of_pair, Dispatcher)

    @njit(parallel=True, error_model="numpy", cache=cache)
    @kept_apart(of_margin, of_pair, truncated, ties)
    def over_runs(wanted, x, shift, labels, weights, ranks, g, h, mass, value):
        for n in prange(len(wanted)):
            q = wanted[n]
            a = labels.indptr[q]
            g[a : labels.indptr[q + 1]] = 0
            h[a : labels.indptr[q + 1]] = 0
            total, price = 0.0, 0.0
            for i in range(a, labels.indptr[q + 1]):
                # Documents of the same level are the places from `high` on.
                for j in range(a + labels.low[i], i if ties else a + labels.high[i]):
                    margin = x[i] - x[j]
                    pair_value, slope, curvature = of_margin(margin + shift)
                    if ties and j >= a + labels.high[i]:
                        back = of_margin(shift - margin)
                        pair_value = (pair_value + back[0]) / 2
                        slope, curvature = (slope - back[1]) / 2, (curvature + back[2]) / 2
                    w = weigh(of_pair, truncated, i, j, weights, ranks)
                    g[i] += w * slope
                    g[j] -= w * slope
                    h[i] += w * curvature
                    h[j] += w * curvature
                    total += w
                    price += w * pair_value
            mass[q], value[q] = total, price

    return over_runs


@register_jitable
def weigh(of_pair, truncated, i, j, weights, ranks):
    """Return the whole weight of a pair of places."""
    tied = ranks.block[i] == ranks.block[j]
    gain, up, down = weights.gain, ranks.up, ranks.down
    w = of_pair(gain[i], gain[j], up[i], up[j], down[i], down[j], ranks.tie[i], tied)
    if truncated:
        w *= ranks.inside_tie[i] if tied else max(ranks.inside[i], ranks.inside[j])
    return w * weights.document[i] * weights.document[j]


@njit(parallel=True, cache=True)
def scatter(g, h, row, indptr, gradient_factor, hessian_factor, gradient, hessian):
    """Hand the places' derivatives back to their rows, each query times its factors."""
    for q in prange(len(indptr) - 1):
        for t in range(indptr[q], indptr[q + 1]):
            gradient[row[t]] = gradient_factor[q] * g[t]
            hessian[row[t]] = hessian_factor[q] * h[t]
