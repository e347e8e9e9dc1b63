"""The boosting loop: trees are grown one after the other, each a Newton step on the objective."""

from dataclasses import dataclass, replace
from typing import Any, Self

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
from treerank.feature_parts.histogram.tree import Data, make_histograms
from treerank.feature_parts.rows import Rows
from treerank.files.scratch import leave_memory
from treerank.forests.forest import Forest
from treerank.forests.joining import joined, some_trees
from treerank.forests.scoring import forest_scores
from treerank.numerics.threads import in_parts

_BATCH = 16_384


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
        in_parts(add_tree, len(rows), self.binned.words, tree, rows, self.scores)


def boost(
    part: Any,
    task: GrowthTask,
    bins: Bins,
    signs: np.ndarray,
    groups: np.ndarray,
    rules: TreeRules,
) -> Forest:
    """Grow the trees of a ``HistogramTrees``; return those that are kept, after the earlier ones.

    ``signs`` are the monotone constraints of all features, ``groups`` the features that may be on
    one path, a row for each group.
    """
    earlier, validation_rows, progress = task.earlier, task.validation_rows, task.progress
    training = ScoredRows.of(task, task.rows, bins, signs)
    columns = training.binned.with_columns(in_file=task.rows.is_batched)
    training = replace(training, binned=columns)
    validation = None
    if validation_rows is not None:
        validation = ScoredRows.of(task, validation_rows, bins, signs)
    n_rows, n_blocks = columns.words.shape
    histograms = make_histograms(n_rows, n_blocks, PRECISIONS[part.precision][1], rules)
    shares = float(part.subsample), float(part.subsample_queries)
    sampler = sampling.RowSampler(task.rows, task.derivatives.objective, *shares)
    trees: list[GrownTree] = []
    n_earlier = 0 if earlier is None else earlier.n_trees

    def grown() -> Forest:
        forest = make_forest(trees, training.binned.places, bins)
        return forest if earlier is None else joined([earlier, forest])

    for n_trees in range(n_earlier + 1, n_earlier + task.n_new + 1):
        trees.append(_grow_tree(part, task, rules, training, histograms, sampler, groups))
        if validation is not None:
            scores = validation.scores
            validation.add(trees[-1], np.arange(len(scores)))
            progress.measure(scores[:, 0] if scores.shape[1] == 1 else scores)
        if progress.record(n_trees, lambda: grown().as_state()):
            break
    forest = grown()
    kept = progress.kept()
    return forest if kept is None else some_trees(forest, 0, kept)


def _grow_tree(part, task, rules, training, histograms, sampler, groups):
    """Grow a tree and add it to the scores; return it."""
    binned, scores, sizes = training.binned, training.scores, task.sizes
    key = task.seed, task.derivatives.iteration
    leave_memory(binned.words)  # they are large, and so is what an objective needs
    gradient, hessian = (d.reshape(scores.shape) for d in task.derivatives(scores))
    g, h = sampling.project(gradient, hessian, *key)
    layout = layout_of(g, h, part.precision)
    rounding = sampling.key_seed(task.seed, sampling.ROUNDING), key[1]
    words = pack(g, h, layout, rounding, task.rows.places)
    del g, h  # two numbers for each row, and memory is needed most while a tree grows
    rows = sampler.rows(*key)
    sampling.sample_features(binned.places, float(sizes.colsample_bytree), *key)
    of_places = groups[:, binned.places["feature"]]
    nodes, goes_left = grow(Data(binned, words, layout, rules, of_places), rows, histograms)
    rate = float(sizes.learning_rate)
    values = add_leaves(nodes, rows, (gradient, hessian), rules, rate, scores)
    tree = GrownTree(nodes, goes_left, values)
    if len(rows) < len(scores) and len(nodes) > 1:
        training.add(tree, np.setdiff1d(np.arange(len(scores)), rows, assume_unique=True))
    return tree
