"""Strikes: the splits of a forest as leaves that a document strikes off its list.

A tree's leaves are bits, eight in a byte, those of the smaller child of every split before those
of the larger one. A document that goes to the larger child strikes off the leaves of the
smaller. The first leaf that is left in the end is its own, in whichever order it has struck [1]_.
Documents are compared by codes, so that a comparison takes a byte [2]_: how many thresholds of a
feature are below the value, or 255 where it is missing.

References
----------
.. [1] Lucchese et al. (2015). QuickScorer: a fast algorithm to rank documents with additive
   ensembles of regression trees. SIGIR.
.. [2] Ye et al. (2018). RapidScorer: fast tree ensemble evaluation by maximizing compactness in
   data level parallelization. KDD.
"""

from typing import NamedTuple

import numpy as np

#: Most thresholds of a column, so that codes are below 255.
_MOST_THRESHOLDS = 254

#: What is coded: a feature, its thresholds or codes of categories and the power of two that there
#: are less of; for a split of categories (else -1) which set goes left, and how many codes there
#: are. The code of such a split is 0 on the left and 1 on the right.
COLUMN = np.dtype(
    [
        ("feature", np.int64),
        ("begin", np.int64),
        ("end", np.int64),
        ("set", np.int64),
        ("n_codes", np.int64),
    ]
)


class Strikes(NamedTuple):
    """The splits of a forest.

    Attributes
    ----------
    columns : ndarray of COLUMN
        What is coded.
    thresholds : ndarray of float64
        Thresholds of all columns, each filled up with infinity to a power of two.
    is_left : ndarray of uint8, shape (n_sets, 256)
        The sets of categories.
    words : ndarray of uint64
        One for every byte that a split strikes leaves from, tree after tree: from the lowest
        byte, the first code that strikes, how many more do (around the clock), the bits that
        remain, and the number of the byte, below 256; then the column.
    word_starts, leaf_starts : ndarray of int64, shape (n_trees + 1,)
        Where the words and the leaves of each tree begin.
    leaves : ndarray of int64
        The nodes that the leaves are, tree after tree.
    """

    columns: np.ndarray
    thresholds: np.ndarray
    is_left: np.ndarray
    words: np.ndarray
    word_starts: np.ndarray
    leaf_starts: np.ndarray
    leaves: np.ndarray


def find_strikes(forest):
    """Return the strikes of a forest.

    Examples
    --------
    >>> from treerank.feature_parts.histogram.forest import Forest
    >>> no_sets = np.zeros((0, 256), np.uint8), np.zeros(0, int), np.zeros((0, 256)), np.zeros(0)
    >>> stump = Forest(1, np.array([0, 3]), np.array([0, 0, 0]), np.array([5.0, np.inf, np.inf]),
    ...                np.zeros(3, bool), np.array([1, 1, 2]), np.zeros(3), np.zeros((3, 1)),
    ...                np.full(3, -1), *no_sets)
    >>> strikes = find_strikes(stump)
    >>> strikes.thresholds, [hex(word) for word in strikes.words]  # from 1 on, 253 more
    (array([ 5., inf]), ['0xfefd01'])
    """
    is_leaf = forest.is_leaf
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.starts))
    first, size, struck = _place_leaves(forest, is_leaf)
    split, leaves = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    columns, thresholds, column_of, low, more = _find_columns(forest, split)
    is_first = struck[split] == forest.first[split]  # the left child: those that go right strike
    low, more = np.where(is_first, low, low + more + 1), np.where(is_first, more, 254 - more)
    begin, end = first[struck[split]], (first + size)[struck[split]]
    which, byte, kept = _bytes_of(begin, end)
    parts = low[which] & 255, more[which], kept, byte, column_of[which]
    words = sum(part.astype(np.uint64) << np.uint64(8 * i) for i, part in enumerate(parts))
    bounds = np.arange(forest.n_trees + 1)
    return Strikes(
        columns,
        thresholds,
        forest.sets,
        words,
        np.searchsorted(tree[split][which], bounds),
        np.searchsorted(tree[leaves], bounds),
        leaves[np.lexsort((first[leaves], tree[leaves]))],
    )


