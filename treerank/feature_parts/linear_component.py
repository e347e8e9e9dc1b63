"""Linear component: a coefficient and an offset per feature; a missing value adds nothing."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.forests.scoring import doubles
from treerank.numerics.compiling import njit

_BLOCK = 4096  # documents converted to doubles at a time, which bounds the memory


@dataclass(frozen=True, eq=False)
class LinearComponent:
    """The sum of ``coef * x + offset`` over the features; a missing value adds nothing.

    Attributes
    ----------
    coef, offset : ndarray of shape (n_features,)
        Coefficient and offset of each feature.

    Examples
    --------
    >>> linear = LinearComponent.centered(np.array([2.0, 1.0]), np.array([1.0, 5.0]))
    >>> linear.added_to(np.zeros(2), np.array([[3.0, 6.0], [3.0, np.nan]]))
    array([5., 4.])
    """

    coef: np.ndarray
    offset: np.ndarray

    @classmethod
    def centered(cls, coef: np.ndarray, center: np.ndarray) -> Self:
        """Return the component ``coef * (x - center)``."""
        return cls(coef, -coef * center)

    @property
    def center(self) -> np.ndarray:
        """Value of each feature at which it adds nothing; 0 where the coefficient is 0."""
        divisor = np.where(self.coef == 0, 1.0, self.coef)
        return np.where(self.coef == 0, 0.0, -self.offset / divisor)

    @property
    def features(self) -> np.ndarray:
        """Indices of the features whose coefficient or offset is not 0."""
        return np.flatnonzero((self.coef != 0) | (self.offset != 0))

    def scaled(self, factor: float) -> "LinearComponent":
        """Return the component multiplied by a factor."""
        return LinearComponent(self.coef * factor, self.offset * factor)

    def contributions(self, X: Any) -> np.ndarray:
        """Return what each feature adds, of shape (n_documents, n_features)."""
        rows = doubles(X, 0, X.shape[0])
        return np.where(np.isnan(rows), 0.0, rows * self.coef + self.offset)

    def added_to(self, scores: np.ndarray, X: Any) -> np.ndarray:
        """Return scores plus the contributions of the features, added one after the other."""
        total, features = scores.copy(), self.features
        for begin in range(0, len(total), _BLOCK):
            rows = doubles(X, begin, begin + _BLOCK)
            add_linear(rows, features, self.coef, self.offset, total[begin : begin + _BLOCK])
        return total


@njit(error_model="numpy", nogil=True)
def add_linear(
    X: np.ndarray, features: np.ndarray, coef: np.ndarray, offset: np.ndarray, scores: np.ndarray
) -> None:
    """Add a linear component to scores, in place; NaN adds nothing.

    ``features`` are the indices of the features to add, one after the other.
    """
    for i in range(len(X)):
        total = scores[i]
        for j in features:
            value = X[i, j]
            if value == value:
                total += coef[j] * value + offset[j]
        scores[i] = total
