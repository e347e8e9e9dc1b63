"""The boosting loop: trees are grown one after the other, each a Newton step on the objective."""

from dataclasses import dataclass, replace
from typing import Self

import numba as nb
import numpy as np

from treerank.feature_parts.engines.boosting import GrowthTask
from treerank.feature_parts.histogram import sampling
from treerank.feature_parts.histogram.binning import Binned, Bins, bin_rows
from treerank.feature_parts.histogram.forest import make_forest
from treerank.feature_parts.histogram.grower import grow
from treerank.feature_parts.histogram.leaves import GrownTree, add_leaves, add_tree
from treerank.feature_parts.histogram.packing import PRECISIONS, layout_of, pack
from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.feature_parts.histogram.tree import Data, Memory, make_memory
from treerank.feature_parts.rows import Rows
from treerank.files.scratch import leave_memory
from treerank.forests.forest import Forest
from treerank.forests.joining import joined, some_trees
from treerank.forests.scoring import forest_scores

_BATCH = 16_384


@dataclass(frozen=True)
class Settings:
    """How trees are grown; the names are those of :class:`HistogramTrees`."""

    learning_rate: float
    rules: TreeRules
    precision: str
    subsample: float
    subsample_queries: float
    colsample_bytree: float


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows in bins, with the scores of the trees so far."""

    binned: Binned
    scores: np.ndarray

    @classmethod
    def of(cls, task: GrowthTask, rows: Rows, bins: Bins, signs: np.ndarray) -> Self:
        """Bin the rows and compute the scores of the earlier trees."""
        scores = np.zeros((len(rows), task.derivatives.n_outputs))
        if task.earlier is not None:
            for at, batch in rows.batches(_BATCH):
                scores[at] = forest_scores(task.earlier, batch, n_threads=nb.get_num_threads())
        return cls(bin_rows(rows, bins, signs), scores)

    def add(self, tree: GrownTree, rows: np.ndarray) -> None:
        """Add the values of a tree to the scores of some rows."""
        add_tree(self.binned.words, tree, rows, self.scores)


def boost(task: GrowthTask, bins: Bins, signs: np.ndarray, settings: Settings) -> Forest:
    """Grow trees one after the other; return them after those of ``task.earlier``.

    Parameters
    ----------
    task : GrowthTask
        Documents, objective and number of trees.
    bins : Bins
        Bins of the features.
    signs : ndarray of int64, shape (n_features,)
        Monotone constraints.
    settings : Settings
        How trees are grown.

    Returns
    -------
    Forest
        All trees that are kept.
    """
    earlier, validation_rows, progress = task.earlier, task.validation_rows, task.progress
    training = ScoredRows.of(task, task.rows, bins, signs)
    columns = training.binned.with_columns(in_file=task.rows.is_batched)
    training = replace(training, binned=columns)
    validation = None
    if validation_rows is not None:
        validation = ScoredRows.of(task, validation_rows, bins, signs)
    memory = _memory_for(training, settings)
    shares = settings.subsample, settings.subsample_queries
    sampler = sampling.RowSampler.of(task.rows, task.derivatives.objective, *shares)
    trees: list[GrownTree] = []
    n_earlier = 0 if earlier is None else earlier.n_trees

    def grown() -> Forest:
        forest = make_forest(trees, training.binned.places, bins)
        return forest if earlier is None else joined([earlier, forest])

    for n_trees in range(n_earlier + 1, n_earlier + task.n_new + 1):
        trees.append(_grow_tree(task, training, memory, settings, sampler))
        if validation is not None:
            scores = validation.scores
            validation.add(trees[-1], np.arange(len(scores)))
            progress.measure(scores[:, 0] if scores.shape[1] == 1 else scores)
        if progress.record(n_trees, lambda: grown().as_state()):
            break
    forest = grown()
    kept = progress.kept()
    return forest if kept is None else some_trees(forest, 0, kept)


def _memory_for(training: ScoredRows, settings: Settings) -> Memory:
    n_rows, n_blocks = training.binned.words.shape
    return make_memory(n_rows, n_blocks, PRECISIONS[settings.precision].n_words, settings.rules)


def _grow_tree(task, training, memory, settings, sampler):
    """Grow a tree and add it to the scores; return it."""
    binned, scores = training.binned, training.scores
    key = task.seed, task.derivatives.iteration
    leave_memory(binned.words)  # they are large, and so is what an objective needs
    gradient, hessian = (d.reshape(scores.shape) for d in task.derivatives(scores))
    g, h = sampling.project(gradient, hessian, *key)
    layout = layout_of(g, h, settings.precision)
    rounding = sampling.key_seed(task.seed, sampling.ROUNDING), key[1]
    words = pack(g, h, layout, rounding, task.rows.places)
    del g, h  # two numbers for each row, and memory is needed most while a tree grows
    rows = sampler.rows(*key)
    sampling.sample_features(binned.places, settings.colsample_bytree, *key)
    tree = grow(Data(binned, words, layout, settings.rules), rows, memory)
    leaves = settings.rules, settings.learning_rate, scores
    grown = add_leaves(tree, (gradient, hessian), *leaves)
    if len(rows) < len(scores) and len(tree.nodes) > 1:
        training.add(grown, np.setdiff1d(np.arange(len(scores)), rows, assume_unique=True))
    return grown
