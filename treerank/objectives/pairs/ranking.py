"""Ranking: the order of the documents of a query by score, in every iteration of training.

The result does not depend on the order of rows: weights treat documents of equal scores alike.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treerank.numerics.compiling import kernel_for, njit, register_jitable
from treerank.numerics.random_keys import log_of, uniform_of
from treerank.numerics.sorting import sort_falling
from treerank.numerics.ties import end_of_block, extent, some_query_has_ties
from treerank.objectives.pairs.position_values import BLOCK, WITHOUT_TIES

#: What vectorization needs: sums in any order; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
#: Moves per document after which an insertion sort gives up.
PATIENCE = 8
#: Bins per document of a sort by bins.
BINS = 4
#: Spread of keys below which the number of bins per unit of it might overflow.
SMALLEST_SPREAD = 1e-280


class Ranks(NamedTuple):
    """The present ranks as weights need them, one entry per slot unless stated otherwise.

    Attributes
    ----------
    order : ndarray
        Documents of each query by falling score, counted from the first slot of the query.
    near : ndarray of shape (n_queries,)
        For each query, the number of documents at the beginning of its order whose rank is at most
        ``reach`` of :class:`RankRule`, or that tie with the last of these.
    values : ndarray of shape (n_rows, n_slots)
        One array, as numba compiles much code to pass each. The last rows may be left out if all
        would be 0. The rows ``ABOVE``, ``WITHIN`` and ``BELOW`` are explained in
        :mod:`treerank.objectives.pairs.position_values`. ``BLOCK`` is the position in the order at
        which the document's block of equal scores begins. ``INSIDE`` is the probability that the
        document is in the top, ``INSIDE_TIE`` that at least one of two documents of its block is.
    """

    order: np.ndarray
    near: np.ndarray
    values: np.ndarray


class RankRule(NamedTuple):
    """Settings by which kernels turn scores into ranks, and ranks into values.

    Attributes
    ----------
    discount : ndarray
        Discount of each rank.
    top : int
        Pairs count by the probability that one of the two is among the first ``top``; 0 for all.
    reach : int
        Largest rank that matters: pairs of two documents below it do not count.
    smoothing : float
        Scale of the noise on the scores.
    seed : int
        Seed of the noise.
    """

    discount: np.ndarray
    top: int
    reach: int
    smoothing: float
    seed: int


@register_jitable(inline="always")
def chance_in_top(
    order: np.ndarray, falling: np.ndarray, top: int, inside: np.ndarray, inside_tie: np.ndarray
) -> None:
    """Fill ``inside`` with the probability of each document to be among the first ``top``.

    Ties are broken at random. ``inside_tie`` is the probability that at least one of two documents
    of the same block is among the first. ``order`` are the documents by falling score, and
    ``falling`` the sorted scores.
    """
    start = 0
    while start < len(order):
        end = end_of_block(start, falling, len(order))
        size = end - start
        seats = min(max(top - start, 0), size)
        left = size - seats
        both_out = left * (left - 1) / (size * (size - 1)) if size > 1 else float(left)
        for rank in range(start, end):
            inside[order[rank]] = seats / size
            inside_tie[order[rank]] = 1 - both_out
        start = end


@functools.cache
def value_kernel(fill: Callable[..., Any], two_sided: bool, single: bool) -> Callable[..., Any]:
    """Return the kernel that fills in the ranks of queries sorted by score, but for the chances.

    All values are 0 before. Queries without ties have a kernel of their own where that is simpler.

    Parameters
    ----------
    fill : callable
        Function of :mod:`~treerank.objectives.pairs.position_values` for one query.
    two_sided : bool
        Whether to fill in ``block``.
    single : bool
        Whether numbers are in single precision, so that sums may be reordered.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": FASTMATH if single else False,
    }

    @kernel_for(fill, two_sided, single, **options)
    def value_queries(
        first, last, indptr, order, near, values, falling, gain, discount, reach, working
    ):
        for q in range(first, last):
            # Whole arrays and slots, as numba compiles much code for each slice.
            a, b = indptr[q], indptr[q + 1]
            fill(a, b, order, falling, discount, gain, values, working)
            if two_sided:
                _number_blocks(a, b, order, falling, values)
            near[q] = _count_near(a, b, falling, reach)

    without_ties = None if two_sided else WITHOUT_TIES.get(fill)

    def with_memory(
        first: int,
        last: int,
        indptr: np.ndarray,
        order: np.ndarray,
        near: np.ndarray,
        values: np.ndarray,
        falling: np.ndarray,
        gain: np.ndarray,
        discount: np.ndarray,
        reach: int,
    ) -> None:
        ends = indptr[first : last + 1]
        sizes = np.diff(ends)
        if without_ties is not None and not some_query_has_ties(falling, ends):
            np.minimum(sizes, reach, out=near[first:last], casting="same_kind")
            without_ties(first, last, indptr, order, discount, values)
            return
        memory = np.empty((3, sizes.max(initial=0)))
        ranks = order, near, values, falling
        value_queries(first, last, indptr, *ranks, gain, discount, reach, memory)

    return with_memory


