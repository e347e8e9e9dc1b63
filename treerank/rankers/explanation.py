r"""Explanation: how much each feature does to put one document above another.

The margin of two documents is :math:`s(a) - s(b)`. Walk from b to a by taking over one feature
after the other, in some order, and give each feature what its step changes; the mean over all
orders is its Shapley value in the game "b, with some features of a". It asks nothing of the
ranker but scores, so it is the same for trees, networks and lines, and for a linear one it is
:math:`w_j (a_j - b_j)`. Orders are sampled; whatever the sample, the parts add up to the margin.
Each order is walked backwards, too, which makes the parts of (b, a) the negative ones of (a, b).
"""

import numpy as np


def parts_of_margin(scores_of, a, b, n_orders=16, random_state=0):
    """Return how much each feature adds to the margin of ``a`` over ``b``.

    Parameters
    ----------
    scores_of : callable
        Scores of the rows of a matrix.
    a, b : ndarray of shape (n_features,)
        Two documents.
    n_orders : int, default=16
        Orders to walk, each in both directions.
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
        there = np.diff(scores_of(_walk(a, b, order)))
        back = np.diff(scores_of(_walk(a, b, order[::-1])))[::-1]
        parts[order] += there + back  # added first: the same sum for (b, a), down to the last bit
    return parts / (2 * n_orders)


def _walk(a, b, order):
    """Return b, and b with ever more features of a, until nothing is left to take over."""
    rows = np.tile(b, (len(order) + 1, 1))
    for step, feature in enumerate(order, start=1):
        rows[step:, feature] = a[feature]
    return rows
