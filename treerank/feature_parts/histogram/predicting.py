"""Scoring: every document is sent to its leaf in each tree of a forest.

There are two ways, which find the same leaves:

- :mod:`~treerank.feature_parts.histogram.quickscorer` handles 64 documents at a time and looks at
  every split of a tree, without branches that depend on the data. Its time grows with the number
  of splits; it is used for trees of up to 256 leaves.
- :mod:`~treerank.feature_parts.histogram.traversal` follows the path of each document from the
  root. Its time grows with the length of paths; it is used for larger trees.

This module chooses between the two and has the kernels of the first.
"""

from itertools import pairwise

import numpy as np

from treerank.feature_parts.histogram import traversal
from treerank.feature_parts.histogram.forest import Forest
from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.threads import in_threads

_LANES = 64  # documents handled at a time: two vector registers of bytes
_FEW = 2048  # documents that one thread scores sooner than a second thread starts
#: Largest number of leaves of a tree for which quickscorer is faster than traversal.
_MOST_LEAVES = 256
_BYTE = np.uint64(255)
_LOWEST_BIT = np.array([0, *((b & -b).bit_length() - 1 for b in range(1, 256))], dtype=np.uint8)


def add_scores(forest: Forest, X: np.ndarray, scores: np.ndarray, *, n_threads: int = 1) -> None:
    """Add the values of all trees to ``scores``, in the order of the trees."""
    if n_threads == 1 or len(X) <= _FEW:
        _add(forest, X, scores)
        return
    bounds = np.linspace(0, len(X), n_threads + 1).astype(int)
    parts = [slice(*ends) for ends in pairwise(bounds)]
    in_threads(n_threads, lambda part: _add(forest, X[part], scores[part]), parts)


def _add(forest: Forest, X: np.ndarray, scores: np.ndarray) -> None:
    if forest.most_leaves > _MOST_LEAVES:
        traversal.add_scores(X, forest, scores)
    else:
        _add_scores(X, forest.quickscorer, forest.leaf_values, scores)


def find_leaves(forest: Forest, X: np.ndarray) -> np.ndarray:
    """Return the node of the leaf of each document in each tree, counted from the root."""
    leaves = np.empty((len(X), forest.n_trees), dtype=np.int64)
    if forest.most_leaves > _MOST_LEAVES:
        traversal.find_leaves(X, forest, leaves)
    else:
        _find_leaves(X, forest.quickscorer, leaves)
        leaves -= forest.starts[:-1]
    return leaves


@njit(error_model="numpy", nogil=True)
def _add_scores(X, scorer, values, scores):
    n_columns, memory = len(scorer.columns), _memory(scorer)
    codes = memory[:n_columns]
    byte = memory[n_columns]
    bits = memory[n_columns + 1]
    left = memory[n_columns + 2 :]
    for begin in range(0, len(X), _LANES):
        n = min(_LANES, len(X) - begin)
        _code(X[begin : begin + n], scorer, codes)
        for tree in range(len(scorer.leaf_starts) - 1):
            _remove_leaves(codes, scorer, tree, left, byte, bits)
            for i in range(n):
                leaf = scorer.leaf_starts[tree] + 8 * np.int64(byte[i]) + _LOWEST_BIT[bits[i]]
                for k in range(scores.shape[1]):
                    scores[begin + i, k] += values[leaf, k]


@njit(error_model="numpy", nogil=True)
def _find_leaves(X, scorer, leaves):
    n_columns, memory = len(scorer.columns), _memory(scorer)
    codes = memory[:n_columns]
    byte = memory[n_columns]
    bits = memory[n_columns + 1]
    left = memory[n_columns + 2 :]
    for begin in range(0, len(X), _LANES):
        n = min(_LANES, len(X) - begin)
        _code(X[begin : begin + n], scorer, codes)
        for tree in range(len(scorer.leaf_starts) - 1):
            _remove_leaves(codes, scorer, tree, left, byte, bits)
            for i in range(n):
                leaf = scorer.leaf_starts[tree] + 8 * np.int64(byte[i]) + _LOWEST_BIT[bits[i]]
                leaves[begin + i, tree] = scorer.leaves[leaf]


