"""Bin sample: the random subset of the rows that every engine finds its bins from.

The bounds of bins are quantiles of the values, and the quantiles of a sample are as good. By
itself, LightGBM reads 200,000 rows for them and XGBoost reads all rows, which takes time.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy.sparse import issparse

from treerank.feature_parts.rows import Rows
from treerank.numerics.compiling import njit
from treerank.numerics.random_keys import uniforms
from treerank.numerics.threads import in_parts, in_threads
from treerank.team import current_team

#: Number of rows that bins are found from: about two hundred for each of 255 bins.
SAMPLE_SIZE = 50_000
#: LightGBM treats numbers up to this magnitude as zero.
ZERO = 1e-35
#: Columns that one thread handles together, a cache line in single precision, and their rows.
_COLUMNS, _ROWS = 16, 256


def share_of_sample(rows: Rows) -> float:
    """Return the share of the rows of all workers that is drawn; 1 if all are taken."""
    return min(1.0, SAMPLE_SIZE / max(1, sum(current_team().gather(len(rows)))))


def sample_of(rows: Rows, seed: int) -> Rows:
    """Return a view of about ``SAMPLE_SIZE`` rows, or ``rows`` itself if there are not more.

    Every row is drawn with the same probability. Rows with places, as those of several workers,
    are the rows that would be drawn from all rows in canonical order, in this order.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> rows = as_rows(np.zeros((100_000, 1)))
    >>> len(sample_of(rows, 0))
    50022
    """
    places = np.arange(len(rows)) if rows.places is None else rows.places
    share = share_of_sample(rows)
    if share < 1:
        rows = rows.take(np.flatnonzero(uniforms(seed, 0, places) < share))
    return rows if rows.places is None else rows_of_team(rows)


def rows_of_team(rows: Rows) -> Rows:
    """Return the rows that all workers pass, in the order of their places."""
    parts = current_team().gather((rows.places, rows.array()))
    places, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return replace(rows, values=values[np.argsort(places)], order=None, places=None)


def quantile_rows(sample: Rows, n_bins: int, *, n_threads: int = 1) -> np.ndarray:
    """Return few rows from which XGBoost finds the bins of a sample, without its slow sketch.

    Each column holds the quantiles that bound ``n_bins`` bins, or all values if there are not more,
    in ascending order and padded with NaN. They are what the sketch approximates: at equal steps of
    rank from the end of the smallest value to the beginning of the largest one.

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
        for column, known in enumerate(_columns(block), start):
            known.sort()  # NaN come last
            found = _quantiles(known[: len(known) - np.count_nonzero(np.isnan(known))], n_bins)
            quantiles[: len(found), column] = found

    in_threads(n_threads, fill, range(0, values.shape[1], _COLUMNS))
    return quantiles


def _columns(values):
    """Return copies of the columns; of a sparse matrix, what they store."""
    if issparse(values):
        return np.split(values.data.copy(), values.indptr[1:-1])
    return np.array(values.T, order="C")


def _quantiles(values, n_bins):
    """Return at most ``n_bins + 1`` of sorted values, without repetition."""
    distinct = values[np.append(True, values[1:] != values[:-1])] if len(values) else values
    if len(distinct) <= n_bins + 1:
        return distinct
    first = np.searchsorted(values, values[0], "right")
    last = np.searchsorted(values, values[-1], "left")
    ranks = first + np.arange(1, n_bins) * (last - first) // n_bins
    return np.unique(np.concatenate([values[:1], values[ranks], values[-1:]]))


def nonzero_columns(
    batches: Iterable[np.ndarray], n_rows: int, n_columns: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the nonzero values of each column and the numbers of their rows.

    Parameters
    ----------
    batches : iterable of ndarray of shape (n_batch, n_columns)
        The rows, in batches.
    n_rows, n_columns : int
        Shape of all batches together.

    Returns
    -------
    values, rows : list of ndarray, one per column
        Values in double precision, and numbers of rows as 32-bit integers.

    Examples
    --------
    >>> batches = [np.array([[0.0, 1.0]]), np.array([[2.0, np.nan]])]
    >>> nonzero_columns(batches, 2, 2)
    ([array([2.]), array([ 1., nan])], [array([1], dtype=int32), array([0, 1], dtype=int32)])
    """
    values = np.empty((n_columns, n_rows))
    rows = np.empty((n_columns, n_rows), np.int32)
    filled = np.zeros(n_columns, np.int64)
    start = 0
    blocks = np.arange(-(-n_columns // _COLUMNS) + 1)
    for batch in batches:
        in_parts(_append, blocks, np.ascontiguousarray(batch), start, values, rows, filled)
        start += len(batch)
    return (
        [values[c, : filled[c]] for c in range(n_columns)],
        [rows[c, : filled[c]] for c in range(n_columns)],
    )


@njit(nogil=True)
def _append(first_block, last_block, batch, start, values, rows, filled):
    n_rows, n_columns = batch.shape
    for block in range(first_block, last_block):
        first = block * _COLUMNS
        for top in range(0, n_rows, _ROWS):
            for c in range(first, min(first + _COLUMNS, n_columns)):
                t = filled[c]
                for r in range(top, min(top + _ROWS, n_rows)):
                    value = np.float64(batch[r, c])
                    # Always written, but counted only if it is not zero: this needs no branch.
                    values[c, t], rows[c, t] = value, start + r
                    t += not abs(value) <= ZERO
                filled[c] = t
