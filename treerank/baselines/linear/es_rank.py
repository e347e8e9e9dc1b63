"""ES-Rank: a (1+1) evolution strategy on the weights of a linear ranker.

A child differs from its parent in some genes, each moved by a Gaussian times the exponential of a
Cauchy number, so that steps of all sizes occur. It replaces the parent if the metric is better,
and then the same move is tried once more. A child is scored from its parent's scores and the
genes that moved, and measured by :mod:`treerank.metrics.query_measure`.
"""

from typing import ClassVar

import numpy as np

from treerank.baselines.fitting import (
    WHOLE_QUERIES,
    refuse_weights,
    warn_of_nothing_to_learn,
    watch,
)
from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.standard_features import linear_scores, moved_scores
from treerank.checks import check_count
from treerank.metrics.query_measure import measurable, measure_of
from treerank.metrics.registry import get_metric

#: Logarithm of the largest factor of a step; a Cauchy number has no bound.
_LARGEST = 10.0


class ESRank(LinearRanker):
    """A linear ranker whose weights evolve from random ones.

    Weights of queries have a meaning, weights of documents and pairs are refused.

    Parameters
    ----------
    n_generations : int, default=1300
        Number of children, one per generation.
    metric : str or Metric, default="ndcg@10"
        What is optimized, what ``score`` measures and early stopping watches.
    early_stopping_rounds : int or None, default=None
        Stop after so many generations without a better value on ``eval_set``, and go back to the
        best.
    calibration : "eval_set", float or None, default="eval_set"
        See :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`.
    random_state : int, RandomState instance or None, default=None
        Seeds the first weights, all moves and the queries held out for calibration.

    Attributes
    ----------
    coef_, mean_ : ndarray of shape (n_features,)
        See :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per better child}}``, given an
        ``eval_set``.

    References
    ----------
    Ibrahim and Landa-Silva (2017), ES-Rank: evolution strategy learning to rank approach.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ESRank(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    _learned: ClassVar[tuple[str, ...]] = ("coef_", "mean_", "evals_result_")

    def __init__(
        self,
        *,
        n_generations=1300,
        metric="ndcg@10",
        early_stopping_rounds=None,
        calibration="eval_set",
        random_state=None,
    ):
        self.n_generations = n_generations
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.calibration = calibration
        self.random_state = random_state

    def _weigh(self, data, scale, held_out, seed):
        refuse_weights(self, data, WHOLE_QUERIES)
        progress = watch(self, held_out, self.n_generations)
        metric, rng = get_metric(self.metric), _rng(seed)
        rankable = measurable(data, metric)
        if rankable is None:
            warn_of_nothing_to_learn(f"In no query does {metric.name} depend on the order")
            self.evals_result_ = progress.history()
            return np.zeros(len(scale.mean))
        start = _of_unit_size(self._start(data, scale, rng))
        columns = scale.by_column(rankable.X, rankable.rows)
        held_out = None if held_out is None else scale.by_row(held_out.X)
        measure = measure_of(rankable, metric)
        weight = self._evolve(start, columns, measure, rng, progress, held_out)
        self.evals_result_ = progress.history()
        return weight

    def _start(self, data, scale, rng):
        """Return the weights of the first parent."""
        return rng.standard_normal(len(scale.mean))

    def _evolve(self, weight, columns, measure, rng, progress, held_out):
        """Return the weights of the last parent, or of the best on held-out queries."""
        scores = linear_scores(columns.T, weight, np.zeros(len(weight)))
        fitness = measure.mean(measure.values(scores))
        best, move = weight, None
        for generation in range(1, self.n_generations + 1):
            move = _draw_move(len(weight), rng) if move is None else move
            child_scores = moved_scores(scores, columns, *move)
            child_fitness = measure.mean(measure.values(child_scores))
            if child_fitness <= fitness:
                move = None
            else:
                weight, scores, fitness = _moved(weight, *move), child_scores, child_fitness
                if held_out is not None:
                    progress.measure(linear_scores(held_out, weight, np.zeros(len(weight))))
            if progress.record(generation):
                break
            best = weight if progress.best_iteration in (0, generation) else best
        return weight if progress.kept() is None else best

    def _check_settings(self):
        super()._check_settings()
        check_count("n_generations", self.n_generations)


def _rng(seed):
    return np.random.RandomState(seed)


def _of_unit_size(weight):
    """Scale weights, so that a move means the same whatever they come from."""
    size = np.sqrt(np.mean(weight**2))
    return weight / size if size > 0 else weight


def _draw_move(n_genes, rng):
    """Draw which genes move, and by how much."""
    genes = rng.permutation(n_genes)[: rng.randint(1, n_genes + 1)]
    factor = np.exp(np.clip(rng.standard_cauchy(len(genes)), -_LARGEST, _LARGEST))
    return np.sort(genes), rng.standard_normal(len(genes)) * factor


def _moved(weight, genes, steps):
    weight = weight.copy()
    weight[genes] += steps
    return weight
