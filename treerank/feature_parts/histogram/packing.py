"""Packing: gradient, hessian and a count of 1 in one or two integers that can simply be added.

Histograms are sums over millions of documents, so the number of additions decides the speed. The
packed gradients of a document are one of these:

- one integer of 64 bits: the gradient has the upper bits, the hessian the middle and the count the
  lower bits. The document costs one addition per feature;
- two integers: the gradient has one of its own. The document costs two additions.

:func:`pack` writes packed gradients and :func:`unpack` reads sums of them; no other function knows
their bits.

Gradient and hessian are integer multiples of a step, which is a power of two. Steps are as small as
possible without overflow of the sums over all rows of all workers. So all sums, and differences of
sums, are exact. Two integers keep all 24 bits of the derivatives. One integer has coarser steps:
each derivative is rounded up or down at random with the right mean, and the errors cancel in sums
over many documents.
"""

from math import frexp, ldexp
from typing import NamedTuple

import numpy as np

from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.random_keys import stream, uniform_of
from treerank.numerics.threads import in_parts

#: Largest magnitude of a single derivative in steps, and number of integers per document.
PRECISIONS = {"float32": (2**24, 2), "int16": (2**15 - 1, 1), "int8": (2**7 - 1, 1)}
_ONE, _TWO = np.uint64(1), np.uint64(2)
_HALVES = 67108864.0  # 2^26: splits the 52 bits of a random number into two numbers


class Layout(NamedTuple):
    """The bits of the packed gradients of a document, see :func:`layout_of`.

    Attributes
    ----------
    n_integers : int
        Number of integers per document, 1 or 2.
    hessian_shift, gradient_shift : int
        Number of bits below the hessian, and below the gradient.
    gradient_step, hessian_step : float
        Derivatives are integer multiples of these.
    """

    n_integers: int  # per document, 1 or 2
    hessian_shift: int  # number of bits below the hessian
    gradient_shift: int
    gradient_step: float
    hessian_step: float


