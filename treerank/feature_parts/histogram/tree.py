"""Tree: what a tree is grown on, the tree while it grows, and the memory it grows in."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH, Binned
from treerank.feature_parts.histogram.histogram import STRIDE
from treerank.feature_parts.histogram.packing import Layout
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
    """What a tree is grown on.

    Attributes
    ----------
    binned : Binned
        Bins of all rows.
    words : ndarray of int64, shape (n_rows, n_words)
        Derivatives of all rows, see :mod:`~treerank.feature_parts.histogram.packing`.
    layout : Layout
        Layout of the words.
    rules : TreeRules
        Rules for trees.
    groups : ndarray of bool, shape (n_groups, n_places)
        Which features may be on one path from the root to a leaf.
    """

    binned: Binned
    words: np.ndarray
    layout: Layout
    rules: TreeRules
    groups: np.ndarray


def make_histograms(n_rows: int, n_blocks: int, n_words: int, rules: TreeRules) -> np.ndarray:
    """Return memory for the histograms of all leaves of trees on ``n_rows`` rows of this worker.

    It is of int64 and shape (n_leaves, n_own, words), for the blocks that this worker searches.
    """
    n_leaves = min(rules.num_leaves, sum(current_team().gather(n_rows)))
    if 0 < rules.max_depth < 31:
        n_leaves = min(n_leaves, 2**rules.max_depth)
    own = own_blocks(n_blocks)
    n_leaves = n_leaves if n_blocks else 1  # nothing varies
    return np.empty((n_leaves, own.stop - own.start, WIDTH * STRIDE * n_words), dtype=np.int64)


def own_blocks(n_blocks: int) -> slice:
    """Return the blocks that this worker searches."""
    team = current_team()
    return shares_of(n_blocks, team.size)[team.rank]


def shares_of(n_blocks: int, n_workers: int) -> list[slice]:
    """Return the blocks that each worker searches."""
    ends = [n_blocks * number // n_workers for number in range(n_workers + 1)]
    return [slice(*each) for each in pairwise(ends)]
