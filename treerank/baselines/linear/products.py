"""Products: documents times weights, with the same bits for any number of threads.

BLAS would let the last bits of a row depend on how many rows and threads come with it. Here a sum
is taken by one thread, or over blocks of rows whose number is fixed.
"""

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit

#: Sums over rows are taken over so many blocks, and then over the blocks in order.
N_BLOCKS = 64
_FAST = {"reassoc", "contract", "arcp", "nsz"}  # vector lanes for sums; NaN stay what they are


@njit(fastmath=_FAST)
def dot(x: np.ndarray, v: np.ndarray) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * v[j]
    return total


@njit(parallel=True)
def row_products(Z: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return ``Z @ v``."""
    products = np.empty(len(Z))
    for i in prange(len(Z)):
        products[i] = dot(Z[i], v)
    return products


def transposed_product(Z: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return ``Z.T @ u``."""
    parts = np.zeros((N_BLOCKS, Z.shape[1]))
    _add_rows(Z, u, parts)
    return parts.sum(axis=0)


@njit(parallel=True)
def _add_rows(Z, u, parts):
    size = (len(Z) + len(parts) - 1) // len(parts)
    for block in prange(len(parts)):
        for i in range(block * size, min((block + 1) * size, len(Z))):
            for j in range(Z.shape[1]):
                parts[block, j] += u[i] * Z[i, j]


@njit(parallel=True, fastmath={"contract"})
def linear_scores(X: np.ndarray, coef: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return ``(X - mean) @ coef``; a missing value adds nothing.

    Terms are added in the order of the features, so that scores have the same bits on every
    processor with a fused multiply-add.
    """
    scores = np.empty(len(X))
    for i in prange(len(X)):
        total = 0.0
        for j in range(len(coef)):
            offset = np.float64(X[i, j]) - mean[j]
            if offset == offset:
                total += offset * coef[j]
        scores[i] = total
    return scores


@njit(parallel=True)
def moved_scores(
    scores: np.ndarray, columns: np.ndarray, moved: np.ndarray, steps: np.ndarray
) -> np.ndarray:
    """Return the scores after the weights of the features ``moved`` changed by ``steps``.

    ``columns`` holds the documents as rows of shape (n_features, n_documents).
    """
    result = scores.copy()
    for block in prange((len(scores) + 2047) // 2048):  # few enough documents to stay in the cache
        own = result[block * 2048 : (block + 1) * 2048]
        for n in range(len(moved)):
            column = columns[moved[n], block * 2048 : (block + 1) * 2048]
            for i in range(len(own)):
                own[i] += steps[n] * column[i]
    return result
