"""ES-Rank and its kin: a (1+1) evolution strategy on the weights of a linear ranker.

A child differs from its parent in some weights. Each of these moves by a Gaussian number times the
exponential of a Cauchy number, so that steps of all sizes occur. The child replaces the parent if
the metric is better, and then the same move is tried once more. A child's scores are computed from
its parent's scores and the move.
"""

from typing import ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.products import linear_scores, moved_scores, transposed_product
from treerank.baselines.linear.ranksvm import RankSVM
from treerank.baselines.query_measure import query_measure
from treerank.baselines.training_checks import start_progress
from treerank.feature_parts.estimator import estimator
from treerank.files.states import history
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Auto, Count, Seed

#: Logarithm of the largest factor of a step; a Cauchy number has no bound.
_LARGEST = 10.0
#: Share of the identity that keeps copies of a feature from making equations singular.
_RIDGE = 1e-6


@estimator(kw_only=True)
class ESRank(LinearRanker):
    """A linear ranker whose weights evolve from random ones [1]_.

    ``fit`` accepts weights of queries, but not of documents or pairs.

    ``random_state`` is explained at :class:`~treerank.rankers.ranker.Ranker`,
    ``coef_`` and ``mean_`` at :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

    Parameters
    ----------
    n_generations : int, default=1300
        Number of children, one per generation.
    metric : str or Metric, default="ndcg@10"
        Metric to optimize; ``score`` measures it and early stopping watches it.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Stop after this many generations without a better value on ``eval_set``, and go back to the
        best parent, which may be the first. "auto" takes the best of all, given an ``eval_set``.
        None keeps the last.

    Attributes
    ----------
    evals_result_ : dict
        ``{"validation": {name of the metric: values}}`` of the first parent and of each better
        child, given an ``eval_set``.

    References
    ----------
    .. [1] Ibrahim and Landa-Silva (2017). ES-Rank: evolution strategy learning to rank approach.
       SAC.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ESRank(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    _learned: ClassVar = LinearRanker._learned | {"evals_result_": history}

    n_generations: Count = 1300
    metric: AnyMetric = "ndcg@10"
    early_stopping_rounds: Auto | Count | None = "auto"
    random_state: Seed = None

    def _weigh(self, data, scale, held_out, seed):
        measure = query_measure(self, data)
        progress = start_progress(self.early_stopping_rounds, held_out, self.n_generations)
        rng, weight = np.random.RandomState(seed), np.zeros(len(scale.mean))
        if measure is not None:
            weight = _of_unit_size(self._start(data, scale, rng))
            columns = scale.by_column(measure.data.X, measure.data.rows)
            held_out = None if held_out is None else scale.by_row(held_out.X)
            weight = self._evolve(weight, columns, measure, rng, progress, held_out)
        self.evals_result_ = progress.history()
        return weight

    def _start(self, data, scale, rng):
        """Return the weights of the first parent."""
        return rng.standard_normal(len(scale.mean))

    def _evolve(self, weight, columns, measure, rng, progress, held_out):
        """Return the weights of the last parent, or of the best by ``held_out``, if given."""
        no_bias = np.zeros(len(weight))
        scores = linear_scores(columns.T, weight, no_bias)
        fitness = measure.mean(measure.values(scores))
        best, move = weight, None
        if held_out is not None:
            progress.note(progress.measure(linear_scores(held_out, weight, no_bias)), 0)
        for generation in range(1, self.n_generations + 1):
            move = _draw_move(len(weight), rng) if move is None else move
            child_scores = moved_scores(scores, columns, *move)
            child_fitness = measure.mean(measure.values(child_scores))
            if child_fitness <= fitness:
                move = None
            else:
                weight, scores, fitness = _moved(weight, *move), child_scores, child_fitness
                if held_out is not None:
                    progress.measure(linear_scores(held_out, weight, no_bias))
            if progress.record(generation):
                break
            best = weight if progress.best_iteration == generation else best
        return weight if progress.kept() is None else best


def _of_unit_size(weight):
    """Scale weights to a root mean square of 1, so that a move has the same effect on any start."""
    size = np.sqrt(np.mean(weight**2))
    return weight / size if size > 0 else weight


def _draw_move(n_weights, rng):
    """Return ``(indices, changes)``: random weights to change, in rising order, and by how much."""
    moved = rng.permutation(n_weights)[: rng.randint(1, n_weights + 1)]
    factor = np.exp(np.clip(rng.standard_cauchy(len(moved)), -_LARGEST, _LARGEST))
    return np.sort(moved), rng.standard_normal(len(moved)) * factor


def _moved(weight, moved, steps):
    weight = weight.copy()
    weight[moved] += steps
    return weight


class IESRRank(ESRank):
    """A linear ranker whose weights evolve from a linear regression on the labels [1]_.

    ``fit`` accepts weights of queries, but not of documents or pairs.

    The parameters and attributes are as in :class:`~treerank.baselines.linear.es_rank.ESRank`.

    References
    ----------
    .. [1] Ibrahim and Landa-Silva (2018). An evolutionary strategy with machine learning for
       learning to rank in information retrieval. Soft Computing 22.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> IESRRank(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    def _start(self, data, scale, rng):
        return least_squares(scale.by_row(data.X, data.rows), data.y - data.y.mean())


class IESVMRank(ESRank):
    """A linear ranker whose weights evolve from RankSVM with its default settings [1]_.

    ``fit`` accepts weights of queries, but not of documents or pairs.

    The parameters and attributes are as in :class:`~treerank.baselines.linear.es_rank.ESRank`.

    References
    ----------
    .. [1] Ibrahim and Landa-Silva (2018). An evolutionary strategy with machine learning for
       learning to rank in information retrieval. Soft Computing 22.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> IESVMRank(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    def _start(self, data, scale, rng):
        return RankSVM()._weigh(data, scale, None, 0)


def least_squares(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of linear regression on features of mean 0, by conjugate gradients."""
    n_weights = Z.shape[1]

    def times_squares(direction: np.ndarray) -> np.ndarray:
        along = linear_scores(Z, direction, np.zeros(n_weights))
        return transposed_product(Z, along) / len(Z) + _RIDGE * direction

    squares = LinearOperator((n_weights, n_weights), times_squares, dtype=np.float64)
    weight: np.ndarray = cg(squares, transposed_product(Z, y) / len(Z), rtol=1e-6)[0]
    return weight
