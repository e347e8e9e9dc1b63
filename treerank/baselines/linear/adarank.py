r"""AdaRank: boosting over queries that chooses each weak ranker by a metric.

Queries that the ranking so far serves badly weigh more when the next weak ranker is chosen:

.. math:: h_t = \arg\max_h \sum_q P_t(q) E_q(h), \qquad
    \alpha_t = \tfrac12 \ln \frac{1 + \sum_q P_t(q) E_q(h_t)}{1 - \sum_q P_t(q) E_q(h_t)}, \qquad
    P_{t+1}(q) \propto w_q e^{-E_q(f_t)}

with E the metric, f_t the sum of the first t weak rankers times alpha and w the weights of the
queries. How well each weak ranker does on each query never changes, so that table is computed
once, as in Algorithm 1 of Köppel et al., and a round is a matrix-vector product and one
evaluation of f_t.
"""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.products import moved_scores
from treerank.baselines.linear.query_boosting import boosting_rounds
from treerank.baselines.query_measure import query_measure
from treerank.baselines.training_checks import start_progress
from treerank.files.states import count, history
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Auto, Count, Positive, Size
from treerank.rankers.calibration import Calibration


@dataclass(eq=False, repr=False)
class AdaRank(LinearRanker):
    """A sum of weak rankers, each chosen for the queries that the earlier ones serve badly [1]_.

    ``fit`` takes weights of queries, and refuses weights of documents and pairs.

    ``calibration`` is explained at :class:`~treerank.rankers.ranker.Ranker`, ``coef_`` and
    ``mean_`` at :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

    Parameters
    ----------
    metric : str or Metric, default="ndcg@10"
        Metric to optimize, with values from 0 to 1; ``score`` measures it and early stopping
        watches it.
    n_estimators : int, default=500
        Largest number of rounds. A round adds one weak ranker: a standard
        feature, upwards or downwards.
    tolerance : float or None, default=0.002
        Stop, without the last weak ranker, when it lowers the metric on the training queries by
        so much [2]_; ``None`` never stops.
    max_consecutive : int or None, default=5
        A weak ranker that is chosen so many times in a row without effect is excluded until
        another one is chosen [2]_; ``None`` excludes none.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Stop after so many rounds without a better value on ``eval_set``, and keep the rounds up
        to the best. "auto" keeps the best of all, given an ``eval_set``. None keeps all.

    Attributes
    ----------
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per round}}``, given an ``eval_set``.
    best_iteration_ : int
        Number of rounds kept.

    References
    ----------
    .. [1] Xu and Li (2007). AdaRank: a boosting algorithm for information retrieval. SIGIR.
       The table of weak rankers by queries: Köppel, Segner, Wagener, Pensel, Karwath and Kramer
       (2019). Pairwise learning to rank by neural networks revisited. Appendix A.
    .. [2] RankLib, https://sourceforge.net/p/lemur/wiki/RankLib/.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ranker = AdaRank().fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.9, bool(abs(ranker.coef_[2]) < 0.1)
    (True, True)
    """

    _learned: ClassVar = LinearRanker._learned | {
        "evals_result_": history,
        "best_iteration_": count(),
    }

    _: KW_ONLY
    metric: AnyMetric = "ndcg@10"
    n_estimators: Count = 500
    tolerance: Positive | None = 0.002
    max_consecutive: Size | None = 5
    early_stopping_rounds: Auto | Count | None = "auto"
    calibration: Calibration = "eval_set"

    def _weigh(self, data, scale, held_out, seed):
        measure = query_measure(self, data)
        progress = start_progress(self.early_stopping_rounds, held_out, self.n_estimators)
        rounds = []
        if measure is not None:
            columns = scale.by_column(measure.data.X, measure.data.rows)
            limits = self.n_estimators, self.tolerance, self.max_consecutive
            held_out = None if held_out is None else scale.by_column(held_out.X)
            rounds = _watched(boosting_rounds(columns, measure, *limits), progress, held_out)
        self.evals_result_, self.best_iteration_ = progress.history(), len(rounds)
        coef = np.zeros(len(scale.mean))
        for feature, step in rounds:
            coef[feature] += step
        return coef


def _watched(rounds, progress, held_out):
    """Return the rounds to keep, given held-out standard features by column, or ``None``."""
    scores = np.zeros(0 if held_out is None else held_out.shape[1])
    done = []
    for move in rounds:
        done.append(move)
        if held_out is not None:
            scores = moved_scores(scores, held_out, *move)
            progress.measure(scores)
        if progress.record(len(done)):
            break
    return done[: progress.kept()]
