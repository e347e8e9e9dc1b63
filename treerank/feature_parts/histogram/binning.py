"""Binning: the at most 255 intervals of values, or categories, that trees distinguish.

Bin ``b`` of a feature holds the values above ``bounds[b - 1]`` and up to ``bounds[b]``. Bin ``b``
of a categorical feature holds the code ``bounds[b]``. Missing values, and codes that are not
among the most frequent, have the bin number after the last. Bounds are found from a sample of the
rows, as LightGBM finds them: frequent values get a bin of their own, and the other bins hold about
equally many rows.

The bin of a feature takes a byte, and eight features a word of 64 bits. Histograms are filled for
one word (a *block* of eight features) at a time, because the histograms of eight features fit into
the fastest cache. The words of one document are neighbors in memory, because a small leaf reads
few, scattered documents. Constant features are left out. The words of rows that are read in batches
are in a file without a name, of which the system keeps in memory what it has room for.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from treerank.feature_parts.engines.bin_sample import sample_of
from treerank.feature_parts.rows import Rows
from treerank.files.scratch import scratch_array
from treerank.numerics.compiling import njit
from treerank.numerics.threads import in_parts, in_threads
from treerank.team import current_team

#: Largest number of bins of values: a byte has 256 values, and one is for missing values.
MOST_BINS = 255
#: Number of features in a word.
WIDTH = 8
_BYTE = np.uint64(255)
_CHUNK = 256  # rows whose values stay in the cache while their bins are found
_TURNED = 4096  # rows that are written to columns at a time

#: Describes a *place*: one byte of the words, which holds the bin of one feature.
#:
#: - feature: column of X; -1 if the byte is unused.
#: - n_values: number of bins of values; missing values have this bin number.
#: - sign: monotone constraint.
#: - has_missing: whether any row of any worker lacks the value.
#: - is_category: whether the bins are categories.
_FIELDS = ("feature", "n_values", "sign", "has_missing", "is_category")
PLACE = np.dtype([(name, np.int64) for name in _FIELDS])


class Bins(NamedTuple):
    """The bins of all features.

    Attributes
    ----------
    bounds : ndarray of shape (n_features, 256)
        Upper bounds of the bins, padded with infinity; codes where a feature is categorical.
    n_values : ndarray of int64, shape (n_features,)
        Number of bins of values, at least 1; also the bin number of missing values.
    is_category : ndarray of bool, shape (n_features,)
        Whether the values are codes of categories.
    is_constant: ndarray of bool, shape (n_features,)
        Whether the sample had only one value, and none missing.
    """

    bounds: np.ndarray
    n_values: np.ndarray
    is_category: np.ndarray
    is_constant: np.ndarray


def find_bins(
    rows: Rows,
    *,
    most: int = MOST_BINS,
    categorical: Collection[int] = (),
    seed: int = 0,
    n_threads: int = 1,
) -> Bins:
    """Return at most ``most`` bins of each feature; they do not depend on the number of threads.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> bins = find_bins(as_rows([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
    >>> bins.n_values, bins.bounds[0, :3]
    (array([3, 1]), array([1.5, 3. , inf]))
    """
    sample = sample_of(rows, seed).array()
    sample = sample.astype(np.float64) if sample.dtype == object else sample  # NaN would not sort
    sample = sample.tocsc() if rows.is_sparse else sample
    n_rows, n_features = sample.shape
    bounds = np.full((n_features, 256), np.inf)
    is_category = np.zeros(n_features, dtype=bool)
    is_category[list(categorical)] = True

    def bin_feature(f: int) -> tuple[int, bool]:
        values = np.sort(_stored(sample, f)).astype(np.float64)  # NaN come last
        known = values[: len(values) - np.count_nonzero(np.isnan(values))]
        write: Callable[..., int] = _write_codes if is_category[f] else _write_bounds
        counted = _counted(known, n_rows - len(values))
        return max(1, write(*counted, most, bounds[f])), len(known) == len(values)

    found = in_threads(n_threads, bin_feature, range(n_features))
    n_values, complete = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Bins(bounds, n_values.copy(), is_category, (n_values == 1) & (complete == 1))


def _stored(sample, f):
    """Return the values of a feature; of a sparse matrix those that are not 0."""
    if issparse(sample):
        return sample.data[sample.indptr[f] : sample.indptr[f + 1]]
    return sample[:, f]


def _counted(values, n_zeros):
    """Return the distinct ones of sorted values and more zeros, and how often each occurs."""
    starts = np.flatnonzero(np.append(values[:1] == values[:1], values[1:] != values[:-1]))
    distinct, counts = values[starts], np.diff(starts, append=len(values))
    if n_zeros == 0:
        return distinct, counts
    place = np.searchsorted(distinct, 0.0)
    return np.insert(distinct, place, 0.0), np.insert(counts, place, n_zeros)


def _write_codes(distinct, counts, most, codes):
    """Write the most frequent codes, in ascending order; return their number."""
    frequent = np.sort(np.argsort(-counts, kind="stable")[:most])
    codes[: len(frequent)] = distinct[frequent]
    return len(frequent)


@njit(nogil=True)
def _write_bounds(distinct, counts, most, bounds):
    """Write the bounds of bins between distinct values; return the number of bins."""
    n_rest, n_left, n_bins, size = 0, most, 0, 0
    for count in counts:
        n_rest += count
    least = n_rest / most if len(distinct) > most else 0.0  # frequent values have their own bin
    for count in counts:
        if count >= least:
            n_left, n_rest = n_left - 1, n_rest - count
    target = n_rest / max(n_left, 1)
    for i in range(len(distinct) - 1):
        if n_bins == most - 1:
            break
        alone, next_alone = counts[i] >= least, counts[i + 1] >= least
        if not alone:
            size, n_rest = size + counts[i], n_rest - counts[i]
        if alone or size >= target or (next_alone and size >= 1 and 2 * size >= target):
            low, high = distinct[i], distinct[i + 1]
            middle = low + (high - low) / 2
            # Not the middle if no number lies between, or one of them is infinite.
            bounds[n_bins] = middle if low <= middle < high else low
            n_bins, size = n_bins + 1, 0
            if not alone:
                n_left -= 1
                target = n_rest / max(n_left, 1)
    return n_bins + 1


class Binned(NamedTuple):
    """Rows in bins.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_rows, n_blocks)
        Bins of eight features each, the first feature in the lowest byte.
    zeros : ndarray of uint64, shape (n_blocks,)
        Words of a row of zeros.
    places : ndarray of PLACE, shape (8 * n_blocks,)
        Description of each byte.
    """

    words: np.ndarray
    zeros: np.ndarray
    places: np.ndarray

    def columns(self, *, in_file: bool = False) -> np.ndarray:
        """Return the same bins feature by feature, of uint8 and shape (n_places, n_rows).

        A leaf is split by one feature, whose bins are neighbors here. Bins in a file are not
        copied: the file would be twice as large.
        """
        by_row = self.words.view(np.uint8).reshape(len(self.words), len(self.places))
        if in_file:
            return by_row.T
        columns = np.empty(by_row.shape[::-1], dtype=np.uint8)
        for start in range(0, len(by_row), _TURNED):
            columns[:, start : start + _TURNED] = by_row[start : start + _TURNED].T
        return columns


def bin_rows(rows: Rows, bins: Bins) -> Binned:
    """Return the rows in bins, without monotone constraints.

    Examples
    --------
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
    used["is_category"] = bins.is_category[varying]
    zeros = _words(Rows(np.zeros((1, len(bins.bounds)))), bins.bounds, places, 0)[0][0]
    if rows.is_batched:
        words, has_missing = scratch_array((len(rows), n_blocks), np.uint64), places["has_missing"]
        for at, values in rows.batches(len(rows)):
            words[at], missing = _words(Rows(values), bins.bounds, places, zeros)
            has_missing |= missing
    else:
        words, has_missing = _words(rows, bins.bounds, places, zeros)
    places["has_missing"] = current_team().largest(has_missing)
    return Binned(words, zeros, places)


def _words(rows, bounds, places, zeros):
    """Return the words of rows, and which places have missing values."""
    start = zeros if rows.is_sparse else 0
    words = np.full((len(rows), len(places) // WIDTH), start, dtype=np.uint64)
    missing = np.zeros((-(-len(words) // _CHUNK), len(places)), dtype=bool)

    def bin_chunks(first: int, last: int) -> None:
        for chunk in range(first, last):
            at = slice(chunk * _CHUNK, (chunk + 1) * _CHUNK)
            values, found = rows.batch(at.start, at.stop), (words[at], missing[chunk])
            # One layout and type, for which a kernel is compiled.
            if rows.is_sparse:
                values = values.tocsc().astype(np.float64)
                stored = values.data, values.indices.astype(int), values.indptr.astype(int)
                _bin_stored(stored, bounds, places, *found)
            else:
                values = np.array(values, dtype=np.float64, order="C")
                _bin_chunk(values, bounds, places, *found)

    in_parts(bin_chunks, len(missing))
    return words, missing.any(axis=0)


@njit(error_model="numpy", nogil=True)
def _bin_chunk(values, bounds, places, words, missing):
    """Write the words of some rows, and which places have missing values.

    These have the last bin: a value is missing, or a category without a bin.
    """
    n = len(words)
    own, bins = np.empty(n), np.empty(n, dtype=np.uint64)
    for p in range(len(places)):
        place = places[p]
        if place.feature < 0:
            continue
        bound = bounds[place.feature]
        for i in range(n):
            own[i] = values[i, place.feature]
        for i in range(n):  # bits instead of branches, so that the compiler uses vectors
            below = np.uint64(0)
            for bit in range(7, -1, -1):
                step = np.uint64(1) << np.uint64(bit)
                below |= np.uint64(bound[below + step - np.uint64(1)] < own[i]) << np.uint64(bit)
            bins[i] = below
        for i in range(n):
            known = own[i] == own[i] and (not place.is_category or bound[bins[i]] == own[i])
            bin_ = bins[i] if known else np.uint64(place.n_values)
            missing[p] |= not known
            words[i, p // WIDTH] |= bin_ << np.uint64(8 * (p % WIDTH))


@njit(error_model="numpy", nogil=True)
def _bin_stored(stored, bounds, places, words, missing):
    """Write the words of some rows of a sparse matrix, which are those of zeros before."""
    values, rows, starts = stored
    for p in range(len(places)):
        place, shift = places[p], np.uint64(8 * (p % WIDTH))
        if place.feature < 0:
            continue
        bound = bounds[place.feature]
        for i in range(starts[place.feature], starts[place.feature + 1]):
            value, bin_ = values[i], np.searchsorted(bound, values[i])
            if not (value == value and (not place.is_category or bound[bin_] == value)):
                bin_, missing[p] = place.n_values, True
            others = words[rows[i], p // WIDTH] & ~(_BYTE << shift)
            words[rows[i], p // WIDTH] = others | (np.uint64(bin_) << shift)
