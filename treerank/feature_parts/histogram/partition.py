"""Parting: the rows of a leaf, left ones before right ones, each side in its old order.

Rows in ascending order read memory forwards. Chunks are parted one by one, by any thread, and
then put together; where a chunk begins does not depend on the number of threads.
"""

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit

_CHUNK = 8192
_BYTE = np.uint64(255)


@njit(error_model="numpy")
def part_rows(rows, bins, shift, goes_left, spare):
    """Part ``rows`` in place; return how many go left. ``goes_left`` is 1 for such bins."""
    n_chunks = (len(rows) + _CHUNK - 1) // _CHUNK
    if n_chunks == 1:  # threads would take longer to wake
        n = _part(rows, bins, shift, goes_left, spare[: len(rows)])
        _join(spare[: len(rows)], n, rows, np.int64(0), n)
        return n
    before = np.zeros(n_chunks + 1, dtype=np.int64)
    for parted in range(2):  # one parallel loop for both steps is compiled once
        _part_or_join_chunks(parted, rows, bins, shift, goes_left, spare, before)
        for c in range(n_chunks if parted == 0 else 0):
            before[c + 1] += before[c]
    return before[n_chunks]


@njit(error_model="numpy")
def _part(rows, bins, shift, goes_left, parted):
    """Write left rows from the front and right ones from the back; return how many go left."""
    front, back = np.int64(0), np.int64(len(rows) - 1)
    for i in range(len(rows)):
        row = rows[i]
        left = np.int64(goes_left[(bins[row] >> shift) & _BYTE])
        parted[front] = row  # both, without a branch: one of them is overwritten later
        parted[back] = row
        front += left
        back -= 1 - left
    return front


@njit(error_model="numpy")
def _join(parted, n_left, rows, left, right):
    """Copy a parted chunk to where its sides begin."""
    for i in range(n_left):
        rows[left + i] = parted[i]
    last = len(parted) - 1
    for i in range(len(parted) - n_left):
        rows[right + i] = parted[last - i]


@njit(parallel=True, error_model="numpy")
def _part_or_join_chunks(parted, rows, bins, shift, goes_left, spare, before):
    """Part each chunk, or join them once parted; ``before`` is how many go left before each."""
    for c in prange(len(before) - 1):
        begin, end = c * _CHUNK, min((c + 1) * _CHUNK, len(rows))
        if parted:
            right = before[len(before) - 1] + begin - before[c]
            _join(spare[begin:end], before[c + 1] - before[c], rows, before[c], right)
        else:
            before[c + 1] = _part(rows[begin:end], bins, shift, goes_left, spare[begin:end])
