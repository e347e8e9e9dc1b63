"""Stacked matrices: several matrices below each other, as one, without a copy of all rows.

A worker of a fit reads its rows in parts. To copy these to one matrix would take time, and memory
that the parts leave too late. Trees only need the bins of the rows: part by part is binned and
dropped, and its memory is free for what comes next.
"""

from collections.abc import Iterator, Sequence

import numpy as np


class StackedMatrix:
    """The rows of several matrices of floats, one matrix below the other.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n, n_features)
        The matrices.
    n_features : int
        Number of columns, where there are no parts.
    dtype : numpy.dtype
        Type of what is read by indices; it must represent the values of all parts.

    Examples
    --------
    >>> parts = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    >>> matrix = StackedMatrix(parts, 1, np.dtype(float))
    >>> matrix[[2, 0]]
    array([[3.],
           [1.]])
    >>> matrix[:, 0]
    array([1., 2., 3.])
    >>> [(start, len(part)) for start, part in matrix.take_parts()]
    [(0, 2), (2, 1)]
    >>> matrix.shape
    (3, 1)
    """

    ndim = 2

    def __init__(self, parts: Sequence[np.ndarray], n_features: int, dtype: np.dtype):
        self.dtype, self._parts = dtype, list(parts)
        self._ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        self.shape = (int(self._ends[-1]) if len(self._ends) else 0, n_features)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def parts(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield ``(index of the first row, matrix)`` of each part."""
        self._refuse_if_taken()
        for end, part in zip(self._ends.tolist(), self._parts, strict=True):
            yield end - len(part), part

    def take_parts(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield what :meth:`parts` yields, and forget each part as the next one is asked for.

        Afterwards only the shape is known.
        """
        self._refuse_if_taken()
        while self._parts:
            start = int(self._ends[-len(self._parts)]) - len(self._parts[0])
            yield start, self._parts.pop(0)

    def joined(self) -> np.ndarray:
        """Return all rows as one array in memory; they are taken."""
        rows = np.empty(self.shape, dtype=self.dtype)
        for start, part in self.take_parts():
            rows[start : start + len(part)] = part
        return rows

    def _refuse_if_taken(self) -> None:
        if len(self._parts) < len(self._ends):
            raise ValueError("The rows of a stacked matrix must not be read once they are taken.")

    def __getitem__(self, key: object) -> np.ndarray:
        """Return some rows, and of a pair as key some columns, as an array in memory."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        numbers = np.arange(len(self))[rows]
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        width = np.empty((0, self.shape[1]))[:, columns].shape[1:]
        result = np.empty((len(numbers), *width), dtype=self.dtype)
        for start, part in self.parts():
            first, last = np.searchsorted(ascending, (start, start + len(part)))
            result[order[first:last]] = part[ascending[first:last] - start][:, columns]
        return result
