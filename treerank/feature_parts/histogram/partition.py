"""Partition: sorts the rows of a leaf by side, those that go left before those that go right.

Each side keeps its order, so rows stay ascending and memory is read in sequence. Threads sort the
parts of a large leaf, whose sides are then joined, which takes a fraction of the time.
"""

from typing import Any

import numpy as np

from treerank.numerics.compiling import register_jitable


@register_jitable(error_model="numpy")
def sort_part(
    part: int,
    n_parts: int,
    leaf: Any,
    split: Any,
    rows: np.ndarray,
    bins: np.ndarray,
    right: np.ndarray,
    memory: Any,
) -> None:
    """Sort the rows of a part of a leaf by the side of its split.

    Those that go left begin the part's range of ``rows``. The others begin the same range of
    ``right``, which is memory for as many rows. ``bins`` are the bins of all rows by column, and
    ``memory`` gets the number of rows that go left.
    """
    n, column, goes_left = leaf.end - leaf.begin, np.uint64(split.column), split.goes_left
    begin = np.uint64(leaf.begin + n * part // n_parts)
    left_at = right_at = begin
    for i in range(begin, np.uint64(leaf.begin + n * (part + 1) // n_parts)):
        row = rows[i]
        is_left = np.uint64(goes_left[bins[column, row]])
        # Written to both sides, without a branch: one of the two is overwritten later.
        rows[left_at] = row
        right[right_at] = row
        left_at += is_left
        right_at += np.uint64(1) - is_left
    memory.n_left = left_at - begin


@register_jitable(error_model="numpy")
def join_parts(
    n_parts: int, leaf: Any, rows: np.ndarray, right: np.ndarray, memory: np.ndarray
) -> None:
    """Move the sides of all parts of a leaf together; ``leaf.middle`` gets where the right begins.

    Parts are sorted by :func:`sort_part`, whose ``memory`` is that with the number of the part.
    """
    n, to = leaf.end - leaf.begin, np.uint64(leaf.begin + memory[0].n_left)
    for part in range(1, n_parts):
        begin = np.uint64(leaf.begin + n * part // n_parts)
        for i in range(begin, begin + np.uint64(memory[part].n_left)):
            rows[to] = rows[i]  # a slice assignment takes a second longer to compile
            to += np.uint64(1)
    leaf.middle = to
    for part in range(n_parts):
        begin, end = leaf.begin + n * part // n_parts, leaf.begin + n * (part + 1) // n_parts
        for i in range(np.uint64(begin), np.uint64(end - memory[part].n_left)):
            rows[to] = right[i]
            to += np.uint64(1)
