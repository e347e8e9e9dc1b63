"""Tree: what trees are grown on, their nodes, and the memory for their histograms."""

from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH, Bins
from treerank.feature_parts.histogram.histogram import STRIDE
from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.team import current_team

GROW_POLICIES = {"leafwise": False, "depthwise": True}


class Node(NamedTuple):
    """A node of a growing tree.

    Attributes
    ----------
    begin, end : int
        Its rows of this worker, as a range of the sorted rows.
    depth : int
        Number of splits above it.
    slot : int
        Number of its histogram.
    gradient, hessian, n_documents : float
        Sums over its rows of all workers.
    lower, upper : float
        Bounds of its value, from monotone constraints.
    place : int
        Byte of the words that holds the feature that splits it, see ``binning.PLACE``; -1 in a
        leaf.
    bin, missing_left : int
        The last bin that goes left, and whether missing values go left.
    first : int
        The left child; the right child is the node after it.
    gain : float
        Gain of the split.
    """

    begin: int
    end: int
    depth: int
    slot: int
    gradient: float
    hessian: float
    n_documents: float
    lower: float = -np.inf
    upper: float = np.inf
    place: int = -1
    bin: int = 0
    missing_left: int = 0
    first: int = 0
    gain: float = 0.0


NODE = np.dtype(list(Node.__annotations__.items()))


class Data(NamedTuple):
    """What all trees of a fit are grown on.

    Attributes
    ----------
    bins : Bins
        Bins of all features, with monotone constraints.
    rules : TreeRules
        Rules for trees.
    groups : ndarray of bool, shape (n_groups, n_places)
        Which features the tree may use, of each group of those that may be on one path from the
        root to a leaf.
    binned : ndarray of uint64, shape (n_rows, n_blocks)
        Bins of all rows.
    columns : ndarray of uint8, shape (n_places, n_rows)
        The same bins feature by feature.
    histograms : ndarray of int64, shape (n_leaves, n_own, words)
        Memory for the histograms of all leaves of a tree, of the blocks that this worker searches.
    """

    bins: Bins
    rules: TreeRules
    groups: np.ndarray
    binned: np.ndarray
    columns: np.ndarray
    histograms: np.ndarray


def make_histograms(binned: np.ndarray, n_words: int, rules: TreeRules) -> np.ndarray:
    """Return memory for the histograms of trees on this worker's rows."""
    team, (n_rows, n_blocks) = current_team(), binned.shape
    n_leaves = min(rules.num_leaves, sum(team.gather(n_rows))) if n_blocks else 1  # nothing varies
    if 0 < rules.max_depth < 31:
        n_leaves = min(n_leaves, 2**rules.max_depth)
    own = shares_of(n_blocks)[team.rank]
    return np.empty((n_leaves, own.stop - own.start, WIDTH * STRIDE * n_words), dtype=np.int64)


def shares_of(n_blocks: int) -> list[slice]:
    """Return the blocks that each worker searches."""
    size = current_team().size
    return [slice(n_blocks * i // size, n_blocks * (i + 1) // size) for i in range(size)]
