"""Bin sample: the random subset of the rows that every engine finds its bins from.

The bounds of bins are quantiles of the values, and the quantiles of a sample are as good. By
itself, LightGBM reads 200,000 rows for them and XGBoost reads all rows, which takes time.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import issparse

from treerank.documents.rows import Rows
from treerank.numerics.distinct import count_distinct
from treerank.numerics.random_keys import uniforms
from treerank.numerics.threads import in_threads

#: Number of rows that bins are found from: about two hundred for each of 255 bins.
SAMPLE_SIZE = 50_000
#: Columns that one thread handles together: a cache line in single precision.
_COLUMNS = 16


def share_of_sample(rows: Rows) -> float:
    """Return the share of the rows of all workers that is drawn; 1 if all are taken."""
    return min(1.0, SAMPLE_SIZE / max(1, rows.n_total))


def sample_of(rows: Rows, seed: int) -> Rows:
    """Return a view of about ``SAMPLE_SIZE`` rows, or ``rows`` itself if there are not more.

    Every row is drawn with the same probability. Rows of several workers, which have global
    indices, are the rows that would be drawn from all rows in canonical order, in this order.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> rows = as_rows(np.zeros((100_000, 1)))
    >>> len(sample_of(rows, 0))
    50022
    """
    indices = np.arange(len(rows)) if rows.global_indices is None else rows.global_indices
    share = share_of_sample(rows)
    if share < 1:
        rows = rows.take(np.flatnonzero(uniforms(seed, 0, indices) < share))
    if rows.global_indices is None:
        return rows
    indices, values = rows.of_all(rows.global_indices), rows.of_all(rows.array())
    return replace(rows, values=values, order=np.argsort(indices), global_indices=None)


def quantile_rows(sample: Rows, n_bins: int, *, n_threads: int = 1) -> np.ndarray:
    """Return few rows from which XGBoost finds the bins of a sample, without its slow sketch.

    Each column holds the quantiles that bound ``n_bins`` bins, or all values if there are not more,
    in ascending order and padded with NaN. XGBoost's sketch approximates these quantiles: at
    equal steps of rank from the last of the smallest values to the first of the largest ones.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> quantile_rows(as_rows(np.arange(101.0)[:, None]), 4)[:, 0]
    array([  0.,  25.,  50.,  75., 100.])
    """
    values = sample.array()
    values = values.tocsc() if issparse(values) else values
    dtype = np.result_type(values.dtype, np.float32)  # integers have no NaN
    quantiles = np.full((n_bins + 1, values.shape[1]), np.nan, dtype)

    def fill(start: int) -> None:
        block = values[:, start : start + _COLUMNS]
        for column, numbers in enumerate(_columns(block), start):
            of_column = _quantiles(*count_distinct(numbers), n_bins)
            quantiles[: len(of_column), column] = of_column

    in_threads(n_threads, fill, range(0, values.shape[1], _COLUMNS))
    return quantiles


def _columns(values):
    """Return the columns of a matrix as arrays; of a sparse one, the stored values."""
    if issparse(values):
        return np.split(values.data, values.indptr[1:-1])
    return np.array(values.T, order="C")


def _quantiles(distinct, counts, n_bins):
    """Return the distinct quantiles that bound ``n_bins`` bins, or all values if there are few."""
    if len(distinct) <= n_bins + 1:
        return distinct
    ends = np.cumsum(counts)
    first, last = ends[0], ends[-2]
    ranks = first + np.arange(1, n_bins) * (last - first) // n_bins
    at = np.searchsorted(ends, ranks, "right")
    return distinct[np.unique(np.concatenate([[0], at, [len(distinct) - 1]]))]
