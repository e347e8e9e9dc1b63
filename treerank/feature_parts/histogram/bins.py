"""Bins: the few intervals, or categories, that the values of a feature are told apart by.

Bin ``b`` of a feature holds the values above ``bounds[b - 1]`` and up to ``bounds[b]``; of
categories, it holds the code ``bounds[b]``. Missing values, and codes that are not among the
most frequent, have the bin after the last. Bounds come from a sample of the rows: frequent
values get a bin of their own, the others share the rest evenly, as LightGBM does it.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from treerank.feature_parts.engines.bin_sample import sample_of
from treerank.numerics.compiling import njit

#: Most bins of values: one of the 256 that a byte can tell apart is for missing ones.
MOST_BINS = 255


@dataclass(frozen=True, eq=False)
class Bins:
    """Where the bins of all features end.

    Attributes
    ----------
    bounds : ndarray of shape (n_features, 256)
        Bounds of each feature, padded with infinity; codes where it is categorical.
    n_values : ndarray of int64, shape (n_features,)
        Bins of values, at least 1; also the number of the bin for missing ones.
    is_category : ndarray of bool, shape (n_features,)
        Whether the values are codes of categories.
    is_constant: ndarray of bool, shape (n_features,)
        Whether the sample had one value only, and none missing.
    """

    bounds: np.ndarray
    n_values: np.ndarray
    is_category: np.ndarray
    is_constant: np.ndarray


def find_bins(rows, *, most=MOST_BINS, categorical=(), seed=0, n_threads=1):
    """Find the bins of all features of ``rows``.

    Parameters
    ----------
    rows : Rows
        Documents; missing values are NaN.
    most : int, default=255
        Most bins of a feature.
    categorical : sequence of int, default=()
        Columns with codes of categories.
    seed : int, default=0
        Of the sample of rows.
    n_threads : int, default=1
        Threads; the bins do not depend on them.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> bins = find_bins(as_rows([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
    >>> bins.n_values, bins.bounds[0, :3]
    (array([3, 1]), array([1.5, 3. , inf]))
    """
    sample = sample_of(rows, seed).array()
    n_features = sample.shape[1]
    bounds = np.full((n_features, 256), np.inf)
    is_category = np.zeros(n_features, dtype=bool)
    is_category[list(categorical)] = True

    def of_feature(f):
        values = np.sort(sample[:, f].astype(np.float64))  # NaN come last
        there = values[: len(values) - np.count_nonzero(np.isnan(values))]
        place = place_codes if is_category[f] else place_bounds
        return max(1, place(there, most, bounds[f])), len(there) == len(values)

    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(of_feature, range(n_features)))
    n_values, complete = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Bins(bounds, n_values.copy(), is_category, (n_values == 1) & (complete == 1))


def place_bounds(values, most, bounds):
    """Write the bounds of sorted values; return the number of bins."""
    starts = np.flatnonzero(np.append(values[:1] == values[:1], values[1:] != values[:-1]))
    distinct, counts = values[starts], np.diff(starts, append=len(values))
    alone = counts >= len(values) / most  # frequent values have their own bin
    if len(distinct) <= most:
        alone[:] = True
    n_left, n_rest = most - np.count_nonzero(alone), len(values) - counts[alone].sum()
    return _place_bounds(distinct, counts, alone, most, n_left, n_rest, bounds)


@njit(nogil=True)
def _place_bounds(distinct, counts, alone, most, n_left, n_rest, bounds):
    """Write the bounds between distinct values; return the number of bins."""
    n_bins = 0
    size, room = 0, n_rest / max(n_left, 1)
    for i in range(len(distinct) - 1):
        if n_bins == most - 1:
            break
        if not alone[i]:
            size, n_rest = size + counts[i], n_rest - counts[i]
        if alone[i] or size >= room or (alone[i + 1] and size >= max(1, room / 2)):
            bounds[n_bins] = _between(distinct[i], distinct[i + 1])
            n_bins += 1
            size = 0
            if not alone[i]:
                n_left -= 1
                room = n_rest / max(n_left, 1)
    return n_bins + 1


def place_codes(values, most, codes):
    """Write the most frequent of sorted codes, sorted; return how many."""
    distinct, counts = np.unique(values, return_counts=True)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:most])
    codes[: len(frequent)] = distinct[frequent]
    return len(frequent)


@njit(nogil=True)
def _between(low, high):
    """Return the middle, or ``low`` where no number lies between or one is infinite."""
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low
