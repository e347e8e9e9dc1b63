"""Extent: the least and the largest of numbers, in loops that vectorize."""

import numpy as np

from treerank.numerics.compiling import register_jitable

_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_SIGN = np.int64(63)
_INFINITY = np.float64(np.inf).view(np.int64)


@register_jitable(inline="always")
def extent(values: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest of float64 numbers; NaN lies beyond the infinities.

    Examples
    --------
    >>> least, largest = extent(np.array([-1.0, 3.0, -2.0]))
    >>> float(least), float(largest)
    (-2.0, 3.0)
    """
    # The maximum of floats depends on their order if there are NaN, that of integers does not.
    # All in one function: to compile a small one takes longer than its code.
    least, largest = _INFINITY, ~_INFINITY
    for t in range(len(values)):
        bits = np.float64(values[t]).view(np.int64)
        key = bits ^ ((bits >> _SIGN) & _ALL_BUT_SIGN)  # reversed below 0: in the order of numbers
        least = key if key < least else least
        largest = key if key > largest else largest
    least ^= (least >> _SIGN) & _ALL_BUT_SIGN
    largest ^= (largest >> _SIGN) & _ALL_BUT_SIGN
    return np.int64(least).view(np.float64), np.int64(largest).view(np.float64)
