"""Partition: sorts the rows of a leaf by side, those that go left before those that go right.

Each side keeps its order, so rows stay ascending and memory is read in sequence. Large leaves are
partitioned in chunks, which threads share, and the chunks are joined afterwards. Chunks do not
depend on the number of threads.
"""

import numpy as np
from numba import prange

from treerank.numerics.compiling import register_jitable

_CHUNK = 8192


@register_jitable(error_model="numpy")
def partition_rows(
    rows: np.ndarray,
    bins: np.ndarray,
    goes_left: np.ndarray,
    spare: np.ndarray,
    before: np.ndarray,
) -> int:
    """Partition ``rows`` in place; return how many go left.

    Parameters
    ----------
    rows : ndarray of uint32
        Rows of the leaf.
    bins : ndarray of uint8
        Bins of all rows.
    goes_left : ndarray of uint8, shape (256,)
        1 for bins that go left.
    spare : ndarray of uint32
        Memory for at least as many rows.
    before : ndarray of int64
        Memory for at least ``n_chunks_of(len(rows)) + 1`` numbers, the first of which is 0.
    """
    n_chunks = n_chunks_of(len(rows))
    if n_chunks == 1:  # starting threads would take longer
        chunk = spare[: len(rows)]
        n = _partition(rows, bins, goes_left, chunk)
        _join(chunk, n, rows, np.int64(0), n)
        return n
    ends = before[: n_chunks + 1]
    for step in range(2):  # one parallel loop for both steps, so that it is compiled once
        _partition_or_join_chunks(step, rows, bins, goes_left, spare, ends)
        for c in range(n_chunks if step == 0 else 0):
            before[c + 1] += before[c]
    return before[n_chunks]


@register_jitable
def n_chunks_of(n_rows: int) -> int:
    """Return in how many chunks rows are partitioned."""
    return (n_rows + _CHUNK - 1) // _CHUNK


@register_jitable(error_model="numpy")
def _partition(rows, bins, goes_left, spare):
    """Write left rows to the front and right rows to the back; return how many go left."""
    front, back = np.int64(0), np.int64(len(rows) - 1)
    for i in range(len(rows)):
        row = rows[i]
        left = np.int64(goes_left[bins[row]])
        spare[front] = row  # both, without a branch: one of the two is overwritten later
        spare[back] = row
        front += left
        back -= 1 - left
    return front


@register_jitable(error_model="numpy")
def _join(chunk, n_left, rows, left, right):
    """Copy the sides of a partitioned chunk to ``rows``, from ``left`` and ``right`` on."""
    for i in range(n_left):
        rows[left + i] = chunk[i]
    last = len(chunk) - 1
    for i in range(len(chunk) - n_left):
        rows[right + i] = chunk[last - i]


@register_jitable(parallel=True, error_model="numpy")
def _partition_or_join_chunks(step, rows, bins, goes_left, spare, before):
    """Partition each chunk (step 0), or join the chunks (step 1).

    ``before[c]`` is the number of rows that go left before chunk ``c``.
    """
    for c in prange(len(before) - 1):
        begin, end = c * _CHUNK, min((c + 1) * _CHUNK, len(rows))
        if step == 1:
            right = before[len(before) - 1] + begin - before[c]
            _join(spare[begin:end], before[c + 1] - before[c], rows, before[c], right)
        else:
            before[c + 1] = _partition(rows[begin:end], bins, goes_left, spare[begin:end])
