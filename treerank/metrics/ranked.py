"""Ranked lists: the documents of each query from best score to worst, in blocks.

A ranked list is two arrays: ``ranked``, the worth of the documents by falling score, and
``ends``: where a block starts at position ``i``, ``ends[i]`` is where it ends. A block is a set
of documents whose order is left to chance, so metrics take their expectation over its
permutations. The policies for ties (``TIES``) are nothing but ways to cut blocks, and no metric
needs to know which one is in force:

- ``"average"``: documents of equal score form a block;
- ``"pessimistic"``: each document is its own block, the less worthy of a tie first;
- ``"stable"``: each document is its own block, in the order of the rows.

Inside a block, documents are sorted by worth, so sums do not depend on the order of rows, not
even in their last bits. A list may end where no later document can matter to the first ``k``
ranks. It lives no longer than a metric needs to add it up: lists of all queries together would
cost more time in fresh memory than in sorting.
"""

import functools

import numpy as np
from numba import prange

from treerank.numerics.compiling import kernel_for, njit

#: Policy to (sort ties by worth, tied documents share a block).
TIES = {"average": (True, True), "pessimistic": (True, False), "stable": (False, False)}

#: Up to here, picking the first by insertion beats sorting.
FEW = 64

#: Documents that are sorted by insertion before merging starts.
RUN = 16

#: The cutoff that cuts nothing off.
EVERYTHING = np.iinfo(np.int64).max


@functools.cache
def totals_kernel(of_list):
    """Make the kernel that ranks every query and adds up over its list.

    Parameters
    ----------
    of_list : callable
        ``(ranked, ends, k, discounts) -> float``, plain Python that numba can compile.

    Returns
    -------
    callable
        ``(scores, worth, indptr, k, by_worth, share, discounts) -> totals``, one per query.
    """

    @kernel_for(of_list, parallel=True)
    def totals(scores, worth, indptr, k, by_worth, share, discounts):
        total = np.empty(len(indptr) - 1)
        for q in prange(len(total)):
            a, b = indptr[q], indptr[q + 1]
            ranked, ends = rank_query(scores[a:b], worth[a:b], k, by_worth, share)
            total[q] = of_list(ranked, ends, k, discounts)
        return total

    return totals


@njit
def rank_query(scores, worth, k, by_worth, share):
    """Return the ranked list of one query, at least as far as its first k ranks need."""
    if k <= FEW and k < len(scores):
        first_scores, first = np.empty(k), np.empty(k)
        is_cut = _pick_first(scores, worth, by_worth, first_scores, first)
        if not (share and is_cut):
            return first, _ends(first_scores, share)
        scores, ranked = _at_least(first_scores[-1], scores, worth)  # the block goes on beyond k
    else:
        scores, ranked = scores.copy(), worth.copy()
    return ranked, sort_into_blocks(scores, ranked, by_worth, share)


@njit
def sort_into_blocks(scores, worth, by_worth, share):
    """Sort both by falling score, in place, and return where blocks end."""
    _sort_falling(scores, worth, by_worth)
    return _ends(scores, share)


@njit
def _pick_first(scores, worth, by_worth, first_scores, first):
    """Fill in the documents that come first; say whether a tie goes on beyond them."""
    k, n, best_left_out = len(first), 0, -np.inf
    for i in range(len(scores)):
        score = scores[i]
        if n == k:
            if score < first_scores[k - 1]:  # as most do
                continue
            best_left_out = first_scores[k - 1]
            if not _comes_before(score, worth[i], best_left_out, first[k - 1], by_worth):
                continue
            n -= 1
        place = n
        while place > 0 and _comes_before(
            score, worth[i], first_scores[place - 1], first[place - 1], by_worth
        ):
            first_scores[place], first[place] = first_scores[place - 1], first[place - 1]
            place -= 1
        first_scores[place], first[place] = score, worth[i]
        n += 1
    return best_left_out == first_scores[k - 1]


@njit
def _at_least(least, scores, worth):
    """Return copies of what belongs to scores of at least so much."""
    n, kept_scores, kept_worth = 0, np.empty(len(scores)), np.empty(len(scores))
    for i in range(len(scores)):
        if scores[i] >= least:
            kept_scores[n], kept_worth[n] = scores[i], worth[i]
            n += 1
    return kept_scores[:n], kept_worth[:n]


@njit
def _ends(falling, share):
    """Say where each block ends that starts at a position."""
    ends = np.empty(len(falling), np.int64)
    start = 0
    while start < len(falling):
        end = start + 1
        while share and end < len(falling) and falling[end] == falling[start]:
            end += 1
        ends[start] = end
        start = end
    return ends


# A merge sort of our own: it moves both arrays in one go, and np.argsort(kind="mergesort")
# takes numba twenty seconds to compile.
@njit
def _sort_falling(scores, worth, by_worth):
    """Sort both by falling score, in place; ties by rising worth, or not at all."""
    n = len(scores)
    for start in range(0, n, RUN):
        _insert(scores[start : start + RUN], worth[start : start + RUN], by_worth)
    if n <= RUN:
        return
    width, left_scores, left_worth = min(RUN, n), np.empty(n), np.empty(n)
    while width < n:
        for start in range(0, n - width, 2 * width):
            stop = min(start + 2 * width, n)
            _merge(scores[start:stop], worth[start:stop], width, by_worth, left_scores, left_worth)
        width *= 2


@njit
def _comes_before(score_a, worth_a, score_b, worth_b, by_worth):
    return score_a > score_b or (by_worth and score_a == score_b and worth_a < worth_b)


@njit
def _insert(scores, worth, by_worth):
    """Sort a few documents by insertion."""
    for i in range(1, len(scores)):
        score, value, j = scores[i], worth[i], i
        while j > 0 and _comes_before(score, value, scores[j - 1], worth[j - 1], by_worth):
            scores[j], worth[j] = scores[j - 1], worth[j - 1]
            j -= 1
        scores[j], worth[j] = score, value


@njit
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