@functools.cache
def chance_kernel(single: bool) -> Callable[..., Any]:
    """Return the kernel that calls :func:`chance_in_top` for queries sorted by score.

    ``single`` is as in :func:`value_kernel`.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": FASTMATH if single else False,
    }

    @kernel_for(single, **options)
    def chances_of_queries(first, last, indptr, order, falling, top, inside, inside_tie):
        for q in range(first, last):
            a, b = indptr[q], indptr[q + 1]
            chance_in_top(order[a:b], falling[a:b], top, inside[a:b], inside_tie[a:b])

    return chances_of_queries


@register_jitable(inline="always")
def _count_near(a, b, falling, reach):
    """Return how many documents have a rank of at most ``reach``, or tie with the last of these.

    The query has the slots ``a`` to ``b``.
    """
    end = a + reach if reach < b - a else b
    while a < end < b and falling[end] == falling[end - 1]:
        end += 1
    return end - a


@register_jitable(inline="always")
def _number_blocks(a, b, order, falling, values):
    """Fill the row ``BLOCK``; the query has the slots ``a`` to ``b``."""
    start = a
    for t in range(a, b):
        if t > a and falling[t] != falling[t - 1]:
            start = t
        values[BLOCK, a + order[t]] = start - a


def sort_queries(
    first: int,
    last: int,
    keys: np.ndarray,
    indptr: np.ndarray,
    order: np.ndarray,
    falling: np.ndarray,
) -> None:
    """Fill ``order`` with the documents of each query by falling key, ``falling`` with the keys.

    The queries are ``first`` to ``last``; documents are counted from the first slot of the query.
    They are put into ``BINS`` times as many bins of equal width, and then sorted by insertion. Keys
    that are too uneven for bins are sorted by merging, in a kernel of its own, which few need.
    """
    longest = int(np.diff(indptr[first : last + 1]).max(initial=0))
    slots = np.empty((1 + BINS) * longest, np.uint32)
    is_uneven = np.empty(last - first, np.bool_)
    arguments = keys, indptr, order, falling
    _sort_by_bins(first, last, *arguments, slots[:longest], slots[longest:], is_uneven)
    if is_uneven.any():
        _sort_by_merging(np.flatnonzero(is_uneven) + first, *arguments)


@njit(nogil=True, error_model="numpy")
def _sort_by_bins(first, last, keys, indptr, order, falling, bins, free, is_uneven):
    """Sort the documents of queries ``first`` to ``last - 1`` by descending ``keys``, by bins.

    ``order`` gets the documents of each query and ``falling`` their keys. ``is_uneven`` gets which
    queries are left unsorted, after more than 8 moves per document, as too many of their keys share
    a bin. ``bins`` and ``free`` are buffers. Slots are unsigned, so that none is checked for being
    counted from the end.
    """
    for q in range(first, last):
        # By bins of equal width, the highest keys first; stable within a bin. If the keys are all
        # equal, or range too far, documents keep their own order.
        a, n = np.uint64(indptr[q]), np.uint64(indptr[q + 1] - indptr[q])
        n_bins = np.uint64(BINS) * n
        bottom, top = extent(keys, a, a + n)
        has_bins = SMALLEST_SPREAD < top - bottom < np.inf
        last_bin = np.uint32(np.int64(n_bins) - 1)
        scale = last_bin / (top - bottom if has_bins else 1.0)
        for t in range(n):
            from_top = (top - keys[a + t]) * scale if has_bins else 0.0
            bin_of_key = np.uint32(np.int32(from_top))
            bins[t] = bin_of_key if bin_of_key < last_bin else last_bin
        for b in range(n_bins):
            free[b] = 0
        for t in range(n):
            free[bins[t]] += np.uint32(1)
        slot = np.uint32(0)
        for b in range(n_bins):  # counts become slots
            count = free[b]
            free[b] = slot
            slot += count
        for t in range(n):
            slot = free[bins[t]]
            order[a + np.uint64(slot)] = t
            free[bins[t]] = slot + np.uint32(1)
        # By insertion.
        moves_left = np.int64(PATIENCE) * np.int64(n)
        for begun in range(a, a + n):
            document, place = order[begun], np.uint64(begun)
            value = keys[a + np.uint64(document)]
            while place > a and falling[place - np.uint64(1)] < value:
                above = place - np.uint64(1)
                order[place], falling[place] = order[above], falling[above]
                place = above
            order[place], falling[place] = document, value
            moves_left -= np.int64(begun - place)
            if moves_left < 0:
                break
        is_uneven[q - first] = moves_left < 0


@njit(nogil=True, error_model="numpy")
def _sort_by_merging(queries, keys, indptr, order, falling):
    """Sort the documents of the given queries by descending ``keys``, where bins did not.

    ``order`` has all documents of a query already, and ``falling`` gets their keys.
    """
    for q in queries:
        query_order = order[indptr[q] : indptr[q + 1]]
        key = keys[indptr[q] : indptr[q + 1]]
        sorted_keys = falling[indptr[q] : indptr[q + 1]]
        for rank in range(len(query_order)):
            sorted_keys[rank] = key[np.uint64(query_order[rank])]
        sort_falling(sorted_keys, query_order, False)


@njit(nogil=True, error_model="numpy")
def add_noise(
    first: int,
    last: int,
    x: np.ndarray,
    names: np.ndarray,
    indptr: np.ndarray,
    state: np.uint64,
    smoothing: float,
    keys: np.ndarray,
) -> None:
    """Fill ``keys`` with the scores ``x`` plus Gumbel noise times ``smoothing``.

    ``names`` are the random-number keys of the documents, and ``state`` is that of the iteration,
    see :func:`treerank.numerics.random_keys.stream`. The queries are ``first`` to ``last``.
    """
    begin, end = np.uint64(indptr[first]), np.uint64(indptr[last])
    for t in range(begin, end):
        keys[t] = uniform_of(state, names[t])
    for _ in range(2):  # a loop of its own, which the compiler does in vectors
        for t in range(begin, end):
            keys[t] = -log_of(keys[t])
    for t in range(begin, end):
        keys[t] = x[t] + smoothing * keys[t]
