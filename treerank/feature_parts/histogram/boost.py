"""Boosting loop: trees are grown one after the other, each a Newton step on the objective."""

from typing import Any

import numba as nb
import numpy as np

from treerank.feature_parts.histogram import sampling, speculation
from treerank.feature_parts.histogram.binning import Bins, bin_rows, by_column
from treerank.feature_parts.histogram.forest import make_forest
from treerank.feature_parts.histogram.grower import grow
from treerank.feature_parts.histogram.histogram import shared_zeros
from treerank.feature_parts.histogram.leaves import (
    GrownTree,
    add_leaves,
    add_tree,
    leaf_sums,
    stored_sums,
)
from treerank.feature_parts.histogram.packing import (
    PRECISIONS,
    keeps_all_bits,
    layout_of,
    magnitudes,
    pack,
)
from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.feature_parts.histogram.tree import Data, make_histograms
from treerank.feature_parts.trees.boosting import GrowthTask, scores_before
from treerank.files.scratch import leave_memory
from treerank.forests.building import joined, some_trees
from treerank.forests.forest import Forest
from treerank.numerics.threads import in_parts


def boost(part: Any, task: GrowthTask, bins: Bins, rules: TreeRules, groups: np.ndarray) -> Forest:
    """Grow the trees of ``part``, a ``HistogramTrees``; return all trees that it keeps.

    These are the earlier trees of ``task``, and new ones up to the best iteration. ``groups``, of
    bool and shape (n_groups, n_features), says which features may be on one path.
    """
    earlier, progress, held_out = task.earlier, task.progress, task.validation_rows
    is_shard, n_threads = task.rows.is_shard, nb.get_num_threads()
    n_outputs = task.derivatives.n_outputs
    scores = scores_before(earlier, task.rows, n_outputs, n_threads)
    binned = bin_rows(task.rows, bins)
    n_spare = speculation.n_spare(rules, n_threads, has_workers=is_shard)
    n_integers = PRECISIONS[part.precision][1]
    n_total = task.rows.n_total
    histograms = make_histograms(binned, n_integers, rules, n_total, n_spare)
    binned_by_column = by_column(binned, in_file=task.rows.is_batched)
    groups = np.take(groups, bins.columns["feature"], axis=1)  # in C order, as kernels expect
    zeros = shared_zeros(binned, bins.zeros)
    data = Data(bins.columns, zeros, groups, binned, binned_by_column, histograms)
    if held_out is not None:
        held_out_binned = bin_rows(held_out, bins)
        held_out_scores = scores_before(earlier, held_out, n_outputs, n_threads)
        held_out_rows = np.arange(len(held_out))
    shares = part.subsample, part.subsample_queries
    sampler = sampling.RowSampler(task.rows, task.derivatives.objective, *shares)
    trees: list[GrownTree] = []
    n_earlier = 0 if earlier is None else earlier.n_trees

    def grown() -> Forest:
        forest = make_forest(trees, bins)
        return forest if earlier is None else joined([earlier, forest])

    for n_trees in range(n_earlier + 1, n_earlier + task.n_new + 1):
        trees.append(_grow_tree(part, task, data, rules, sampler, scores))
        if held_out is not None:
            arguments = held_out_binned, trees[-1], held_out_rows, held_out_scores
            in_parts(add_tree, len(held_out_rows), *arguments)
            is_one = held_out_scores.shape[1] == 1
            progress.measure(held_out_scores[:, 0] if is_one else held_out_scores)
        if progress.record(n_trees, lambda: grown().as_state()):
            break
    forest = grown()
    kept = progress.kept()
    return forest if kept is None else some_trees(forest, 0, kept)


def _grow_tree(part, task, data, rules, sampler, scores):
    """Grow the next tree on the derivatives at ``scores``; add it to these, and return it.

    ``part`` has the parameters, ``task`` the objective and the seed, ``data`` the bins of the
    features, ``rules`` the limits of trees; ``sampler`` draws the rows. The result is a
    ``GrownTree``.
    """
    sizes, all_rows, key = task.sizes, task.rows, (task.seed, task.derivatives.iteration)
    leave_memory(data.binned)  # the bins are large, and the objective needs memory, too
    gradient, hessian = (d.reshape(scores.shape) for d in task.derivatives(scores))
    g, h = sampling.project(gradient, hessian, key)
    is_one = scores.shape[1] == 1
    of_rows = task.derivatives.magnitudes if is_one else magnitudes(g, h)
    sums, largest = all_rows.total_and_largest(*of_rows)
    layout = layout_of(sums, largest, part.precision)
    packed = pack(g, h, layout, sampling.key_for(sampling.ROUNDING, key), all_rows.global_indices)
    del g, h  # memory is scarcest while a tree grows
    rows = sampler.rows(key)
    share = float(sizes.colsample_bytree)
    usable = sampling.sample_features(data.columns["feature"], share, key)
    data = data._replace(groups=data.groups & usable)
    total = all_rows.total if all_rows.is_shard else None
    nodes, goes_left = grow(data, packed, layout, rules, rows, total)
    if is_one and keeps_all_bits(layout, largest):
        of_leaves = stored_sums(nodes)
    else:
        of_leaves = all_rows.total(leaf_sums(nodes, rows, (gradient, hessian)))
    values = add_leaves(nodes, rows, of_leaves, rules, float(sizes.learning_rate), scores)
    tree = GrownTree(nodes, goes_left, values)
    if len(rows) < len(scores) and len(nodes) > 1:
        not_drawn = np.setdiff1d(np.arange(len(scores)), rows, assume_unique=True)
        in_parts(add_tree, len(not_drawn), data.binned, tree, not_drawn, scores)
    return tree
