"""Batched matrices: float matrices larger than memory, read in batches of rows whenever needed.

One pass over the batches, when the matrix is made, counts the rows and takes the hashes that
decide their canonical order.
"""

from collections.abc import Callable, Iterator

import numpy as np


class BatchedMatrix:
    """A matrix that is read in batches of rows.

    Parameters
    ----------
    read : callable
        ``read()`` returns an iterator of float matrices, the same ones at every call.
    shape : tuple of int
        Numbers of rows and columns of all batches together.
    hashes : ndarray of uint64 of shape (n_rows,)
        Row hashes of :func:`treerank.documents.canonical_order.row_hashes`.

    Examples
    --------
    >>> halves = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    >>> matrix = BatchedMatrix(lambda: iter(halves), (3, 1), np.zeros(3, dtype=np.uint64))
    >>> matrix[[2, 0]]
    array([[3.], [1.]])
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(
        self, read: Callable[[], Iterator[np.ndarray]], shape: tuple[int, int], hashes: np.ndarray
    ):
        self.read, self.shape, self._hashes = read, shape, [hashes]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def take_hashes(self) -> np.ndarray:
        """Return the hashes and forget them, since the fit needs the memory."""
        return self._hashes.pop()

    def batches(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield ``(index of the first row, batch)`` for each batch.

        Refuses another number of rows than before.
        """
        start = 0
        for batch in self.read():
            yield start, batch
            start += len(batch)
        if start != len(self):
            raise ValueError(f"X must have as many rows as before, {len(self)}; got {start}.")

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows, in their order, as a matrix in memory."""
        rows = np.asarray(rows)
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
        result = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for start, batch in self.batches():
            first, last = np.searchsorted(ascending, (start, start + len(batch)))
            result[order[first:last]] = batch[ascending[first:last] - start]
        return result
