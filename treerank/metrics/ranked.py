"""Ranked lists: the documents of each query by falling score, divided into blocks.

A ranked list is two arrays. ``ranked`` holds the worth of the documents by falling score. Where
a block starts at position ``i``, ``ends[i]`` is the position after its last document. A block is
a set of documents in random order: metrics take their expectation over its permutations. The
policies for ties (``TIES``) are ways to divide a list into blocks, so no metric needs to know
which one is chosen:

- ``"average"``: documents of equal score form a block;
- ``"pessimistic"``: each document is its own block, and tied ones are sorted by rising worth;
- ``"stable"``: each document is its own block, in the order of the rows.

Inside a block, documents are sorted by worth, so no bit of a sum depends on the order of rows. A
list may end after the block of the ``k``-th document. The list of a query is freed once its total
is known: memory for the lists of all queries would cost more time than sorting.
"""

import functools
from collections.abc import Callable

import numpy as np
from numba import prange

from treerank.numerics.compiling import kernel_for, njit, register_jitable

#: Policy to (tied documents are sorted by worth, tied documents share a block).
TIES: dict[str, tuple[bool, bool]] = {
    "average": (True, True),
    "pessimistic": (True, False),
    "stable": (False, False),
}

#: Largest k for which the first k documents are picked by insertion, which beats sorting.
MAX_PICKED = 64

#: Number of documents that are sorted by insertion before merging starts.
RUN_LENGTH = 16

#: A cutoff that no list reaches.
NO_CUTOFF = int(np.iinfo(np.int64).max)


@functools.cache
def totals_kernel(list_total: Callable[..., float]) -> Callable[..., np.ndarray]:
    """Return the kernel that ranks every query and computes the total of its list.

    ``list_total(ranked, ends, k, discounts) -> float`` is plain Python that numba can compile.
    """

    @kernel_for(list_total, parallel=True)
    def totals(scores, worth, indptr, k, by_worth, in_blocks, discounts):
        total = np.empty(len(indptr) - 1)
        for q in prange(len(total)):
            a, b = indptr[q], indptr[q + 1]
            ranked, ends = rank_query(scores[a:b], worth[a:b], k, by_worth, in_blocks)
            total[q] = list_total(ranked, ends, k, discounts)
        return total

    return totals


@njit
def rank_query(
    scores: np.ndarray, worth: np.ndarray, k: int, by_worth: bool, in_blocks: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranked list of one query, at least up to the end of the k-th document's block."""
    if k <= MAX_PICKED and k < len(scores):
        first_scores, first = np.empty(k), np.empty(k)
        is_cut = _pick_first(scores, worth, by_worth, first_scores, first)
        if not (in_blocks and is_cut):
            return first, _ends(first_scores, in_blocks)
        scores, ranked = _at_least(first_scores[-1], scores, worth)  # more documents tie
    else:
        scores, ranked = scores.copy(), worth.copy()
    sort_falling(scores, ranked, by_worth)
    return ranked, _ends(scores, in_blocks)


@register_jitable
def _pick_first(scores, worth, by_worth, first_scores, first):
    """Fill in the first documents; return whether one left out ties with the last of them."""
    k, n, best_left_out = len(first), 0, -np.inf
    for i in range(len(scores)):
        score = scores[i]
        if n == k:
            if score < first_scores[k - 1]:  # true for most
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


@register_jitable
def _at_least(least, scores, worth):
    """Return the scores of at least ``least``, and the worth of their documents."""
    n, kept_scores, kept_worth = 0, np.empty(len(scores)), np.empty(len(scores))
    for i in range(len(scores)):
        if scores[i] >= least:
            kept_scores[n], kept_worth[n] = scores[i], worth[i]
            n += 1
    return kept_scores[:n], kept_worth[:n]


@register_jitable
def _ends(falling, in_blocks):
    """Return, for each position at which a block starts, where it ends."""
    ends = np.empty(len(falling), np.int64)
    start = 0
    while start < len(falling):
        end = start + 1
        while in_blocks and end < len(falling) and falling[end] == falling[start]:
            end += 1
        ends[start] = end
        start = end
    return ends


# Our own merge sort moves both arrays at once, and numba compiles it much faster than
# np.argsort(kind="mergesort").
@register_jitable
def sort_falling(scores: np.ndarray, worth: np.ndarray, by_worth: bool) -> None:
    """Sort both arrays by falling score, in place; ties by rising worth, or by row."""
    n = len(scores)
    for start in range(0, n, RUN_LENGTH):
        _insert(scores[start : start + RUN_LENGTH], worth[start : start + RUN_LENGTH], by_worth)
    if n <= RUN_LENGTH:
        return
    width, left_scores, left_worth = min(RUN_LENGTH, n), np.empty(n), np.empty(n)
    while width < n:
        for start in range(0, n - width, 2 * width):
            stop = min(start + 2 * width, n)
            _merge(scores[start:stop], worth[start:stop], width, by_worth, left_scores, left_worth)
        width *= 2


@register_jitable
def _comes_before(score_a, worth_a, score_b, worth_b, by_worth):
    """Return whether document a must stand before document b."""
    return score_a > score_b or (by_worth and score_a == score_b and worth_a < worth_b)


@register_jitable
def _insert(scores, worth, by_worth):
    """Sort a few documents by insertion, in place."""
    for i in range(1, len(scores)):
        score, value, j = scores[i], worth[i], i
        while j > 0 and _comes_before(score, value, scores[j - 1], worth[j - 1], by_worth):
            scores[j], worth[j] = scores[j - 1], worth[j - 1]
            j -= 1
        scores[j], worth[j] = score, value


@register_jitable
def _merge(scores, worth, middle, by_worth, left_scores, left_worth):
    """Merge the sorted documents before ``middle`` with the sorted ones from it on."""
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