def _place_leaves(forest, is_leaf):
    """Return the first leaf and the number of leaves of all nodes, and which child is struck."""
    size = np.ones(len(is_leaf), dtype=np.int64)
    levels = []
    parents = forest.starts[:-1][~is_leaf[forest.starts[:-1]]]
    while len(parents):
        left = forest.first[parents].astype(np.int64)
        levels.append((parents, left))
        children = np.concatenate([left, left + 1])
        parents = children[~is_leaf[children]]
    for parents, left in reversed(levels):
        size[parents] = size[left] + size[left + 1]
    first, struck = np.zeros((2, len(is_leaf)), dtype=np.int64)
    for parents, left in levels:
        right_is_small = size[left + 1] < size[left]
        small = struck[parents] = left + right_is_small
        first[small] = first[parents]
        first[left + 1 - right_is_small] = first[parents] + size[small]
    return first, size, struck


def _find_columns(forest, split):
    """Return columns, thresholds, and of each split its column and the codes that go right."""
    by_set = forest.set_of_node[split] >= 0
    column_of, low, more = np.zeros((3, len(split)), dtype=np.int64)
    numeric = split[~by_set]
    features, values, column_of[~by_set], place = _thresholds_of(forest, numeric)
    low[~by_set] = place + 1
    more[~by_set] = np.where(forest.missing_right[numeric], 255, 254) - low[~by_set]
    sets = forest.set_of_node[split[by_set]].astype(np.int64)
    tables = forest.table_of_set[sets]
    column_of[by_set], low[by_set] = len(features) + np.arange(len(sets)), 1
    values += [forest.tables[table][: forest.n_codes[table]] for table in tables]
    columns = np.zeros(len(values), dtype=COLUMN)
    columns["feature"] = np.append(features, forest.feature[split[by_set]])
    columns["set"] = np.append(np.full(len(features), -1), sets)
    columns["n_codes"] = [len(own) for own in values]
    columns["end"] = np.cumsum([1 << len(own).bit_length() for own in values])
    columns["begin"][1:] = columns["end"][:-1]
    thresholds = np.full(columns["end"].max(initial=0), np.inf)
    for column, own in zip(columns, values, strict=True):
        thresholds[column["begin"] : column["begin"] + len(own)] = own
    return columns, thresholds, column_of, low, more


def _thresholds_of(forest, split):
    """Return features and thresholds of columns, and the column and place of each split."""
    feature, threshold = forest.feature[split].astype(np.int64), forest.threshold[split]
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    is_new = np.append(True, (np.diff(feature) != 0) | (threshold[1:] != threshold[:-1]))
    is_new = is_new[: len(order)]
    of_distinct = feature[is_new]
    place = np.arange(len(of_distinct)) - np.searchsorted(of_distinct, of_distinct)
    place %= _MOST_THRESHOLDS  # more thresholds take a column more
    starts = np.flatnonzero(place == 0)
    column = np.cumsum(place == 0) - 1
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(is_new) - 1
    values = np.split(threshold[is_new], starts[1:]) if len(starts) else []
    return of_distinct[starts], values, column[rank], place[rank]


def _bytes_of(begin, end):
    """Return, for every byte of every range of bits: the range, the byte, the bits outside."""
    n_bytes = (end - 1) // 8 - begin // 8 + 1
    which = np.repeat(np.arange(len(begin)), n_bytes)
    starts = np.repeat(np.cumsum(n_bytes) - n_bytes, n_bytes)
    byte = begin[which] // 8 + np.arange(len(which)) - starts
    low = np.maximum(begin[which] - 8 * byte, 0)
    high = np.minimum(end[which] - 8 * byte, 8)
    return which, byte, 255 - ((1 << high) - (1 << low))
