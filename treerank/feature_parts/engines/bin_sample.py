"""Bin sample: the rows that bins are found from, drawn alike for every engine.

Bounds of bins are quantiles, and those of a sample are as good: with 50,000 or 20,000 of 180,000
rows, and with a quarter of 5,500, NDCG@10 stayed where it was; with two rows per bin it fell by
.02. LightGBM by itself takes 200,000 rows, which are a fifth of a fit of 180,000, and XGBoost all.
"""

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit
from treerank.numerics.random_keys import uniforms

#: Rows that bins are found from; about two hundred in each of 255 bins.
SAMPLE_SIZE = 50_000
#: What LightGBM takes for zero.
ZERO = 1e-35
#: Columns that one thread sorts out together: a cache line of single precision.
_COLUMNS = 16


def sample_of(rows, seed):
    """Return a view of about as many rows as suffice, each with the same chance.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> rows = as_rows(np.zeros((100_000, 1)))
    >>> len(sample_of(rows, 0))
    50022
    """
    if len(rows) <= SAMPLE_SIZE:
        return rows
    keys = uniforms(seed, 0, np.arange(len(rows)))
    return rows.of(np.flatnonzero(keys < SAMPLE_SIZE / len(rows)))


def nonzero_columns(batches, n_rows, n_columns):
    """Return of each column the entries that are not zero, and their row numbers.

    Parameters
    ----------
    batches : iterable of ndarray of shape (n_batch, n_columns)
        The rows, one batch after the other.
    n_rows, n_columns : int
        Shape of all batches together.

    Returns
    -------
    values, rows : list of ndarray, one per column
        In double precision, and as 32-bit integers.

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
    for batch in batches:
        _append(np.ascontiguousarray(batch), start, values, rows, filled)
        start += len(batch)
    return (
        [values[c, : filled[c]] for c in range(n_columns)],
        [rows[c, : filled[c]] for c in range(n_columns)],
    )


@njit(parallel=True)
def _append(batch, start, values, rows, filled):
    n_columns = batch.shape[1]
    for block in prange((n_columns + _COLUMNS - 1) // _COLUMNS):
        first = block * _COLUMNS
        last = min(first + _COLUMNS, n_columns)
        for r in range(len(batch)):
            for c in range(first, last):
                value = np.float64(batch[r, c])
                # Written in any case, counted if not zero: no branch.
                t = filled[c]
                values[c, t], rows[c, t] = value, start + r
                filled[c] += not abs(value) <= ZERO
