"""Extent: the least and the largest of numbers, in loops that vectorize."""

import numpy as np

from treerank.numerics.compiling import register_jitable

_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_SIGN = np.int64(63)


@register_jitable
def extent(values: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest of float64 numbers; NaN lies beyond the infinities.

    Examples
    --------
    >>> least, largest = extent(np.array([-1.0, 3.0, -2.0]))
    >>> float(least), float(largest)
    (-2.0, 3.0)
    """
    # The maximum of floats depends on their order if there are NaN, that of integers does not.
    least, largest = _in_order(np.inf), _in_order(-np.inf)
    for t in range(len(values)):
        key = _in_order(values[t])
        least, largest = min(least, key), max(largest, key)
    return _number(least), _number(largest)


@register_jitable
def _in_order(value):
    """Return an integer of the same order as a number."""
    return _turned(np.float64(value).view(np.int64))


@register_jitable
def _number(key):
    return np.int64(_turned(key)).view(np.float64)


@register_jitable
def _turned(bits):
    """Reverse the order of integers below 0, which are those of numbers below 0."""
    return bits ^ ((bits >> _SIGN) & _ALL_BUT_SIGN)
