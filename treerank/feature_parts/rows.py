"""Rows: what a feature part is given, as :class:`~treerank.documents.rows.Rows`."""

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from treerank.documents.batched import BatchedMatrix
from treerank.documents.columns import as_csr
from treerank.documents.features import check_matrix
from treerank.documents.rows import Rows

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def as_rows(X: Any, n_features: int | None = None, *, sparse: bool = False) -> Rows:
    """Return ``X`` as :class:`~treerank.documents.rows.Rows`; rows are returned unchanged.

    Refuses another number of columns than ``n_features``, and a sparse matrix unless ``sparse``.

    Examples
    --------
    >>> as_rows([[1.0, 2.0]]).shape
    (1, 2)
    """
    if isinstance(X, BatchedMatrix):
        return Rows(X)
    is_plain = type(X) is np.ndarray and X.dtype in _FLOATS
    matrix = as_csr if issparse(X) else partial(check_matrix, "X")
    rows = X if isinstance(X, Rows) else Rows(X if is_plain else matrix(X))
    if rows.is_sparse and not sparse:
        raise TypeError(
            "X must be dense for a feature part that reads no sparse matrices; "
            f"got {type(rows.values)}."
        )
    if n_features not in (None, rows.shape[1]):
        raise ValueError(f"X must have {n_features} features; got {rows.shape[1]}.")
    return rows
