"""Ranked lists: the documents of each query from best score to worst, in blocks.

A ranked list is two arrays, cut at the same ``indptr`` as the queries: ``ranked``, the worth
of the documents by falling score, and ``ends``: where a block starts at position ``i``,
``ends[i]`` is where it ends. A block is a set of documents whose order is left to chance, so
metrics take their expectation over its permutations. The policies for ties (``TIES``) are
nothing but ways to cut blocks, and no metric needs to know which one is in force:

- ``"average"``: documents of equal score form a block;
- ``"pessimistic"``: each document is its own block, the less worthy of a tie first;
- ``"stable"``: each document is its own block, in the order of the rows.

Inside a block, documents are sorted by worth, so sums do not depend on the order of rows, not
even in their last bits. Only as many positions are filled as the first ``k`` ranks need.
"""

import numpy as np
from numba import njit, prange

#: Policy to (sort ties by worth, tied documents share a block).
TIES = {"average": (True, True), "pessimistic": (True, False), "stable": (False, False)}

#: Up to here, picking the largest by insertion beats sorting.
FEW = 64

#: Documents that are sorted by insertion before merging starts.
RUN = 16

#: The cutoff that cuts nothing off.
EVERYTHING = np.iinfo(np.int64).max


def rank_ideally(worth, indptr, k):
    """Rank every query by worth itself, each document in a block of its own."""
    return rank(worth, np.arange(len(worth)), worth, indptr, k, *TIES["stable"])


@njit(cache=True, parallel=True)
def rank(scores, order, worth, indptr, k, by_worth, share):
    """Rank every query; ``scores`` by row, ``worth`` already in the order ``order``."""
    ranked = np.empty(len(worth))
    ends = np.empty(len(worth), np.int64)
    for q in prange(len(indptr) - 1):
        a, b = indptr[q], indptr[q + 1]
        gathered = np.empty(b - a)
        for i in range(a, b):
            gathered[i - a] = scores[order[i]]
        _rank_query(gathered, worth[a:b], k, by_worth, share, ranked[a:b], ends[a:b])
    return ranked, ends


@njit(cache=True)
def _rank_query(scores, worth, k, by_worth, share, ranked, ends):
    """Write worth by falling score, and the ends of blocks; overwrites ``scores``."""
    lowest, room = -np.inf, len(scores)
    if k <= FEW and 4 * k <= len(scores):
        top = largest(scores, k)
        lowest = top[-1]
        if not by_worth:  # the first rows get the last places
            room = int(np.count_nonzero(top == lowest))
    n_kept = 0
    for i in range(len(scores)):  # those that some order of ties puts among the first k
        if scores[i] > lowest or (scores[i] == lowest and room > 0):
            room -= scores[i] == lowest
            scores[n_kept], ranked[n_kept] = scores[i], worth[i]
            n_kept += 1
    _sort_falling(scores[:n_kept], ranked[:n_kept], by_worth)
    start = 0
    while start < n_kept:
        end = start + 1
        while share and end < n_kept and scores[end] == scores[start]:
            end += 1
        ends[start] = end
        start = end


@njit(cache=True)
def largest(values, k):
    """Return the ``k`` largest values, falling; for a small ``k``."""
    top = np.full(min(k, len(values)), -np.inf)
    for x in values:
        if x > top[-1]:
            i = len(top) - 1
            while i > 0 and top[i - 1] < x:
                top[i] = top[i - 1]
                i -= 1
            top[i] = x
    return top


# A merge sort of our own: it moves both arrays in one go, and np.argsort(kind="mergesort")
# takes numba twenty seconds to compile.
@njit(cache=True)
def _sort_falling(scores, worth, by_worth):
    """Sort both by falling score, in place; ties by rising worth, or not at all."""
    n = len(scores)
    for start in range(0, n, RUN):
        _insert(scores[start : start + RUN], worth[start : start + RUN], by_worth)
    width = min(RUN, n)
    left_scores, left_worth = np.empty(n), np.empty(n)
    while width < n:
        for start in range(0, n - width, 2 * width):
            stop = min(start + 2 * width, n)
            _merge(scores[start:stop], worth[start:stop], width, by_worth, left_scores, left_worth)
        width *= 2


@njit(cache=True)
def _comes_before(score_a, worth_a, score_b, worth_b, by_worth):
    return score_a > score_b or (by_worth and score_a == score_b and worth_a < worth_b)


@njit(cache=True)
def _insert(scores, worth, by_worth):
    """Sort a few documents by insertion."""
    for i in range(1, len(scores)):
        score, value, j = scores[i], worth[i], i
        while j > 0 and _comes_before(score, value, scores[j - 1], worth[j - 1], by_worth):
            scores[j], worth[j] = scores[j - 1], worth[j - 1]
            j -= 1
        scores[j], worth[j] = score, value


@njit(cache=True)
def _merge(scores, worth, middle, by_worth, left_scores, left_worth):
    """Merge the sorted documents before and from ``middle`` on."""
    for i in range(middle):
        left_scores[i], left_worth[i] = scores[i], worth[i]
    i, j, place = 0, middle, 0
    while i < middle:
        if j < len(scores) and _comes_before(
            scores[j], worth[j], left_scores[i], left_worth[i], by_worth
        ):
            scores[place], worth[place] = scores[j], worth[j]
            j += 1
        else:
            scores[place], worth[place] = left_scores[i], left_worth[i]
            i += 1
        place += 1
