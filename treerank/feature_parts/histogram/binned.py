"""Binned rows: the bin numbers of all documents, packed eight features to a word of 64 bits.

The bin of a feature takes a byte. Histograms are filled for one word (a *block* of eight
features) at a time, because the histograms of eight features fit into the fastest cache. The
words of one document are neighbors in memory, because a small leaf reads few, scattered
documents. Constant features are left out. The words of rows that are read in batches are in a file
without a name, of which the system keeps in memory what it has room for.
"""

from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.bins import Bins
from treerank.feature_parts.rows import Rows
from treerank.files.scratch import scratch_array
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_parts
from treerank.team import current_team

#: Number of features in a word.
WIDTH = 8
_TURNED = 4096  # rows that are written to columns at a time
_CHUNK = 128  # rows whose values stay in the cache while one block after the other is read

#: Describes a *place*: one byte of the words, which holds the bin of one feature.
#:
#: - feature: column of X; -1 if the byte is unused.
#: - n_values: number of bins of values; missing values have this bin number.
#: - sign: monotone constraint.
#: - has_missing: whether any row of any worker lacks the value.
#: - is_category: whether the bins are categories.
#: - usable: whether the tree may split by the feature.
_FIELDS = ("feature", "n_values", "sign", "has_missing", "is_category", "usable")
PLACE = np.dtype((np.record, [(name, np.int64) for name in _FIELDS]))


class Binned(NamedTuple):
    """Rows in bins.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_rows, n_blocks)
        Bins of eight features each, the first feature in the lowest byte.
    places : ndarray of PLACE, shape (8 * n_blocks,)
        Description of each byte.
    columns : ndarray of uint8, shape (8 * n_blocks, n_rows)
        The same bins feature by feature; empty but for rows to grow trees on.
    """

    words: np.ndarray
    places: np.ndarray
    columns: np.ndarray = np.empty((0, 0), dtype=np.uint8)

    def with_columns(self, *, in_file: bool = False) -> "Binned":
        """Return the rows with their bins feature by feature, too.

        A leaf is split by one feature, whose bins are neighbors here. Bins in a file are not
        copied: the file would be twice as large.
        """
        by_row = self.words.view(np.uint8).reshape(len(self.words), len(self.places))
        if in_file:
            return self._replace(columns=by_row.T)
        columns = np.empty(by_row.shape[::-1], dtype=np.uint8)
        for start in range(0, len(by_row), _TURNED):
            columns[:, start : start + _TURNED] = by_row[start : start + _TURNED].T
        return self._replace(columns=columns)


def bin_rows(rows: Rows, bins: Bins, signs: np.ndarray | None = None) -> Binned:
    """Return the rows in bins.

    Parameters
    ----------
    rows : Rows
        Documents.
    bins : Bins
        Bins of all features.
    signs : ndarray of shape (n_features,), default=None
        Monotone constraints of all features; ``None`` is no constraint.

    Returns
    -------
    Binned
        The bins of all rows.

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
    used = places[: len(varying)]
    used["feature"], used["n_values"] = varying, bins.n_values[varying]
    used["is_category"], used["usable"] = bins.is_category[varying], True
    used["sign"] = 0 if signs is None else signs[varying]
    if rows.is_batched:
        words = scratch_array((len(rows), n_blocks), np.uint64)
        has_missing = np.zeros(len(places), dtype=bool)
        for at, values in rows.batches(len(rows)):
            part = np.zeros((len(values), n_blocks), dtype=np.uint64)
            has_missing |= _fill(values, None, bins.bounds, places, part)
            words[at] = part
    else:
        words = np.zeros((len(rows), n_blocks), dtype=np.uint64)
        has_missing = _fill(rows.values, rows.order, bins.bounds, places, words)
    places["has_missing"] = current_team().largest(has_missing.astype(np.uint8))
    return Binned(words, places)


def _fill(values, order, bounds, places, words):
    """Write the words of some rows, which are 0; return which places have missing values."""
    missing = np.zeros((-(-len(words) // _CHUNK), len(places)), dtype=bool)
    rows = np.arange(len(words), dtype=np.int32) if order is None else order.astype(np.int32)

    def pack(first: int, last: int) -> None:
        memory = np.empty(_CHUNK), np.empty(_CHUNK, dtype=np.uint64)
        _pack(first, last, values, rows, bounds, places, words, missing, *memory)

    in_parts(pack, len(missing))
    return missing.any(axis=0)


@njit(error_model="numpy", nogil=True)
def _pack(first, last, X, order, bounds, places, words, missing, values, bins):
    """Write the words, and which places have missing values in each chunk of rows."""
    for chunk in range(first, last):
        begin = chunk * _CHUNK
        n = min(_CHUNK, len(words) - begin)
        for p in range(len(places)):
            place = places[p]
            if place.feature >= 0:
                for i in range(n):
                    values[i] = X[order[begin + i], place.feature]
                missing[chunk, p] = _find_bins(values, n, bounds[place.feature], place, bins)
                for i in range(n):
                    words[begin + i, p // WIDTH] |= bins[i] << np.uint64(8 * (p % WIDTH))


@register_jitable(error_model="numpy")
def _find_bins(values, n, bounds, place, bins):
    """Write the bins of ``n`` values of one feature; return whether one of them has none.

    It gets the last bin: a value is missing, or a category without a bin.
    """
    for i in range(n):  # bits instead of branches, so that the compiler uses vectors
        below = np.uint64(0)
        for bit in range(7, -1, -1):
            step = np.uint64(1) << np.uint64(bit)
            below |= np.uint64(bounds[below + step - np.uint64(1)] < values[i]) << np.uint64(bit)
        bins[i] = below
    any_lacks = False
    for i in range(n):
        known = values[i] == values[i] and (not place.is_category or bounds[bins[i]] == values[i])
        bins[i] = bins[i] if known else np.uint64(place.n_values)
        any_lacks |= not known
    return any_lacks
