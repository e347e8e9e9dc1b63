"""Scoring: documents go down the trees of a forest, and the values of their leaves are added."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from treerank.forests.forest import CODE_RULES, Forest
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_threads

_BLOCK = 512  # documents that are converted to doubles, and go down one tree, together
_ALL, _ONE, _SHIFT = np.uint64(2**64 - 1), np.uint64(1), np.uint64(58)
#: A power of two times this has another number in its six highest bits than any other power.
_ORDER = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, dtype=np.int64)
_PLACES[[((1 << i) * int(_ORDER) % 2**64) >> 58 for i in range(64)]] = np.arange(64)
_TOGETHER = 128  # documents whose bits are computed together
_EIGHT = 8  # documents that go down a tree together
_FEW = 2048  # documents that one thread scores sooner than a second thread starts


def forest_scores(forest: Forest, X: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return the scores of some documents, of shape (n_documents, n_outputs).

    They are those of the engine that grew the trees, bit for bit, for any number of threads. ``X``
    is an array or a sparse matrix; missing values are NaN.
    """
    forest, X = _of_used_columns(forest, X)
    scores = np.empty((X.shape[0], forest.n_outputs))
    arguments = scoring_arguments(forest)

    def score(begin: int, end: int) -> None:
        write_scores(doubles(X, begin, end), arguments, scoring_buffers(forest), scores[begin:end])

    for_blocks(score, len(scores), n_threads)
    return scores


def scoring_arguments(forest: Forest) -> tuple[Any, ...]:
    """Return what :func:`write_scores` reads of a forest."""
    arranged = tuple(forest.bitvectors or forest.traversal or ())
    sums = forest.tree_output, forest.sum_dtype == "float32"
    return arranged, *node_arrays(forest), sums, forest.values, forest.constant


def scoring_buffers(forest: Forest) -> tuple[np.ndarray, ...]:
    """Return arrays that :func:`write_scores` writes to: columns, and the bits of documents."""
    if forest.bitvectors is not None:
        columns = np.empty((len(forest.bitvectors.feature), _TOGETHER))
        return columns, np.empty(_TOGETHER, dtype=np.uint64)
    if forest.traversal is not None:
        return (np.zeros((len(forest.traversal.feature) + 1, _TOGETHER)),)
    return ()


def write_scores(
    X: np.ndarray, arguments: tuple[Any, ...], buffers: tuple[np.ndarray, ...], scores: np.ndarray
) -> None:
    """Write the scores of documents, of shape (n_documents, n_outputs).

    A single document follows its paths. Several are scored together, by bit vectors, or by a
    traversal where trees are too large for these; trees that are too large and have splits by
    category are scored by paths, too.
    """
    arranged, *rest, values, constant = arguments
    scores[:] = constant
    if len(X) == 1 or not arranged:
        _score_by_paths(X, values, *rest, scores)
    elif len(buffers) == 1:
        _score_by_traversal(X, arranged, *rest, *buffers, scores)
    else:
        with np.errstate(over="ignore"):  # the product that finds a bit overflows: numpy would warn
            _score_by_vectors(X, arranged, *rest, *buffers, scores)


def forest_leaves(forest: Forest, X: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return the node (int32) that each document reaches in each tree, row by row."""
    forest, X = _of_used_columns(forest, X)
    leaves = np.empty((X.shape[0], forest.n_trees), dtype=np.int32)
    nodes, sets = node_arrays(forest)

    def find(begin: int, end: int) -> None:
        _find_leaves(doubles(X, begin, end), nodes, sets, leaves[begin:end])

    for_blocks(find, len(leaves), n_threads)
    return leaves


def check_width(forest: Forest, X: Any) -> None:
    """Refuse what has not one column per feature."""
    if np.ndim(X) != 2 or X.shape[1] != forest.n_features:
        raise ValueError(
            f"X must have {forest.n_features} columns; got an array of shape {np.shape(X)}."
        )


def _of_used_columns(forest: Forest, X: Any) -> tuple[Forest, Any]:
    """Check the columns of X; of a sparse matrix, which may be very wide, take those in use."""
    check_width(forest, X)
    if not issparse(X):
        return forest, X
    used, narrow = forest.of_used_features
    return narrow, X[:, used]


def doubles(X: Any, begin: int, end: int) -> np.ndarray:
    """Return some rows as doubles in C order."""
    rows = X[begin:end].toarray() if issparse(X) else X[begin:end]
    return np.ascontiguousarray(rows, dtype=np.float64)


def for_blocks(
    work: Callable[[int, int], None], n_rows: int, n_threads: int, few: int = _FEW
) -> None:
    """Call ``work`` for the ends of all blocks of rows, with threads for more than ``few``."""
    ends = [*range(0, n_rows, _BLOCK), n_rows]
    in_threads(n_threads if n_rows > few else 1, work, ends[:-1], ends[1:])


def node_arrays(forest: Forest) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return what kernels read: the arrays of the splits, and of sets, empty if there are none."""
    splits = forest.feature, forest.threshold, forest.left, forest.right, forest.missing_left
    nodes, sets = (forest.roots, *splits, forest.missing_up_to), forest.categories
    if sets is None:
        return nodes, (np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0), 0)
    rule = "exact" if sets.rule == "whole" else sets.rule
    return nodes, (sets.of_node, sets.starts, sets.codes, CODE_RULES.index(rule))


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


