"""The boosting loop: trees are grown one after the other, each a Newton step on the objective."""

from dataclasses import dataclass, replace
from typing import Self

import numba as nb
import numpy as np

from treerank.feature_parts.engines.growth_task import GrowthTask
from treerank.feature_parts.histogram import sampling
from treerank.feature_parts.histogram.binned import Binned, bin_rows
from treerank.feature_parts.histogram.bins import Bins
from treerank.feature_parts.histogram.buffers import TreeLimits, make_buffers
from treerank.feature_parts.histogram.forest import make_forest
from treerank.feature_parts.histogram.growing import GrownTree, grow
from treerank.feature_parts.histogram.leaves import add_leaves, add_tree, sum_leaves
from treerank.feature_parts.histogram.packed_derivatives import PRECISIONS, layout_of, pack
from treerank.feature_parts.histogram.splits import Rules
from treerank.feature_parts.rows import Rows
from treerank.files.scratch import leave_memory
from treerank.forests.forest import Forest
from treerank.forests.joining import joined, some_trees
from treerank.forests.scoring import forest_scores
from treerank.team import current_team

_BATCH = 16_384


@dataclass(frozen=True)
class Settings:
    """How trees are grown; the names are those of :class:`HistogramTrees`."""

    learning_rate: float
    limits: TreeLimits
    rules: Rules
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

    def add(self, tree: GrownTree, values: np.ndarray, rows: np.ndarray) -> None:
        """Add the values of a tree to the scores of some rows."""
        add_tree(self.binned.words, tree, values, rows, self.scores)


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
    n_words, n_blocks = PRECISIONS[settings.precision].n_words, training.binned.words.shape[1]
    n_tasks = max(1, min(nb.get_num_threads(), n_blocks))
    buffers = make_buffers(
        len(task.rows),
        n_blocks,
        n_words,
        settings.limits,
        n_tasks,
        has_categories=bool(bins.is_category.any()),
    )
    shares = settings.subsample, settings.subsample_queries
    sampler = sampling.RowSampler.of(task.rows, task.derivatives.objective, *shares)
    trees: list[GrownTree] = []
    values: list[np.ndarray] = []
    n_earlier = 0 if earlier is None else earlier.n_trees

    def grown() -> Forest:
        forest = make_forest(trees, values, training.binned, bins)
        return forest if earlier is None else joined([earlier, forest])

    for n_trees in range(n_earlier + 1, n_earlier + task.n_new + 1):
        tree, leaf_values = _grow_tree(task, training, buffers, settings, sampler)
        trees.append(tree)
        values.append(leaf_values)
        if validation is not None:
            scores = validation.scores
            validation.add(tree, leaf_values, np.arange(len(scores)))
            progress.measure(scores[:, 0] if scores.shape[1] == 1 else scores)
        if progress.record(n_trees, lambda: grown().as_state()):
            break
    forest = grown()
    kept = progress.kept()
    return forest if kept is None else some_trees(forest, 0, kept)


def _grow_tree(task, training, buffers, settings, sampler):
    """Grow a tree and add it to the scores; return it and the values of its nodes."""
    derivatives, binned = task.derivatives, training.binned
    key = task.seed, derivatives.iteration
    leave_memory(binned.words)  # they are large, and so is what an objective needs
    gradient, hessian = (d.reshape(training.scores.shape) for d in derivatives(training.scores))
    g, h = sampling.project(gradient, hessian, *key)
    layout = layout_of(g, h, settings.precision)
    rounding = sampling.key_seed(task.seed, sampling.ROUNDING), key[1]
    words = pack(g, h, layout, *rounding, task.rows.places)
    del g, h  # two numbers for each row, and memory is needed most while a tree grows
    rows = sampler.rows(*key)
    sampling.sample_features(binned.places, settings.colsample_bytree, *key)
    tree = grow(binned, words, layout, settings.rules, settings.limits, rows, buffers)
    values = np.zeros((len(tree.nodes), gradient.shape[1]))
    if len(tree.nodes) == 1:  # a constant changes no ranking, and would consist of rounding errors
        return tree, values
    leaves = np.flatnonzero(tree.nodes["place"] < 0)
    sums = current_team().total(sum_leaves(gradient, hessian, rows, tree.nodes, leaves))
    steps = settings.rules, settings.learning_rate, values, training.scores
    add_leaves(sums, rows, tree.nodes, leaves, *steps)
    if len(rows) < len(gradient):
        others = np.setdiff1d(np.arange(len(gradient)), rows, assume_unique=True)
        training.add(tree, values, others)
    return tree, values
