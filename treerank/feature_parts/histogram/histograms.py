"""Histograms: sums of gradients, hessians and counts, per bin of each feature.

The histogram of a block of eight features is one array of ``8 * 256`` words (twice as many if
the words are wide, see :mod:`~treerank.feature_parts.histogram.packed_derivatives`). Only that of
the smaller of two children is filled from its documents; the other's is the parent's minus that.
Documents are first collected, some at a time, so that what is added up lies close together.
"""

import numpy as np

from treerank.feature_parts.histogram.binned import WIDTH
from treerank.numerics.compiling import njit

#: Words between the histograms of neighboring features, per word of a document.
STRIDE = 256
#: Documents collected at a time. Not a power of two, or all blocks would want the same few
#: lines of the cache.
BATCH = 1016
_BYTE = np.uint64(255)


@njit(error_model="numpy", nogil=True)
def fill(bins, words, n_words, rows, first, histograms, near_bins, near_words):
    """Add up the documents ``rows`` for some blocks, the ``first`` of them first.

    Parameters
    ----------
    bins : ndarray of uint64, shape (n_rows, n_blocks)
        Bins of all rows.
    words : ndarray of int64
        Derivatives of all rows, ``n_words`` for each.
    n_words : int
        1 or 2.
    rows : ndarray of uint32
        Rows to add up.
    first : int
        First block.
    histograms : ndarray of int64, shape (n_some, 8 * 256 * n_words)
        One histogram per block, overwritten.
    near_bins, near_words : ndarray of shape (n_some, BATCH) and (BATCH * n_words,)
        Room for the documents collected.
    """
    histograms[:] = 0
    for start in range(0, len(rows), BATCH):
        own = rows[start : start + BATCH]
        _collect(own, bins, words, n_words, first, near_bins, near_words)
        for block in range(len(histograms)):
            _add(near_bins[block, : len(own)], near_words, n_words, histograms[block])


@njit(error_model="numpy", nogil=True)
def _collect(rows, bins, words, n_words, first, near_bins, near_words):
    """Bring what belongs to ``rows`` together, blocks apart."""
    for i in range(np.uint64(len(rows))):
        row = np.uint64(rows[i])
        for block in range(np.uint64(len(near_bins))):
            near_bins[block, i] = bins[row, np.uint64(first) + block]
        for k in range(np.uint64(n_words)):
            near_words[np.uint64(n_words) * i + k] = words[np.uint64(n_words) * row + k]


@njit(error_model="numpy", nogil=True)
def _add(bins, words, n_words, histogram):
    """Add up collected documents for one block."""
    for i in range(np.uint64(len(bins))):
        eight = bins[i]
        if n_words == 1:
            word = words[i]
            for j in range(WIDTH):
                histogram[np.uint64(j * STRIDE) + ((eight >> np.uint64(8 * j)) & _BYTE)] += word
        else:
            upper, lower = words[np.uint64(2) * i], words[np.uint64(2) * i + np.uint64(1)]
            for j in range(WIDTH):
                bin_ = np.uint64(j * STRIDE) + ((eight >> np.uint64(8 * j)) & _BYTE)
                histogram[np.uint64(2) * bin_] += upper
                histogram[np.uint64(2) * bin_ + np.uint64(1)] += lower


@njit(nogil=True)
def subtract(parent, child):
    """Turn the parent's histogram into that of the other child."""
    for i in range(len(parent)):
        parent[i] -= child[i]
