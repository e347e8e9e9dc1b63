"""Packed derivatives: gradient, hessian and a count of 1 in words that can simply be added.

Histograms are sums over millions of documents, so the number of additions decides the speed. A
word has 64 bits. The words of a document are one of these:

- *packed*, one word: the gradient has the upper bits, the hessian the middle and the count the
  lower bits. A document costs one addition per feature.
- *wide*, two words: the gradient has a word of its own. A document costs two additions.

Gradient and hessian are whole multiples of a step, which is a power of two. Steps are as small as
the sums over all rows, those of other workers included, allow without overflow. So all sums, and
differences of sums, are exact.

Steps of wide words keep all 24 bits of the derivatives. Steps of packed words are coarser; there
each derivative is rounded up or down at random such that its mean is right, and the errors cancel
in sums over many documents.
"""

from math import frexp, ldexp
from typing import NamedTuple

import numpy as np

from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.random_keys import uniform
from treerank.numerics.threads import in_parts
from treerank.team import current_team


class Precision(NamedTuple):
    """Largest magnitude of a single derivative in steps, and number of words per document."""

    largest: int
    n_words: int


PRECISIONS = {
    "float32": Precision(2**24, n_words=2),
    "int16": Precision(2**15 - 1, n_words=1),
    "int8": Precision(2**7 - 1, n_words=1),
}
_HALVES = 67108864.0  # 2^26: splits the 52 bits of a random number into two numbers


class Layout(NamedTuple):
    """The bits of a word that hold gradient, hessian and count.

    Attributes
    ----------
    n_words : int
        Words per document: 1 if packed, 2 if wide.
    hessian_shift, gradient_shift : int
        Number of bits below the hessian and below the gradient.
    gradient_step, hessian_step : float
        Steps of gradient and hessian.
    """

    n_words: int
    hessian_shift: int
    gradient_shift: int
    gradient_step: float
    hessian_step: float


def layout_of(gradient: np.ndarray, hessian: np.ndarray, precision: str) -> Layout:
    """Return the layout with the smallest steps with which no sum over all rows overflows.

    Examples
    --------
    >>> layout_of(np.ones(1000), np.ones(1000), "int16")
    Layout(n_words=1, hessian_shift=10, gradient_shift=37, gradient_step=6.103515625e-05,
           hessian_step=6.103515625e-05)
    """
    most, n_words = PRECISIONS[precision]
    team, sizes = current_team(), np.array([_size(gradient), _size(hessian)])
    n_rows, *totals = map(float, team.total(np.array([len(gradient), *sizes[:, 0]])))
    largest = team.largest(sizes[:, 1])
    count_bits, wide = int(n_rows).bit_length(), n_words == 2
    hessian_bits = 63 - count_bits if wide else (64 - count_bits) // 2
    gradient_bits = 63 if wide else 63 - count_bits - hessian_bits  # one bit is for the sign
    steps = (
        # Random rounding adds to a sum: eight standard deviations of that stay free.
        _step(max(size / most, total / (2**bits - 1 - 8 * n_rows**0.5)))
        for size, total, bits in zip(largest, totals, (gradient_bits, hessian_bits), strict=True)
    )
    return Layout(n_words, count_bits, 0 if wide else count_bits + hessian_bits, *steps)


def pack(
    gradient: np.ndarray,
    hessian: np.ndarray,
    layout: Layout,
    seed: int,
    iteration: int,
    places: np.ndarray | None = None,
) -> np.ndarray:
    """Return the words of all rows; seed, iteration and place are the key of the rounding.

    The place of a row is its number if ``places`` are None.
    """
    words = np.empty(len(gradient) * layout.n_words, dtype=np.int64)
    places = np.empty(0, dtype=np.int64) if places is None else places
    rounding = seed, iteration, places
    in_parts(_pack, len(gradient), gradient, hessian, layout, *rounding, words)
    return words


def _step(finest: float) -> float:
    """Return the power of two above a number."""
    return ldexp(1.0, max(frexp(finest)[1], -1000)) if finest > 0 else 1.0


@njit
def _size(values):
    """Return the sum of the magnitudes and the largest of them."""
    total, largest = 0.0, 0.0
    for value in values:
        total += abs(value)
        largest = max(largest, abs(value))
    return total, largest


@njit(error_model="numpy", nogil=True)
def _pack(first, last, gradient, hessian, layout, seed, iteration, places, words):
    for i in range(first, last):
        up_gradient, up_hessian = 0.5, 0.5
        if layout.n_words == 1:
            place = places[i] if len(places) else np.int64(i)
            scaled = uniform(seed, iteration, place) * _HALVES
            up_gradient = (np.floor(scaled) + 0.5) / _HALVES
            up_hessian = scaled - np.floor(scaled)
        g = np.int64(np.floor(gradient[i] / layout.gradient_step + up_gradient))
        h = np.int64(np.floor(hessian[i] / layout.hessian_step + up_hessian))
        counted = (h << layout.hessian_shift) + 1
        if layout.n_words == 1:
            words[i] = (g << layout.gradient_shift) + counted
        else:
            words[2 * i], words[2 * i + 1] = g, counted


@register_jitable(error_model="numpy")
def add_up(words: np.ndarray, n_bins: int, layout: Layout, sums: np.ndarray) -> None:
    """Write the running sums over the bins: gradient, hessian and count, one row each."""
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
