r"""Exact Shapley values of the difference of two scores, in closed form.

The players are the features in which a document a differs from a reference b. A coalition has the
features of a, and all others are those of b. In each tree, the two documents part at some splits.
A leaf is reached if the features at which its path follows a are in the coalition and those at
which it follows b are not. For u features of the first kind and v of the second, the leaf adds
:math:`\frac{(u-1)!\,v!}{(u+v)!}` of its value to each of the u, and takes
:math:`\frac{u!\,(v-1)!}{(u+v)!}` of it from each of the v. One walk through the nodes that either
kind of step can reach collects both for all features.

The parts of (b, a) are the negatives of those of (a, b), bit for bit: the walk goes left first,
whichever document does so.
"""

from functools import cache
from typing import Any

import numpy as np
from scipy.special import beta, betaln

from treerank.forests.forest import Forest
from treerank.forests.scoring import doubles, for_blocks, goes_left, set_arrays, split_arrays
from treerank.numerics.compiling import njit


def margin_parts(forest: Forest, X_a: Any, X_b: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return how much each feature adds to the score of a above that of b, row by row.

    Parameters
    ----------
    forest : Forest
        Trees with one output.
    X_a, X_b : ndarray or sparse matrix of shape (n_pairs, n_features)
        Documents; one of the two may be a single row.
    n_threads : int, default=1
        Number of threads; the parts do not depend on it.

    Returns
    -------
    ndarray of shape (n_pairs, n_features)
        Shapley values. Those of a row add up to the difference of the two scores.

    Examples
    --------
    >>> stump = Forest(
    ...     n_features=2,
    ...     roots=np.array([0], dtype=np.int32),
    ...     feature=np.array([1, -1, -1], dtype=np.int32),
    ...     threshold=np.array([5.0, 0.0, 0.0]),
    ...     left=np.array([1, -1, -1], dtype=np.int32),
    ...     right=np.array([2, -1, -1], dtype=np.int32),
    ...     missing_left=np.array([True, False, False]),
    ...     values=np.array([[0.0], [-1.0], [1.0]]),
    ...     tree_output=np.array([0], dtype=np.int32),
    ...     constant=np.array([0.5]),
    ... )
    >>> margin_parts(stump, np.array([[7.0, 6.0]]), np.array([[7.0, 5.0]]))
    array([[0., 2.]])
    """
    n_pairs = max(X_a.shape[0], X_b.shape[0])
    parts = np.zeros((n_pairs, forest.n_features))
    shares = _shares(min(forest.depth, forest.n_features))
    arguments = split_arrays(forest), set_arrays(forest), forest.values[:, 0], shares

    def explain(begin: int, end: int) -> None:
        a, b = (doubles(X, begin, end) if X.shape[0] > 1 else doubles(X, 0, 1) for X in (X_a, X_b))
        _add_parts(a, b, *arguments, parts[begin:end])

    for_blocks(explain, n_pairs, n_threads, few=8)
    return parts


@cache
def _shares(most: int) -> np.ndarray:
    """Return p! q! / (p + q + 1)! for all p and q up to a number of features."""
    n = np.arange(most + 1.0)
    return np.exp(betaln(n[:, None] + 1, n + 1)) if most > 40 else beta(n[:, None] + 1, n + 1)


@njit(error_model="numpy", nogil=True)
def _add_parts(X_a, X_b, nodes, sets, values, shares, parts):
    side_of = np.zeros(parts.shape[1], dtype=np.int8)
    path = np.empty(len(shares) + 1, dtype=np.int64), np.empty((len(shares) + 1, 2))
    for i in range(len(parts)):
        a, b = X_a[i if len(X_a) > 1 else 0], X_b[i if len(X_b) > 1 else 0]
        for root in nodes[0]:
            _walk(root, a, b, nodes, sets, values, shares, side_of, path, parts[i])


@njit(error_model="numpy", nogil=True)
def _walk(root, a, b, nodes, sets, values, shares, side_of, path, parts):
    """Add the parts of one tree; ``path`` has room for the splits where a and b part.

    ``side_of`` is 1 for features whose path follows a, 2 for those that follow b, else 0.
    """
    _, feature, _, left, right, _, _ = nodes
    splits, sums = path
    level, counts, node = 0, [0, 0, 0], root
    while True:
        node = _next_parting(node, a, b, nodes, sets, side_of)
        f = feature[node]
        if f >= 0:
            side = 1 if goes_left(a[f], node, nodes, sets) else 2
            side_of[f] = side
            counts[side] += 1
            splits[level] = node
            level += 1
            node = left[node]
            continue
        u, v = counts[1], counts[2]
        gain = values[node] * shares[u - 1, v] if u > 0 else 0.0
        loss = values[node] * shares[u, v - 1] if v > 0 else 0.0
        while True:  # go back to the last split whose right side was not walked
            if level == 0:
                return
            node = splits[level - 1]
            is_right = node < 0
            node = ~node if is_right else node
            f = feature[node]
            a_is_left = goes_left(a[f], node, nodes, sets)
            counts[side_of[f]] -= 1
            if not is_right:
                break
            first_gain, first_loss = sums[level - 1]
            parts[f] += first_gain - loss if a_is_left else gain - first_loss
            gain, loss = first_gain + gain, first_loss + loss
            side_of[f] = 0
            level -= 1
        sums[level - 1, 0], sums[level - 1, 1] = gain, loss
        splits[level - 1] = ~node
        side_of[f] = 2 if a_is_left else 1
        counts[side_of[f]] += 1
        node = right[node]


@njit(error_model="numpy", nogil=True)
def _next_parting(node, a, b, nodes, sets, side_of):
    """Return the next node below where a and b part at a feature without a side, or a leaf."""
    _, feature, _, left, right, _, _ = nodes
    while feature[node] >= 0:
        f = feature[node]
        a_left, b_left = goes_left(a[f], node, nodes, sets), goes_left(b[f], node, nodes, sets)
        if a_left != b_left and side_of[f] == 0:
            return node
        is_left = b_left if side_of[f] == 2 else a_left
        node = left[node] if is_left else right[node]
    return node
