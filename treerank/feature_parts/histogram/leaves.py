"""Values of the leaves of a grown tree, and their addition to the scores of documents."""

import numpy as np
from numba import prange

from treerank.feature_parts.histogram.binned import WIDTH
from treerank.feature_parts.histogram.growing import GrownTree
from treerank.feature_parts.histogram.splits import Rules, newton_step
from treerank.numerics.compiling import njit

_BYTE = np.uint64(255)


@njit(parallel=True, error_model="numpy")
def sum_leaves(
    gradient: np.ndarray,
    hessian: np.ndarray,
    rows: np.ndarray,
    nodes: np.ndarray,
    leaves: np.ndarray,
) -> np.ndarray:
    """Return the sums of gradient and hessian of each leaf, of shape (n_leaves, n_outputs, 2).

    The derivatives are those before they were packed; one thread sums one leaf.
    """
    n_outputs = gradient.shape[1]
    sums = np.empty((len(leaves), n_outputs, 2))
    for leaf in prange(len(leaves)):
        own = rows[nodes[leaves[leaf]].begin : nodes[leaves[leaf]].end]
        for k in range(n_outputs):
            g, h = 0.0, 0.0
            for row in own:
                g += gradient[row, k]
                h += hessian[row, k]
            sums[leaf, k, 0], sums[leaf, k, 1] = g, h
    return sums


@njit(parallel=True, error_model="numpy")
def add_leaves(
    sums: np.ndarray,
    rows: np.ndarray,
    nodes: np.ndarray,
    leaves: np.ndarray,
    rules: Rules,
    learning_rate: float,
    values: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Write the value of each leaf, and add it to the scores of the rows that grew the tree."""
    for leaf in prange(len(leaves)):
        node = leaves[leaf]
        own = rows[nodes[node].begin : nodes[node].end]
        for k in range(scores.shape[1]):
            g, h = sums[leaf, k, 0], sums[leaf, k, 1]
            if h >= rules.min_child_weight:  # a leaf may be too light in one output of several
                step = newton_step(g, h, rules, nodes[node].lower, nodes[node].upper)
                values[node, k] = learning_rate * step
            for row in own:
                scores[row, k] += values[node, k]


@njit(parallel=True, error_model="numpy")
def add_tree(
    words: np.ndarray, tree: GrownTree, values: np.ndarray, rows: np.ndarray, scores: np.ndarray
) -> None:
    """Add the values of a tree to the scores of any rows, which find their leaf by their bins."""
    nodes, goes_left = tree.nodes, tree.goes_left
    for i in prange(len(rows)):
        row, node = rows[i], 0
        while nodes[node].place >= 0:
            place = nodes[node].place
            shift = np.uint64(8 * (place % WIDTH))
            bin_ = (words[row, place // WIDTH] >> shift) & _BYTE
            node = nodes[node].first + 1 - np.int64(goes_left[node, bin_])
        for k in range(scores.shape[1]):
            scores[row, k] += values[node, k]
