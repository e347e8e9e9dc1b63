"""Partition: sorts the rows of a leaf by side, those that go left before those that go right.

Each side keeps its order, so rows stay ascending and memory is read in sequence.
"""

import numpy as np

from treerank.numerics.compiling import njit
from treerank.numerics.threads import in_parts

#: From how many rows on threads share a leaf; fewer take less than a wake-up.
_SHARED = 131_072


def partition(rows: np.ndarray, bins: np.ndarray, goes_left: np.ndarray) -> int:
    """Sort the rows of a leaf by side; return how many go left.

    ``bins`` are those of all rows, and ``goes_left`` has 1 for bins that go left.
    """
    spare, parts = np.empty((2, len(rows)), dtype=rows.dtype), {}

    def part(first: int, last: int) -> None:
        left, right = spare[:, first:last]
        n_left = _part(rows[first:last], bins, goes_left, left, right)
        parts[first] = left[:n_left], right[: last - first - n_left]

    if len(rows) < _SHARED:
        part(0, len(rows))
    else:
        in_parts(part, len(rows))
    left, right = zip(*(parts[first] for first in sorted(parts)), strict=True)
    np.concatenate([*left, *right], out=rows)
    return sum(map(len, left))


@njit(error_model="numpy", nogil=True)
def _part(rows, bins, goes_left, left, right):
    """Copy the rows that go left, and those that go right; return how many go left."""
    n_left, n_right = np.int64(0), np.int64(0)
    for i in range(len(rows)):
        row = rows[i]
        is_left = np.int64(goes_left[bins[row]])
        left[n_left] = row  # both, without a branch: one of the two is overwritten later
        right[n_right] = row
        n_left += is_left
        n_right += 1 - is_left
    return n_left
