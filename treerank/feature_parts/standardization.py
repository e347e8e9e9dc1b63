"""Standardization: features shifted and scaled to mean 0 and standard deviation 1.

Networks and linear models depend on the scale of their inputs, trees do not. Missing values do not
count in mean and deviation, and become 0, the mean. A constant feature is shifted and not scaled.
Sums are taken row by row in the order of the rows, in double precision, so the result does not
depend on the memory layout of X.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.documents.rows import Rows
from treerank.files.states import array
from treerank.numerics.compiling import for_kernel, njit

_BATCH = 8192
#: Rules of the fields of a standardization in model files.
STANDARDIZATION_RULES = {
    "mean": array("float64", "n_features"),
    "scale": array("float64", "n_features", at_least=np.finfo(np.float64).tiny),
}


@dataclass(frozen=True, eq=False)
class Standardization:
    """Mean and standard deviation of each feature; calling it with rows returns them standardized.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Mean of each feature.
    scale : ndarray of shape (n_features,)
        Standard deviation of each feature; 1 for constant features.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]]))
    >>> Standardization.of(rows)(rows)
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 0.,  0.]], dtype=float32)
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    @np.errstate(under="ignore")
    def of(cls, rows: Rows) -> Self:
        """Compute mean and standard deviation; missing and infinite values do not count."""
        count, total, squares = np.zeros((3, rows.shape[1]))
        for batch in _batches(rows):
            _add_values(batch, count, total)
        mean = total / np.maximum(count, 1)
        for batch in _batches(rows):  # about the mean: sums of large squares would cancel
            _add_squares(batch, mean, squares)
        scale = np.sqrt(refuse_overflow(squares) / np.maximum(count, 1))
        tiny = 1e-12 * np.maximum(np.abs(mean), np.finfo(np.float64).tiny)
        return cls(mean, np.where(scale > tiny, scale, 1.0))

    def __call__(self, rows: Rows, dtype: Any = np.float32) -> np.ndarray:
        """Return all rows, standardized, as one array of a type."""
        return standardized(rows, self.mean, 1 / self.scale, dtype)


def refuse_overflow(squares: np.ndarray) -> np.ndarray:
    """Return sums of squares by column; refuse infinite ones, which would make a column 0."""
    if not np.isfinite(squares).all():
        column = int(np.argmin(np.isfinite(squares)))
        raise ValueError(
            f"X must be below 1e150 in size to be standardized; column {column} is not. "
            "Divide it by a number, or write NaN where a value means nothing."
        )
    return squares


@np.errstate(all="ignore")  # what is too large becomes a score that is refused
def standardized(rows: Rows, mean: np.ndarray, inverse: np.ndarray, dtype: Any) -> np.ndarray:
    """Return ``(row - mean) * inverse`` of all rows as one array of ``dtype``; 0 if missing."""
    result, start = np.empty(rows.shape, dtype), 0
    for batch in _batches(rows):
        values = (batch - mean) * inverse
        result[start : start + len(batch)] = np.where(np.isnan(values), 0.0, values)
        start += len(batch)
    return result


def _batches(rows: Rows) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), _BATCH):
        batch = np.ascontiguousarray(rows.batch(start, start + _BATCH), dtype=np.float64)
        yield for_kernel(batch)


@njit
def _add_values(batch, count, total):
    for i in range(len(batch)):
        for j in range(len(total)):
            if np.isfinite(batch[i, j]):
                count[j] += 1
                total[j] += batch[i, j]


@njit
def _add_squares(batch, mean, squares):
    for i in range(len(batch)):
        for j in range(len(mean)):
            if np.isfinite(batch[i, j]):
                squares[j] += (batch[i, j] - mean[j]) ** 2
