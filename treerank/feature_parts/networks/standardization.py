"""Standardization: features of mean 0 and standard deviation 1, and no missing values.

Networks mind the scale of their inputs, trees do not. A missing value becomes the mean. A feature
that never varies becomes 0. Sums are taken row by row in the order given, in double precision,
so the result does not depend on how X lies in memory.
"""

from dataclasses import dataclass

import numpy as np

from treerank.numerics.compiling import njit

_BATCH = 8192


@dataclass(frozen=True, eq=False)
class Standardization:
    """Location and scale of each feature.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_features,)
        What is subtracted, and what is divided by then.

    Examples
    --------
    >>> from treerank.feature_parts.rows import Rows
    >>> rows = Rows(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]]))
    >>> Standardization.of(rows)(rows)
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 0.,  0.]], dtype=float32)
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def none(cls, n_features):
        """Return the one that only replaces missing values, by 0."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of(cls, rows):
        """Measure location and scale, in two passes: squares of large numbers cancel."""
        count, total, squares = np.zeros((3, rows.shape[1]))
        for batch in _batches(rows):
            _add_values(batch, count, total)
        mean = total / np.maximum(count, 1)
        for batch in _batches(rows):
            _add_squares(batch, mean, squares)
        scale = np.sqrt(squares / np.maximum(count, 1))
        tiny = 1e-12 * np.maximum(np.abs(mean), np.finfo(np.float64).tiny)
        return cls(mean, np.where(scale > tiny, scale, 1.0))

    def __call__(self, rows, dtype=np.float32):
        """Return all rows as one array."""
        result = np.empty(rows.shape, dtype)
        start, inverse = 0, 1 / self.scale
        for batch in _batches(rows):
            _standardize(batch, self.mean, inverse, result[start : start + len(batch)])
            start += len(batch)
        return result


def _batches(rows):
    for start in range(0, len(rows), _BATCH):
        batch = rows.batch(start, start + _BATCH)
        yield np.ascontiguousarray(batch, dtype=np.float64)


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


@njit
def _standardize(batch, mean, inverse, result):
    n_features = np.uint64(len(mean))  # signed bounds keep the loop from vectorizing
    for i in range(len(batch)):
        values, standard = batch[i], result[i]
        for j in range(n_features):
            value = (values[j] - mean[j]) * inverse[j]
            standard[j] = value if value == value else 0.0
