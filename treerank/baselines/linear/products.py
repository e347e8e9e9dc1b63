"""Products: documents times weights, with the same bits for any number of threads.

BLAS would let the last bits of a row depend on how many rows and threads come with it. Here a sum
is taken by one thread, or over blocks of rows whose number is fixed.
"""

import numpy as np

from treerank.numerics.compiling import for_kernel, njit
from treerank.numerics.threads import in_parts

#: Number of blocks of rows: sums are taken within blocks, and then over the blocks in order.
N_BLOCKS = 64
#: So few documents stay in the cache.
_IN_CACHE = 2048
_FAST = {"reassoc", "contract", "arcp", "nsz"}  # vector lanes for sums; NaN stay what they are


@njit(fastmath=_FAST)
def dot(x: np.ndarray, v: np.ndarray) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * v[j]
    return total


def row_products(Z: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return ``Z @ v``."""
    products = np.empty(len(Z))
    in_parts(_multiply_rows, len(Z), Z, v, products)
    return products


@njit(nogil=True)
def _multiply_rows(first, last, Z, v, products):
    for i in range(first, last):
        products[i] = dot(Z[i], v)


def transposed_product(Z: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return ``Z.T @ u``."""
    parts = np.zeros((N_BLOCKS, Z.shape[1]))
    in_parts(_add_rows, N_BLOCKS, Z, u, parts)
    return parts.sum(axis=0)


@njit(nogil=True)
def _add_rows(first, last, Z, u, parts):
    size = (len(Z) + len(parts) - 1) // len(parts)
    for block in range(first, last):
        for i in range(block * size, min((block + 1) * size, len(Z))):
            for j in range(Z.shape[1]):
                parts[block, j] += u[i] * Z[i, j]


def linear_scores(X: np.ndarray, coef: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return ``(X - mean) @ coef``; a missing value adds nothing.

    Terms are added in the order of the features, so that scores have the same bits on every
    processor with a fused multiply-add.
    """
    scores = np.empty(len(X))
    in_parts(_score_rows, len(X), for_kernel(X), coef, mean, scores)
    return scores


@njit(nogil=True, fastmath={"contract"})
def _score_rows(first, last, X, coef, mean, scores):
    for i in range(first, last):
        total = 0.0
        for j in range(len(coef)):
            offset = np.float64(X[i, j]) - mean[j]
            if offset == offset:
                total += offset * coef[j]
        scores[i] = total


def moved_scores(
    scores: np.ndarray, columns: np.ndarray, moved: np.ndarray, steps: np.ndarray
) -> np.ndarray:
    """Return the scores after the weights of the features ``moved`` changed by ``steps``.

    ``columns`` holds the documents as rows of shape (n_features, n_documents).
    """
    result = scores.copy()
    in_parts(_move_scores, -(-len(scores) // _IN_CACHE), columns, moved, steps, result)
    return result


@njit(nogil=True)
def _move_scores(first, last, columns, moved, steps, result):
    for block in range(first, last):
        rows = slice(block * _IN_CACHE, (block + 1) * _IN_CACHE)
        block = result[rows]
        for n in range(len(moved)):
            column = columns[moved[n], rows]
            for i in range(len(block)):
                block[i] += steps[n] * column[i]
