"""Ranking inside training: the order of one query's documents by score, again and again.

Scores change little from one tree to the next, so the sort starts from the last order. It
never looks at the order of rows: what ties do is the business of the weights.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import prange
from numba.extending import register_jitable

from treerank.numerics.compiling import kernel_for, njit
from treerank.numerics.random_keys import gumbel
from treerank.numerics.ties import end_of_block

#: Moves per document after which an insertion sort gives up.
PATIENCE = 8
#: Spread of keys below which the number of bins per unit of it might overflow.
SMALLEST_SPREAD = 1e-280


class Ranks(NamedTuple):
    """What weights need to know about the present ranks, one entry per place.

    Attributes
    ----------
    order : ndarray
        Documents of each query by falling score; sorted in place, starting as it is.
    block : ndarray
        Where in the order the block of equal scores that holds the document begins.
    above, below, within : ndarray
        See :mod:`treerank.objectives.position_values`.
    inside, inside_tie : ndarray
        Chance to be in the top, and that at least one of two tied documents is.
    """

    order: np.ndarray
    block: np.ndarray
    above: np.ndarray
    below: np.ndarray
    within: np.ndarray
    inside: np.ndarray
    inside_tie: np.ndarray


class RankRule(NamedTuple):
    """What turns scores into ranks and ranks into worth.

    Attributes
    ----------
    discount : ndarray
        Worth of each rank.
    top : int
        Pairs count by the chance that one of the two is among so many; 0 if all count.
    reach : int
        Two documents that both stand below this rank make no pair that counts.
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


@njit(nogil=True)
def sort_by_score(order: np.ndarray, key: np.ndarray, nearly_sorted: bool) -> np.ndarray:
    """Sort ``order`` in place so that ``key[order]`` falls, and return ``key[order]``.

    From an order that is nearly right it takes an insertion sort; else the documents are first
    thrown into as many bins of equal width as there are documents. Keys that are too uneven
    for that are left to Shell's sort.
    """
    falling = np.empty(len(order))
    for rank in range(len(order)):
        falling[rank] = key[order[rank]]
    patience = PATIENCE * len(order)
    if nearly_sorted and _insertion_sort(order, falling, 1, patience):
        return falling
    _throw_into_bins(order, falling)
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
def _throw_into_bins(order, falling):
    """Bring the pairs of document and key into order, but for those within a bin."""
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
    """Sort each of ``gap`` interleaved sequences; say whether patience lasted."""
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
    """Chance of each document to be among the first ``top``, ties broken at random.

    ``within`` is the chance that at least one of two documents of its block is; where equal chances
    are not of one block, all of them are in or all are out, and so is ``within``.
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
def rank_kernel(fill: Callable, truncated: bool, weighs_ties: bool) -> Callable:
    """Make the kernel that ranks all queries, for those that visit pairs one by one."""

    @kernel_for(fill, truncated, weighs_ties, parallel=True, error_model="numpy")
    def rank_queries(x, gain, names, indptr, iteration, rule, ranks):
        for q in prange(len(indptr) - 1):
            a, b = indptr[q], indptr[q + 1]
            own = Ranks(
                ranks.order[a:b],
                ranks.block[a:b],
                ranks.above[a:b],
                ranks.below[a:b],
                ranks.within[a:b],
                ranks.inside[a:b],
                ranks.inside_tie[a:b],
            )
            wanted = truncated, weighs_ties
            rank_query(fill, wanted, x[a:b], gain[a:b], names[a:b], iteration, rule, own)

    return rank_queries


@register_jitable
def rank_query(
    fill: Callable,
    wanted: tuple[bool, bool],
    x: np.ndarray,
    gain: np.ndarray,
    names: np.ndarray,
    iteration: int,
    rule: RankRule,
    ranks: Ranks,
) -> int:
    """Sort one query and say what its ranks are worth, as far as that is wanted.

    Return how many documents, the first of the order, stand within reach or tie with one.
    """
    truncated, weighs_ties = wanted
    order, inside = ranks.order, ranks.inside
    falling = sort_noisy(order, x, names, iteration, rule)
    # `inside` is room to work in, before it is filled.
    fill(order, falling, rule.discount, gain, ranks.above, ranks.below, ranks.within, inside)
    if truncated:
        chance_in_top(order, falling, rule.top, inside, ranks.inside_tie)
    if weighs_ties:
        number_blocks(order, falling, ranks.block)
    near = min(rule.reach, len(order))
    while 0 < near < len(order) and falling[near] == falling[near - 1]:
        near += 1
    return near


@register_jitable
def number_blocks(order: np.ndarray, falling: np.ndarray, block: np.ndarray) -> None:
    """Say of each document where its block of equal scores begins."""
    start = 0
    while start < len(order):
        end = end_of_block(start, falling)
        for rank in range(start, end):
            block[order[rank]] = start
        start = end


@njit
def sort_noisy(
    order: np.ndarray, x: np.ndarray, names: np.ndarray, iteration: int, rule: RankRule
) -> np.ndarray:
    """Sort a query by its scores plus the noise of this iteration; return them, falling."""
    key, noisy = x.copy(), rule.smoothing > 0
    if noisy:
        for t in range(len(x)):
            key[t] += rule.smoothing * gumbel(rule.seed, iteration, names[t])
    return sort_by_score(order, key, not noisy)
