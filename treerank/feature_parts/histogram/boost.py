"""Boost: tree after tree, each a Newton step down the objective."""

from dataclasses import dataclass

import numba as nb
import numpy as np

from treerank.feature_parts.histogram.binned import Binned, bin_rows
from treerank.feature_parts.histogram.forest import make_forest
from treerank.feature_parts.histogram.growing import Shape, grow, make_room
from treerank.feature_parts.histogram.leaves import add_leaves, add_tree
from treerank.feature_parts.histogram.packed_derivatives import layout_of, pack
from treerank.feature_parts.histogram.predicting import add_scores
from treerank.feature_parts.histogram.sampling import (
    ROUNDING,
    draw_features,
    draw_rows,
    key_seed,
    project,
)
from treerank.feature_parts.histogram.splits import Rules

_BATCH = 16_384


@dataclass(frozen=True)
class Settings:
    """How trees are grown; named as in :class:`HistogramTrees`."""

    learning_rate: float
    shape: Shape
    rules: Rules
    precision: str
    subsample: float
    subsample_queries: float
    colsample_bytree: float
    seed: int


@dataclass(frozen=True, eq=False)
class Held:
    """Rows with the scores that the trees so far give them."""

    binned: Binned
    scores: np.ndarray

    @classmethod
    def of(cls, rows, bins, signs, earlier, n_outputs):
        """Bin the rows and let them walk down the earlier trees."""
        scores = np.zeros((len(rows), n_outputs))
        if earlier is not None:
            for start in range(0, len(rows), _BATCH):
                batch = rows.batch(start, start + _BATCH)
                own = scores[start : start + len(batch)]
                add_scores(earlier, batch, own, n_threads=nb.get_num_threads())
        return cls(bin_rows(rows, bins, signs), scores)

    def add(self, tree, values, rows):
        """Add a tree to the scores of some rows."""
        add_tree(self.binned.words, tree.nodes, tree.goes_left, values, rows, self.scores)


def boost(rows, bins, signs, derivatives, n_new, earlier, validation, progress, settings):
    """Grow ``n_new`` trees on top of ``earlier``; return the forest of all that are kept.

    Parameters
    ----------
    rows : Rows
        Documents.
    bins : Bins
        Their bins.
    signs : ndarray of int64, shape (n_features,)
        Monotone constraints.
    derivatives : FixedPointDerivatives
        Asked for gradient and hessian of the scores.
    n_new : int
        Trees to grow.
    earlier : Forest or None
        Trees to start from.
    validation : Rows or None
        Documents that ``progress`` watches.
    progress : Progress
        Told of every tree, and asked when to stop.
    settings : Settings
        How trees are grown.
    """
    n_outputs = derivatives.n_outputs
    held = Held.of(rows, bins, signs, earlier, n_outputs)
    watched = None if validation is None else Held.of(validation, bins, signs, earlier, n_outputs)
    trees, values, room = [], [], None
    n_earlier = 0 if earlier is None else earlier.n_trees
    for n_trees in range(n_earlier + 1, n_earlier + n_new + 1):
        if room is None:
            n_words = 2 if settings.precision == "float32" else 1
            n_blocks = held.binned.words.shape[1]
            n_tasks = max(1, min(nb.get_num_threads(), n_blocks))
            room = make_room(len(rows), n_blocks, n_words, settings.shape, n_tasks)
        tree, of_leaves = _grow_one(held, derivatives, room, settings)
        trees.append(tree)
        values.append(of_leaves)
        if watched is not None:
            watched.add(tree, of_leaves, np.arange(len(validation)))
            progress.measure(watched.scores[:, 0] if n_outputs == 1 else watched.scores)
        if progress.record(n_trees):
            break
    forest = make_forest(trees, values, held.binned, bins)
    forest = forest if earlier is None else earlier.followed_by(forest)
    return forest if progress.kept() is None else forest.first_trees(progress.kept())


def _grow_one(held, derivatives, room, settings):
    """Grow a tree and add it to the scores; return it and the values of its leaves."""
    iteration, seed, binned = derivatives.iteration, settings.seed, held.binned
    gradient, hessian = (d.reshape(held.scores.shape) for d in derivatives(held.scores))
    g, h = project(gradient, hessian, seed, iteration)
    layout = layout_of(g, h, settings.precision)
    words = pack(g, h, layout, key_seed(seed, ROUNDING), iteration)
    shares = settings.subsample, derivatives.objective, settings.subsample_queries
    rows = draw_rows(len(g), *shares, seed, iteration)
    draw_features(binned.places, settings.colsample_bytree, seed, iteration)
    tree = grow(binned, words, layout, settings.rules, settings.shape, rows, room)
    values = np.zeros((len(tree.nodes), gradient.shape[1]))
    if len(tree.nodes) == 1:  # a constant changes no ranking, and would be that of rounding
        return tree, values
    leaves = np.flatnonzero(tree.nodes["place"] < 0)
    tail = settings.rules, settings.learning_rate, values, held.scores
    add_leaves(gradient, hessian, rows, tree.nodes, leaves, *tail)
    if len(rows) < len(g):
        held.add(tree, values, np.setdiff1d(np.arange(len(g)), rows, assume_unique=True))
    return tree, values
