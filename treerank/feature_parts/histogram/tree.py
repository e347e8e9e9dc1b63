"""Tree: what trees are grown on, their nodes, and the memory for their histograms."""

from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.feature_parts.histogram.histogram import STRIDE
from treerank.feature_parts.histogram.splitter import TreeRules

GROW_POLICIES = {"leafwise": False, "depthwise": True}

#: A node of a growing tree:
#:
#: - place: of the feature that splits it, see ``binning.PLACE``; -1 in a leaf.
#: - bin, missing_left: last bin that goes left, and whether missing values do.
#: - first: left child; the right child is the node after it.
#: - begin, end: its rows of this worker, as a range of the sorted rows.
#: - depth: number of splits above it.
#: - gain: of the split.
#: - gradient, hessian, n_documents: sums over its rows of all workers.
#: - lower, upper: bounds of its value, from monotone constraints.
_INTEGERS = ("place", "bin", "missing_left", "first", "begin", "end", "depth")
_NUMBERS = ("gain", "gradient", "hessian", "n_documents", "lower", "upper")
NODE = np.dtype([(n, np.int64) for n in _INTEGERS] + [(n, np.float64) for n in _NUMBERS])


#: The step that threads are in:
#:
#: - kind: see ``grower``.
#: - n_nodes: number of nodes so far.
#: - n_threads: how many there are.
#: - adds_up: whether histograms are added up over workers before they are searched.
#: - n_parts, n_pieces: parts of the rows, 0 or at least 2; pieces of the blocks.
#: - n_filled: number of pairs of new leaves that are filled and not searched yet, if it adds up.
#: - at: which of them is searched.
#: - pair: new leaves, the smaller one first; the second one is -1 if the first is the root.
_FIELDS = ("kind", "n_nodes", "n_threads", "adds_up", "n_parts", "n_pieces", "n_filled", "at")
STEP = np.dtype([(name, np.int64) for name in _FIELDS] + [("pair", np.int64, (2,))])


class Data(NamedTuple):
    """What all trees of a fit are grown on."""

    places: np.ndarray  # with monotone constraints
    zeros: np.ndarray  # bins of a row of zeros
    #: Which places a tree may use, of each group of features that may be on one path from the root
    #: to a leaf; of bool and shape (n_groups, n_places).
    groups: np.ndarray
    binned: np.ndarray  # bins of all rows, see ``binning.bin_rows``
    columns: np.ndarray  # the same by column, see ``binning.by_column``
    #: Histograms of the leaves of a tree, over the rows of all workers; of int64 and shape
    #: (n_leaves, n_blocks, words). See ``Growth.slots``.
    histograms: np.ndarray


class Growth(NamedTuple):
    """A tree that grows."""

    nodes: np.ndarray
    splits: np.ndarray  # the best one of each node
    paths: np.ndarray  # whether all features above a node are of a group; (n_nodes, n_groups)
    #: Which of the histograms of a block is that of a node, -1 if no feature of the block can split
    #: it, or a node below; of shape (n_nodes, n_blocks).
    slots: np.ndarray
    n_kept: np.ndarray  # number of histograms of each block
    found: np.ndarray  # best splits of the new leaves that each piece has found
    #: A histogram for each part of the rows; if workers add them up, one for each pair behind.
    filled: np.ndarray
    pairs: np.ndarray  # of new leaves that are filled and not searched yet; of shape (n_most, 2)
    near: np.ndarray  # histograms of some blocks for each piece, which stay in its cache
    step: np.ndarray  # the step that threads are in
    counters: np.ndarray  # of its pieces


def make_histograms(
    binned: np.ndarray, n_words: int, rules: TreeRules, n_rows: int | None = None
) -> np.ndarray:
    """Return memory for the histograms of the leaves of trees; ``n_rows`` are all workers' rows."""
    n_rows, n_blocks = binned.shape[0] if n_rows is None else n_rows, binned.shape[1]
    n_leaves = min(rules.num_leaves, n_rows) if n_blocks else 1  # nothing varies
    if 0 < rules.max_depth < 31:
        n_leaves = min(n_leaves, 2**rules.max_depth)
    return np.empty((n_leaves, n_blocks, WIDTH * STRIDE * n_words), dtype=np.int64)
