"""Places: scores of rows are moved to places, and sums over pairs from places to rows."""

from typing import NamedTuple

import numpy as np

from treerank.numerics.compiling import njit


class Weights(NamedTuple):
    """Weights that stay the same, per place: by label, and by the user."""

    gain: np.ndarray
    document: np.ndarray


class Sums(NamedTuple):
    """Sums over the pairs of each place or query, before the factors of the queries.

    Attributes
    ----------
    gradient, hessian : ndarray of shape (n_documents,)
        By place.
    mass : ndarray of shape (n_queries,)
        Sum of the pair weights of each query.
    values : ndarray of shape (n_queries,) or None
        Sum of the losses of each query, if the kernel computes it.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    mass: np.ndarray
    values: np.ndarray | None = None


@njit(nogil=True)
def place_scores(
    first: int,
    last: int,
    scores: np.ndarray,
    indptr: np.ndarray,
    row: np.ndarray,
    sigma: float,
    offset: np.ndarray,
    x: np.ndarray,
) -> None:
    """Fill ``x`` with sigma times the score of each place, less its offset if there are any."""
    # Unsigned rows need no check for places that are counted from the end.
    for t in range(indptr[first], indptr[last]):
        x[t] = sigma * scores[np.uint64(row[t])]
    if len(offset) > 0:
        for t in range(indptr[first], indptr[last]):
            x[t] -= offset[t]


@njit(nogil=True)
def scatter(
    first: int,
    last: int,
    g: np.ndarray,
    h: np.ndarray,
    row: np.ndarray,
    indptr: np.ndarray,
    gradient_factor: np.ndarray,
    hessian_factor: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
) -> None:
    """Write the derivatives of each place to its row, times the factors of its query."""
    for q in range(first, last):
        for t in range(indptr[q], indptr[q + 1]):
            gradient[row[t]] = gradient_factor[q] * g[t]
            hessian[row[t]] = hessian_factor[q] * h[t]
