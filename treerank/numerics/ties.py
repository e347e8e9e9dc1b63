"""Ties: blocks of documents with equal scores, in an array of falling scores.

Equal scores have no order. A value for a document of a block is therefore its mean over all
orders of the block, so that no result depends on the order of the rows.
"""

import numpy as np

from treerank.numerics.compiling import register_jitable


@register_jitable
def end_of_block(start: int, falling: np.ndarray) -> int:
    """Return the end of the block of equal scores that begins at index ``start``."""
    end = start + 1
    while end < len(falling) and falling[end] == falling[start]:
        end += 1
    return end


@register_jitable
def has_ties(falling: np.ndarray) -> bool:
    """Tell whether two neighbors are equal, in a loop that vectorizes."""
    n_equal = 0
    for t in range(1, len(falling)):
        n_equal += falling[t] == falling[t - 1]
    return n_equal > 0


@register_jitable
def mean_of(values: np.ndarray, start: int, end: int) -> float:
    """Return the mean of ``values[start:end]``."""
    if end == start + 1:  # most blocks have one document and need no division
        return values[start]
    total = 0.0
    for t in range(start, end):
        total += values[t]
    return total / (end - start)


@register_jitable
def mean_and_gap(values: np.ndarray, start: int, end: int) -> tuple[float, float]:
    """Return the mean of several falling ``values[start:end]``, and that of their differences."""
    size = end - start
    total, spread = 0.0, 0.0
    for t in range(size):
        total += values[start + t]
        spread += values[start + t] * (size - 1 - 2 * t)
    return total / size, 2 * spread / (size * (size - 1))
