"""Linear term: a number per feature and a constant, added for each value that is not missing."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.forests.scoring import doubles
from treerank.numerics.compiling import njit

_BLOCK = 4096  # documents that are converted to doubles together


@dataclass(frozen=True, eq=False)
class LinearTerm:
    """The sum of ``coef * x + offset`` over the features; a missing value adds nothing.

    Attributes
    ----------
    coef, offset : ndarray of shape (n_features,)
        Factor and constant of each feature.

    Examples
    --------
    >>> line = LinearTerm.centered(np.array([2.0, 1.0]), np.array([1.0, 5.0]))
    >>> line.added_to(np.zeros(2), np.array([[3.0, 6.0], [3.0, np.nan]]))
    array([5., 4.])
    """

    coef: np.ndarray
    offset: np.ndarray

    @classmethod
    def centered(cls, coef: np.ndarray, center: np.ndarray) -> Self:
        """Return the term ``coef * (x - center)``."""
        return cls(coef, -coef * center)

    @property
    def center(self) -> np.ndarray:
        """Value of each feature that adds nothing; 0 without a factor."""
        factor = np.where(self.coef == 0, 1.0, self.coef)
        return np.where(self.coef == 0, 0.0, -self.offset / factor)

    @property
    def features(self) -> np.ndarray:
        """Numbers of the features that add something."""
        return np.flatnonzero((self.coef != 0) | (self.offset != 0))

    def scaled(self, factor: float) -> "LinearTerm":
        """Return a multiple."""
        return LinearTerm(self.coef * factor, self.offset * factor)

    def parts(self, X: Any) -> np.ndarray:
        """Return what each feature adds, of shape (n_documents, n_features)."""
        rows = doubles(X, 0, X.shape[0])
        return np.where(np.isnan(rows), 0.0, rows * self.coef + self.offset)

    def added_to(self, scores: np.ndarray, X: Any) -> np.ndarray:
        """Return scores to which the features of ``X`` are added, one after the other."""
        total, features = scores.copy(), self.features
        for begin in range(0, len(total), _BLOCK):
            rows = doubles(X, begin, begin + _BLOCK)
            add_line(rows, features, self.coef, self.offset, total[begin : begin + _BLOCK])
        return total


@njit(error_model="numpy", nogil=True)
def add_line(
    X: np.ndarray, features: np.ndarray, coef: np.ndarray, offset: np.ndarray, scores: np.ndarray
) -> None:
    """Add a linear term to scores, in place."""
    for i in range(len(X)):
        total = scores[i]
        for j in features:
            value = X[i, j]
            if value == value:
                total += coef[j] * value + offset[j]
        scores[i] = total
