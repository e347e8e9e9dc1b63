"""Canonical order: rows sorted by their content, so that a model does not depend on their order.

The result of a tree engine depends on the order of rows (bagging, bin sampling, order of
summation), and so does noise that is drawn for each row. So every row gets a hash of its features,
its label and its weights, every query gets the sum of its rows' hashes, and both are sorted by
hash. Two different rows have the same hash with a probability of 2^-64. To let another property
of the rows decide, pass it as one more weight.
"""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from treerank.documents.batched import BatchedMatrix
from treerank.documents.queries import QueryGroups
from treerank.documents.stacked import StackedMatrix
from treerank.numerics.bits import bits_of
from treerank.numerics.compiling import for_kernel, njit, register_jitable
from treerank.numerics.threads import in_parts

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_NAN_BITS = np.uint64(0x7FF8000000000000)
_BLOCK = 4096  # rows at a time; their hashes stay in the processor's cache
_COPIED = 1024  # rows of another layout or type that are copied at a time, at most a block


def canonical_order(
    X: Any, groups: QueryGroups, y: np.ndarray, *weights: np.ndarray | None
) -> tuple[QueryGroups, np.ndarray]:
    """Return ``(groups, hashes)``: rows and queries sorted by their content, and a hash by query.

    If the rows are shuffled or the queries renamed, the result holds the same rows in the same
    order. Equal numbers with different bits are equal: ``-0.0`` and ``0.0``, all kinds of NaN, the
    same value as float32 and as float64, in a sparse matrix and in a dense one, where no entry may
    be stored twice. ``weights`` are further columns in which rows may differ; None is skipped.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, qid = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0]), np.array([7, 7, 8])
    >>> groups, _ = canonical_order(X, QueryGroups.from_qid(qid), y)
    >>> backwards, _ = canonical_order(X[::-1], QueryGroups.from_qid(-qid[::-1]), y[::-1])
    >>> bool((X[groups.order] == X[::-1][backwards.order]).all())
    True
    """
    return order_by_hashes(row_hashes(X), X.shape[1], groups, y, *weights)


def order_by_hashes(
    of_features: np.ndarray, n_features: int, groups: QueryGroups, *columns: np.ndarray | None
) -> tuple[QueryGroups, np.ndarray]:
    """Return ``(groups, hashes of queries)`` in the order of :func:`canonical_order`.

    ``of_features`` is the hash of the ``n_features`` features of each row; ``columns`` are the
    labels and further columns. ``groups`` has the new order of rows.
    """
    hashes = with_columns(of_features, n_features, *columns)
    sums = group_hashes(hashes, groups)
    queries = np.lexsort((groups.sizes, sums))
    starts = np.append(0, np.cumsum(groups.sizes[queries]))
    position = np.empty(groups.n_queries, dtype=np.int64)
    position[queries] = np.arange(groups.n_queries)
    ranking = np.argsort(hashes)
    order = _sorted_by_query(ranking, position[groups.codes[ranking]])
    ids = None if groups.ids is None else groups.ids[queries]
    return QueryGroups(order, starts, ids), sums[queries]


def row_hashes(X: Any, *columns: np.ndarray | None) -> np.ndarray:
    """Return a hash of 64 bits for each row of ``X`` and of further columns; None is skipped."""
    hashes = X.take_hashes() if isinstance(X, BatchedMatrix) else _matrix_hashes(X)
    return with_columns(hashes, X.shape[1], *columns)


def with_columns(hashes: np.ndarray, n_features: int, *columns: np.ndarray | None) -> np.ndarray:
    """Return row hashes that include further columns; None is skipped.

    ``hashes`` holds one hash for each of the ``n_features`` features.
    """
    hashes = hashes.copy()
    extra = [np.asarray(column, dtype=np.float64) for column in columns if column is not None]
    for key, column in zip(_column_keys(n_features, len(extra)), extra, strict=True):
        _add(_add_by_row, np.ascontiguousarray(column).reshape(-1, 1), np.array([key]), hashes)
    return hashes


