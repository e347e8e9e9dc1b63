"""Binned rows: the documents as growing trees see them, the bins of eight features in a word.

Histograms are filled block by block of eight features, which fit the fastest cache; a word of
64 bits brings the eight bins of a document at once. The words of a document lie next to each
other, since a small leaf reads few, scattered documents. Constant features have no place.
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit

#: Features in a word.
WIDTH = 8
_CHUNK = 128  # rows whose values stay in the cache while block after block is read

#: A place in a word: its column of X (-1 where no feature is), the number of its bins of values
#: (which is the number of the bin of missing ones), whether any row lacks the value, whether
#: bins are categories, whether a tree may split it, and whether scores must rise or fall with it.
PLACE = np.dtype(
    [
        ("feature", np.int64),
        ("n_values", np.int64),
        ("sign", np.int64),
        ("has_missing", np.int64),
        ("is_category", np.int64),
        ("usable", np.int64),
    ]
)


class Binned(NamedTuple):
    """Rows in bins.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_rows, n_blocks)
        Bins of eight features each, the first in the lowest byte.
    places : ndarray of PLACE, shape (8 * n_blocks,)
        What the bytes are.
    """

    words: np.ndarray
    places: np.ndarray


def bin_rows(rows, bins, signs=None):
    """Put rows into their bins; ``signs`` are the monotone constraints of all features.

    Examples
    --------
    >>> from treerank.feature_parts.histogram.bins import find_bins
    >>> from treerank.feature_parts.rows import as_rows
    >>> rows = as_rows(np.array([[1.0, 5.0], [2.0, 7.0], [4.0, np.nan]]))
    >>> [hex(word) for word in bin_rows(rows, find_bins(rows)).words[:, 0]]
    ['0x0', '0x101', '0x202']
    """
    varying = np.flatnonzero(~bins.is_constant)
    n_blocks = -(-len(varying) // WIDTH)
    places = np.zeros(n_blocks * WIDTH, dtype=PLACE)
    places["feature"] = -1
    there = places[: len(varying)]
    there["feature"], there["n_values"] = varying, bins.n_values[varying]
    there["is_category"], there["usable"] = bins.is_category[varying], True
    there["sign"] = 0 if signs is None else signs[varying]
    words = np.empty((len(rows), n_blocks), dtype=np.uint64)
    missing = np.zeros((-(-len(rows) // _CHUNK), len(places)), dtype=bool)
    order = np.arange(len(rows)) if rows.order is None else rows.order
    _pack(rows.values, order, bins.bounds, places, words, missing)
    places["has_missing"] = missing.any(axis=0)
    return Binned(words, places)


@njit(parallel=True, error_model="numpy")
def _pack(X, order, bounds, places, words, missing):
    n_rows, n_blocks = words.shape
    for chunk in prange(len(missing)):
        for block in range(n_blocks):
            for i in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n_rows)):
                word = np.uint64(0)
                for j in range(WIDTH):
                    place = places[block * WIDTH + j]
                    if place.feature >= 0:
                        x = np.float64(X[order[i], place.feature])
                        bin_ = find_bin(x, bounds[place.feature], place)
                        missing[chunk, block * WIDTH + j] |= bin_ == place.n_values
                        word |= np.uint64(bin_) << np.uint64(8 * j)
                words[i, block] = word


@njit(error_model="numpy")
def find_bin(x, bounds, place):
    """Return the bin of a value; the last one if it is missing, or a category without a bin."""
    if x != x:
        return place.n_values
    below, step = 0, 128
    while step > 0:  # no branch in it: the compiler unrolls it and eight features overlap
        below += step if bounds[below + step - 1] < x else 0
        step >>= 1
    if place.is_category and bounds[below] != x:
        return place.n_values
    return below