@register_jitable(error_model="numpy")
def _leaf(x, tree, nodes, sets):
    """Return the leaf of one document in one tree."""
    roots, feature, _, left, right, _, _ = nodes
    node = roots[tree]
    while feature[node] >= 0:
        is_left = goes_left(x[feature[node]], node, nodes, sets)
        node = left[node] if is_left else right[node]
    return node


@register_jitable(error_model="numpy")
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


@register_jitable(error_model="numpy")
def _add_leaf(values, leaf, first, single, scores, i):
    """Add the values of a leaf to the scores of a document, from the output ``first`` on."""
    for k in range(values.shape[1]):
        total = scores[i, first + k] + values[leaf, k]
        # A sum of two singles, in double and then rounded, is their sum in single.
        scores[i, first + k] = np.float64(np.float32(total)) if single else total


@njit(error_model="numpy", nogil=True)
def _score_by_paths(X, values, nodes, sets, sums, scores):
    tree_output, single = sums
    for tree in range(len(tree_output)):
        for i in range(len(X)):
            leaf = _leaf(X[i], tree, nodes, sets)
            _add_leaf(values, leaf, tree_output[tree], single, scores, i)


@njit(error_model="numpy", nogil=True)
def _score_by_vectors(X, vectors, nodes, sets, sums, columns, bits, scores):
    _, _, _, column, threshold, kept_left, kept_right, split_starts, leaf_starts, values = vectors
    tree_output, single = sums
    for begin in range(0, len(X), _TOGETHER):
        n = min(len(X) - begin, _TOGETHER)
        _fill_columns(X[begin : begin + n], vectors[:3], nodes, sets, columns)
        for tree in range(len(leaf_starts) - 1):
            bits[:n] = _ALL
            for split in range(split_starts[tree], split_starts[tree + 1]):
                own, limit = columns[column[split]], threshold[split]
                left, right = kept_left[split], kept_right[split]
                for i in range(n):
                    bits[i] &= left if own[i] <= limit else right
            for i in range(n):
                leaf = leaf_starts[tree] + lowest_bit(bits[i])
                _add_leaf(values, leaf, tree_output[tree], single, scores, begin + i)


@njit(error_model="numpy", nogil=True)
def _score_by_traversal(X, traversal, nodes, sets, sums, columns, scores):
    _, _, _, roots, column, threshold, child, values = traversal
    tree_output, single = sums
    places = np.empty(_EIGHT, dtype=np.int64)
    for begin in range(0, len(X), _TOGETHER):
        n = min(len(X) - begin, _TOGETHER)
        _fill_columns(X[begin : begin + n], traversal[:3], nodes, sets, columns)
        for tree in range(len(roots)):
            for first in range(0, n, _EIGHT):
                places[:] = roots[tree]
                _go_down(places, first, columns, column, threshold, child)
                for i in range(min(_EIGHT, n - first)):
                    to = begin + first + i
                    _add_leaf(values, places[i], tree_output[tree], single, scores, to)


@register_jitable(error_model="numpy")
def _go_down(places, first, columns, column, threshold, child):
    """Send eight documents to their leaves; the compiler unrolls the inner loop."""
    moved = 1
    while moved:
        moved = 0
        for i in range(_EIGHT):
            place = places[i]
            is_left = columns[column[place], first + i] <= threshold[place]
            places[i] = child[place] + (not is_left)
            moved |= places[i] ^ place


@register_jitable(error_model="numpy")
def lowest_bit(word: Any) -> Any:
    """Return the place of the lowest bit of a word; some place for 0."""
    return _PLACES[((word & (~word + _ONE)) * _ORDER) >> _SHIFT]


@register_jitable(error_model="numpy")
def _fill_columns(X, of_columns, nodes, sets, columns):
    """Write what splits compare, with missing values as numbers that go to the right side."""
    feature, missing_left, set_node = of_columns
    up_to = nodes[6]
    for k in range(len(feature)):
        node, missing = set_node[k], -np.inf if missing_left[k] else np.nan
        for i in range(len(X)):
            value = X[i, feature[k]]
            if node >= 0:
                columns[k, i] = 0.0 if goes_left(value, node, nodes, sets) else 1.0
            else:
                columns[k, i] = missing if value != value or abs(value) <= up_to else value


@njit(error_model="numpy", nogil=True)
def _find_leaves(X, nodes, sets, leaves):
    for tree in range(leaves.shape[1]):
        for i in range(len(X)):
            leaves[i, tree] = _leaf(X[i], tree, nodes, sets)
