"""Leaves: their values, and where they put the documents that did not grow the tree."""

import numpy as np
from numba import prange

from treerank.feature_parts.histogram.binned import WIDTH
from treerank.feature_parts.histogram.splits import newton_step
from treerank.numerics.compiling import njit

_BYTE = np.uint64(255)


@njit(parallel=True, error_model="numpy")
def add_leaves(gradient, hessian, rows, nodes, leaves, rules, learning_rate, values, scores):
    """Write the value of each leaf and add it to the scores of its rows.

    Sums are of the derivatives before any rounding of words; each leaf is summed by one thread.
    """
    n_outputs = scores.shape[1]
    for leaf in prange(len(leaves)):
        node = leaves[leaf]
        own = rows[nodes[node].begin : nodes[node].end]
        for k in range(n_outputs):
            g, h = 0.0, 0.0
            for row in own:
                g += gradient[row, k]
                h += hessian[row, k]
            if h >= rules.min_child_weight:  # a leaf may be too light in one output of several
                step = newton_step(g, h, rules, nodes[node].lower, nodes[node].upper)
                values[node, k] = learning_rate * step
            for row in own:
                scores[row, k] += values[node, k]


@njit(parallel=True, error_model="numpy")
def add_tree(binned_words, nodes, goes_left, values, rows, scores):
    """Add the tree to the scores of other rows, by their bins."""
    for i in prange(len(rows)):
        row, node = rows[i], 0
        while nodes[node].place >= 0:
            place = nodes[node].place
            shift = np.uint64(8 * (place % WIDTH))
            bin_ = (binned_words[row, place // WIDTH] >> shift) & _BYTE
            node = nodes[node].first + 1 - np.int64(goes_left[node, bin_])
        for k in range(scores.shape[1]):
            scores[row, k] += values[node, k]
