"""Rows of X in a given order, gathered only when somebody looks at them.

Engines get the rows in canonical order (:mod:`treerank.inputs.canonical`). Sorting X would double
the memory of a fit, so feature parts read batches instead. A feature part that needs nothing
of the kind asks for ``as_rows(X).array()``.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix, issparse

from treerank.inputs.columns import as_csr


@dataclass(frozen=True, eq=False)
class Rows:
    """A view of the rows of ``values`` in the order ``order``.

    Parameters
    ----------
    values : ndarray or CSR matrix of shape (n_rows_in_all, n_features)
        The matrix; never copied as a whole unless :meth:`array` is asked for.
    order : ndarray of shape (n_rows,), default=None
        Row ``i`` of the view is ``values[order[i]]``; ``None`` keeps all as they are.
    feature_names : sequence of str, default=None
        Names of the columns.
    categorical : sequence of int, default=None
        Columns that hold integer codes of categories.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), order=[2, 0])
    >>> rows.shape
    (2, 2)
    >>> rows.batch(0, 1)
    array([[5., 6.]])
    """

    values: np.ndarray
    order: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    categorical: tuple[int, ...] | None = None

    def __post_init__(self):
        """Take an order that changes nothing for none at all."""
        if np.ndim(self.values) != 2:
            raise ValueError(f"values must be two-dimensional; got shape {np.shape(self.values)}.")
        if self.order is not None:
            order = np.asarray(self.order, dtype=np.int64)
            identity = len(order) == self.values.shape[0] and (order == np.arange(len(order))).all()
            object.__setattr__(self, "order", None if identity else order)

    @property
    def shape(self):
        """Numbers of rows and features."""
        return len(self), self.values.shape[1]

    @property
    def dtype(self):
        """Type of the values."""
        return self.values.dtype

    @property
    def is_sparse(self):
        """Whether the values are a CSR matrix; so is what is gathered from them then."""
        return issparse(self.values)

    def __len__(self):
        """Return the number of rows."""
        return self.values.shape[0] if self.order is None else len(self.order)

    def row(self, i):
        """Return one row, without a copy where the layout allows."""
        return self.values[i if self.order is None else self.order[i]]

    def batch(self, start, stop):
        """Return rows ``start`` to ``stop``; not a copy if the order is that of ``values``."""
        if self.order is None:
            return self.values[start:stop]
        return take_rows(self.values, self.order[start:stop])

    def of(self, positions):
        """Return a view of some of these rows."""
        order = positions if self.order is None else self.order[positions]
        return replace(self, order=order)

    def array(self):
        """Return all rows as one matrix: ``values`` itself where the order is the same."""
        return self.values if self.order is None else take_rows(self.values, self.order)


def as_rows(X, *, sparse=False):
    """Return ``X`` itself if it is a view of rows already, else a view of all its rows.

    Sparse matrices are refused, unless the caller says that it reads those, too.
    """
    rows = X if isinstance(X, Rows) else Rows(as_csr(X) if issparse(X) else np.asarray(X))
    if rows.is_sparse and not sparse:
        raise TypeError(
            "X must be dense for a feature part that reads no sparse matrices; "
            f"got {type(rows.values)}."
        )
    return rows


def stored_as(values, *, sparse):
    """Return the same numbers as a CSR matrix or as an array."""
    if issparse(values) == sparse:
        return values
    return csr_matrix(values) if sparse else values.toarray()


def take_rows(values, indices):
    """Gather rows along the layout of memory: ``numpy.take`` would copy all of ``values`` first."""
    if issparse(values):
        return values[indices]
    if values.flags.c_contiguous:
        return values.take(indices, axis=0)
    if values.flags.f_contiguous:
        return values.T.take(indices, axis=1).T
    return values[indices]
