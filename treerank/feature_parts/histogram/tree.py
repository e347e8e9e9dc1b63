"""Tree: the data of a fit, the state of a growing tree, and memory for histograms."""

from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import STRIDE
from treerank.feature_parts.histogram.splitter import PADDING, TreeRules
from treerank.numerics.vectors import aligned

GROW_POLICIES = {"leafwise": False, "depthwise": True}

#: A node of a growing tree:
#:
#: - column: column of bins that splits it, see ``binning.COLUMN``; -1 in a leaf.
#: - bin, missing_left: last bin that goes left, and whether missing values do.
#: - first: left child; the right child is the node after it.
#: - begin, end: its rows of this worker, as a range of the sorted rows.
#: - middle: where the rows begin that its split sends right, once they are sorted.
#: - state: see ``grower``.
#: - number: of the node in the finished tree; -1 as long as it is unknown.
#: - parent: node above it; the root is its own.
#: - slot: number of its histogram. The larger leaf of a split gets that of the leaf that was split.
#: - depth: number of splits above it.
#: - gain: of the split.
#: - gradient, hessian, n_documents: sums over its rows of all workers.
#: - lower, upper: bounds of its value, from monotone constraints.
_RANGE = ("begin", "end", "middle")
_STATES = ("state", "number", "parent")
_INTEGERS = ("column", "bin", "missing_left", "first", *_RANGE, *_STATES, "depth", "slot")
_NUMBERS = ("gain", "gradient", "hessian", "n_documents", "lower", "upper")
NODE = np.dtype([(n, np.int64) for n in _INTEGERS] + [(n, np.float64) for n in _NUMBERS])


#: A leaf that is being split:
#:
#: - leaf: its number; -1 for none.
#: - pair: the two new leaves, the smaller one first; the second one is -1 if the first is the root.
#: - is_last: whether no leaf is split after it, so that the new leaves need no histograms.
_SPLITTING = [("leaf", np.int64), ("is_last", np.int64), ("pair", np.int64, (2,))]
SPLITTING = np.dtype([*_SPLITTING, PADDING])
#: The step that threads are in:
#:
#: - kind: see ``grower``.
#: - n_nodes: number of nodes so far.
#: - n_most: number of nodes that the finished tree has at most; with several workers, -1 as long as
#:   it is not known which split is the last one.
#: - n_threads: number of threads.
#: - adds_up: whether histograms are added up over workers before they are searched.
#: - n_parts, n_tasks: number of parts of the rows, 0 or at least 2; number of tasks of the blocks.
#: - n_filled: number of pairs of new leaves with histograms that wait for the search by workers.
#: - searched: number of the pair that is searched.
#: - n_planned, n_begun: number of leaves that are planned to be split, and of those that are split.
#: - n_numbered, n_waiting: number of nodes whose number in the finished tree is known, and of the
#:   leaves among them that have a split.
#: - n_alone: number of leaves each of which one thread is splitting.
_STEP = ("kind", "n_nodes", "n_most", "n_threads", "adds_up", "n_parts", "n_tasks")
_PAIRS = ("n_filled", "searched", "n_planned", "n_begun")
_LEAVES = ("n_numbered", "n_waiting", "n_alone")
STEP = np.dtype([(name, np.int64) for name in (*_STEP, *_PAIRS, *_LEAVES)])


class Data(NamedTuple):
    """Data on which all trees of a fit are grown.

    Attributes
    ----------
    columns : ndarray of COLUMN
        Columns of bins, with monotone constraints.
    zeros : ndarray of uint64 or None
        Bins of a row of zeros; None if few rows have them, see ``histogram.shared_zeros``.
    groups : ndarray of bool of shape (n_groups, n_columns)
        Columns that a tree may use, for each group of features that may be on one path from the
        root to a leaf.
    binned, binned_by_column : ndarray
        Bins of all rows, see ``binning.bin_rows`` and ``binning.by_column``.
    histograms : ndarray of int64 of shape (n_leaves, n_blocks, n_entries)
        Histograms of the leaves of a tree, over the rows of all workers.
    """

    columns: np.ndarray  # of COLUMN, with monotone constraints
    zeros: np.ndarray | None  # bins of a row of zeros; None if few rows have them
    #: Columns that a tree may use, for each group of features that may be on one path from the root
    #: to a leaf; of bool and shape (n_groups, n_columns).
    groups: np.ndarray
    binned: np.ndarray  # bins of all rows, see ``binning.bin_rows``
    binned_by_column: np.ndarray  # the same by column, see ``binning.by_column``
    #: Histograms of the leaves of a tree, over the rows of all workers; of int64 and shape
    #: (n_leaves, n_blocks, n_entries). See ``NODE``.
    histograms: np.ndarray


class Growth(NamedTuple):
    """State of a tree that grows; a comment on each array says what it holds."""

    nodes: np.ndarray
    splits: np.ndarray  # the best one of each node
    paths: np.ndarray  # whether all features above a node are of a group; (n_nodes, n_groups)
    #: Whether a feature of a block may split the node, or a node below it; the histograms of other
    #: blocks are not computed; of shape (n_nodes, n_blocks).
    is_open: np.ndarray
    best: np.ndarray  # best splits of the two new leaves in each task; (n_threads, 2)
    #: A histogram for each part of the rows; then, with several workers, one for each of ``pairs``.
    filled: np.ndarray
    pairs: np.ndarray  # new leaves with histograms that are not searched yet; of shape (n_pairs, 2)
    planned: np.ndarray  # leaves to split next, see ``speculation``
    memory: np.ndarray  # of each thread, and of each part that is sorted: ``splitter.MEMORY``
    scratch: np.ndarray  # memory of each thread for numbers of blocks, and for a batch of data
    working: np.ndarray  # memory for rows that are being sorted
    #: Leaves that one thread each is splitting, and then the one that all threads are splitting.
    splitting: np.ndarray
    #: In one process: leaves to split, in the reverse order in which one thread would split them.
    waiting: np.ndarray
    step: np.ndarray  # the step that threads are in
    counters: np.ndarray  # of its tasks, see ``tasks``


def most_leaves(rules: TreeRules, n_rows: int) -> int:
    """Return how many leaves a tree may have at most."""
    n_leaves = min(rules.num_leaves, n_rows)
    return min(n_leaves, 2**rules.max_depth) if 0 < rules.max_depth < 31 else n_leaves


def make_histograms(
    binned: np.ndarray,
    n_integers: int,
    rules: TreeRules,
    n_rows: int | None = None,
    n_spare: int = 0,
) -> np.ndarray:
    """Return memory for the histograms of a tree's leaves, and of ``n_spare`` more.

    It is of shape (n_leaves, n_blocks, n_entries). ``n_rows``, by default the rows of ``binned``,
    counts the rows of all workers; there are at most as many leaves as rows.
    """
    n_rows, n_blocks = binned.shape[0] if n_rows is None else n_rows, binned.shape[1]
    n_leaves = most_leaves(rules, n_rows) + n_spare if n_blocks else 1  # nothing varies
    return aligned((n_leaves, n_blocks, WIDTH * STRIDE * n_integers), np.int64)
