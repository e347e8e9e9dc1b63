"""Ties: blocks of documents with equal scores, in an array of falling scores.

Equal scores have no order. A value for a document of a block is therefore its mean over all
orders of the block, so that no result depends on the order of the rows.

Also the smallest and the largest of numbers, in loops that vectorize.
"""

import numpy as np

from treerank.numerics.bits import bits_of, number_of
from treerank.numerics.compiling import register_jitable

#: Rows of the working memory of :func:`means_and_gaps`.
_MEAN, _GAP, _SIZE = np.arange(3, dtype=np.uint64)


@register_jitable
def end_of_block(start: int, falling: np.ndarray, last: int) -> int:
    """Return the end of the block of equal scores that starts at ``start``.

    Scores are descending, up to the one before ``last``.
    """
    end = start + 1
    while end < last and falling[end] == falling[start]:
        end += 1
    return end


@register_jitable(inline="always")
def has_ties(falling: np.ndarray, begin: int, end: int) -> bool:
    """Return whether two adjacent scores of the descending ``falling[begin:end]`` are equal."""
    n_equal, one = 0, np.uint64(1)
    for t in range(np.uint64(begin) + one, np.uint64(end)):
        n_equal += falling[t] == falling[t - one]
    return n_equal > 0


def some_query_has_ties(falling: np.ndarray, indptr: np.ndarray) -> bool:
    """Return whether two scores of a query are equal.

    Query ``q`` has the descending scores from ``indptr[q]`` to ``indptr[q + 1]``.

    Examples
    --------
    >>> falling = np.array([2.0, 1.0, 1.0])
    >>> some_query_has_ties(falling, np.array([0, 2, 3]))
    False
    >>> some_query_has_ties(falling, np.array([0, 3]))
    True
    """
    begin, end = indptr[0], indptr[-1]
    falling = falling[begin:end]
    is_equal = falling[1:] == falling[:-1]
    is_equal[indptr[(begin < indptr) & (indptr < end)] - begin - 1] = False  # of two queries
    return bool(is_equal.any())


@register_jitable
def mean_of(values: np.ndarray, start: int, end: int) -> float:
    """Return the mean of ``values[start:end]``."""
    if end == start + 1:  # most blocks have one document and need no division
        return values[start]
    total = 0.0
    for t in range(start, end):
        total += values[t]
    return total / (end - start)


@register_jitable
def mean_and_gap(values: np.ndarray, start: int, end: int) -> tuple[float, float]:
    """Return ``(mean, gap)`` of two or more descending values from ``start`` to ``end``.

    ``gap`` is the mean difference of all pairs, larger less smaller.
    """
    size = end - start
    total, spread = 0.0, 0.0
    for t in range(size):
        total += values[start + t]
        spread += values[start + t] * (size - 1 - 2 * t)
    return total / size, 2 * spread / (size * (size - 1))


@register_jitable(fastmath={"contract"})
def means_and_gaps(
    values: np.ndarray, falling: np.ndarray, begin: int, end: int, working: np.ndarray
) -> None:
    """Write :func:`mean_and_gap` of the values in each block of equal scores into ``working``.

    Row 0 gets the means and row 1 the gaps, one column per block in order; row 2 is overwritten.
    The descending scores are ``falling[begin:end]``; ``values`` has one entry for each. There are
    no branches: the end of a block is hard to predict, and a misprediction costs as much as five
    documents.
    """
    block, before, first = np.int64(-1), np.nan, np.uint64(begin)
    # Sums over the block so far: of values, of their differences, and of ones.
    total, spread, count = 0.0, 0.0, 0.0
    for t in range(first, np.uint64(end)):  # unsigned: not counted from the end
        score, value = falling[t], values[t - first]
        stays = 1.0 if score == before else 0.0
        block += score != before
        spread = stays * spread + stays * (total - count * value)
        total = stays * total + value
        count = stays * count + 1
        index, before = np.uint64(block), score
        working[_MEAN, index], working[_GAP, index], working[_SIZE, index] = total, spread, count
    for t in range(np.uint64(block + 1)):
        size = working[_SIZE, t]
        n_others = size - 1 if size > 2 else 1.0
        share = 1 / (size * n_others)
        working[_MEAN, t] = working[_MEAN, t] * n_others * share
        working[_GAP, t] = 2 * working[_GAP, t] * share


_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_SIGN = np.int64(63)
_INFINITY = bits_of(np.inf)


@register_jitable(inline="always")
def extent(values: np.ndarray, begin: int, end: int) -> tuple[float, float]:
    """Return ``(least, largest)`` of the float64 numbers ``values[begin:end]``.

    NaN counts as beyond the infinities, so a bound is NaN if there is one.

    Examples
    --------
    >>> least, largest = extent(np.array([-1.0, 3.0, -2.0]), 0, 3)
    >>> float(least), float(largest)
    (-2.0, 3.0)
    """
    # The maximum of floats depends on their order if there are NaN; of integers it does not.
    # All in one function: to compile a small one takes longer than its code.
    least, largest = _INFINITY, ~_INFINITY
    for t in range(np.uint64(begin), np.uint64(end)):
        bits = bits_of(values[t])
        key = bits ^ ((bits >> _SIGN) & _ALL_BUT_SIGN)  # reversed below 0: in the order of numbers
        least = key if key < least else least
        largest = key if key > largest else largest
    least ^= (least >> _SIGN) & _ALL_BUT_SIGN
    largest ^= (largest >> _SIGN) & _ALL_BUT_SIGN
    return number_of(least), number_of(largest)
