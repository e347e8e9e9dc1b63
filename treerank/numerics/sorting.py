"""Sorting of scores together with gains.

A merge sort that moves both arrays at once; numba compiles it much faster than
``np.argsort(kind="mergesort")``.
"""

import numpy as np

from treerank.numerics.compiling import register_jitable

#: Number of documents that are sorted by insertion before merging starts.
RUN_LENGTH = 16


@register_jitable
def sort_falling(scores: np.ndarray, gains: np.ndarray, by_gain: bool) -> None:
    """Sort scores in place, descending, and gains along with them.

    Ties are in ascending order of gains if ``by_gain``, else in the order they had.
    """
    n = len(scores)
    for start in range(0, n, RUN_LENGTH):
        _insert(scores[start : start + RUN_LENGTH], gains[start : start + RUN_LENGTH], by_gain)
    if n <= RUN_LENGTH:
        return
    width, left_scores, left_gains = min(RUN_LENGTH, n), np.empty(n), np.empty(n)
    while width < n:
        for start in range(0, n - width, 2 * width):
            stop = min(start + 2 * width, n)
            _merge(scores[start:stop], gains[start:stop], width, by_gain, left_scores, left_gains)
        width *= 2


@register_jitable
def comes_before(
    score_a: float, gain_a: float, score_b: float, gain_b: float, by_gain: bool
) -> bool:
    """Return whether document a ranks before b: by a higher score, or a tie and a lower gain.

    Without ``by_gain``, neither of two tied documents comes before the other.
    """
    return score_a > score_b or (by_gain and score_a == score_b and gain_a < gain_b)


@register_jitable
def _insert(scores, gains, by_gain):
    """Sort a short list of scores and gains in place by insertion, as :func:`sort_falling`."""
    for i in range(1, len(scores)):
        score, value, j = scores[i], gains[i], i
        while j > 0 and comes_before(score, value, scores[j - 1], gains[j - 1], by_gain):
            scores[j], gains[j] = scores[j - 1], gains[j - 1]
            j -= 1
        scores[j], gains[j] = score, value


@register_jitable
def _merge(scores, gains, middle, by_gain, left_scores, left_gains):
    """Merge two sorted runs, in place: the documents before ``middle``, and those from it on.

    Scores fall; with ``by_gain``, equal scores have rising gains, otherwise they keep their order.
    ``left_scores`` and ``left_gains`` are buffers of at least ``middle`` entries.
    """
    for i in range(middle):
        left_scores[i], left_gains[i] = scores[i], gains[i]
    i, j, target = 0, middle, 0
    while i < middle:
        if j < len(scores) and comes_before(
            scores[j], gains[j], left_scores[i], left_gains[i], by_gain
        ):
            scores[target], gains[target] = scores[j], gains[j]
            j += 1
        else:
            scores[target], gains[target] = left_scores[i], left_gains[i]
            i += 1
        target += 1
