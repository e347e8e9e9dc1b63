r"""Explanation: how much each feature contributes to the margin s(a) - s(b) of two documents.

Start with document b and replace its features by those of a, one after the other, in some order.
Each feature is credited with the change of the score at its step. The mean over all orders is the
Shapley value of the feature, in the game whose players are the features taken from a. Only scores
are needed, so the definition is the same for trees, networks and linear rankers; for a linear one
it gives :math:`w_j (a_j - b_j)`. Orders are sampled. In any sample the parts add up to the
margin. Each order is also walked backwards, so the parts of (b, a) are the negative ones of
(a, b).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

#: Returns the score of each row of a matrix.
Scorer = Callable[[np.ndarray], np.ndarray]


def explain_pairs(
    scores_of: Scorer, X_a: Any, X_b: Any, n_orders: int = 16, random_state: int = 0
) -> np.ndarray:
    """Return the parts of the margin of each row of ``X_a`` over the same row of ``X_b``.

    Examples
    --------
    >>> explain_pairs(lambda X: X @ [1.0, 2.0], np.array([[3.0, 1.0]]), np.zeros((2, 2)))
    array([[3., 2.],
           [3., 2.]])
    """
    n_pairs = check_n_pairs(X_a.shape[0], X_b.shape[0])
    parts = np.empty((n_pairs, X_a.shape[1]))
    for n in range(n_pairs):
        parts[n] = parts_of_margin(scores_of, _row(X_a, n), _row(X_b, n), n_orders, random_state)
    return parts


def check_n_pairs(n_a: int, n_b: int) -> int:
    """Return the number of pairs of rows; refuse unequal numbers unless one of them is 1."""
    if n_a != n_b and 1 not in (n_a, n_b):
        raise ValueError(
            "X_a and X_b must have equally many rows, or one of them a single row; got "
            f"{n_a} and {n_b}."
        )
    return n_a if n_b == 1 else n_b


def parts_of_margin(
    scores_of: Scorer, a: np.ndarray, b: np.ndarray, n_orders: int = 16, random_state: int = 0
) -> np.ndarray:
    """Return how much each feature adds to the margin of ``a`` over ``b``.

    Parameters
    ----------
    scores_of : callable
        Returns the scores of the rows of a matrix.
    a, b : ndarray of shape (n_features,)
        Two documents.
    n_orders : int, default=16
        Number of orders, each walked in both directions.
    random_state : int, default=0
        Seed of the orders.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> parts_of_margin(lambda X: X @ [1.0, 2.0], np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    array([2., 0.])
    """
    parts = np.zeros(len(a))
    differing = np.flatnonzero(a != b)  # NaN is among them, and its step changes nothing
    if len(differing) == 0:
        return parts
    rng = np.random.default_rng(random_state)
    for _ in range(n_orders):
        order = rng.permutation(len(a))
        order = order[np.isin(order, differing)]
        forward = np.diff(scores_of(_walk(a, b, order)))
        backward = np.diff(scores_of(_walk(a, b, order[::-1])))[::-1]
        # The two are added first, which is the same sum for (b, a), down to the last bit.
        parts[order] += forward + backward
    return parts / (2 * n_orders)


def _walk(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return b, then b with the first feature of ``order`` from a, then with the first two, ..."""
    rows = np.tile(b, (len(order) + 1, 1))
    for step, feature in enumerate(order, start=1):
        rows[step:, feature] = a[feature]
    return rows


def _row(X: Any, n: int) -> np.ndarray:
    """Return row ``n`` as a dense array; a matrix of one row has it everywhere."""
    row = X[n if X.shape[0] > 1 else 0]
    return row.toarray().ravel() if issparse(row) else row
