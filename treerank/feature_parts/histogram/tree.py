"""Tree: what a tree is grown on, the tree while it grows, and the memory it grows in."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binning import WIDTH, Binned
from treerank.feature_parts.histogram.histogram import BATCH, N_BINS, STRIDE
from treerank.feature_parts.histogram.packing import Layout
from treerank.feature_parts.histogram.partition import n_chunks_of
from treerank.feature_parts.histogram.splitter import SPLIT, Rules
from treerank.team import current_team

GROW_POLICIES = {"leafwise": False, "depthwise": True}

#: A node of a growing tree:
#:
#: - place: byte of the words that holds the feature that splits it, see ``binning.PLACE``; -1 in a
#:   leaf.
#: - bin, missing_left: the last bin that goes left, and whether missing values go left.
#: - first: the left child; the right child is the node after it.
#: - gain: gain of the split.
#: - begin, end: its rows of this worker, as a range of the sorted rows.
#: - depth: number of splits above it.
#: - slot: number of its histogram.
#: - gradient, hessian, count: sums over its rows of all workers.
#: - lower, upper: bounds of its value, from monotone constraints.
_INTEGERS = ("place", "bin", "missing_left", "first", "begin", "end", "depth", "slot")
_NUMBERS = ("gain", "gradient", "hessian", "count", "lower", "upper")
_FIELDS = [(name, np.int64) for name in _INTEGERS] + [(name, np.float64) for name in _NUMBERS]
NODE = np.dtype((np.record, _FIELDS))
#: Where growth is: the number of nodes, the node that is split, and the smaller and the larger of
#: the newest leaves; the larger is -1 beside the root.
NOW = np.dtype((np.record, [(name, np.int64) for name in ("n_nodes", "node", "small", "large")]))


class Data(NamedTuple):
    """What a tree is grown on.

    Attributes
    ----------
    bins, places, columns : ndarray
        Bins of all rows, as in :class:`~treerank.feature_parts.histogram.binning.Binned`.
    words : ndarray of int64, shape (n_rows, n_words)
        Derivatives of all rows, see :mod:`~treerank.feature_parts.histogram.packing`.
    layout, rules : ndarray of one record
        Layout of the words, and rules for trees; see :func:`data_of`.
    """

    bins: np.ndarray
    places: np.ndarray
    columns: np.ndarray
    words: np.ndarray
    layout: np.ndarray
    rules: np.ndarray


def data_of(binned: Binned, words: np.ndarray, layout: Layout, rules: Rules) -> Data:
    """Return what a tree is grown on; numba's parallel loops take no tuple inside another."""
    return Data(*binned, words, _record_of(layout), _record_of(rules))


def _record_of(values: Layout | Rules) -> np.ndarray:
    """Return an array of one record with the fields of a named tuple."""
    fields = [(name, type(value)) for name, value in values._asdict().items()]
    return np.array([tuple(values)], dtype=np.dtype((np.record, fields)))


class Tree(NamedTuple):
    """A tree whose splits are by bins, in memory for the largest tree while it grows.

    Attributes
    ----------
    nodes : ndarray of NODE
        The nodes, the root first.
    goes_left : ndarray of uint8, shape (n_nodes, 256)
        Whether each bin of the feature of a node goes left.
    best : ndarray of SPLIT
        Best split of each leaf.
    now : ndarray of NOW, shape (1,)
        Where growth is.
    rows : ndarray of uint32
        The rows it is grown on, sorted by leaf.
    """

    nodes: np.ndarray
    goes_left: np.ndarray
    best: np.ndarray
    now: np.ndarray
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
    near : ndarray of int64, shape (n_tasks, n_words + n_blocks_of_a_task, BATCH)
        Copies of the data of a batch of documents.
    spare : ndarray of uint32
        Copy of the rows of a leaf while they are partitioned.
    before : ndarray of int64, shape (n_chunks + 1,)
        How many rows of a leaf that go left come before each chunk.
    sums, ordered : ndarray of shape (n_tasks, 4, 256) and of int64, shape (n_tasks, 3 * STRIDE)
        Memory of each task of a search, see :func:`search_feature`.
    splits : ndarray of SPLIT, shape (n_tasks, 2)
        Best split of each of two leaves that each task has found.
    """

    first_block: int
    histograms: np.ndarray
    filled: np.ndarray
    near: np.ndarray
    spare: np.ndarray
    before: np.ndarray
    sums: np.ndarray
    ordered: np.ndarray
    splits: np.ndarray


def make_memory(n_rows: int, n_blocks: int, n_words: int, rules: Rules, n_tasks: int = 1) -> Memory:
    """Return memory for trees on ``n_rows`` rows of ``n_blocks`` blocks of features."""
    team = current_team()
    n_leaves = min(rules.num_leaves, sum(team.gather(n_rows))) if n_blocks else 1  # nothing varies
    if 0 < rules.max_depth < 31:
        n_leaves = min(n_leaves, 2**rules.max_depth)
    own, size = shares_of(n_blocks, team.size)[team.rank], WIDTH * STRIDE * n_words
    n_near = n_words - (-n_blocks // n_tasks)
    return Memory(
        own.start,
        np.empty((n_leaves, own.stop - own.start, size), dtype=np.int64),
        np.empty((n_blocks if team.size > 1 else 0, size), dtype=np.int64),
        np.empty((n_tasks, n_near, BATCH), dtype=np.int64),
        np.empty(n_rows, dtype=np.uint32),
        np.zeros(n_chunks_of(n_rows) + 1, dtype=np.int64),
        np.empty((n_tasks, 4, N_BINS)),
        np.empty((n_tasks, 3 * STRIDE), dtype=np.int64),
        np.zeros((n_tasks, 2), dtype=SPLIT),
    )


def shares_of(n_blocks: int, n_workers: int) -> list[slice]:
    """Return the blocks that each worker searches."""
    ends = [n_blocks * number // n_workers for number in range(n_workers + 1)]
    return [slice(*each) for each in pairwise(ends)]
