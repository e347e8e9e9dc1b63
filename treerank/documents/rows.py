"""Rows: documents as one value, from the reader of X to the feature part.

A matrix, the names and categories of its columns, and the order of its rows belong together, so
they are passed on together. Feature parts get the rows of X in canonical order
(:mod:`treerank.documents.canonical_order`). Sorting X itself would double the memory of a fit, so
a fit passes X and the order, and feature parts copy batches of rows as they need them.
:func:`treerank.feature_parts.rows.as_rows` makes rows of a plain matrix.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from treerank.documents.batched import BatchedMatrix
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import Columns
from treerank.documents.stacked import StackedMatrix
from treerank.workers import ALONE, Workers

#: Rows that are hashed at a time.
_HASHED = 2**16


@dataclass(frozen=True, eq=False)
class Rows:
    """A view of the rows of ``values`` in the order ``order``.

    Parameters
    ----------
    values : ndarray, CSR matrix or StackedMatrix of shape (n_all_rows, n_features)
        The matrix. Only :meth:`array` copies it as a whole, and only if the order differs.
    order : ndarray of shape (n_rows,), default=None
        Row ``i`` of the view is ``values[order[i]]``; ``None`` is all rows in their order.
    columns : Columns, default=Columns()
        Names of the columns, and the categories of those that hold codes.
    global_indices : ndarray of shape (n_rows,), default=None
        Index of each row among the rows of all workers; ``None`` where there is one worker.
    workers : Workers, default=ALONE
        The workers of the fit, each of which has its own rows. :meth:`total`, :meth:`largest`,
        :meth:`any` and :meth:`of_all` combine values of all workers; on one machine they return
        their argument.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), order=[2, 0])
    >>> rows.shape
    (2, 2)
    >>> rows.batch(0, 1)
    array([[5., 6.]])
    """

    values: Any
    order: np.ndarray | None = None
    columns: Columns = field(default_factory=Columns)
    global_indices: np.ndarray | None = None
    workers: Workers = ALONE

    def __post_init__(self) -> None:
        """Check the shape, and replace an order that changes nothing by None."""
        if np.ndim(self.values) != 2:
            raise ValueError(f"values must be two-dimensional; got shape {np.shape(self.values)}.")
        if self.order is not None:
            order = np.asarray(self.order)
            identity = len(order) == self.values.shape[0] and (order == np.arange(len(order))).all()
            object.__setattr__(self, "order", None if identity else order)

    @property
    def shape(self) -> tuple[int, int]:
        """``(number of rows, number of features)``."""
        return len(self), self.values.shape[1]

    @property
    def n_total(self) -> int:
        """Number of rows of all workers."""
        return int(self.total(np.array([len(self)]))[0])

    @property
    def is_shard(self) -> bool:
        """Whether other workers have further rows of the fit."""
        return self.workers.world_size > 1

    @property
    def holds_first(self) -> bool:
        """Whether this worker has the first row of the canonical order.

        Exactly one worker has it.
        """
        return self.global_indices is None or bool((self.global_indices == 0).any())

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the values of all workers, entry by entry.

        Floats must have sums that are exact in any order.
        """
        return self.workers.sum(values)

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the values of all workers, entry by entry."""
        return self.workers.max(values)

    def total_and_largest(
        self, values: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what :meth:`total` returns for ``values``, and :meth:`largest` for ``sizes``."""
        return self.workers.sum_and_max(values, sizes)

    def any(self, flag: bool) -> bool:
        """Return whether the flag of any worker is true."""
        return bool(self.largest(np.array([flag], dtype=np.int64))[0])

    def of_all(self, values: np.ndarray) -> np.ndarray:
        """Return the values of all workers, concatenated in the order of their ranks."""
        return self.workers.join(values)

    def share_of(self, n: int) -> tuple[int, int]:
        """Return ``(first, last)``: which of ``n`` things this worker does for all workers.

        The last one is not among them. Shares are consecutive, in the order of ranks, so
        :meth:`of_all` returns what the workers make of all ``n`` in order.
        """
        rank, world_size = self.workers.rank, self.workers.world_size
        return n * rank // world_size, n * (rank + 1) // world_size

    def numbers_of(self, n: int) -> np.ndarray:
        """Return the indices of the ``n`` values of this worker in the result of :meth:`of_all`."""
        counts = self.workers.join(np.array([n]))
        return np.arange(n) + counts[: self.workers.rank].sum()

    @property
    def is_sparse(self) -> bool:
        """Whether the values, and so copies of some of their rows, are a CSR matrix."""
        return issparse(self.values)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.values.shape[0] if self.order is None else len(self.order)

    def batch(self, start: int, stop: int) -> Any:
        """Return rows ``start`` to ``stop``, as a copy if ``order`` is not None."""
        if self.order is None:
            return self.values[start:stop]
        return self._copied(self.order[start:stop])

    @property
    def is_batched(self) -> bool:
        """Whether the values are read in batches."""
        return isinstance(self.values, BatchedMatrix)

    def batches(self, size: int) -> Iterator[tuple[Any, Any]]:
        """Yield ``(positions, values)`` of batches: positions in this view, and a matrix.

        Positions are a slice or an array. Rows that are read in batches come in the order in which
        they are read, whatever ``size`` is.
        """
        if not self.is_batched:
            for start in range(0, len(self), size):
                yield slice(start, start + size), self.batch(start, start + size)
            return
        position = np.full(self.values.shape[0], -1, dtype=np.int32)
        rows = slice(None) if self.order is None else self.order
        position[rows] = np.arange(len(self), dtype=np.int32)
        for start, batch in self.values.batches():
            batch_positions = position[start : start + len(batch)]
            kept = batch_positions >= 0
            if kept.any():  # some batches have no judged rows
                yield batch_positions[kept], batch if kept.all() else batch[kept]

    def hashes(self) -> np.ndarray:
        """Return a hash of each row; few rows are copied at a time."""
        hashes = np.empty(len(self), dtype=np.uint64)
        for positions, batch in self.batches(_HASHED):
            hashes[positions] = row_hashes(batch)
        return hashes

    def take(self, positions: np.ndarray) -> "Rows":
        """Return a view of the rows at ``positions`` of this view."""
        order = positions if self.order is None else self.order[positions]
        indices = None if self.global_indices is None else self.global_indices[positions]
        return replace(self, order=order, global_indices=indices)

    def array(self) -> Any:
        """Return all rows as one matrix, as a copy if ``order`` is not None."""
        if self.order is None:
            is_matrix = not isinstance(self.values, BatchedMatrix | StackedMatrix)
            return self.values if is_matrix else self.values[np.arange(len(self))]
        return self._copied(self.order)

    def _copied(self, indices: np.ndarray) -> Any:
        """Return rows of ``values``, copied along the memory layout.

        Otherwise ``take`` would copy all rows first.
        """
        values = self.values
        if issparse(values) or isinstance(values, BatchedMatrix | StackedMatrix):
            return values[indices]
        if values.flags.c_contiguous:
            return values.take(indices, axis=0)
        if values.flags.f_contiguous:
            return values.T.take(indices, axis=1).T
        return values[indices]
