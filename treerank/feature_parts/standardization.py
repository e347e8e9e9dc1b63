"""Standardization: features of mean 0 and standard deviation 1, and no missing values.

Networks mind the scale of their inputs, trees do not. A missing value becomes the mean. A feature
that never varies becomes 0. Sums are taken row by row in the order given, in double precision,
so the result does not depend on how X lies in memory.
"""

from dataclasses import dataclass

import numpy as np

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
        count, total = np.zeros((2, rows.shape[1]))
        for batch in _batches(rows):
            count += np.isfinite(batch).sum(axis=0)
            total += np.where(np.isfinite(batch), batch, 0.0).sum(axis=0)
        mean = total / np.maximum(count, 1)
        squares = np.zeros(rows.shape[1])
        for batch in _batches(rows):
            squares += np.where(np.isfinite(batch), (batch - mean) ** 2, 0.0).sum(axis=0)
        scale = np.sqrt(squares / np.maximum(count, 1))
        tiny = 1e-12 * np.maximum(np.abs(mean), np.finfo(np.float64).tiny)
        return cls(mean, np.where(scale > tiny, scale, 1.0))

    def __call__(self, rows, dtype=np.float32):
        """Return all rows as one array."""
        result = np.empty(rows.shape, dtype)
        start = 0
        for batch in _batches(rows):
            standard = (batch - self.mean) / self.scale
            result[start : start + len(batch)] = np.where(np.isnan(standard), 0.0, standard)
            start += len(batch)
        return result


def _batches(rows):
    for start in range(0, len(rows), _BATCH):
        batch = rows.batch(start, start + _BATCH)
        yield np.ascontiguousarray(batch, dtype=np.float64)
