"""Ranked lists: the documents of each query by descending score, divided into blocks.

A ranked list is two arrays. ``ranked`` holds the gains of the documents by descending score. If a
block starts at position ``i``, ``ends[i]`` is the position after its last document. A block is a
set of documents in random order: metrics take their expectation over its permutations. A policy
for ties (``TIES``) is a way to divide a list into blocks, so metrics need not know the policy:

- ``"average"``: documents of equal score form a block;
- ``"pessimistic"``: each document is its own block, and tied ones are sorted by ascending gain;
- ``"stable"``: each document is its own block, in the order of the rows.

Inside a block, documents are sorted by gain, so no bit of a sum depends on the order of rows. A
list may end after the block of the ``k``-th document. The list of a query is freed once its total
is computed: allocating the lists of all queries would take longer than sorting.
"""

import functools
from collections.abc import Callable

import numpy as np

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.sorting import comes_before, sort_falling

#: By policy: whether tied documents are sorted by gain, and whether they share a block.
TIES: dict[str, tuple[bool, bool]] = {
    "average": (True, True),
    "pessimistic": (True, False),
    "stable": (False, False),
}

#: Largest k for which the first k documents are picked by insertion, which beats sorting.
MAX_PICKED = 64

#: A cutoff that no list reaches.
NO_CUTOFF = int(np.iinfo(np.int64).max)


@functools.cache
def totals_kernel(list_total: Callable[..., float]) -> Callable[..., None]:
    """Return a compiled function that ranks the documents of each query and totals each list.

    ``list_total(ranked, ends, k, discounts) -> float`` is plain Python that numba can compile. It
    gets the gains in the order of the ranking, the ends of tied blocks by their starts, the cutoff
    and the discounts.
    """

    @kernel_for(list_total, nogil=True)
    def totals(first, last, scores, gains, indptr, k, by_gain, in_blocks, discounts, total):
        for q in range(first, last):
            a, b = indptr[q], indptr[q + 1]
            ranked, ends = rank_query(scores[a:b], gains[a:b], k, by_gain, in_blocks)
            total[q] = list_total(ranked, ends, k, discounts)

    return totals


@register_jitable
def rank_query(
    scores: np.ndarray, gains: np.ndarray, k: int, by_gain: bool, in_blocks: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(gains in ranked order, ends)`` of one query, at least of the documents that count.

    The list may end with the block of tied documents that has the k-th one. ``ends[i]`` is the end
    of the block that begins at i. With ``by_gain`` tied documents are ordered by ascending gain,
    else by row. With ``in_blocks`` tied documents form a block, else each document is one.
    """
    if k <= MAX_PICKED and k < len(scores):
        first_scores, first = np.empty(k), np.empty(k)
        is_cut = _pick_first(scores, gains, by_gain, first_scores, first)
        if not (in_blocks and is_cut):
            return first, _ends(first_scores, in_blocks)
        scores, ranked = _at_least(first_scores[-1], scores, gains)  # more documents tie
    else:
        scores, ranked = scores.copy(), gains.copy()
    sort_falling(scores, ranked, by_gain)
    return ranked, _ends(scores, in_blocks)


@register_jitable
def _pick_first(scores, gains, by_gain, first_scores, first):
    """Write scores and gains of the top documents, best first, to ``first_scores`` and ``first``.

    If ``by_gain``, equal scores are sorted by ascending gain. Returns whether a document that is
    left out has the same score as the last one written.
    """
    k, n, best_left_out = len(first), 0, -np.inf
    for i in range(len(scores)):
        score = scores[i]
        if n == k:
            if score < first_scores[k - 1]:  # true for most
                continue
            best_left_out = first_scores[k - 1]
            if not comes_before(score, gains[i], best_left_out, first[k - 1], by_gain):
                continue
            n -= 1
        slot = n
        while slot > 0 and comes_before(
            score, gains[i], first_scores[slot - 1], first[slot - 1], by_gain
        ):
            first_scores[slot], first[slot] = first_scores[slot - 1], first[slot - 1]
            slot -= 1
        first_scores[slot], first[slot] = score, gains[i]
        n += 1
    return best_left_out == first_scores[k - 1]


@register_jitable
def _at_least(least, scores, gains):
    """Return ``(scores, gains)`` of the documents whose score is at least ``least``."""
    n, kept_scores, kept_gains = 0, np.empty(len(scores)), np.empty(len(scores))
    for i in range(len(scores)):
        if scores[i] >= least:
            kept_scores[n], kept_gains[n] = scores[i], gains[i]
            n += 1
    return kept_scores[:n], kept_gains[:n]


@register_jitable
def _ends(sorted_scores, in_blocks):
    """Return an array with the end of each tied block at the position at which the block starts.

    Other entries are undefined. Unless ``in_blocks``, each document is a block.
    """
    ends = np.empty(len(sorted_scores), np.int64)
    start = 0
    while start < len(sorted_scores):
        end = start + 1
        while in_blocks and end < len(sorted_scores) and sorted_scores[end] == sorted_scores[start]:
            end += 1
        ends[start] = end
        start = end
    return ends
