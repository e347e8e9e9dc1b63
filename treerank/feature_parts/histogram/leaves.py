"""Values of the leaves of a grown tree, and their addition to the scores of documents."""

import numpy as np

from treerank.feature_parts.histogram.binned import WIDTH
from treerank.feature_parts.histogram.growing import GrownTree
from treerank.feature_parts.histogram.splits import Rules, newton_step
from treerank.numerics.compiling import njit
from treerank.numerics.threads import in_parts

_BYTE = np.uint64(255)


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
    sums = np.empty((len(leaves), gradient.shape[1], 2))
    in_parts(_sum_leaves, _ends(nodes[leaves]), gradient, hessian, rows, nodes, leaves, sums)
    return sums


def _ends(leaves: np.ndarray) -> np.ndarray:
    """Return how many documents come before each leaf, and before the end."""
    return np.append(0, np.cumsum(leaves["end"] - leaves["begin"]))


@njit(error_model="numpy", nogil=True)
def _sum_leaves(first, last, gradient, hessian, rows, nodes, leaves, sums):
    for leaf in range(first, last):
        node = nodes[leaves[leaf]]
        for k in range(gradient.shape[1]):
            g = h = 0.0
            for place in range(node.begin, node.end):
                g += gradient[rows[place], k]
                h += hessian[rows[place], k]
            sums[leaf, k, 0], sums[leaf, k, 1] = g, h


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
    steps = leaves, rules, learning_rate, values, scores
    in_parts(_add_leaves, _ends(nodes[leaves]), sums, rows, nodes, *steps)


@njit(error_model="numpy", nogil=True)
def _add_leaves(first, last, sums, rows, nodes, leaves, rules, learning_rate, values, scores):
    for leaf in range(first, last):
        node = leaves[leaf]
        for k in range(scores.shape[1]):
            g, h = sums[leaf, k, 0], sums[leaf, k, 1]
            if h >= rules.min_child_weight:  # a leaf may be too light in one output of several
                step = newton_step(g, h, rules, nodes[node].lower, nodes[node].upper)
                values[node, k] = learning_rate * step
            for place in range(nodes[node].begin, nodes[node].end):
                scores[rows[place], k] += values[node, k]


def add_tree(
    words: np.ndarray, tree: GrownTree, values: np.ndarray, rows: np.ndarray, scores: np.ndarray
) -> None:
    """Add the values of a tree to the scores of any rows, which find their leaf by their bins."""
    in_parts(_add_tree, len(rows), words, *tree, values, rows, scores)


@njit(error_model="numpy", nogil=True)
def _add_tree(first, last, words, nodes, goes_left, values, rows, scores):
    for i in range(first, last):
        row, node = rows[i], 0
        while nodes[node].place >= 0:
            place = nodes[node].place
            shift = np.uint64(8 * (place % WIDTH))
            bin_ = (words[row, place // WIDTH] >> shift) & _BYTE
            node = nodes[node].first + 1 - np.int64(goes_left[node, bin_])
        for k in range(scores.shape[1]):
            scores[row, k] += values[node, k]
