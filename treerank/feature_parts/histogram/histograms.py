"""Histograms: sums of gradients, hessians and counts, per bin of each feature.

The histogram of a block of eight features is one array of ``8 * 256`` words (twice as many if
the words are wide, see :mod:`~treerank.feature_parts.histogram.derivative_words`). Only that of
the smaller of two children is filled from its documents; the other's is the parent's minus that.
"""

import numpy as np
from numba import njit

from treerank.feature_parts.histogram.binned import WIDTH

#: Words between the histograms of neighbouring features, per word of a document.
STRIDE = 256
_BYTE = np.uint64(255)


@njit(cache=True, error_model="numpy", nogil=True)
def fill(bins, rows, words, n_words, histogram):
    """Add up the documents ``rows`` of a block; ``words[i]`` belongs to ``rows[i]``."""
    histogram[:] = 0
    if n_words == 1:
        for i in range(np.uint64(len(rows))):
            byte_of_each, word = bins[rows[i]], words[i]
            for j in range(WIDTH):
                bin_ = (byte_of_each >> np.uint64(8 * j)) & _BYTE
                histogram[np.uint64(j * STRIDE) + bin_] += word
    else:
        for i in range(np.uint64(len(rows))):
            byte_of_each = bins[rows[i]]
            upper, lower = words[np.uint64(2) * i], words[np.uint64(2) * i + np.uint64(1)]
            for j in range(WIDTH):
                bin_ = (byte_of_each >> np.uint64(8 * j)) & _BYTE
                slot = np.uint64(2) * (np.uint64(j * STRIDE) + bin_)
                histogram[slot] += upper
                histogram[slot + np.uint64(1)] += lower


@njit(cache=True, nogil=True)
def subtract(parent, child):
    """Turn the parent's histogram into that of the other child."""
    for i in range(len(parent)):
        parent[i] -= child[i]
