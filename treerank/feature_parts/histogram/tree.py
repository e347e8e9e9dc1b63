"""Tree: what a tree is grown on, the tree while it grows, and the memory it grows in."""

from itertools import pairwise
from typing import NamedTuple

import numba as nb
import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH, Binned
from treerank.feature_parts.histogram.histogram import BATCH, STRIDE
from treerank.feature_parts.histogram.packing import Layout
from treerank.feature_parts.histogram.splitter import SPLIT, TreeRules
from treerank.team import current_team

GROW_POLICIES = {"leafwise": False, "depthwise": True}


class Node(NamedTuple):
    """A node of a growing tree.

    Attributes
    ----------
    place : int
        Byte of the words that holds the feature that splits it, see ``binning.PLACE``; -1 in a
        leaf.
    bin, missing_left : int
        The last bin that goes left, and whether missing values go left.
    first : int
        The left child; the right child is the node after it.
    begin, end : int
        Its rows of this worker, as a range of the sorted rows.
    depth : int
        Number of splits above it.
    slot : int
        Number of its histogram.
    gain : float
        Gain of the split.
    gradient, hessian, n_documents : float
        Sums over its rows of all workers.
    lower, upper : float
        Bounds of its value, from monotone constraints.
    """

    place: int
    bin: int
    missing_left: int
    first: int
    begin: int
    end: int
    depth: int
    slot: int
    gain: float
    gradient: float
    hessian: float
    n_documents: float
    lower: float
    upper: float


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


class Tree(NamedTuple):
    """A tree whose splits are by bins.

    Attributes
    ----------
    nodes : ndarray of NODE
        The nodes, the root first.
    goes_left : ndarray of uint8, shape (n_nodes, 256)
        Whether each bin of the feature of a node goes left.
    rows : ndarray of uint32
        The rows it is grown on, sorted by leaf.
    """

    nodes: np.ndarray
    goes_left: np.ndarray
    rows: np.ndarray


class Memory(NamedTuple):
    """Memory that all trees of a fit use.

    Attributes
    ----------
    first_block : int
        First of the blocks that this worker searches.
    histograms : ndarray of int64, shape (n_leaves, n_own_blocks, words)
        One histogram per leaf, of the blocks that this worker searches.
    filled : ndarray of int64, shape (n_blocks, words)
        Histogram of this worker's rows of a leaf; empty if it works alone.
    parts : ndarray of int64, shape (n_parts, n_blocks, words)
        Histograms of the parts of a large leaf that threads fill.
    near : ndarray of int64, shape (n_parts, n_blocks * (n_words + 1), BATCH)
        Copies of the bins and words of a batch of documents of each part.
    spare : ndarray of uint32
        Copy of the rows of a leaf while they are partitioned.
    splits : ndarray of SPLIT, shape (n_own_blocks, 2)
        Best splits of two leaves, in the row of the first block that a thread has searched.
    """

    first_block: int
    histograms: np.ndarray
    filled: np.ndarray
    parts: np.ndarray
    near: np.ndarray
    spare: np.ndarray
    splits: np.ndarray


def make_memory(n_rows: int, n_blocks: int, n_words: int, rules: TreeRules) -> Memory:
    """Return memory for trees on ``n_rows`` rows of ``n_blocks`` blocks of features."""
    team = current_team()
    n_leaves = min(rules.num_leaves, sum(team.gather(n_rows))) if n_blocks else 1  # nothing varies
    if 0 < rules.max_depth < 31:
        n_leaves = min(n_leaves, 2**rules.max_depth)
    own, size = shares_of(n_blocks, team.size)[team.rank], WIDTH * STRIDE * n_words
    n_own = own.stop - own.start
    most_parts = max(1, n_leaves * n_own // max(1, n_blocks))  # no more memory than of all leaves
    n_parts = min(nb.get_num_threads(), most_parts)
    return Memory(
        own.start,
        np.empty((n_leaves, n_own, size), dtype=np.int64),
        np.empty((n_blocks if team.size > 1 else 0, size), dtype=np.int64),
        np.empty((n_parts, n_blocks, size), dtype=np.int64),
        np.empty((n_parts, n_blocks * (n_words + 1), BATCH), dtype=np.int64),
        np.empty(n_rows, dtype=np.uint32),
        np.zeros((max(1, n_own), 2), dtype=SPLIT),
    )


def shares_of(n_blocks: int, n_workers: int) -> list[slice]:
    """Return the blocks that each worker searches."""
    ends = [n_blocks * number // n_workers for number in range(n_workers + 1)]
    return [slice(*each) for each in pairwise(ends)]
