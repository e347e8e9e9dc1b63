"""Histograms: sums of gradients, hessians and counts over the documents of each bin.

The histogram of a block of eight features is one array of ``8 * STRIDE`` words (twice as many if a
document has two words, see :mod:`~treerank.feature_parts.histogram.packed_derivatives`). Of two
children, only the histogram of the smaller one is summed from its documents; that of the other is
the difference to the parent. The data of a batch of documents are first copied to neighboring
addresses, so that the sums read memory in sequence.
"""

import numpy as np

from treerank.feature_parts.histogram.binned import WIDTH
from treerank.numerics.compiling import register_jitable

#: Bins of a feature, with that of missing values.
N_BINS = 256
#: Words between the histograms of neighboring features, per word of a document. Not a power of two:
#: then equal bins of all features would compete for the same few lines of the cache.
STRIDE = 264
#: Documents copied at a time. Not a power of two: then all blocks would compete for the same few
#: lines of the cache.
BATCH = 1016
_BYTE = np.uint64(255)


@register_jitable(error_model="numpy")
def fill(
    bins: np.ndarray,
    words: np.ndarray,
    n_words: int,
    rows: np.ndarray,
    first: int,
    histograms: np.ndarray,
    near_bins: np.ndarray,
    near_words: np.ndarray,
) -> None:
    """Write the histograms of the documents ``rows`` for some blocks, from block ``first`` on.

    Parameters
    ----------
    bins : ndarray of uint64, shape (n_rows, n_blocks)
        Bins of all rows.
    words : ndarray of int64
        Derivatives of all rows, ``n_words`` for each.
    n_words : int
        1 or 2.
    rows : ndarray of uint32
        Rows to sum.
    first : int
        First block.
    histograms : ndarray of int64, shape (n_some, 8 * STRIDE * n_words)
        One histogram per block, overwritten.
    near_bins, near_words : ndarray of shape (n_some, BATCH) and (BATCH * n_words,)
        Memory for the data of a batch.
    """
    histograms[:] = 0
    for start in range(0, len(rows), BATCH):
        n = min(BATCH, len(rows) - start)
        _copy_batch(rows[start:], n, bins, words, n_words, first, near_bins, near_words)
        for block in range(len(histograms)):
            _add(near_bins[block, :n], near_words, n_words, histograms[block])


@register_jitable(error_model="numpy")
def _copy_batch(rows, n, bins, words, n_words, first, near_bins, near_words):
    """Copy bins and words of the first ``n`` rows to neighboring addresses, block by block."""
    for i in range(np.uint64(n)):
        row = np.uint64(rows[i])
        for block in range(np.uint64(len(near_bins))):
            near_bins[block, i] = bins[row, np.uint64(first) + block]
        for k in range(np.uint64(n_words)):
            near_words[np.uint64(n_words) * i + k] = words[np.uint64(n_words) * row + k]


@register_jitable(error_model="numpy")
def _add(bins, words, n_words, histogram):
    """Add a batch of documents to the histogram of one block."""
    for i in range(np.uint64(len(bins))):
        word_of_bins = bins[i]
        if n_words == 1:
            word = words[i]
            for j in range(WIDTH):
                histogram[np.uint64(j * STRIDE) + ((word_of_bins >> np.uint64(8 * j)) & _BYTE)] += (
                    word
                )
        else:
            upper, lower = words[np.uint64(2) * i], words[np.uint64(2) * i + np.uint64(1)]
            for j in range(WIDTH):
                bin_ = np.uint64(j * STRIDE) + ((word_of_bins >> np.uint64(8 * j)) & _BYTE)
                histogram[np.uint64(2) * bin_] += upper
                histogram[np.uint64(2) * bin_ + np.uint64(1)] += lower


@register_jitable
def subtract(parent: np.ndarray, child: np.ndarray) -> None:
    """Subtract the histogram of a child from its parent's; this is that of the other child."""
    for i in range(len(parent)):
        parent[i] -= child[i]
