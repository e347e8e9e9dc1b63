"""Ranking: the order of the documents of a query by score, in every iteration of training.

Scores change little from one tree to the next, so the sort starts from the last order. The result
does not depend on the order of rows: weights treat documents of equal scores alike.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treerank.numerics.compiling import UNCOUNTED, kernel_for, njit, register_jitable
from treerank.numerics.extent import extent
from treerank.numerics.random_keys import GUMBEL_ERROR, gumbel, near_gumbel, stream
from treerank.numerics.ties import end_of_block

#: What vectorization needs: sums in any order; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
#: Moves per document after which an insertion sort gives up.
PATIENCE = 8
#: Bins per document of a sort by bins.
BINS = 4
#: How far sums of a score and noise are from each other, relative to them, if rounded otherwise.
ROUNDING = 1e-13
#: Spread of keys below which the number of bins per unit of it might overflow.
SMALLEST_SPREAD = 1e-280


class Ranks(NamedTuple):
    """The present ranks as weights need them, one entry per place.

    Attributes
    ----------
    order : ndarray
        Documents of each query by falling score; sorted in place.
    near : ndarray
        For each query, the number of documents at the beginning of its order that are within
        reach or tie with the last one that is.
    block : ndarray
        Position in the order at which the document's block of equal scores begins.
    above, below, within : ndarray
        See :mod:`treerank.objectives.position_values`.
    inside, inside_tie : ndarray
        Probability of being in the top, and that at least one of two tied documents is.
    """

    order: np.ndarray
    near: np.ndarray
    block: np.ndarray
    above: np.ndarray
    below: np.ndarray
    within: np.ndarray
    inside: np.ndarray
    inside_tie: np.ndarray


class RankRule(NamedTuple):
    """What turns scores into ranks, and ranks into values.

    Attributes
    ----------
    discount : ndarray
        Discount of each rank.
    top : int
        Pairs count by the probability that one of the two is among the first ``top``; 0 for all.
    reach : int
        Pairs of two documents below this rank do not count.
    smoothing : float
        Scale of the noise on the scores.
    seed : int
        Key of the noise.
    """

    discount: np.ndarray
    top: int
    reach: int
    smoothing: float
    seed: int


@register_jitable(**UNCOUNTED)
def sort_by_score(
    order: np.ndarray,
    key: np.ndarray,
    nearly_sorted: bool,
    falling: np.ndarray,
    bins: np.ndarray,
    free: np.ndarray,
) -> None:
    """Sort ``order`` in place so that ``key[order]`` falls, and fill in ``falling = key[order]``.

    An order that is nearly right is sorted by insertion. Otherwise the documents are first put
    into ``BINS`` times as many bins of equal width. ``bins``, with an entry for each document, and
    ``free``, with one for each bin, are working memory. Keys that are too uneven for bins are
    sorted by Shell's sort.
    """
    patience = PATIENCE * len(order)
    if nearly_sorted:
        for rank in range(len(order)):
            falling[rank] = key[order[rank]]
        if _insertion_sort(order, falling, 1, patience):
            return
    _sort_by_bin(order, key, falling, bins, free)
    if _insertion_sort(order, falling, 1, patience):
        return
    gap = 1
    while gap < len(order) // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort: the same insertion with falling gaps, in place
        _insertion_sort(order, falling, gap, len(order) * len(order))
        gap //= 3


@register_jitable(**UNCOUNTED)
def _sort_by_bin(order, key, falling, bins, free):
    """Sort documents by bin, in their own order within a bin."""
    n, n_bins = len(key), BINS * len(key)
    bottom, top = extent(key)
    if not SMALLEST_SPREAD < top - bottom < np.inf:
        for rank in range(n):
            falling[rank] = key[order[rank]]
        return
    scale = (n_bins - 1) / (top - bottom)
    for t in range(n):  # unsigned, so no check for places that are counted from the end
        bins[t] = min(np.uint32(np.int32((top - key[t]) * scale)), np.uint32(n_bins - 1))
    for b in range(n_bins):
        free[b] = 0
    for t in range(n):
        free[bins[t]] += np.uint32(1)
    place = np.uint32(0)
    for b in range(n_bins):  # counts become places
        count = free[b]
        free[b] = place
        place += count
    for t in range(n):
        place = free[bins[t]]
        order[place], falling[place] = t, key[t]
        free[bins[t]] = place + np.uint32(1)


@register_jitable(**UNCOUNTED)
def _insertion_sort(order, falling, gap, patience):
    """Sort each of ``gap`` interleaved sequences; tell whether ``patience`` moves were enough."""
    for t in range(gap, len(order)):
        document, value, place = order[t], falling[t], t - gap
        while place >= 0 and falling[place] < value:
            order[place + gap], falling[place + gap] = order[place], falling[place]
            place -= gap
            patience -= 1
        order[place + gap], falling[place + gap] = document, value
        if patience < 0:
            return False
    return True


@register_jitable(**UNCOUNTED)
def chance_in_top(
    order: np.ndarray, falling: np.ndarray, top: int, inside: np.ndarray, inside_tie: np.ndarray
) -> None:
    """Fill in the probability of each document to be among the first ``top``.

    Ties are broken at random. ``inside_tie`` is the probability that at least one of two
    documents of a block is among the first.
    """
    start = 0
    while start < len(order):
        end = end_of_block(start, falling)
        size = end - start
        seats = min(max(top - start, 0), size)
        left = size - seats
        both_out = left * (left - 1) / (size * (size - 1)) if size > 1 else float(left)
        for rank in range(start, end):
            inside[order[rank]] = seats / size
            inside_tie[order[rank]] = 1 - both_out
        start = end


@functools.cache
def value_kernel(
    fill: Callable[..., Any], truncated: bool, weighs_ties: bool, single: bool
) -> Callable[..., Any]:
    """Make the kernel that fills in the values of the ranks of sorted queries as wanted.

    In single precision, sums may be reordered. What is not wanted stays as it is.
    """
    fastmath = FASTMATH if single else False

    @kernel_for(
        fill,
        truncated,
        weighs_ties,
        single,
        nogil=True,
        error_model="numpy",
        fastmath=fastmath,
        **UNCOUNTED,
    )
    def value_queries(first, last, falling, gain, indptr, rule, ranks, near):
        # `near` is that of `ranks`: the compiler drops what is stored at a single place of a tuple.
        for q in range(first, last):
            a, b = indptr[q], indptr[q + 1]
            order, inside = ranks.order[a:b], ranks.inside[a:b]
            values = ranks.above[a:b], ranks.below[a:b], ranks.within[a:b]
            for column in values:
                column[:] = 0
            # `inside` is used as working memory before it is filled.
            fill(order, falling[a:b], rule.discount, gain[a:b], *values, inside)
            if truncated:
                chance_in_top(order, falling[a:b], rule.top, inside, ranks.inside_tie[a:b])
            if weighs_ties:
                number_blocks(order, falling[a:b], ranks.block[a:b])
            near[q] = _count_near(falling[a:b], rule.reach)

    return value_queries


@register_jitable(**UNCOUNTED)
def _count_near(falling, reach):
    """Count the documents within reach, and those that tie with the last one that is."""
    near = min(reach, len(falling))
    while 0 < near < len(falling) and falling[near] == falling[near - 1]:
        near += 1
    return near


@register_jitable(**UNCOUNTED)
def number_blocks(order: np.ndarray, falling: np.ndarray, block: np.ndarray) -> None:
    """Fill in for each document where its block of equal scores begins."""
    start = 0
    while start < len(order):
        end = end_of_block(start, falling)
        for rank in range(start, end):
            block[order[rank]] = start
        start = end


@njit(nogil=True, error_model="numpy")
def sort_queries(
    first: int,
    last: int,
    x: np.ndarray,
    names: np.ndarray,
    indptr: np.ndarray,
    iteration: int,
    rule: RankRule,
    order: np.ndarray,
    falling: np.ndarray,
) -> None:
    """Sort queries by their scores plus the noise of this iteration; fill in the sorted scores."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    keys, bins = np.empty(longest), np.empty(longest, np.uint32)
    working = keys, bins, np.empty(BINS * longest, np.uint32)
    for q in range(first, last):
        own = slice(indptr[q], indptr[q + 1])
        _sort_query(x[own], names[own], iteration, rule, order[own], falling[own], working)


