"""Conjugate gradients: solve linear equations, given only products with their matrix."""

from collections.abc import Callable

import numpy as np


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], target: np.ndarray, tolerance: float
) -> np.ndarray:
    """Solve ``product(v) = target`` for a symmetric positive definite product.

    Parameters
    ----------
    product : callable
        ``v -> A v``.
    target : ndarray of shape (n,)
        Right-hand side.
    tolerance : float
        Stop when the length of the residual is this share of that of ``target``.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> conjugate_gradients(lambda v: 2 * v, np.array([4.0, 6.0]), 1e-9)
    array([2., 3.])
    """
    solution, residual = np.zeros(len(target)), target
    direction, squares = residual, float(residual @ residual)
    enough = tolerance**2 * squares
    for _ in range(10 * len(target)):
        if squares <= enough:
            break
        image = product(direction)
        size = squares / float(direction @ image)
        solution = solution + size * direction
        residual = residual - size * image
        squares, before = float(residual @ residual), squares
        direction = residual + squares / before * direction
    return solution
