"""Buffers: the memory in which trees grow, the same for all trees of a fit."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treerank.feature_parts.histogram.binned import WIDTH
from treerank.feature_parts.histogram.histograms import BATCH, N_BINS, STRIDE
from treerank.feature_parts.histogram.partition import n_chunks_of
from treerank.feature_parts.histogram.splits import SPLIT
from treerank.team import current_team


class TreeLimits(NamedTuple):
    """Limits of the size of a tree, and whether it grows level by level."""

    num_leaves: int
    max_depth: int
    level_by_level: bool


class Buffers(NamedTuple):
    """Memory that all trees of a fit use.

    Attributes
    ----------
    histograms : ndarray of int64, shape (n_leaves, n_blocks, words)
        One histogram per leaf. It and all other memory for blocks is for those that this worker
        searches.
    filled : ndarray of int64, shape (n_blocks_of_all_workers, words)
        Histogram of this worker's rows of a leaf; empty if it works alone.
    bins, words : ndarray of shape (n_tasks, n_near, BATCH) and (n_tasks, BATCH * n_words)
        Copies of the data of a batch of documents.
    rows : ndarray of uint32
        Copy of the rows of a leaf while they are partitioned.
    before : ndarray of int64, shape (n_chunks + 1,)
        How many rows of a leaf that go left come before each chunk.
    sums : ndarray of shape (n_blocks, 4, 256)
        Running sums of a feature, and the gain of its cuts.
    splits : ndarray of SPLIT, shape (n_blocks, 2)
        Best split of each of two leaves in each block.
    sets : ndarray of uint8, shape (n_blocks, 2, 256)
        The bins that this split sends left, if it is by category.
    ordered : ndarray of int64, shape (n_blocks, STRIDE * (n_words + 1)), or None
        Sums of the categories of a feature in their order, and their numbers. Without categories
        it is None, and the search for sets of them is not even compiled.
    """

    histograms: np.ndarray
    filled: np.ndarray
    bins: np.ndarray
    words: np.ndarray
    rows: np.ndarray
    before: np.ndarray
    sums: np.ndarray
    splits: np.ndarray
    sets: np.ndarray
    ordered: np.ndarray | None


def make_buffers(
    n_rows: int,
    n_blocks: int,
    n_words: int,
    limits: TreeLimits,
    n_tasks: int = 1,
    *,
    has_categories: bool = True,
) -> Buffers:
    """Return memory for trees on ``n_rows`` rows of ``n_blocks`` blocks of features."""
    team = current_team()
    n_rows_of_team = sum(team.gather(n_rows))
    n_leaves = min(limits.num_leaves, n_rows_of_team) if n_blocks else 1  # no feature varies
    if 0 < limits.max_depth < 31:
        n_leaves = min(n_leaves, 2**limits.max_depth)
    own, size = shares_of(n_blocks, team.size)[team.rank], WIDTH * STRIDE * n_words
    n_own = own.stop - own.start
    return Buffers(
        np.empty((n_leaves, n_own, size), dtype=np.int64),
        np.empty((n_blocks if team.size > 1 else 0, size), dtype=np.int64),
        np.empty((n_tasks, -(-n_blocks // n_tasks), BATCH), dtype=np.uint64),
        np.empty((n_tasks, BATCH * n_words), dtype=np.int64),
        np.empty(n_rows, dtype=np.uint32),
        np.zeros(n_chunks_of(n_rows) + 1, dtype=np.int64),
        np.empty((n_own, 4, N_BINS)),
        np.empty((n_own, 2), dtype=SPLIT),
        np.zeros((n_own, 2, N_BINS), dtype=np.uint8),
        np.empty((n_own, STRIDE * (n_words + 1)), dtype=np.int64) if has_categories else None,
    )


def shares_of(n_blocks: int, n_workers: int) -> list[slice]:
    """Return the blocks that each worker searches."""
    ends = [n_blocks * number // n_workers for number in range(n_workers + 1)]
    return [slice(*each) for each in pairwise(ends)]