@register_jitable(**UNCOUNTED)
def _sort_query(x, names, iteration, rule, order, falling, working):
    keys, bins, free = working
    key, noisy = keys[: len(x)], rule.smoothing > 0
    _load_keys(key, x, names, iteration, rule)
    sort_by_score(order, key, not noisy, falling, bins, free)
    if noisy and len(x) > 0:
        _settle(order, falling, x, names, iteration, rule)


@register_jitable(**UNCOUNTED)
def _load_keys(key, x, names, iteration, rule):
    """Fill in scores, plus numbers that are nearly the noise of this iteration."""
    if rule.smoothing > 0:
        state = stream(rule.seed, iteration)
        for t in range(len(x)):
            key[t] = x[t] + rule.smoothing * near_gumbel(state, names[t])
    else:
        for t in range(len(x)):
            key[t] = x[t]


@register_jitable(**UNCOUNTED)
def _settle(order, falling, x, names, iteration, rule):
    """Sort keys that are too close to tell their order by what they are exactly."""
    largest = max(abs(falling[0]), abs(falling[-1]))
    error = rule.smoothing * GUMBEL_ERROR + ROUNDING * (largest + rule.smoothing)
    state, before, any_close = stream(rule.seed, iteration), np.inf, False
    for rank in range(len(order)):
        value = falling[rank]
        if not before - value > 2 * error:
            any_close = True
            for close in (rank - 1, rank):
                document = order[close]
                noise = gumbel(state, names[document])
                falling[close] = x[document] + rule.smoothing * noise
        before = value
    if any_close:
        _insertion_sort(order, falling, 1, len(order) * len(order))
