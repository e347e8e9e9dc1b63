"""Ranking inside training: the order of one query's documents by score, again and again.

Scores change little from one tree to the next, so the sort starts from the last order. It
never looks at the order of rows: what ties do is the business of the weights.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numba.core.dispatcher import Dispatcher
from numba.extending import register_jitable

from treerank.random_keys import gumbel
from treerank.ties import end_of_block

#: Moves per document after which an insertion sort gives up and leaps.
PATIENCE = 8


class Ranks(NamedTuple):
    """What weights need to know about the present ranks, one entry per place.

    Attributes
    ----------
    order : ndarray
        Documents of each query by falling score; sorted in place, starting as it is.
    block : ndarray
        Where in the order the block of equal scores that holds the document begins.
    up, down, tie : ndarray
        See :mod:`treerank.swaps`.
    inside, inside_tie : ndarray
        Chance to be in the top, and that at least one of two tied documents is.
    """

    order: np.ndarray
    block: np.ndarray
    up: np.ndarray
    down: np.ndarray
    tie: np.ndarray
    inside: np.ndarray
    inside_tie: np.ndarray


class RankRule(NamedTuple):
    """What turns scores into ranks and ranks into worth."""

    discount: np.ndarray
    top: int
    smoothing: float
    seed: int


@njit(cache=True, nogil=True)
def sort_by_score(order, key):
    """Sort ``order`` in place so that ``key[order]`` falls; linear when nearly sorted."""
    if _insertion_sort(order, key, 1, PATIENCE * len(order)):
        return
    gap = 1
    while gap < len(order) // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort: the same insertion with falling gaps, in place
        _insertion_sort(order, key, gap, len(order) * len(order))
        gap //= 3


@register_jitable
def _insertion_sort(order, key, gap, patience):
    """Sort each of ``gap`` interleaved sequences; say whether patience lasted."""
    for t in range(gap, len(order)):
        document, place = order[t], t - gap
        while place >= 0 and key[order[place]] < key[document]:
            order[place + gap] = order[place]
            place -= gap
            patience -= 1
        order[place + gap] = document
        if patience < 0:
            return False
    return True


@register_jitable
def chance_in_top(order, key, top, inside, tie):
    """Chance of each document to be among the first ``top``, ties broken at random.

    ``tie`` is the chance that at least one of two documents of its block is.
    """
    start = 0
    while start < len(order):
        end = end_of_block(start, order, key)
        size = end - start
        seats = min(max(top - start, 0), size)
        left = size - seats
        both_out = left * (left - 1) / (size * (size - 1)) if size > 1 else 0.0
        for rank in range(start, end):
            inside[order[rank]] = seats / size
            tie[order[rank]] = 1 - both_out
        start = end


@functools.cache
def rank_kernel(fill, weighs_swaps, truncated, weighs_ties):
    """Make the kernel that sorts each query and says what its ranks are worth."""

    @njit(parallel=True, error_model="numpy", cache=not isinstance(fill, Dispatcher))
    def rank_queries(x, gain, row, indptr, iteration, rule, key, ranks):
        for q in prange(len(indptr) - 1):
            a, b = indptr[q], indptr[q + 1]
            _add_noise(x[a:b], row[a:b], rule.smoothing, rule.seed, iteration, key[a:b])
            order = ranks.order[a:b]
            sort_by_score(order, key[a:b])
            up, down, tie = ranks.up[a:b], ranks.down[a:b], ranks.tie[a:b]
            inside = ranks.inside[a:b]
            if weighs_swaps:  # lends `inside` as room to work in, before it is filled
                fill(order, key[a:b], rule.discount, gain[a:b], up, down, tie, inside)
            if truncated:
                chance_in_top(order, key[a:b], rule.top, inside, ranks.inside_tie[a:b])
            if weighs_ties:
                number_blocks(order, key[a:b], ranks.block[a:b])

    return rank_queries


@register_jitable
def number_blocks(order, key, block):
    """Say of each document where its block of equal scores begins."""
    start = 0
    while start < len(order):
        end = end_of_block(start, order, key)
        for rank in range(start, end):
            block[order[rank]] = start
        start = end


@njit(cache=True)
def _add_noise(x, row, smoothing, seed, iteration, key):
    for t in range(len(x)):
        key[t] = x[t]
    if smoothing > 0:
        for t in range(len(x)):
            key[t] += smoothing * gumbel(seed, iteration, row[t])