def magnitudes(gradient: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums and the maxima by which :func:`layout_of` chooses a layout.

    The first array has the number of rows and the sums of the magnitudes of both derivatives, the
    second one their largest magnitudes.

    Examples
    --------
    >>> magnitudes(np.array([-2.0, 1.0]), np.array([1.0, 1.0]))
    (array([2., 3., 2.]), array([2., 1.]))
    """
    sums, largest = np.full(3, len(gradient), dtype=np.float64), np.empty(2)
    for k, values in enumerate((gradient, hessian)):
        sums[k + 1] = np.abs(values).sum(dtype=np.float64)
        largest[k] = max(values.max(initial=0.0), -values.min(initial=0.0))
    return sums, largest


def layout_of(sums: np.ndarray, largest: np.ndarray, precision: str) -> Layout:
    """Return the layout with the smallest steps with which no sum over all rows overflows.

    ``sums`` and ``largest`` are the :func:`magnitudes` of the rows of all workers.

    Examples
    --------
    >>> layout_of(*magnitudes(np.ones(1000), np.ones(1000)), "int16")
    Layout(n_integers=1, hessian_shift=10, gradient_shift=37, gradient_step=6.103515625e-05,
           hessian_step=6.103515625e-05)
    """
    most, n_integers = PRECISIONS[precision]
    n_rows, *totals = map(float, sums)
    (gradient_bits, hessian_bits), wide = _bits_of_sums(n_rows, precision), n_integers == 2
    steps = (
        _step(max(size / most, total / _most_steps(bits, n_rows)))
        for size, total, bits in zip(largest, totals, (gradient_bits, hessian_bits), strict=True)
    )
    count_bits = int(n_rows).bit_length()
    return Layout(n_integers, count_bits, 0 if wide else count_bits + hessian_bits, *steps)


def _bits_of_sums(n_rows, precision):
    """Return the bits of the sums of gradients, without the sign, and of hessians."""
    count_bits = int(n_rows).bit_length()
    if PRECISIONS[precision][1] == 2:
        return 63, 63 - count_bits
    hessian_bits = (64 - count_bits) // 2
    return 63 - count_bits - hessian_bits, hessian_bits


def _most_steps(bits, n_rows):
    """Return the largest sum in steps that ``bits`` may hold.

    Random rounding adds to a sum: eight standard deviations of it are kept free.
    """
    return 2**bits - 1 - 8 * n_rows**0.5


def keeps_all_bits(layout: Layout, largest: np.ndarray) -> bool:
    """Return whether :func:`pack` rounds no derivative of one output.

    Such derivatives are multiples of 2^-24 of a power of two that is not below the largest one, see
    ``trees.fixed_point``. ``largest`` are the largest :func:`magnitudes` of all workers.

    Examples
    --------
    >>> sums, largest = magnitudes(np.array([-1.5, 0.5]), np.array([0.75, 0.75]))
    >>> [keeps_all_bits(layout_of(sums, largest, name), largest) for name in PRECISIONS]
    [True, False, False]
    """
    steps, most = np.array([layout.gradient_step, layout.hessian_step]), PRECISIONS["float32"][0]
    return bool((steps * most < 2 * largest).all())


def _step(finest: float) -> float:
    """Return the power of two above a number; 1 for 0."""
    return ldexp(1.0, max(frexp(finest)[1], -1000)) if finest > 0 else 1.0


def pack(
    gradient: np.ndarray,
    hessian: np.ndarray,
    layout: Layout,
    key: tuple[int, int],
    numbers: np.ndarray | None = None,
) -> np.ndarray:
    """Return the packed gradients of all rows, of shape (n_rows, n_integers).

    ``key`` is (seed, iteration). With the number of a row, it is the key of the row's random
    rounding. Rows are numbered in order if ``numbers`` is None.
    """
    packed = np.empty((len(gradient), layout.n_integers), dtype=np.int64)
    draws = None
    if layout.n_integers == 1:
        draws = *key, np.empty(0, dtype=np.int64) if numbers is None else numbers
    in_parts(_pack_rows, len(packed), gradient, hessian, draws, layout, packed)
    return packed


@njit(error_model="numpy", nogil=True)
def _pack_rows(first, last, gradient, hessian, draws, layout, packed):
    """Write gradient, hessian and a count of 1 of rows ``first`` to ``last`` - 1 to ``packed``.

    ``packed`` is of shape (n_rows, n_integers); ``layout`` has the steps and the bits.
    With two integers both derivatives are rounded to the nearest step, and ``draws`` is None; with
    one, at random, by the keys in ``draws``: (seed, iteration, numbers of rows, which may be empty:
    then rows are numbered in order).
    """
    if draws is not None:
        seed, iteration, numbers = draws
        state = stream(seed, iteration)
    up_gradient = up_hessian = 0.5
    for i in range(np.uint64(first), np.uint64(last)):
        if draws is not None:
            scaled = uniform_of(state, np.uint64(numbers[i]) if len(numbers) else i) * _HALVES
            upper_half = np.floor(scaled)
            up_gradient, up_hessian = (upper_half + 0.5) / _HALVES, scaled - upper_half
        g = np.floor(gradient[i] * (1 / layout.gradient_step) + up_gradient)
        h = np.floor(hessian[i] * (1 / layout.hessian_step) + up_hessian)
        packed[i, 0] = 0
        packed[i, -1] = (np.int64(h) << layout.hessian_shift) + 1
        packed[i, 0] += np.int64(g) << layout.gradient_shift


@register_jitable(error_model="numpy")
def unpack(
    packed: np.ndarray,
    first: int,
    n_bins: int,
    layout: Layout,
    running: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Write running sums of gradient, hessian and count over bins to the three rows of ``sums``.

    ``packed`` is a histogram, and the bins are the ``n_bins`` from number ``first`` on.
    ``running``, of int64 and shape (2, n_bins) or larger, is working memory.
    """
    # Local names: the compiler reads fields of records anew in each iteration of a loop.
    n_integers, h_shift, g_shift = layout.n_integers, layout.hessian_shift, layout.gradient_shift
    g_step, h_step = layout.gradient_step, layout.hessian_step
    count_mask, hessian_mask = (np.int64(1) << h_shift) - 1, (np.int64(1) << g_shift) - 1
    if n_integers == 2:
        hessian_mask = np.int64(-1)
    upper, lower, at = np.int64(0), np.int64(0), np.uint64(first * n_integers)
    if n_integers == 2:  # a loop of its own, which needs fewer instructions than a loop for both
        for b in range(np.uint64(n_bins)):
            upper += packed[at + _TWO * b]
            lower += packed[at + _TWO * b + _ONE]
            running[0, b], running[1, b] = upper, lower
    else:
        for b in range(np.uint64(n_bins)):
            upper += packed[at + b]
            running[0, b] = running[1, b] = upper
    for b in range(np.uint64(n_bins)):  # a loop of its own, which the compiler does in vectors
        counted = running[1, b] & hessian_mask
        sums[0, b] = g_step * np.float64(running[0, b] >> g_shift)
        sums[1, b] = h_step * np.float64(counted >> h_shift)
        sums[2, b] = np.float64(counted & count_mask)
