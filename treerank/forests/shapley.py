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

import math
from functools import cache
from typing import Any

import numpy as np

from treerank.forests.forest import Forest
from treerank.forests.scoring import doubles, for_blocks, goes_left, set_arrays, split_arrays
from treerank.numerics.compiling import njit

#: Deeper trees would use up the stack.
MAX_DEPTH = 512


def margin_parts(forest: Forest, X_a: Any, X_b: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return how much each feature adds to the score of a above that of b, row by row.

    Parameters
    ----------
    forest : Forest
        Trees with one output, of a depth of at most ``MAX_DEPTH``.
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
    arguments = split_arrays(forest), set_arrays(forest), forest.values[:, 0], _shares(forest.depth)

    def explain(begin: int, end: int) -> None:
        a, b = (doubles(X, begin, end) if X.shape[0] > 1 else doubles(X, 0, 1) for X in (X_a, X_b))
        _add_parts(a, b, *arguments, parts[begin:end])

    for_blocks(explain, n_pairs, n_threads, few=8)
    return parts


@cache
def _shares(depth: int) -> np.ndarray:
    """Return p! q! / (p + q + 1)! for all p and q up to the depth."""
    logs = np.array([math.lgamma(n + 1) for n in range(2 * depth + 2)])
    n = np.arange(depth + 1)
    shares = np.exp(logs[n[:, None]] + logs[n] - logs[n[:, None] + n + 1])
    for p in range(min(depth + 1, 20)):  # these are exact quotients of whole numbers
        for q in range(min(depth + 1, 20)):
            shares[p, q] = math.factorial(p) * math.factorial(q) / math.factorial(p + q + 1)
    return shares


@njit(error_model="numpy", nogil=True)
def _add_parts(X_a, X_b, nodes, sets, values, shares, parts):
    taken_from = np.zeros(parts.shape[1], dtype=np.int8)
    for i in range(len(parts)):
        a, b = X_a[i if len(X_a) > 1 else 0], X_b[i if len(X_b) > 1 else 0]
        for root in nodes[0]:
            _walk(root, 0, 0, a, b, nodes, sets, values, shares, taken_from, parts[i])


@njit(error_model="numpy", nogil=True)
def _walk(node, u, v, a, b, nodes, sets, values, shares, taken_from, parts):
    """Return what the leaves below a node add to the features of a, and take from those of b."""
    _, feature, _, left, right, _, _ = nodes
    f = feature[node]
    if f < 0:
        value = values[node]
        gain = value * shares[u - 1, v] if u > 0 else 0.0
        loss = value * shares[u, v - 1] if v > 0 else 0.0
        return gain, loss
    a_left, b_left = goes_left(a[f], node, nodes, sets), goes_left(b[f], node, nodes, sets)
    if a_left == b_left or taken_from[f] != 0:
        is_left = b_left if taken_from[f] == 2 else a_left
        child = left[node] if is_left else right[node]
        return _walk(child, u, v, a, b, nodes, sets, values, shares, taken_from, parts)
    on_left, on_right = (1, 2) if a_left else (2, 1)
    taken_from[f] = on_left
    first = _walk(
        left[node], u + (on_left == 1), v + (on_left == 2),
        a, b, nodes, sets, values, shares, taken_from, parts,
    )  # fmt: skip
    taken_from[f] = on_right
    second = _walk(
        right[node], u + (on_right == 1), v + (on_right == 2),
        a, b, nodes, sets, values, shares, taken_from, parts,
    )  # fmt: skip
    taken_from[f] = 0
    parts[f] += first[0] - second[1] if a_left else second[0] - first[1]
    return first[0] + second[0], first[1] + second[1]
