"""Standard features: documents as a matrix whose columns have mean 0 and standard deviation 1.

Linear rankers learn from these, so that the unit of a feature does not matter. A missing value
becomes 0, the mean. A column that is constant, or missing throughout, becomes 0 and gets no
weight. All sums are taken over blocks of rows in training order. So their bits depend neither on
the order of the caller's rows nor on the number of threads.

:class:`~treerank.feature_parts.standardization.Standardization` measures otherwise, in three points
that change bits: it knows no weights of documents, it adds up row by row in one thread, and it does
not turn a constant column into exact zeros.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from treerank.documents.rows import Rows
from treerank.feature_parts.standardization import refuse_overflow, standardized
from treerank.numerics.compiling import for_kernel, njit
from treerank.numerics.threads import in_parts

_BLOCK = 1024
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
    >>> FeatureScale.of(X, np.arange(3, dtype=np.int32)).by_row(X)
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 0.,  0.]])
    """

    mean: np.ndarray
    inverse: np.ndarray

    @classmethod
    @np.errstate(under="ignore")
    def of(cls, X: np.ndarray, rows: np.ndarray, weight: np.ndarray | None = None) -> Self:
        """Measure the given rows of ``X``, in that order; a row of weight 2 counts twice."""
        center, weight = np.zeros(X.shape[1]), np.ones(len(rows)) if weight is None else weight
        sums, _, counts, largest = _block_sums(X, rows, weight, center)
        n_values = counts.sum(axis=0)
        n_values[n_values == 0] = 1.0
        mean = sums.sum(axis=0) / n_values
        squares = _block_sums(X, rows, weight, mean)[1]  # about the mean, lest large means cancel
        deviation = np.sqrt(refuse_overflow(squares.sum(axis=0)) / n_values)
        varies = deviation > _ROUNDING * largest.max(axis=0)
        return cls(mean, np.divide(1.0, deviation, out=center, where=varies))

    def by_row(self, X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return standard features of the given rows, of shape (n_documents, n_features)."""
        return standardized(Rows(X, rows), self.mean, self.inverse, np.float64)

    def by_column(self, X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return standard features of the given rows, of shape (n_features, n_documents)."""
        return np.ascontiguousarray(self.by_row(X, rows).T)


def _block_sums(X, rows, weight, center):
    """Return an array of shape (4, n_blocks, n_features) of statistics of blocks of rows.

    Its first axis has the sum and the sum of squares of the values less ``center``, both weighted,
    the weight, and the largest magnitude of the values. Missing values are left out.
    """
    n_blocks = -(-len(rows) // _BLOCK)
    sums_by_block = np.zeros((4, n_blocks, X.shape[1]))
    in_parts(_add_blocks, n_blocks, for_kernel(X), rows, weight, center, sums_by_block)
    return sums_by_block


@njit(nogil=True)
def _add_blocks(first, last, X, rows, weight, center, sums_by_block):
    sums, squares, counts, largest = (
        sums_by_block[0],
        sums_by_block[1],
        sums_by_block[2],
        sums_by_block[3],
    )
    for block in range(first, last):
        for t in range(block * _BLOCK, min((block + 1) * _BLOCK, len(rows))):
            for j in range(X.shape[1]):
                value = np.float64(X[rows[t], j])
                is_present = value == value
                offset = value - center[j] if is_present else 0.0
                sums[block, j] += weight[t] * offset
                squares[block, j] += weight[t] * offset * offset
                counts[block, j] += weight[t] if is_present else 0.0
                largest[block, j] = max(largest[block, j], abs(value) if is_present else 0.0)
