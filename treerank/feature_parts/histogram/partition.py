"""Partition: sorts the rows of a leaf by side, those that go left before those that go right.

Each side keeps its order, so rows stay ascending and memory is read in sequence.
"""

import numpy as np

from treerank.numerics.compiling import register_jitable


@register_jitable(error_model="numpy")
def partition(
    rows: np.ndarray, bins: np.ndarray, goes_left: np.ndarray, right: np.ndarray
) -> np.int64:
    """Sort the rows of a leaf by side, in place; return how many go left.

    ``bins`` are the bins of all rows, and ``goes_left`` is 1 for each bin that goes left. Each side
    keeps its order. ``right`` is working memory for as many rows.
    """
    n_left, n_right = np.int64(0), np.int64(0)
    for i in range(len(rows)):
        row = rows[i]
        is_left = np.int64(goes_left[bins[row]])
        rows[n_left] = (
            row  # written to both sides, without a branch: one of the two is overwritten later
        )
        right[n_right] = row
        n_left += is_left
        n_right += 1 - is_left
    for i in range(n_right):  # a slice assignment takes a second longer to compile
        rows[n_left + i] = right[i]
    return n_left
