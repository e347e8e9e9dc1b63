"""Canonical order: an order of rows that depends on what the rows say, not on where they stand.

Tree engines depend on the order of rows (bagging, bin sampling, order of summation), and so
does any noise drawn per row. So every row is hashed (features, label, weights), a query by the
sum of its rows' hashes, and both are sorted by hash. Two rows share a hash only if they are
equal (up to a chance of 2^-64), so ties cannot matter. To add a property that rows may differ
in, pass it as one more weight.
"""

import numpy as np
from numba import prange
from scipy.sparse import issparse

from treerank.inputs.grouping import QueryGroups
from treerank.numerics.compiling import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_NAN_BITS = np.uint64(0x7FF8000000000000)
_BLOCK = 4096  # rows: their hashes stay in the cache while column after column is added


def canonical_order(X, groups, y, *weights):
    """Order rows and queries by their content.

    Any shuffle of the rows and any renaming of the queries gives the same rows, bit for bit,
    in the same order. Equal numbers count as equal whatever their bits: ``-0.0`` and ``0.0``,
    all NaN, and the same value as float32 and float64, in a sparse matrix and in a dense one.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Features; read once, at the speed of memory if C- or Fortran-ordered. No entry of a
        sparse matrix may be stored twice.
    groups : QueryGroups
        Queries of the rows, in any order.
    y : ndarray of shape (n_documents,)
        Labels.
    *weights : ndarray of shape (n_documents,) or None
        Whatever else tells rows apart; ``None`` is skipped.

    Returns
    -------
    QueryGroups
        The same queries with the same rows, in canonical order.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, qid = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0]), np.array([7, 7, 8])
    >>> groups = canonical_order(X, QueryGroups.from_qid(qid), y)
    >>> backwards = canonical_order(X[::-1], QueryGroups.from_qid(-qid[::-1]), y[::-1])
    >>> bool((X[groups.order] == X[::-1][backwards.order]).all())
    True
    """
    hashes = row_hashes(X, y, *weights)
    sums = _query_sums(hashes, groups.order, groups.indptr)
    queries = np.lexsort((groups.sizes, sums))
    starts = np.append(0, np.cumsum(groups.sizes[queries]))
    first = np.empty(groups.n_queries, dtype=np.int64)
    first[queries] = starts[:-1]
    return QueryGroups(_place(np.argsort(hashes), groups.codes, first), starts)


def row_hashes(X, *columns):
    """Hash every row of ``X`` and of further columns to 64 bits."""
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    keys = _column_keys(0, X.shape[1])
    if issparse(X):
        _add_by_entry(X.data, X.indices, X.indptr, keys, hashes)
    elif X.flags.c_contiguous:
        _add_by_row(X, keys, hashes)
    else:
        _add_by_column(X.T, keys, hashes)
    extra = [np.asarray(column, dtype=np.float64) for column in columns if column is not None]
    for key, column in zip(_column_keys(X.shape[1], len(extra)), extra, strict=True):
        _add_by_row(np.ascontiguousarray(column).reshape(-1, 1), np.array([key]), hashes)
    return hashes


def _column_keys(start, n_columns):
    """Tell columns apart, so that swapping two values of a row changes its hash."""
    return (np.arange(start, start + n_columns, dtype=np.uint64) + np.uint64(1)) * _GOLDEN


@njit
def _mix(bits):
    # The finalizer of splitmix64 (Steele et al. 2014): every bit in reaches every bit out.
    bits = (bits ^ (bits >> _SHIFT_30)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_27)) * _MIX_2
    return bits ^ (bits >> _SHIFT_31)


@njit
def _bits(value):
    wide = np.float64(value) + 0.0  # -0.0 + 0.0 is 0.0
    bits = np.float64(wide).view(np.uint64)
    return bits if wide == wide else _NAN_BITS


@njit(parallel=True)
def _add_by_row(X, keys, hashes):
    """Add the hash of every cell to its row's; ``X`` of shape (n_documents, n_features)."""
    n_documents, n_features = X.shape
    for block in prange((n_documents + _BLOCK - 1) // _BLOCK):
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, n_documents)):
            total = np.uint64(0)
            for j in range(n_features):
                total += _mix(_bits(X[i, j]) ^ keys[j])
            hashes[i] += total


@njit(parallel=True)
def _add_by_column(columns, keys, hashes):
    """Do the same for Fortran-ordered data; ``columns`` of shape (n_features, n_documents)."""
    n_features, n_documents = columns.shape
    for block in prange((n_documents + _BLOCK - 1) // _BLOCK):
        start, stop = block * _BLOCK, min((block + 1) * _BLOCK, n_documents)
        totals = hashes[start:stop]
        for j in range(n_features):
            column = columns[j, start:stop]
            for i in range(len(totals)):  # counts from 0: else a check for i < 0 stops SIMD
                totals[i] += _mix(_bits(column[i]) ^ keys[j])


@njit(parallel=True)
def _add_by_entry(values, columns, indptr, keys, hashes):
    """Do the same for the entries of a CSR matrix: a row is zeros, but for those."""
    zeros = np.uint64(0)
    for key in keys:
        zeros += _mix(key)
    for i in prange(len(indptr) - 1):
        total = zeros
        for entry in range(indptr[i], indptr[i + 1]):
            key = keys[columns[entry]]
            total += _mix(_bits(values[entry]) ^ key) - _mix(key)
        hashes[i] += total


@njit(parallel=True)
def _query_sums(hashes, order, indptr):
    # Mixed once more: the bare hashes are sums themselves, so that trading a value between two
    # rows of one query would leave their sum as it was.
    sums = np.zeros(len(indptr) - 1, dtype=np.uint64)
    for query in prange(len(indptr) - 1):
        for position in range(indptr[query], indptr[query + 1]):
            sums[query] += _mix(hashes[order[position]])
    return sums


@njit
def _place(ranking, codes, first):
    """Deal rows out to their queries, keeping their ranking: one pass instead of a second sort."""
    order = np.empty(len(ranking), dtype=np.int64)
    free = first.copy()
    for row in ranking:
        order[free[codes[row]]] = row
        free[codes[row]] += 1
    return order
