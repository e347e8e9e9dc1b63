"""Predicting: documents find their leaves in all trees of a forest.

Sixty-four documents strike leaves off their lists at once (see
:mod:`~treerank.feature_parts.histogram.quickscorer`), split after split and tree after tree, without
a branch that depends on the data. That takes as many steps as there are splits; down trees that
have far more of them than a path is long, documents walk.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from treerank.feature_parts.histogram import traversal as walking
from treerank.numerics.compiling import njit

_ABREAST = 64  # documents that strike together: two vectors of bytes
_FEW = 2048  # documents that one thread scores sooner than a second starts
#: Most leaves that are sooner struck off than walked to.
_MOST_LEAVES = 256
_BYTE = np.uint64(255)
_LOWEST_BIT = np.array([0, *((b & -b).bit_length() - 1 for b in range(1, 256))], dtype=np.uint8)


def add_scores(forest, X, scores, *, n_threads=1):
    """Add the outputs of all trees to ``scores``, tree after tree."""
    if n_threads == 1 or len(X) <= _FEW:
        _add(forest, X, scores)
        return
    bounds = np.linspace(0, len(X), n_threads + 1).astype(int)
    with ThreadPoolExecutor(n_threads) as pool:  # each thread has rows of its own
        parts = [slice(*ends) for ends in pairwise(bounds)]
        list(pool.map(lambda part: _add(forest, X[part], scores[part]), parts))


def _add(forest, X, scores):
    if forest.most_leaves > _MOST_LEAVES:
        walking.add_scores(X, forest, scores)
    else:
        _add_scores(X, forest.strikes, forest.values_of_leaves, scores)


def find_leaves(forest, X):
    """Return the leaf of each document in each tree, counted from the tree's root."""
    leaves = np.empty((len(X), forest.n_trees), dtype=np.int64)
    if forest.most_leaves > _MOST_LEAVES:
        walking.find_leaves(X, forest, leaves)
    else:
        _find_leaves(X, forest.strikes, leaves)
        leaves -= forest.starts[:-1]
    return leaves


@njit(error_model="numpy", nogil=True)
def _add_scores(X, strikes, values, scores):
    codes, left, byte, bits = _room(strikes)
    for begin in range(0, len(X), _ABREAST):
        n = min(_ABREAST, len(X) - begin)
        _code(X[begin : begin + n], strikes, codes)
        for tree in range(len(strikes.leaf_starts) - 1):
            _strike(codes, strikes, tree, left, byte, bits)
            for i in range(n):
                leaf = strikes.leaf_starts[tree] + 8 * byte[i] + _LOWEST_BIT[bits[i]]
                for k in range(scores.shape[1]):
                    scores[begin + i, k] += values[leaf, k]


@njit(error_model="numpy", nogil=True)
def _find_leaves(X, strikes, leaves):
    codes, left, byte, bits = _room(strikes)
    for begin in range(0, len(X), _ABREAST):
        n = min(_ABREAST, len(X) - begin)
        _code(X[begin : begin + n], strikes, codes)
        for tree in range(len(strikes.leaf_starts) - 1):
            _strike(codes, strikes, tree, left, byte, bits)
            for i in range(n):
                leaf = strikes.leaf_starts[tree] + 8 * byte[i] + _LOWEST_BIT[bits[i]]
                leaves[begin + i, tree] = strikes.leaves[leaf]


@njit(error_model="numpy", nogil=True)
def _room(strikes):
    """Return room for codes, for the bytes of a tree, and for the first of them that is left."""
    codes = np.zeros((len(strikes.columns), _ABREAST), dtype=np.uint8)
    n_most = 0
    for tree in range(len(strikes.leaf_starts) - 1):
        n_most = max(n_most, strikes.leaf_starts[tree + 1] - strikes.leaf_starts[tree])
    left = np.empty(((n_most + 7) // 8, _ABREAST), dtype=np.uint8)
    return codes, left, np.empty(_ABREAST, dtype=np.uint8), np.empty(_ABREAST, dtype=np.uint8)


@njit(error_model="numpy", nogil=True)
def _code(X, strikes, codes):
    """Write the codes of some documents in all columns."""
    x, below = np.empty(len(X)), np.empty(len(X), dtype=np.uint64)
    for c in range(len(codes)):
        column = strikes.columns[c]
        thresholds = strikes.thresholds[column.begin : column.end]
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
                codes[c, i] = 1 - strikes.is_left[column.set, place]


@njit(error_model="numpy", nogil=True)
def _count_below(x, thresholds, below):
    """Count the thresholds below each value; their number is a power of two, the last infinite."""
    below[:] = 0
    step = np.uint64(len(thresholds)) >> np.uint64(1)
    while step > 0:
        for i in range(np.uint64(len(x))):
            is_below = thresholds[below[i] + step - np.uint64(1)] < x[i]
            below[i] += step if is_below else np.uint64(0)
        step >>= np.uint64(1)


@njit(error_model="numpy", nogil=True)
def _strike(codes, strikes, tree, left, byte, bits):
    """Find the first byte with leaves that are left, and its bits, in one tree."""
    n_leaves = strikes.leaf_starts[tree + 1] - strikes.leaf_starts[tree]
    n_bytes = (n_leaves + 7) // 8
    left[:n_bytes] = 255
    words = strikes.words[strikes.word_starts[tree] : strikes.word_starts[tree + 1]]
    for w in range(np.uint64(len(words))):
        word = words[w]
        row, own = codes[word >> np.uint64(32)], left[(word >> np.uint64(24)) & _BYTE]
        _strike_byte(row, np.uint8(word), np.uint8(word >> 8), np.uint8(word >> 16), own)
    byte[:], bits[:] = 0, 0
    for b in range(n_bytes - 1, -1, -1):
        _keep_first(left[b], np.uint8(b), byte, bits)


@njit(error_model="numpy", nogil=True)
def _strike_byte(codes, low, more, kept, left):
    """Keep only some bits where a code is ``low`` or at most ``more`` above it."""
    for i in range(_ABREAST):
        left[i] &= kept if np.uint8(codes[i] - low) <= more else np.uint8(255)


@njit(error_model="numpy", nogil=True)
def _keep_first(left, b, byte, bits):
    """Note byte ``b`` where leaves are left in it, by masks, since choices are not vectorized."""
    for i in range(_ABREAST):
        empty = np.uint8(255) if left[i] == 0 else np.uint8(0)
        byte[i] = (byte[i] & empty) | (b & ~empty)
    for i in range(_ABREAST):
        empty = np.uint8(255) if left[i] == 0 else np.uint8(0)
        bits[i] = (bits[i] & empty) | left[i]
