"""Ranking: the order of the documents of a query by score, in every iteration of training.

Scores change little from one tree to the next, so the sort starts from the last order. The result
does not depend on the order of rows: weights treat documents of equal scores alike.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from treerank.numerics.compiling import kernel_for, njit, register_jitable
from treerank.numerics.random_keys import gumbel
from treerank.numerics.ties import end_of_block

#: What vectorization needs: sums in any order; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
#: Moves per document after which an insertion sort gives up.
PATIENCE = 8
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


@register_jitable
def sort_by_score(order: np.ndarray, key: np.ndarray, nearly_sorted: bool) -> np.ndarray:
    """Sort ``order`` in place so that ``key[order]`` falls, and return ``key[order]``.

    An order that is nearly right is sorted by insertion. Otherwise the documents are first put
    into as many bins of equal width as there are documents. Keys that are too uneven for that are
    sorted by Shell's sort.
    """
    falling = np.empty(len(order))
    for rank in range(len(order)):
        falling[rank] = key[order[rank]]
    patience = PATIENCE * len(order)
    if nearly_sorted and _insertion_sort(order, falling, 1, patience):
        return falling
    _sort_by_bin(order, falling)
    if _insertion_sort(order, falling, 1, patience):
        return falling
    gap = 1
    while gap < len(order) // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort: the same insertion with falling gaps, in place
        _insertion_sort(order, falling, gap, len(order) * len(order))
        gap //= 3
    return falling


@register_jitable
def _sort_by_bin(order, falling):
    """Sort the pairs of document and key by bin, in any order within a bin."""
    n = len(order)
    top, bottom = -np.inf, np.inf
    for value in falling:
        top, bottom = max(top, value), min(bottom, value)
    if not SMALLEST_SPREAD < top - bottom < np.inf:
        return
    scale = (n - 1) / (top - bottom)
    place = np.zeros(n + 1, np.int32)
    bins = np.empty(n, np.int32)
    for rank in range(n):
        bins[rank] = int((top - falling[rank]) * scale)
    for rank in range(n):
        place[bins[rank] + 1] += 1
    for b in range(n):
        place[b + 1] += place[b]
    old_order, old_falling = order.copy(), falling.copy()
    for rank in range(n):
        b = bins[rank]
        order[place[b]], falling[place[b]] = old_order[rank], old_falling[rank]
        place[b] += 1


@register_jitable
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


@register_jitable
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
def rank_kernel(
    fill: Callable[..., Any], truncated: bool, weighs_ties: bool, single: bool
) -> Callable[..., Any]:
    """Make the kernel that sorts all queries and fills in the values of their ranks as wanted.

    In single precision, sums may be reordered.
    """
    fastmath = FASTMATH if single else False

    @kernel_for(
        fill,
        truncated,
        weighs_ties,
        single,
        parallel=True,
        error_model="numpy",
        fastmath=fastmath,
    )
    def rank_queries(x, gain, names, indptr, iteration, rule, ranks, near):
        # `near` is that of `ranks`: the compiler drops what is stored at a single place of a tuple.
        for q in prange(len(indptr) - 1):
            a, b = indptr[q], indptr[q + 1]
            order, inside = ranks.order[a:b], ranks.inside[a:b]
            falling = sort_noisy(order, x[a:b], names[a:b], iteration, rule)
            values = ranks.above[a:b], ranks.below[a:b], ranks.within[a:b]
            # `inside` is used as working memory before it is filled.
            fill(order, falling, rule.discount, gain[a:b], *values, inside)
            if truncated:
                chance_in_top(order, falling, rule.top, inside, ranks.inside_tie[a:b])
            if weighs_ties:
                number_blocks(order, falling, ranks.block[a:b])
            near[q] = _count_near(falling, rule.reach)

    return rank_queries


@register_jitable
def _count_near(falling, reach):
    """Count the documents within reach, and those that tie with the last one that is."""
    near = min(reach, len(falling))
    while 0 < near < len(falling) and falling[near] == falling[near - 1]:
        near += 1
    return near


@register_jitable
def number_blocks(order: np.ndarray, falling: np.ndarray, block: np.ndarray) -> None:
    """Fill in for each document where its block of equal scores begins."""
    start = 0
    while start < len(order):
        end = end_of_block(start, falling)
        for rank in range(start, end):
            block[order[rank]] = start
        start = end


@njit  # stored, because kernels share it
def sort_noisy(
    order: np.ndarray, x: np.ndarray, names: np.ndarray, iteration: int, rule: RankRule
) -> np.ndarray:
    """Sort a query by its scores plus the noise of this iteration; return the sorted scores."""
    key, noisy = x.copy(), rule.smoothing > 0
    if noisy:
        for t in range(len(x)):
            key[t] += rule.smoothing * gumbel(rule.seed, iteration, names[t])
    return sort_by_score(order, key, not noisy)
