"""Distinct values, in ascending order, by a radix sort.

On some processors ``np.sort`` takes several times as long as it could: it uses instructions that
they run slowly. A radix sort does not. Digits that all values share take no time, so that integers
and values of single precision are sorted sooner.
"""

import numpy as np

from treerank.numerics.compiling import njit

#: Number of digits of 64 bits, bits of a digit, and its values. Counters fit into a fast cache.
_DIGITS, _BITS, _VALUES = np.uint64(6), np.uint64(11), np.uint64(2**11)
_FEW = 2000  # values that ``np.sort`` sorts sooner
_SIGN = np.int64(-(2**63))
_ONE = np.uint64(1)


def count_distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(distinct, counts)``: the distinct values, ascending, and how often each occurs.

    NaN is left out, and -0.0 counts as 0.0.

    Examples
    --------
    >>> count_distinct(np.array([2.0, -1.0, np.nan, 2.0]))
    (array([-1.,  2.]), array([1, 2]))
    """
    is_missing = np.isnan(values)
    present = np.asarray(values[~is_missing] if is_missing.any() else values, dtype=np.float64)
    present = present + 0.0  # no -0.0
    if len(present) < _FEW:
        return _counted(np.sort(present))
    bits = present.view(np.int64)
    # Numbers are in the order of their bits, as unsigned integers, once the sign is inverted, and
    # all bits of negative numbers.
    keys = (bits ^ (bits >> 63 | _SIGN)).view(np.uint64)
    both = keys, np.empty_like(keys)
    keys = both[_sort(*both, np.zeros(_DIGITS * _VALUES, np.uint64), np.empty(_VALUES, np.uint64))]
    distinct, counts = _counted(keys)
    bits = distinct.view(np.int64)
    return (bits ^ (~(bits >> 63) | _SIGN)).view(np.float64), counts


def _counted(ascending):
    """Return the distinct ones of sorted values, and how often each occurs."""
    is_new = np.append(ascending[:1] == ascending[:1], ascending[1:] != ascending[:-1])
    starts = np.flatnonzero(is_new)
    return ascending[starts], np.diff(starts, append=len(ascending))


@njit(nogil=True, error_model="numpy")
def _sort(keys, others, starts, stops):
    """Sort ``keys``; return 0 if they are sorted afterwards, 1 if ``others`` are, of equal length.

    ``starts``, of zeros, has room for all values of all digits, and ``stops`` for those of one.
    Both are flat and of the type of the keys, which takes half the time to compile.
    """
    n, mask, n_sorts = np.uint64(len(keys)), _VALUES - _ONE, 0
    for i in range(n):
        for digit in range(_DIGITS):
            starts[digit * _VALUES + (keys[i] >> digit * _BITS & mask)] += _ONE
    for digit in range(_DIGITS):
        first, shift, stop, is_shared = digit * _VALUES, digit * _BITS, np.uint64(0), False
        for value in range(_VALUES):
            count = starts[first + value]
            starts[first + value] = stop
            stop += count
            stops[value] = stop
            is_shared |= count == n
        if is_shared:
            continue
        for i in range(n - (n >> _ONE)):  # from both ends: neither step waits for the other
            key = keys[i]
            at = first + (key >> shift & mask)
            others[starts[at]] = key
            starts[at] += _ONE
            key = keys[n - _ONE - i]
            at = key >> shift & mask
            stops[at] -= _ONE
            others[stops[at]] = key
        keys, others = others, keys
        n_sorts += 1
    return n_sorts % 2