@register_jitable(error_model="numpy")
def _memory(scorer):
    """Return memory for codes, for the first byte of leaves left, its bits, and all leaves."""
    n_most = 0
    for tree in range(len(scorer.leaf_starts) - 1):
        n_most = max(n_most, scorer.leaf_starts[tree + 1] - scorer.leaf_starts[tree])
    return np.empty((len(scorer.columns) + 2 + (n_most + 7) // 8, _LANES), dtype=np.uint8)


@register_jitable(error_model="numpy")
def _code(X, scorer, codes):
    """Write the codes of some documents for all columns."""
    x = np.empty(len(X))
    below = np.empty(len(X), dtype=np.uint64)
    for c in range(len(codes)):
        column = scorer.columns[c]
        thresholds = scorer.thresholds[column.begin : column.end]
        for i in range(len(X)):
            x[i] = X[i, column.feature]
        _count_below(x, thresholds, below)
        if column.set < 0:
            for i in range(len(X)):
                codes[c, i] = below[i] if x[i] == x[i] else _BYTE
        else:
            for i in range(len(X)):
                known = below[i] < column.n_codes and thresholds[below[i]] == x[i]
                place = below[i] if known else np.uint64(column.n_codes)
                codes[c, i] = 1 - scorer.is_left[column.set, place]


@register_jitable(error_model="numpy")
def _count_below(x, thresholds, below):
    """Count the thresholds below each value.

    The number of thresholds is a power of two, and the last one is infinite.
    """
    for i in range(len(x)):
        below[i] = 0
    step = np.uint64(len(thresholds)) >> np.uint64(1)
    while step > 0:
        for i in range(np.uint64(len(x))):
            is_below = thresholds[below[i] + step - np.uint64(1)] < x[i]
            below[i] += step if is_below else np.uint64(0)
        step >>= np.uint64(1)


@register_jitable(error_model="numpy")
def _remove_leaves(codes, scorer, tree, left, byte, bits):
    """Find the first byte with leaves that no split removed, and its bits, in one tree."""
    n_leaves = scorer.leaf_starts[tree + 1] - scorer.leaf_starts[tree]
    n_bytes = (n_leaves + 7) // 8
    left[:n_bytes] = 255
    words = scorer.words[scorer.word_starts[tree] : scorer.word_starts[tree + 1]]
    for w in range(np.uint64(len(words))):
        word = words[w]
        row, of_byte = codes[word >> np.uint64(32)], left[(word >> np.uint64(24)) & _BYTE]
        _clear_bits(row, np.uint8(word), np.uint8(word >> 8), np.uint8(word >> 16), of_byte)
    for i in range(_LANES):
        byte[i] = bits[i] = 0
    for b in range(n_bytes - 1, -1, -1):
        _keep_first(left[b], np.uint8(b), byte, bits)


@register_jitable(error_model="numpy")
def _clear_bits(codes, low, more, kept, left):
    """Keep only the bits ``kept`` where a code is from ``low`` to ``low + more``."""
    for i in range(_LANES):
        left[i] &= kept if np.uint8(codes[i] - low) <= more else np.uint8(255)


@register_jitable(error_model="numpy")
def _keep_first(left, b, byte, bits):
    """Store byte ``b`` where it has leaves left; by masks, as the compiler vectorizes no choice."""
    for i in range(_LANES):
        empty = np.uint8(255) if left[i] == 0 else np.uint8(0)
        byte[i] = (byte[i] & empty) | (b & ~empty)
    for i in range(_LANES):
        empty = np.uint8(255) if left[i] == 0 else np.uint8(0)
        bits[i] = (bits[i] & empty) | left[i]