def group_hashes(hashes: np.ndarray, groups: QueryGroups) -> np.ndarray:
    """Return a hash for each group, from the hashes of its rows, whose order does not matter."""
    # Row hashes are sums themselves. They are hashed once more, because otherwise two rows of a
    # query could exchange a value without a change of their sum.
    mixed = np.append(_mix(hashes)[groups.order], np.uint64(0))  # there may be no rows
    sums: np.ndarray = np.add.reduceat(mixed, groups.indptr[:-1])
    return sums


def _add(kernel, *arguments):
    """Call a kernel in parallel for all blocks of rows.

    The last argument, an array with an entry for each row, is changed in place.
    """
    n_blocks = -(-len(arguments[-1]) // _BLOCK)
    in_parts(kernel, np.arange(n_blocks + 1), *map(for_kernel, arguments))


def _matrix_hashes(X):
    """Return a hash for each row of a matrix."""
    if isinstance(X, StackedMatrix):
        none = np.zeros(0, dtype=np.uint64)
        return np.concatenate([none, *(_matrix_hashes(part) for _, part in X.parts())])
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    keys = _column_keys(0, X.shape[1])
    if issparse(X):
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        _add(_add_by_entry, X.data, X.indices, X.indptr, keys, hashes)
    elif X.flags.c_contiguous and X.dtype == np.float64:
        _add(_add_by_row, X, keys, hashes)
    else:  # some rows at a time as doubles in C order: each further type compiles the kernel again

        def add_blocks(first: int, last: int) -> None:
            for start in range(first * _COPIED, last * _COPIED, _COPIED):
                rows = np.ascontiguousarray(X[start : start + _COPIED], dtype=np.float64)
                _add_by_row(0, 1, rows, keys, hashes[start : start + _COPIED])

        in_parts(add_blocks, -(-len(X) // _COPIED))
    return hashes


def _column_keys(start, n_columns):
    """Return a number for each column from ``start`` on.

    With it, swapping two values of a row changes the hash of the row.
    """
    return (np.arange(start, start + n_columns, dtype=np.uint64) + np.uint64(1)) * _GOLDEN


def _sorted_by_query(ranking, queries):
    """Sort ranked rows by the number of their query; within a query they keep their ranking.

    A sparse matrix with a row for each query is sorted in one pass over its entries.
    """
    n = len(ranking)
    shape = (int(queries.max(initial=-1)) + 1, n)
    return coo_array((ranking, (queries, np.arange(n))), shape=shape).tocsr().data


@register_jitable
def _mix(bits):
    """Hash 64 bits by the last step of splitmix64 (Steele et al. 2014)."""
    bits = (bits ^ (bits >> _SHIFT_30)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_27)) * _MIX_2
    return bits ^ (bits >> _SHIFT_31)


@register_jitable(inline="always")
def _bits(value):
    """Return the 64 bits of a number; equal numbers, and all NaN, have the same."""
    wide = np.float64(value) + 0.0  # -0.0 + 0.0 is 0.0
    bits = np.uint64(bits_of(wide))
    return bits if wide == wide else _NAN_BITS


@njit(nogil=True)
def _add_by_row(first, last, X, keys, hashes):
    """Add the hashes of the cells of each row of the matrix ``X`` to ``hashes``, in place.

    ``first`` to ``last`` are blocks of rows, and ``keys`` has a random number per column, which
    enters the hashes of its cells.
    """
    n_documents, n_features = X.shape
    end = last * _BLOCK
    for i in range(first * _BLOCK, end if end < n_documents else n_documents):
        total = np.uint64(0)
        for j in range(n_features):
            total += _mix(_bits(X[i, j]) ^ keys[j])
        hashes[i] += total


@njit(nogil=True)
def _add_by_entry(first, last, values, columns, indptr, keys, hashes):
    """Add the hashes of the cells of each row of a CSR matrix to ``hashes``, in place.

    Zeros count as in :func:`_add_by_row`, whose other arguments these are; ``values``, ``columns``
    and ``indptr`` are the matrix.
    """
    zeros = np.uint64(0)
    for key in keys:
        zeros += _mix(key)
    for i in range(first * _BLOCK, min(last * _BLOCK, len(indptr) - 1)):
        total = zeros
        for entry in range(indptr[i], indptr[i + 1]):
            key = keys[columns[entry]]
            total += _mix(_bits(values[entry]) ^ key) - _mix(key)
        hashes[i] += total
