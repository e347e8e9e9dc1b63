"""Traversal: documents follow their paths from the roots of trees to their leaves.

It is used for trees with many leaves. Eight documents go down a tree together, step by step, until
all are in leaves; a leaf leads to itself. Their steps are independent and have no branch that
depends on the data, so the processor works on several at the same time. With more than eight
documents, more of them would wait for the one with the longest path.
"""

import numpy as np

from treerank.feature_parts.histogram.forest import Forest
from treerank.numerics.compiling import njit, register_jitable

_LANES = 8  # documents that go down a tree together
_BLOCK = 64  # documents that go down one tree before the next tree


def add_scores(X: np.ndarray, forest: Forest, scores: np.ndarray) -> None:
    """Add the values of all trees to ``scores``, in the order of the trees."""
    starts, nodes, sets = _arrays(forest)
    _add_scores(_padded(X), starts, nodes, sets, forest.values, scores)


def find_leaves(X: np.ndarray, forest: Forest, leaves: np.ndarray) -> None:
    """Write the node of the leaf of each document in each tree, counted from the root."""
    starts, nodes, sets = _arrays(forest)
    _find_leaves(_padded(X), starts, nodes, sets, leaves)


def _padded(X: np.ndarray) -> np.ndarray:
    """Return X with rows of zeros added if it has fewer than ``_LANES`` rows."""
    if len(X) >= _LANES:
        return X
    return np.concatenate([X, np.zeros((_LANES - len(X), X.shape[1]), dtype=X.dtype)])


def _arrays(forest):
    """Return the arrays of a forest that the kernels read: starts, nodes and sets."""
    nodes = (forest.feature, forest.threshold, forest.missing_right, forest.first)
    sets = (forest.set_of_node, forest.sets, forest.table_of_set, forest.tables, forest.n_codes)
    return forest.starts, nodes, sets


@register_jitable(error_model="numpy")
def _descend(X, begin, root, nodes, sets, at):
    """Write the leaves of ``_LANES`` documents in one tree to ``at``."""
    feature, threshold, missing_right, first = nodes
    for i in range(_LANES):
        at[i] = root
    if len(sets[1]) > 0:
        _descend_with_sets(X, begin, nodes, sets, at)
        return
    moving = True
    while moving:
        moving = False
        for i in range(np.uint64(_LANES)):
            node = at[i]
            x = X[begin + i, feature[node]]
            right = (x > threshold[node]) | ((x != x) & missing_right[node])
            after = np.uint64(first[node]) + np.uint64(right)
            moving |= after != node
            at[i] = after


@register_jitable(error_model="numpy")
def _descend_with_sets(X, begin, nodes, sets, at):
    """Write the leaves of documents in a tree with splits by category to ``at``."""
    feature, threshold, missing_right, first = nodes
    set_of_node, is_left, table_of_set, tables, n_codes = sets
    for i in range(len(at)):
        node = at[i]
        after = node
        while True:
            x = X[begin + np.uint64(i), feature[node]]
            s = set_of_node[node]
            if s >= 0:
                table = table_of_set[s]
                position = np.searchsorted(tables[table][: n_codes[table]], x)
                known = position < n_codes[table] and tables[table, position] == x
                right = is_left[s, position if known else n_codes[table]] == 0
            else:
                right = (x > threshold[node]) | ((x != x) & missing_right[node])
            after = first[node] + np.uint32(right)
            if after == node:
                break
            node = after
        at[i] = node


@register_jitable(error_model="numpy")
def _add_block(X, begin, end, starts, nodes, sets, values, scores):
    at = np.empty(_LANES, dtype=np.uint64)
    for tree in range(len(starts) - 1):
        for start in range(begin, end, _LANES):
            first = min(start, len(X) - _LANES)  # the last block overlaps the one before
            _descend(X, np.uint64(first), np.uint64(starts[tree]), nodes, sets, at)
            for i in range(start, min(start + _LANES, end)):
                for k in range(scores.shape[1]):
                    scores[i, k] += values[at[i - first], k]


@njit(error_model="numpy", nogil=True)
def _add_scores(X, starts, nodes, sets, values, scores):
    for begin in range(0, len(scores), _BLOCK):
        end = min(begin + _BLOCK, len(scores))
        _add_block(X, begin, end, starts, nodes, sets, values, scores)


@njit(error_model="numpy", nogil=True)
def _find_leaves(X, starts, nodes, sets, leaves):
    at = np.empty(_LANES, dtype=np.uint64)
    for tree in range(len(starts) - 1):
        for start in range(0, len(leaves), _LANES):
            first = min(start, len(X) - _LANES)
            _descend(X, np.uint64(first), np.uint64(starts[tree]), nodes, sets, at)
            for i in range(start, min(start + _LANES, len(leaves))):
                leaves[i, tree] = np.int64(at[i - first]) - starts[tree]
