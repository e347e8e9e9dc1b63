"""Sorting of scores with what belongs to them.

A merge sort that moves both arrays at once; numba compiles it much faster than
``np.argsort(kind="mergesort")``.
"""

import numpy as np

from treerank.numerics.compiling import register_jitable

#: Number of documents that are sorted by insertion before merging starts.
RUN_LENGTH = 16


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
def comes_before(
    score_a: float, worth_a: float, score_b: float, worth_b: float, by_worth: bool
) -> bool:
    """Return whether document a must stand before document b."""
    return score_a > score_b or (by_worth and score_a == score_b and worth_a < worth_b)


@register_jitable
def _insert(scores, worth, by_worth):
    """Sort a few documents by insertion, in place."""
    for i in range(1, len(scores)):
        score, value, j = scores[i], worth[i], i
        while j > 0 and comes_before(score, value, scores[j - 1], worth[j - 1], by_worth):
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
        if j < len(scores) and comes_before(
            scores[j], worth[j], left_scores[i], left_worth[i], by_worth
        ):
            scores[place], worth[place] = scores[j], worth[j]
            j += 1
        else:
            scores[place], worth[place] = left_scores[i], left_worth[i]
            i += 1
        place += 1
