"""Walking: documents walk down the trees of a forest, for trees with many leaves.

Eight documents walk down a tree at once, step by step until all stand in leaves, which lead to
themselves. No step waits for another document's, nor does any branch depend on the data, so a
processor keeps several steps in flight; of more documents some would only wait for the slowest.
"""

import numpy as np

from treerank.numerics.compiling import njit

_ABREAST = 8  # documents that walk together
_BLOCK = 64  # documents that pass a tree before the next tree comes


def add_scores(X, forest, scores):
    """Add the outputs of all trees to ``scores``, tree after tree."""
    starts, nodes, sets = _walk(forest)
    _add_scores(_enough(X), starts, nodes, sets, forest.values, scores)


def find_leaves(X, forest, leaves):
    """Write the leaf of each document in each tree, counted from the tree's root."""
    starts, nodes, sets = _walk(forest)
    _find_leaves(_enough(X), starts, nodes, sets, leaves)


def _enough(X):
    """Return at least as many rows as walk abreast."""
    if len(X) >= _ABREAST:
        return X
    return np.concatenate([X, np.zeros((_ABREAST - len(X), X.shape[1]), dtype=X.dtype)])


def _walk(forest):
    nodes = (forest.feature, forest.threshold, forest.missing_right, forest.first)
    sets = (forest.set_of_node, forest.sets, forest.table_of_set, forest.tables, forest.n_codes)
    return forest.starts, nodes, sets


@njit(error_model="numpy", nogil=True)
def _walk_down(X, begin, root, nodes, sets, at):
    """Let documents walk from ``root`` to their leaves ``at``."""
    feature, threshold, missing_right, first = nodes
    for i in range(_ABREAST):
        at[i] = root
    if len(sets[1]) > 0:
        _walk_down_sets(X, begin, nodes, sets, at)
        return
    moving = True
    while moving:
        moving = False
        for i in range(np.uint64(_ABREAST)):
            node = at[i]
            x = X[begin + i, feature[node]]
            right = (x > threshold[node]) | ((x != x) & missing_right[node])
            after = np.uint64(first[node]) + np.uint64(right)
            moving |= after != node
            at[i] = after


@njit(error_model="numpy", nogil=True)
def _walk_down_sets(X, begin, nodes, sets, at):
    """Do the same where some splits are of categories."""
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
                place = np.searchsorted(tables[table][: n_codes[table]], x)
                known = place < n_codes[table] and tables[table, place] == x
                right = is_left[s, place if known else n_codes[table]] == 0
            else:
                right = (x > threshold[node]) | ((x != x) & missing_right[node])
            after = first[node] + np.uint32(right)
            if after == node:
                break
            node = after
        at[i] = node


@njit(error_model="numpy", nogil=True)
def _add_block(X, begin, end, starts, nodes, sets, values, scores):
    at = np.empty(_ABREAST, dtype=np.uint64)
    for tree in range(len(starts) - 1):
        for start in range(begin, end, _ABREAST):
            first = min(start, len(X) - _ABREAST)  # the last ones walk with some for company
            _walk_down(X, np.uint64(first), np.uint64(starts[tree]), nodes, sets, at)
            for i in range(start, min(start + _ABREAST, end)):
                for k in range(scores.shape[1]):
                    scores[i, k] += values[at[i - first], k]


@njit(error_model="numpy", nogil=True)
def _add_scores(X, starts, nodes, sets, values, scores):
    for begin in range(0, len(scores), _BLOCK):
        end = min(begin + _BLOCK, len(scores))
        _add_block(X, begin, end, starts, nodes, sets, values, scores)


@njit(error_model="numpy", nogil=True)
def _find_leaves(X, starts, nodes, sets, leaves):
    at = np.empty(_ABREAST, dtype=np.uint64)
    for tree in range(len(starts) - 1):
        for start in range(0, len(leaves), _ABREAST):
            first = min(start, len(X) - _ABREAST)
            _walk_down(X, np.uint64(first), np.uint64(starts[tree]), nodes, sets, at)
            for i in range(start, min(start + _ABREAST, len(leaves))):
                leaves[i, tree] = np.int64(at[i - first]) - starts[tree]
