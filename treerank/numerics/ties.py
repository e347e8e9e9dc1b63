"""Ties: blocks of documents with equal scores.

Equal scores have no order. Whatever is said of a document inside a block is the expectation
over all orders of the block, so nothing depends on the order of rows.
"""

from numba.extending import register_jitable


@register_jitable
def end_of_block(start, falling):
    """Return where the block of equal scores that begins at rank ``start`` ends."""
    end = start + 1
    while end < len(falling) and falling[end] == falling[start]:
        end += 1
    return end


@register_jitable
def mean_of(values, start, end):
    """Return the mean of ``values[start:end]``."""
    if end == start + 1:  # as most blocks are: spares a division
        return values[start]
    total = 0.0
    for t in range(start, end):
        total += values[t]
    return total / (end - start)


@register_jitable
def mean_gap(values, start, end):
    """Return the mean difference of two entries of a falling sequence."""
    size = end - start
    total = 0.0
    for t in range(size):
        total += values[start + t] * (size - 1 - 2 * t)
    return 2 * total / (size * (size - 1))
