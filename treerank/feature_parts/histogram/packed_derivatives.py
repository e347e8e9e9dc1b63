"""Derivative words: gradient, hessian and a count of one, packed so that one addition adds all.

A histogram adds up millions of these, so its speed is that of additions to memory. In a *packed*
word of 64 bits the gradient has the upper, the hessian the middle and the count the lower bits:
one addition per document and feature. In a *wide* one the gradient has 64 bits to itself: two
additions. Both are whole numbers in steps of a power of two, the steps as fine as the sums leave
room for, so that sums are exact, whoever adds them up, and a difference of sums is exact too.

Wide steps keep all 24 bits of the derivatives. Packed ones are coarser; there each derivative is
rounded up or down at random, with the right mean, so that sums over many documents lose nothing.
"""

from math import frexp, ldexp
from typing import NamedTuple

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit
from treerank.numerics.random_keys import uniform

#: Largest magnitude of a single derivative, in steps.
PRECISIONS = {"float32": 2**24, "int16": 2**15 - 1, "int8": 2**7 - 1}
_HALVES = 67108864.0  # 2^26: splits the 52 bits of a random number into two


class Layout(NamedTuple):
    """Where in a word is what.

    Attributes
    ----------
    n_words : int
        Words per document: 1 packed, 2 wide.
    hessian_shift, gradient_shift : int
        Bits below the hessian and below the gradient.
    gradient_step, hessian_step : float
        What the whole numbers count.
    """

    n_words: int
    hessian_shift: int
    gradient_shift: int
    gradient_step: float
    hessian_step: float


def layout_of(gradient, hessian, precision):
    """Return the finest layout that no sum over all rows overflows.

    Examples
    --------
    >>> layout_of(np.ones(1000), np.ones(1000), "int16")
    Layout(n_words=1, hessian_shift=10, gradient_shift=37, gradient_step=6.103515625e-05,
           hessian_step=6.103515625e-05)
    """
    n_rows, largest = len(gradient), PRECISIONS[precision]
    count_bits = n_rows.bit_length()
    wide = precision == "float32"
    hessian_bits = 63 - count_bits if wide else (64 - count_bits) // 2
    gradient_bits = 63 if wide else 63 - count_bits - hessian_bits  # and one for the sign
    return Layout(
        2 if wide else 1,
        count_bits,
        0 if wide else count_bits + hessian_bits,
        _step(gradient, largest, gradient_bits),
        _step(hessian, largest, hessian_bits),
    )


def pack(gradient, hessian, layout, seed, iteration):
    """Return the words of all rows, one after the other."""
    words = np.empty(len(gradient) * layout.n_words, dtype=np.int64)
    _pack(gradient, hessian, layout, seed, iteration, words)
    return words


def _step(values, largest, bits):
    """Return the smallest power of two that keeps single values and all sums in bounds."""
    total, largest_value = _size(values)
    room = 2**bits - 1 - 8 * len(values) ** 0.5  # of rounding: 8 deviations and more
    finest = max(largest_value / largest, total / room)
    return ldexp(1.0, max(frexp(finest)[1], -1000)) if finest > 0 else 1.0


@njit
def _size(values):
    """Return the sum of magnitudes and the largest."""
    total, largest = 0.0, 0.0
    for value in values:
        total += abs(value)
        largest = max(largest, abs(value))
    return total, largest


@njit(parallel=True, error_model="numpy")
def _pack(gradient, hessian, layout, seed, iteration, words):
    for i in prange(len(gradient)):
        up_gradient, up_hessian = 0.5, 0.5
        if layout.n_words == 1:
            scaled = uniform(seed, iteration, i) * _HALVES
            up_gradient = (np.floor(scaled) + 0.5) / _HALVES
            up_hessian = scaled - np.floor(scaled)
        g = np.int64(np.floor(gradient[i] / layout.gradient_step + up_gradient))
        h = np.int64(np.floor(hessian[i] / layout.hessian_step + up_hessian))
        counted = (h << layout.hessian_shift) + 1
        if layout.n_words == 1:
            words[i] = (g << layout.gradient_shift) + counted
        else:
            words[2 * i], words[2 * i + 1] = g, counted


@njit(error_model="numpy")
def add_up(words, n_bins, layout, sums):
    """Write gradient, hessian and count over the bins up to each, a row of ``sums`` for each."""
    upper, lower = np.int64(0), np.int64(0)
    count_mask = (np.int64(1) << layout.hessian_shift) - 1
    hessian_mask = (np.int64(1) << layout.gradient_shift) - 1
    for b in range(n_bins):
        if layout.n_words == 1:
            lower += words[b]
            sums[0, b] = layout.gradient_step * np.float64(lower >> layout.gradient_shift)
            counted = lower & hessian_mask
        else:
            upper += words[2 * b]
            lower += words[2 * b + 1]
            sums[0, b] = layout.gradient_step * np.float64(upper)
            counted = lower
        sums[1, b] = layout.hessian_step * np.float64(counted >> layout.hessian_shift)
        sums[2, b] = np.float64(counted & count_mask)
