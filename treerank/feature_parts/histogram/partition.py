"""Partition: sorts the rows of a leaf by side, those that go left before those that go right.

Each side keeps its order, so rows stay ascending and memory is read in sequence. Leaves are
partitioned in chunks, which threads share, and the chunks are joined afterwards. Chunks do not
depend on the number of threads.
"""

import numpy as np

from treerank.numerics.compiling import register_jitable

#: Rows of a chunk.
CHUNK = 8192


@register_jitable
def n_chunks_of(n_rows: int) -> int:
    """Return in how many chunks rows are partitioned."""
    return (n_rows + CHUNK - 1) // CHUNK


@register_jitable(error_model="numpy")
def part_chunk(
    chunk: int, rows: np.ndarray, bins: np.ndarray, goes_left: np.ndarray, spare: np.ndarray
) -> int:
    """Copy the rows of a chunk that go left to its front, the others to its back, in ``spare``.

    Parameters
    ----------
    chunk : int
        Number of the chunk.
    rows : ndarray of uint32
        Rows of the leaf.
    bins : ndarray of uint8
        Bins of all rows.
    goes_left : ndarray of uint8, shape (256,)
        1 for bins that go left.
    spare : ndarray of uint32
        Memory for at least as many rows.

    Returns
    -------
    int
        How many go left.
    """
    begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(rows))
    front, back = np.int64(begin), np.int64(end - 1)
    for i in range(begin, end):
        row = rows[i]
        left = np.int64(goes_left[bins[row]])
        spare[front] = row  # both, without a branch: one of the two is overwritten later
        spare[back] = row
        front += left
        back -= 1 - left
    return int(front - begin)


@register_jitable(error_model="numpy")
def join_chunk(chunk: int, before: np.ndarray, spare: np.ndarray, rows: np.ndarray) -> None:
    """Copy both sides of a chunk from ``spare`` to their places in ``rows``.

    ``before[c]`` is the number of rows that go left before chunk ``c``, and the last number that of
    all rows that do.
    """
    begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(rows))
    n_left, left = before[chunk + 1] - before[chunk], before[chunk]
    right = before[n_chunks_of(len(rows))] + begin - left
    for i in range(n_left):
        rows[left + i] = spare[begin + i]
    for i in range(end - begin - n_left):
        rows[right + i] = spare[end - 1 - i]
