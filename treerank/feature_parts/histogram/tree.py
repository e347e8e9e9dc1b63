"""Tree: the data of a fit, the state of a growing tree, and memory for histograms."""

from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import STRIDE
from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.numerics.vectors import aligned

GROW_POLICIES = {"leafwise": False, "depthwise": True}

#: A node of a growing tree:
#:
#: - column: column of bins that splits it, see ``binning.COLUMN``; -1 in a leaf.
#: - bin, missing_left: last bin that goes left, and whether missing values do.
#: - first: left child; the right child is the node after it.
#: - begin, end: its rows of this worker, as a range of the sorted rows.
#: - middle: where the rows begin that its split sends right; -1 as long as they are not sorted.
#: - slot: number of its histogram. The larger leaf of a split gets that of the leaf that was split.
#: - depth: number of splits above it.
#: - gain: of the split.
#: - gradient, hessian, n_documents: sums over its rows of all workers.
#: - lower, upper: bounds of its value, from monotone constraints.
_RANGE = ("begin", "end", "middle")
_INTEGERS = ("column", "bin", "missing_left", "first", *_RANGE, "depth", "slot")
_NUMBERS = ("gain", "gradient", "hessian", "n_documents", "lower", "upper")
NODE = np.dtype([(n, np.int64) for n in _INTEGERS] + [(n, np.float64) for n in _NUMBERS])


#: The step that threads are in:
#:
#: - kind: see ``grower``.
#: - n_nodes: number of nodes so far.
#: - n_most: number of nodes after the last split, whose leaves need no histograms.
#: - n_threads: number of threads.
#: - adds_up: whether histograms are added up over workers before they are searched.
#: - speculates: whether leaves are split before it is known that the tree needs it.
#: - n_parts, n_tasks: number of parts of the rows, 0 or at least 2; number of tasks of the blocks.
#: - n_filled: number of pairs of new leaves with histograms that wait for the search by workers.
#: - searched: number of the pair that is searched.
#: - n_planned, n_begun: number of leaves that are planned to be split, and of those that are split.
#: - ahead: leaf whose rows are sorted during the step, as it will be split soon, or right after it
#:   if all threads sort them; -1 for none.
#: - pair: the two new leaves, the smaller one first; the second one is -1 if the first is the root.
_STEP = ("kind", "n_nodes", "n_most", "n_threads", "adds_up", "speculates", "n_parts", "n_tasks")
_PAIRS = ("n_filled", "searched", "n_planned", "n_begun", "ahead")
STEP = np.dtype([(name, np.int64) for name in (*_STEP, *_PAIRS)] + [("pair", np.int64, (2,))])


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
    working: np.ndarray  # memory for rows that are being sorted
    step: np.ndarray  # the step that threads are in
    counters: np.ndarray  # of its tasks, see ``tasks``


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
    n_leaves = min(rules.num_leaves, n_rows) if n_blocks else 1  # nothing varies
    if 0 < rules.max_depth < 31:
        n_leaves = min(n_leaves, 2**rules.max_depth)
    n_leaves += n_spare if n_blocks else 0
    return aligned((n_leaves, n_blocks, WIDTH * STRIDE * n_integers), np.int64)
