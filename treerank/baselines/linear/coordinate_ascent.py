"""Coordinate ascent: linear weights that climb a metric, one weight at a time.

Along one weight, steps of doubling length both ways and the weight 0 are tried, and the best is
taken. A sweep visits all weights in random order; when one gains too little, the ascent starts
anew in another order, and the best of all starts is kept. Scores are changed by one column per
trial, and most documents of a query are passed over by one comparison
(:mod:`treerank.metrics.query_measure`).
"""

import numpy as np

from treerank.baselines.fitting import WHOLE_QUERIES, refuse_weights, warn_of_nothing_to_learn
from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.standard_features import linear_scores, moved_scores
from treerank.checks import check_count
from treerank.metrics.query_measure import measurable, measure_of
from treerank.metrics.registry import get_metric


class CoordinateAscent(LinearRanker):
    """A linear ranker whose weights climb a metric one at a time.

    Weights of queries have a meaning, weights of documents and pairs are refused.

    Parameters
    ----------
    metric : str or Metric, default="ndcg@10"
        What is climbed; ``eval_set`` decides among the starts by it, if there is one.
    n_restarts : int, default=3
        Number of ascents, all from equal weights, each in an order of its own.
    n_sweeps : int, default=25
        Largest number of visits to all weights in one ascent.
    n_steps : int, default=10
        Lengths of step per direction, from 1/128 of the mean weight on, each twice the one before.
    tolerance : float, default=0.001
        An ascent ends when a sweep gains less.
    calibration : "eval_set", float or None, default="eval_set"
        See :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`.
    random_state : int, RandomState instance or None, default=None
        Seeds the orders and the queries held out for calibration.

    Attributes
    ----------
    coef_, mean_ : ndarray of shape (n_features,)
        See :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

    References
    ----------
    Metzler and Croft (2007), Linear feature-based models for information retrieval.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] - X[:, 1] > 0).astype(int)
    >>> CoordinateAscent(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    def __init__(
        self,
        *,
        metric="ndcg@10",
        n_restarts=3,
        n_sweeps=25,
        n_steps=10,
        tolerance=0.001,
        calibration="eval_set",
        random_state=None,
    ):
        self.metric = metric
        self.n_restarts = n_restarts
        self.n_sweeps = n_sweeps
        self.n_steps = n_steps
        self.tolerance = tolerance
        self.calibration = calibration
        self.random_state = random_state

    def _weigh(self, data, scale, held_out, seed):
        refuse_weights(self, data, WHOLE_QUERIES)
        metric, rng = get_metric(self.metric), np.random.RandomState(seed)
        data = measurable(data, metric)
        if data is None:
            warn_of_nothing_to_learn(f"In no query does {metric.name} depend on the order")
            return np.zeros(len(scale.mean))
        columns = scale.by_column(data.X, data.rows)
        measure = measure_of(data, metric)
        Z = None if held_out is None else scale.by_row(held_out.X)
        best, best_value = None, -np.inf
        for _ in range(self.n_restarts):
            weight, value = self._ascend(columns, measure, rng)
            if held_out is not None:
                value = held_out.metric(linear_scores(Z, weight, 0 * weight))
            if best is None or value > best_value:
                best, best_value = weight, value
        return best

    def _ascend(self, columns, measure, rng):
        """Return weights and what they reach on the training queries."""
        varied = np.flatnonzero(np.ptp(columns, axis=1) > 0)
        weight = np.zeros(len(columns))
        weight[varied] = 1.0
        scores = linear_scores(columns.T, weight, np.zeros(len(weight)))
        value = measure.mean(measure.values(scores))
        for _ in range(self.n_sweeps):
            before = value
            for j in rng.permutation(varied):
                step, value = self._best_step(j, weight, scores, value, columns, measure)
                if step:
                    weight[j] += step
                    scores = moved_scores(scores, columns, *_single(j, step))
            if value - before < self.tolerance:
                break
        return weight, value

    def _best_step(self, j, weight, scores, value, columns, measure):
        """Return the step of one weight that gains most, 0 for none, and the value there."""
        unit = np.abs(weight).sum() / np.count_nonzero(weight) if weight.any() else 1.0
        lengths = unit * 2.0 ** (np.arange(self.n_steps) - 7)
        best = 0.0
        for step in (*lengths, *-lengths, -weight[j]):
            trial = measure.mean(measure.values(moved_scores(scores, columns, *_single(j, step))))
            if trial > value:
                best, value = step, trial
        return best, value

    def _check_settings(self):
        super()._check_settings()
        for name in ("n_restarts", "n_sweeps", "n_steps"):
            check_count(name, getattr(self, name))
        if not self.tolerance >= 0:
            raise ValueError(f"tolerance must not be negative; got {self.tolerance!r}.")


def _single(gene, step):
    return np.array([gene]), np.array([step])
