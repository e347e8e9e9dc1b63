"""Columns: where the numbers of one query lie, in single precision, while its pairs are summed.

A loop over pairs reads and writes the same places of several columns, a vector at a time. All
columns are rows of one array, which one query after the other uses.
"""

import numpy as np

from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.ties import extent
from treerank.objectives.pairs.kernels.ranking import FASTMATH

#: What each column of a query holds: exponentials of scores, and those of partners alone; sums of
#: gradients and hessians; and what the weight of a pair is made of.
EXPONENTIAL, PARTNER, GRADIENT, HESSIAN, GAIN, DOCUMENT = range(6)
ABOVE, WITHIN, BELOW, BLOCK, INSIDE, INSIDE_TIE = range(6, 12)
#: Places that are read at a time, so that no loop over single places remains.
LANES = np.uint64(16)
#: Half the range of scores for which single precision can hold e and its reciprocal.
HALF_RANGE = 40.0
#: Steps of 1 in the table of exponentials from -HALF_RANGE to HALF_RANGE.
STEPS = 8
POWERS = np.exp(np.arange(2 * HALF_RANGE * STEPS + 2) / STEPS - HALF_RANGE)
#: Length of the columns of queries that fit. The compiler knows it, so it need not check for every
#: document that columns do not overlap. See :func:`width_for`.
WIDTH = 1392


def is_narrow(longest: int, limited: bool) -> bool:
    """Tell whether queries of up to ``longest`` documents fit into columns of fixed length."""
    return bool(longest <= (WIDTH // 2 // LANES * LANES if limited else WIDTH))


@njit(nogil=True, error_model="numpy", fastmath=FASTMATH)
def exponentials(
    first: int,
    last: int,
    x: np.ndarray,
    steepness: float,
    indptr: np.ndarray,
    e: np.ndarray,
    wide: np.ndarray,
) -> None:
    """Fill ``e`` with exp(steepness * x), centered by query; tell which single precision can't."""
    for q in range(first, last):
        a, b = indptr[q], indptr[q + 1]
        bottom, top = extent(x[a:b])
        middle = (top + bottom) / 2
        wide[q] = not steepness * (top - middle) <= HALF_RANGE
        if wide[q]:
            continue
        for t in range(np.uint64(a), np.uint64(b)):
            # An entry of the table times a short series: faster than math.exp.
            z = steepness * (x[t] - middle)
            nearest = np.int64(z * STEPS + (HALF_RANGE * STEPS + 0.5))
            r = z - (nearest * (1 / STEPS) - HALF_RANGE)
            series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120)))))
            e[t] = POWERS[np.uint64(nearest)] * series


@register_jitable(inline="always")
def width_for(length: int) -> int:
    """Return a length of columns that differs from ``WIDTH`` by whole pages, with two vectors more.

    Where columns lie whole pages from each other, a load waits for the store to another column.
    """
    return (length + 31 + 1023 - WIDTH % 1024) // 1024 * 1024 + WIDTH % 1024


@register_jitable(inline="always")
def rounded_up(size: int) -> np.uint64:
    """Return the least number of places of whole vectors that is not below ``size``."""
    return (np.uint64(size) + LANES - np.uint64(1)) // LANES * LANES


@register_jitable(inline="always")
def set_partners(
    columns: np.ndarray,
    again: np.ndarray,
    limited: bool,
    filled: int,
    high: int,
    emptied: int,
    low: int,
) -> None:
    """Make places ``low`` to ``high`` and their copies the partners; both only grow."""
    e = columns[EXPONENTIAL]
    partner = columns[PARTNER]
    for t in range(np.uint64(filled), np.uint64(high)):
        partner[t] = e[t]
    for t in range(np.uint64(emptied), np.uint64(low)):
        partner[t] = 0
    if limited:
        for t in range(np.uint64(again[filled]), np.uint64(again[high])):
            partner[t] = e[t]
        for t in range(np.uint64(again[emptied]), np.uint64(again[low])):
            partner[t] = 0


@register_jitable(inline="always")
def copy_top(
    columns: np.ndarray, size: int, top: np.ndarray, again: np.ndarray, chosen: np.ndarray
) -> None:
    """Copy the places of the top to the places from ``size`` on, in their order.

    Fill in for each place the place behind the copies of those before it. ``chosen`` is working
    memory.
    """
    for t in range(len(again)):
        again[t] = 0
    for t in range(len(top)):
        again[top[t] + 1] = 1
    again[0] = size
    n_chosen = 0
    for t in range(len(again) - 1):
        chosen[n_chosen] = t
        n_chosen += again[t + 1]
        again[t + 1] += again[t]
    for k in range(len(columns)):
        for t in range(n_chosen):
            columns[k, size + t] = columns[k, chosen[t]]
        for t in range(n_chosen, rounded_up(n_chosen)):
            columns[k, size + t] = 0


@register_jitable(inline="always")
def add_copies(columns: np.ndarray, again: np.ndarray) -> None:
    """Add the sums of the copies to those of the places they were copied from."""
    for k in (GRADIENT, HESSIAN):
        for t in range(len(again) - 1):
            if again[t] < again[t + 1]:
                columns[k, t] += columns[k, again[t]]
