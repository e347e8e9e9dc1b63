r"""Kernels over pairs in double precision: value and derivatives of any pair loss and weight.

A kernel is made for a loss and a weight, which are compiled into it. Kernels of built-in losses
come from numba's cache on disk: their functions are plain Python (``register_jitable``), which
the cache can name; a jitted function of the user's own is compiled once per process. All run in
parallel over queries only, each of which owns its places: the same bits for any number of
threads.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import prange
from numba.extending import register_jitable

from treerank.numerics.compiling import kernel_for, njit


class Weights(NamedTuple):
    """Weights that stay the same, per place: by label, and by the user."""

    gain: np.ndarray
    document: np.ndarray


@njit(parallel=True)
def place_scores(scores, row, sigma, offset, x):
    """Fill ``x`` with sigma times the score of each place, less its offset."""
    for t in prange(len(row)):
        x[t] = sigma * scores[row[t]] - offset[t]


@functools.cache
def exact_kernel(of_margin, of_pair, truncated, ties):
    """Make the kernel in double precision, for any loss."""

    @kernel_for(of_margin, of_pair, truncated, ties, parallel=True, error_model="numpy")
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
                    w = weigh(of_pair, truncated, i, j, weights, ranks)
                    if w == 0:  # as beyond the top; losses are dear
                        continue
                    margin = x[i] - x[j]
                    pair_value, slope, curvature = of_margin(margin + shift)
                    if ties and j >= a + labels.high[i]:
                        back = of_margin(shift - margin)
                        pair_value = (pair_value + back[0]) / 2
                        slope, curvature = (slope - back[1]) / 2, (curvature + back[2]) / 2
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
        inside_i, inside_j = ranks.inside[i], ranks.inside[j]
        # Equal chances: both are in, both are out, or their block straddles the end of the top.
        w *= ranks.inside_tie[i] if inside_i == inside_j else max(inside_i, inside_j)
    return w * weights.document[i] * weights.document[j]


@njit(parallel=True)
def scatter(g, h, row, indptr, gradient_factor, hessian_factor, gradient, hessian):
    """Hand the places' derivatives back to their rows, each query times its factors."""
    for q in prange(len(indptr) - 1):
        for t in range(indptr[q], indptr[q + 1]):
            gradient[row[t]] = gradient_factor[q] * g[t]
            hessian[row[t]] = hessian_factor[q] * h[t]
