"""Scoring: documents go down the trees of a forest, and the values of their leaves are added."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse

from treerank.forests.forest import CODE_RULES, Forest
from treerank.numerics.compiling import njit

_BLOCK = 512  # documents that are converted to doubles, and go down one tree, together
_FEW = 2048  # documents that one thread scores sooner than a second thread starts


def forest_scores(forest: Forest, X: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return the scores of some documents, of shape (n_documents, n_outputs).

    Parameters
    ----------
    forest : Forest
        The trees.
    X : ndarray or sparse matrix of shape (n_documents, n_features)
        Features; missing values are NaN.
    n_threads : int, default=1
        Number of threads; the scores do not depend on it.

    Returns
    -------
    ndarray of shape (n_documents, n_outputs)
        Bit for bit the scores of the engine that grew the trees.
    """
    scores = np.empty((_n_documents(forest, X), forest.n_outputs))
    arguments = (
        split_arrays(forest),
        set_arrays(forest),
        forest.values,
        forest.tree_output,
        forest.constant,
    )
    single = forest.sum_dtype == "float32"

    def score(begin: int, end: int) -> None:
        _add_scores(doubles(X, begin, end), *arguments, single, scores[begin:end])

    for_blocks(score, len(scores), n_threads)
    return scores


def forest_leaves(forest: Forest, X: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return the leaf of each document in each tree, of shape (n_documents, n_trees).

    Parameters
    ----------
    forest : Forest
        The trees.
    X : ndarray or sparse matrix of shape (n_documents, n_features)
        Features; missing values are NaN.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of int32, shape (n_documents, n_trees)
        Numbers of nodes of the forest.
    """
    leaves = np.empty((_n_documents(forest, X), forest.n_trees), dtype=np.int32)
    nodes, sets = split_arrays(forest), set_arrays(forest)

    def find(begin: int, end: int) -> None:
        _find_leaves(doubles(X, begin, end), nodes, sets, leaves[begin:end])

    for_blocks(find, len(leaves), n_threads)
    return leaves


def _n_documents(forest, X):
    if np.ndim(X) != 2 or X.shape[1] != forest.n_features:
        raise ValueError(
            f"X must have {forest.n_features} columns; got an array of shape {np.shape(X)}."
        )
    return X.shape[0]


def doubles(X: Any, begin: int, end: int) -> np.ndarray:
    """Return some rows as doubles in C order."""
    rows = X[begin:end].toarray() if issparse(X) else X[begin:end]
    return np.ascontiguousarray(rows, dtype=np.float64)


def for_blocks(
    work: Callable[[int, int], None], n_rows: int, n_threads: int, few: int = _FEW
) -> None:
    """Call ``work`` for the ends of all blocks of rows, with threads for more than ``few``."""
    ends = [*range(0, n_rows, _BLOCK), n_rows]
    if n_threads == 1 or n_rows <= few:
        for begin, end in pairwise(ends):
            work(begin, end)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


def split_arrays(forest: Forest) -> tuple[Any, ...]:
    """Return the arrays of the splits that kernels read."""
    splits = forest.feature, forest.threshold, forest.left, forest.right, forest.missing_left
    return forest.roots, *splits, forest.missing_up_to


def set_arrays(forest: Forest) -> tuple[Any, ...]:
    """Return the arrays of the sets that kernels read; without sets, they are empty."""
    sets = forest.categories
    if sets is None:
        return np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0), 0
    return sets.of_node, sets.starts, sets.codes, CODE_RULES.index(sets.rule)


@njit(error_model="numpy", nogil=True)
def goes_left(value: float, node: int, nodes: tuple[Any, ...], sets: tuple[Any, ...]) -> bool:
    """Return whether a value goes left at a split."""
    _, _, threshold, _, _, missing_left, missing_up_to = nodes
    by_set = len(sets[0]) > 0 and sets[0][node] >= 0
    if value != value or (abs(value) <= missing_up_to and not (by_set and sets[3] < 2)):
        return missing_left[node]
    if by_set:
        return _is_in(value, node, sets)
    return value <= threshold[node]


@njit(error_model="numpy", nogil=True)
def _leaf(x, tree, nodes, sets):
    """Return the leaf of one document in one tree."""
    roots, feature, _, left, right, _, _ = nodes
    node = roots[tree]
    while feature[node] >= 0:
        is_left = goes_left(x[feature[node]], node, nodes, sets)
        node = left[node] if is_left else right[node]
    return node


@njit(error_model="numpy", nogil=True)
def _is_in(value, node, sets):
    """Return whether the code of a value is in the set of a node."""
    of_node, starts, codes, rule = sets
    code = value
    if rule == 1:
        code = np.trunc(value)
    elif rule == 2:
        code = np.floor(np.float64(np.float32(value)))
    low, high = starts[of_node[node]], starts[of_node[node] + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < end and codes[low] == code


@njit(error_model="numpy", nogil=True)
def _add_scores(X, nodes, sets, values, tree_output, constant, single, scores):
    scores[:] = constant
    for tree in range(len(tree_output)):
        first = tree_output[tree]
        for i in range(len(X)):
            leaf = _leaf(X[i], tree, nodes, sets)
            for k in range(values.shape[1]):
                total = scores[i, first + k] + values[leaf, k]
                # A sum of two singles, in double and then rounded, is their sum in single.
                scores[i, first + k] = np.float64(np.float32(total)) if single else total


@njit(error_model="numpy", nogil=True)
def _find_leaves(X, nodes, sets, leaves):
    for tree in range(leaves.shape[1]):
        for i in range(len(X)):
            leaves[i, tree] = _leaf(X[i], tree, nodes, sets)
