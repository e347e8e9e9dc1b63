"""Standard features: documents as a matrix whose columns have mean 0 and standard deviation 1.

Linear rankers learn from these, so that no feature counts for more because of its unit, and say
what they have learned in the units of ``X``. A missing value is put at the mean, which is 0; a
column that is constant, or missing throughout, is 0 and gets no weight. Every sum is taken over
blocks of rows in training order, so its bits depend neither on the order of the caller's rows nor
on the number of threads.
"""

from dataclasses import dataclass

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit

_BLOCK = 1024
_FAST = {"reassoc", "contract", "arcp", "nsz"}  # vector lanes for sums; NaN stay what they are
#: A standard deviation below this share of the largest magnitude is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class FeatureScale:
    """Mean of each feature, and one over its standard deviation.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Mean of the values that are not missing.
    inverse : ndarray of shape (n_features,)
        One over the standard deviation; 0 for a constant feature.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    >>> FeatureScale.of(X, np.arange(3)).by_row(X)
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 0.,  0.]])
    """

    mean: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, X, rows, weight=None):
        """Measure the given rows of ``X``, in that order; a weight of 2 is a row there twice."""
        center, weight = np.zeros(X.shape[1]), np.ones(len(rows)) if weight is None else weight
        sums, _, counts, largest = _block_sums(X, rows, weight, center)
        n_values = counts.sum(axis=0)
        n_values[n_values == 0] = 1.0
        mean = sums.sum(axis=0) / n_values
        squares = _block_sums(X, rows, weight, mean)[1]  # about the mean, lest large means cancel
        deviation = np.sqrt(squares.sum(axis=0) / n_values)
        varies = deviation > _ROUNDING * largest.max(axis=0)
        return cls(mean, np.divide(1.0, deviation, out=center, where=varies))

    def by_row(self, X, rows=None):
        """Return standard features of the given rows, of shape (n_documents, n_features)."""
        return _by_row(X, np.arange(len(X)) if rows is None else rows, self.mean, self.inverse)

    def by_column(self, X, rows=None):
        """Return the same transposed: the values of a feature lie next to each other."""
        return _by_column(X, np.arange(len(X)) if rows is None else rows, self.mean, self.inverse)


@njit(parallel=True)
def _block_sums(X, rows, weight, center):
    """Return sum, sum of squares, weight and largest magnitude of each column in each block."""
    n_blocks, n_features = (len(rows) + _BLOCK - 1) // _BLOCK, X.shape[1]
    sums, squares = np.zeros((n_blocks, n_features)), np.zeros((n_blocks, n_features))
    counts, largest = np.zeros((n_blocks, n_features)), np.zeros((n_blocks, n_features))
    for block in prange(n_blocks):
        for t in range(block * _BLOCK, min((block + 1) * _BLOCK, len(rows))):
            for j in range(n_features):
                value = np.float64(X[rows[t], j])
                known = value == value
                offset = value - center[j] if known else 0.0
                sums[block, j] += weight[t] * offset
                squares[block, j] += weight[t] * offset * offset
                counts[block, j] += weight[t] if known else 0.0
                largest[block, j] = max(largest[block, j], abs(value) if known else 0.0)
    return sums, squares, counts, largest


@njit
def _standard(value, mean, inverse):
    return (np.float64(value) - mean) * inverse if value == value else 0.0


@njit(parallel=True)
def _by_row(X, rows, mean, inverse):
    n_features = X.shape[1]
    out = np.empty((len(rows), n_features))
    for t in prange(len(rows)):
        for j in range(n_features):
            out[t, j] = _standard(X[rows[t], j], mean[j], inverse[j])
    return out


@njit(parallel=True)
def _by_column(X, rows, mean, inverse):
    n_features = X.shape[1]
    out = np.empty((n_features, len(rows)))
    for block in prange((len(rows) + 63) // 64):  # few enough rows to stay in the cache
        stop = min((block + 1) * 64, len(rows))
        for j in range(n_features):
            for t in range(block * 64, stop):
                out[j, t] = _standard(X[rows[t], j], mean[j], inverse[j])
    return out


@njit(parallel=True, fastmath=_FAST)
def linear_scores(X, coef, mean):
    """Return (X - mean) @ coef; a missing value adds nothing.

    Not by a matrix product: BLAS lets the last bits of a row depend on how many rows and how
    many threads come with it.
    """
    scores = np.empty(len(X))
    for i in prange(len(X)):
        total = 0.0
        for j in range(len(coef)):
            offset = np.float64(X[i, j]) - mean[j]
            total += offset * coef[j] if offset == offset else 0.0
        scores[i] = total
    return scores


@njit(parallel=True)
def moved_scores(scores, columns, genes, steps):
    """Return the scores after some weights moved, block by block of documents."""
    moved = scores.copy()
    for block in prange((len(scores) + 2047) // 2048):
        own = moved[block * 2048 : (block + 1) * 2048]
        for n in range(len(genes)):
            column = columns[genes[n], block * 2048 : (block + 1) * 2048]
            for i in range(len(own)):
                own[i] += steps[n] * column[i]
    return moved
