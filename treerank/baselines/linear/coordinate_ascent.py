"""Coordinate ascent: linear weights that increase a metric, one weight at a time.

Along one weight, steps of doubling length in both directions and the weight 0 are tried, and the
best is taken. A sweep visits all weights in random order. When a sweep gains too little, the
ascent starts again in another order, and the best of all ascents is kept. A trial changes scores
by one column only.
"""

import numpy as np

from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.products import linear_scores, moved_scores
from treerank.baselines.query_measure import query_measure
from treerank.feature_parts.estimator import estimator
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Count, NotNegative, Seed
from treerank.progress import number_of


@estimator(kw_only=True)
class CoordinateAscent(LinearRanker):
    """A linear ranker that increases a metric by changing one weight at a time [1]_.

    ``fit`` accepts weights of queries, but not of documents or pairs.

    ``random_state`` is explained at :class:`~treerank.rankers.ranker.Ranker`,
    ``coef_`` and ``mean_`` at :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

    Parameters
    ----------
    metric : str or Metric, default="ndcg@10"
        Metric to increase. On an ``eval_set``, it decides which ascent is kept.
    n_restarts : int, default=3
        Number of ascents. All start from equal weights, each has its own order.
    n_sweeps : int, default=25
        Largest number of visits to all weights in one ascent.
    n_steps : int, default=10
        Number of lengths tried per direction. The first is 1/128 of the mean weight, each next one
        twice as long.
    tolerance : float, default=0.001
        An ascent ends when a sweep gains less.

    References
    ----------
    .. [1] Metzler and Croft (2007). Linear feature-based models for information retrieval.
       Information Retrieval 10.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] - X[:, 1] > 0).astype(int)
    >>> CoordinateAscent(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    metric: AnyMetric = "ndcg@10"
    n_restarts: Count = 3
    n_sweeps: Count = 25
    n_steps: Count = 10
    tolerance: NotNegative = 0.001
    random_state: Seed = None

    def _weigh(self, data, scale, held_out, seed):
        rng, measure = np.random.RandomState(seed), query_measure(self, data)
        if measure is None:
            return np.zeros(len(scale.mean))
        columns = scale.by_column(measure.data.X, measure.data.rows)
        Z = None if held_out is None else scale.by_row(held_out.X)
        best, best_value = None, -np.inf
        for _ in range(self.n_restarts):
            weight, value = self._ascend(columns, measure, rng)
            if Z is not None:
                value = number_of(held_out.metric, linear_scores(Z, weight, 0 * weight))
            if best is None or value > best_value:
                best, best_value = weight, value
        return best

    def _ascend(self, columns, measure, rng):
        """Return ``(weights, metric)`` at the end of one ascent on the training queries.

        ``columns`` are standard features of shape (n_features, n_documents); ``rng`` draws the
        order of the weights.
        """
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
        """Return ``(step, metric)`` of the best change of weight ``j``.

        The step is 0 if none is better. ``scores`` and ``value`` are the scores and the metric of
        the current weights.
        """
        unit = np.abs(weight).sum() / np.count_nonzero(weight) if weight.any() else 1.0
        lengths = unit * 2.0 ** (np.arange(self.n_steps) - 7)
        best = 0.0
        for step in (*lengths, *-lengths, -weight[j]):
            trial = measure.mean(measure.values(moved_scores(scores, columns, *_single(j, step))))
            if trial > value:
                best, value = step, trial
        return best, value


def _single(feature, step):
    return np.array([feature]), np.array([step])
