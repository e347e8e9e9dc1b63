"""Bins: the at most 255 intervals of values, or categories, that trees distinguish.

Bin ``b`` of a feature holds the values above ``bounds[b - 1]`` and up to ``bounds[b]``. Bin ``b``
of a categorical feature holds the code ``bounds[b]``. Missing values, and codes that are not
among the most frequent, have the bin number after the last. Bounds are found from a sample of the
rows, as LightGBM finds them: frequent values get a bin of their own, and the other bins hold about
equally many rows.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from treerank.feature_parts.engines.bin_sample import sample_of
from treerank.feature_parts.rows import Rows
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_threads

#: Largest number of bins of values: a byte has 256 values, and one is for missing values.
MOST_BINS = 255


@dataclass(frozen=True, eq=False)
class Bins:
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
    """Return the bins of all features of ``rows``.

    Parameters
    ----------
    rows : Rows
        Documents; missing values are NaN.
    most : int, default=255
        Largest number of bins of a feature.
    categorical : sequence of int, default=()
        Columns with codes of categories.
    seed : int, default=0
        Seed of the sample of rows.
    n_threads : int, default=1
        Number of threads; the bins do not depend on it.

    Returns
    -------
    Bins
        The bins.

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

    def bin_feature(f: int) -> tuple[int, bool]:
        values = np.sort(sample[:, f]).astype(np.float64)  # NaN come last
        known = values[: len(values) - np.count_nonzero(np.isnan(values))]
        write = write_codes if is_category[f] else write_bounds
        return max(1, write(known, most, bounds[f])), len(known) == len(values)

    found = in_threads(n_threads, bin_feature, range(n_features))
    n_values, complete = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Bins(bounds, n_values.copy(), is_category, (n_values == 1) & (complete == 1))


def write_bounds(values: np.ndarray, most: int, bounds: np.ndarray) -> int:
    """Write the bounds of bins for sorted values; return the number of bins."""
    starts = np.flatnonzero(np.append(values[:1] == values[:1], values[1:] != values[:-1]))
    distinct, counts = values[starts], np.diff(starts, append=len(values))
    alone = counts >= len(values) / most  # frequent values have their own bin
    if len(distinct) <= most:
        alone[:] = True
    n_left, n_rest = most - np.count_nonzero(alone), len(values) - counts[alone].sum()
    return _write_bounds(distinct, counts, alone, most, n_left, n_rest, bounds)


@njit(nogil=True)
def _write_bounds(distinct, counts, alone, most, n_left, n_rest, bounds):
    """Write the bounds between distinct values; return the number of bins."""
    n_bins = 0
    size, target = 0, n_rest / max(n_left, 1)
    for i in range(len(distinct) - 1):
        if n_bins == most - 1:
            break
        if not alone[i]:
            size, n_rest = size + counts[i], n_rest - counts[i]
        if alone[i] or size >= target or (alone[i + 1] and size >= 1 and 2 * size >= target):
            bounds[n_bins] = _between(distinct[i], distinct[i + 1])
            n_bins += 1
            size = 0
            if not alone[i]:
                n_left -= 1
                target = n_rest / max(n_left, 1)
    return n_bins + 1


def write_codes(values: np.ndarray, most: int, codes: np.ndarray) -> int:
    """Write the most frequent of sorted codes, in ascending order; return their number."""
    distinct, counts = np.unique(values, return_counts=True)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:most])
    codes[: len(frequent)] = distinct[frequent]
    return len(frequent)


@register_jitable
def _between(low, high):
    """Return the middle, or ``low`` if no number lies between or one of them is infinite."""
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low
