"""QuickScorer: the splits of a forest, arranged for scoring without following paths [1]_.

The leaves of a tree are bits, eight in a byte. The leaves of the smaller child of a split come
before those of the larger child. At first all bits of a document are 1. Each split by which the
document would go to the larger child removes the leaves of the smaller child, by setting their
bits to 0. After all splits, in any order, the first bit that is 1 is the leaf of the document.

Values are replaced by codes, so that a comparison is one of bytes [2]_: the number of thresholds
of the feature that are below the value, or 255 if the value is missing.

References
----------
.. [1] Lucchese et al. (2015). QuickScorer: a fast algorithm to rank documents with additive
   ensembles of regression trees. SIGIR.
.. [2] Ye et al. (2018). RapidScorer: fast tree ensemble evaluation by maximizing compactness in
   data level parallelization. KDD.
"""

from typing import Any, NamedTuple

import numpy as np

#: Largest number of thresholds of a column, so that codes are below 255.
_MOST_THRESHOLDS = 254

#: A column of codes:
#:
#: - feature: column of X.
#: - begin, end: its thresholds, or its codes of categories, as a range of all thresholds. The
#:   length of the range is a power of two.
#: - set: for a split by category, the set that goes left; else -1. The code is then 0 if the
#:   document goes left and 1 if it goes right.
#: - n_codes: number of thresholds or codes of categories.
_FIELDS = ("feature", "begin", "end", "set", "n_codes")
COLUMN = np.dtype((np.record, [(name, np.int64) for name in _FIELDS]))


class QuickScorer(NamedTuple):
    """The splits of a forest.

    Attributes
    ----------
    columns : ndarray of COLUMN
        The columns of codes.
    thresholds : ndarray of float64
        Thresholds of all columns, each padded with infinity to a power of two.
    is_left : ndarray of uint8, shape (n_sets, 256)
        The sets of categories that go left.
    words : ndarray of uint64
        One word for each byte from which a split removes leaves, tree after tree. From the lowest
        byte on, a word holds: the first code that removes them, the number of further codes that
        do (after 255 comes 0), the bits that remain, the number of the byte in the tree (below
        256), and the column.
    word_starts, leaf_starts : ndarray of int64, shape (n_trees + 1,)
        First word and first leaf of each tree.
    leaves : ndarray of int64
        Node of each leaf, tree after tree.
    """

    columns: np.ndarray
    thresholds: np.ndarray
    is_left: np.ndarray
    words: np.ndarray
    word_starts: np.ndarray
    leaf_starts: np.ndarray
    leaves: np.ndarray


def make_quickscorer(forest: Any) -> QuickScorer:
    """Return the splits of a forest in the form of QuickScorer.

    Examples
    --------
    >>> from treerank.feature_parts.histogram.forest import Forest
    >>> no_sets = np.zeros((0, 256), np.uint8), np.zeros(0, int), np.zeros((0, 256)), np.zeros(0)
    >>> stump = Forest(1, np.array([0, 3]), np.array([0, 0, 0]), np.array([5.0, np.inf, np.inf]),
    ...                np.zeros(3, bool), np.array([1, 1, 2]), np.zeros(3), np.zeros((3, 1)),
    ...                np.full(3, -1), *no_sets)
    >>> scorer = make_quickscorer(stump)
    >>> scorer.thresholds, [hex(word) for word in scorer.words]  # code 1 and 253 more
    (array([ 5., inf]), ['0xfefd01'])
    """
    is_leaf = forest.is_leaf
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.starts))
    first, size, smaller = _number_leaves(forest, is_leaf)
    split, leaves = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    columns, thresholds, column_of, low, more = _find_columns(forest, split)
    is_left = smaller[split] == forest.first[split]  # documents that go right remove its leaves
    low, more = np.where(is_left, low, low + more + 1), np.where(is_left, more, 254 - more)
    begin, end = first[smaller[split]], (first + size)[smaller[split]]
    which, byte, kept = _bytes_of(begin, end)
    parts = low[which] & 255, more[which], kept, byte, column_of[which]
    words = sum(part.astype(np.uint64) << np.uint64(8 * i) for i, part in enumerate(parts))
    bounds = np.arange(forest.n_trees + 1)
    return QuickScorer(
        columns,
        thresholds,
        forest.sets,
        words,
        np.searchsorted(tree[split][which], bounds),
        np.searchsorted(tree[leaves], bounds),
        leaves[np.lexsort((first[leaves], tree[leaves]))],
    )


def _number_leaves(forest, is_leaf):
    """Return the first leaf, the number of leaves and the smaller child of each node."""
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
    first, smaller = np.zeros((2, len(is_leaf)), dtype=np.int64)
    for parents, left in levels:
        right_is_small = size[left + 1] < size[left]
        small = smaller[parents] = left + right_is_small
        first[small] = first[parents]
        first[left + 1 - right_is_small] = first[parents] + size[small]
    return first, size, smaller


def _find_columns(forest, split):
    """Return columns, thresholds, and for each split its column and the codes that go right.

    These are the codes from ``low`` to ``low + more``.
    """
    by_set = forest.set_of_node[split] >= 0
    column_of, low, more = np.zeros((3, len(split)), dtype=np.int64)
    numeric = split[~by_set]
    features, values, column_of[~by_set], position = _thresholds_of(forest, numeric)
    low[~by_set] = position + 1
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
    """Return features and thresholds of columns, and for each split its column and position."""
    feature, threshold = forest.feature[split].astype(np.int64), forest.threshold[split]
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    is_new = np.append(True, (np.diff(feature) != 0) | (threshold[1:] != threshold[:-1]))
    is_new = is_new[: len(order)]
    of_distinct = feature[is_new]
    position = np.arange(len(of_distinct)) - np.searchsorted(of_distinct, of_distinct)
    position %= _MOST_THRESHOLDS  # a feature with more thresholds has several columns
    starts = np.flatnonzero(position == 0)
    column = np.cumsum(position == 0) - 1
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(is_new) - 1
    values = np.split(threshold[is_new], starts[1:]) if len(starts) else []
    return of_distinct[starts], values, column[rank], position[rank]


def _bytes_of(begin, end):
    """Return the range, the byte and the bits outside the range, for each byte of each range."""
    n_bytes = (end - 1) // 8 - begin // 8 + 1
    which = np.repeat(np.arange(len(begin)), n_bytes)
    starts = np.repeat(np.cumsum(n_bytes) - n_bytes, n_bytes)
    byte = begin[which] // 8 + np.arange(len(which)) - starts
    low = np.maximum(begin[which] - 8 * byte, 0)
    high = np.minimum(end[which] - 8 * byte, 8)
    return which, byte, 255 - ((1 << high) - (1 << low))
