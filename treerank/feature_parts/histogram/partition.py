"""Partition: sorts the rows of a leaf by side, those that go left before those that go right.

Each side keeps its order, so rows stay ascending and memory is read in sequence. Leaves are
partitioned in chunks, which threads share, and the chunks are joined afterwards. Chunks do not
depend on the number of threads.
"""

import numpy as np

from treerank.numerics.compiling import njit

#: Rows of a chunk.
CHUNK = 8192


@njit(error_model="numpy", nogil=True)
def part_chunks(
    first: int,
    last: int,
    rows: np.ndarray,
    sides: tuple[np.ndarray, np.ndarray],
    spare: np.ndarray,
    n_left: np.ndarray,
) -> None:
    """Copy the rows of chunks that go left to their fronts, the others to the backs, in ``spare``.

    Parameters
    ----------
    first, last : int
        First chunk, and the one after the last.
    rows : ndarray of uint32
        Rows of the leaf.
    sides : tuple of ndarray of uint8, shape (n_rows,) and (256,)
        Bins of all rows, and 1 for bins that go left.
    spare : ndarray of uint32
        Memory for at least as many rows.
    n_left : ndarray of int64, shape (n_chunks,)
        Gets how many rows of each chunk go left.
    """
    bins, goes_left = sides
    for chunk in range(first, last):
        begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(rows))
        front, back = np.int64(begin), np.int64(end - 1)
        for i in range(begin, end):
            row = rows[i]
            left = np.int64(goes_left[bins[row]])
            spare[front] = row  # both, without a branch: one of the two is overwritten later
            spare[back] = row
            front += left
            back -= 1 - left
        n_left[chunk] = front - begin


@njit(error_model="numpy", nogil=True)
def join_chunks(
    first: int, last: int, ends: np.ndarray, spare: np.ndarray, rows: np.ndarray
) -> None:
    """Copy both sides of chunks from ``spare`` to their places in ``rows``.

    ``ends[c]`` is the number of rows that go left up to chunk ``c``, itself included.
    """
    for chunk in range(first, last):
        begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(rows))
        left = ends[chunk - 1] if chunk else 0
        n_left, right = ends[chunk] - left, ends[-1] + begin - left
        for i in range(n_left):
            rows[left + i] = spare[begin + i]
        for i in range(end - begin - n_left):
            rows[right + i] = spare[end - 1 - i]
