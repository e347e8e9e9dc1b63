r"""AdaRank: boosting by query, with a metric itself for the error of a weak ranker.

Queries that the ranking so far serves badly weigh more when the next weak ranker is chosen:

.. math:: h_t = \arg\max_h \sum_q P_t(q) E_q(h), \qquad
    \alpha_t = \tfrac12 \ln \frac{1 + \sum_q P_t(q) E_q(h_t)}{1 - \sum_q P_t(q) E_q(h_t)}, \qquad
    P_{t+1}(q) \propto w_q e^{-E_q(f_t)}

with E the metric, f_t the sum of the first t weak rankers times alpha and w the weights of the
queries. How well each weak ranker does on each query never changes, so that table is computed
once, as in Algorithm 1 of Köppel et al., and a round is a matrix-vector product and one
evaluation of f_t.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treerank.baselines.fitting import (
    WHOLE_QUERIES,
    refuse_weights,
    warn_of_nothing_to_learn,
    watch,
)
from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.standard_features import FeatureScale
from treerank.baselines.linear.weak_rankers import WEAK_RANKERS, WeakRankers, weighted_values
from treerank.checks import check_choice, check_count
from treerank.metrics.query_measure import QueryMeasure, measurable, measure_of
from treerank.metrics.registry import get_metric

#: A weak ranker without fault gets the weight of one with this little.
_LEAST_FAULT = 1e-6


class AdaRank(LinearRanker):
    """A sum of weak rankers, each chosen for the queries that those before it serve badly.

    Weights of queries have a meaning, weights of documents and pairs are refused.

    Parameters
    ----------
    metric : str or Metric, default="ndcg@10"
        What is optimized, what ``score`` measures and early stopping watches; values from 0 to 1.
    n_rounds : int, default=500
        Largest number of rounds.
    weak_ranker : {"feature", "stump"}, default="feature"
        A standard feature itself, or a step of one; either way up or down.
    n_thresholds : int, default=10
        Stumps per feature and direction, at its quantiles.
    tolerance : float or None, default=0.002
        Stop, without the last weak ranker, once it lowers the metric on the training queries by
        as much; ``None`` never does.
    max_consecutive : int or None, default=5
        A weak ranker chosen so many times in a row, in vain, waits until another was chosen.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value on the queries of ``eval_set`` and go back
        to the best; ``None`` keeps all.
    calibration : "eval_set", float or None, default="eval_set"
        See :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`.

    Attributes
    ----------
    coef_, mean_ : ndarray of shape (n_features,)
        See :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`; of ``coef_``, only what no
        stump stands for.
    stumps_ : dict
        Arrays of the features, the thresholds in standard units and the weights of the stumps.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per round}}``, given an ``eval_set``.
    n_rounds_ : int
        Rounds that are kept.

    References
    ----------
    Xu and Li (2007), AdaRank: a boosting algorithm for information retrieval; tolerance and
    consecutive choices as in RankLib. Köppel et al. (2019), Pairwise learning to rank by neural
    networks revisited, Appendix A.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ranker = AdaRank().fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.9, bool(abs(ranker.coef_[2]) < 0.1)
    (True, True)
    """

    _learned: ClassVar[tuple[str, ...]] = (
        "coef_",
        "mean_",
        "stumps_",
        "evals_result_",
        "n_rounds_",
    )

    def __init__(
        self,
        *,
        metric="ndcg@10",
        n_rounds=500,
        weak_ranker="feature",
        n_thresholds=10,
        tolerance=0.002,
        max_consecutive=5,
        early_stopping_rounds=None,
        calibration="eval_set",
    ):
        self.metric = metric
        self.n_rounds = n_rounds
        self.weak_ranker = weak_ranker
        self.n_thresholds = n_thresholds
        self.tolerance = tolerance
        self.max_consecutive = max_consecutive
        self.early_stopping_rounds = early_stopping_rounds
        self.calibration = calibration

    def _weigh(self, data, scale, held_out, seed):
        refuse_weights(self, data, WHOLE_QUERIES)
        progress, metric = watch(self, held_out, self.n_rounds), get_metric(self.metric)
        data = measurable(data, metric)
        rounds = []
        if data is None:
            warn_of_nothing_to_learn(f"In no query does {metric.name} depend on the order")
        else:
            columns = scale.by_column(data.X, data.rows)
            weak = WEAK_RANKERS[self.weak_ranker](columns, self.n_thresholds)
            held_out = None if held_out is None else scale.by_column(held_out.X)
            boosting = Boosting(self, weak, columns, measure_of(data, metric))
            rounds = boosting.rounds(progress, held_out)[: progress.kept()]
        self.evals_result_, self.n_rounds_ = progress.history(), len(rounds)
        return self._added_up(rounds, scale)

    def _added_up(self, rounds, scale):
        """Return the weights of features; equal stumps become one, with the sum of weights."""
        weights: dict[tuple[int, float], float] = {}
        coef = np.zeros(len(scale.mean))
        for (feature, threshold, sign), step in rounds:
            if np.isnan(threshold):
                coef[feature] += sign * step
            else:
                weights[feature, threshold] = weights.get((feature, threshold), 0.0) + sign * step
        self.stumps_ = {
            "inverse": scale.inverse,
            "feature": np.array([feature for feature, _ in weights], dtype=np.int64),
            "threshold": np.array([threshold for _, threshold in weights], dtype=np.float64),
            "weight": np.array(list(weights.values()), dtype=np.float64),
        }
        return coef

    def _scores(self, X):
        scores, stumps = super()._scores(X), self.stumps_
        if len(stumps["feature"]):
            columns = FeatureScale(self.mean_, stumps["inverse"]).by_column(X)
            for feature, threshold, weight in zip(
                stumps["feature"], stumps["threshold"], stumps["weight"], strict=True
            ):
                scores += weight * (columns[feature] > threshold)
        return scores

    def _check_settings(self):
        super()._check_settings()
        check_count("n_rounds", self.n_rounds)
        check_count("n_thresholds", self.n_thresholds)
        check_choice("weak_ranker", self.weak_ranker, WEAK_RANKERS)
        if self.max_consecutive is not None:
            check_count("max_consecutive", self.max_consecutive)
        if self.tolerance is not None and not self.tolerance > 0:
            raise ValueError(f"tolerance must be None or positive; got {self.tolerance!r}.")


@dataclass(frozen=True, eq=False)
class Boosting:
    """The rounds of AdaRank, on standard features by column."""

    settings: AdaRank
    weak: WeakRankers
    columns: np.ndarray
    measure: QueryMeasure

    def rounds(self, progress, held_out):
        """Return the weak ranker (feature, threshold, sign) and the weight of each round."""
        table = self.weak.measure(self.columns, self.measure)
        start = self.measure.weight / self.measure.weight.sum()
        weight, scores, trained = start, np.zeros(self.columns.shape[1]), -np.inf
        held_out_scores = None if held_out is None else np.zeros(held_out.shape[1])
        choice, chosen = Choice(self.settings.max_consecutive), set()
        rounds: list[tuple[tuple[int, float, float], float]] = []
        while len(rounds) < self.settings.n_rounds:
            number, value = choice.best(weighted_values(table, weight))
            if number is None:
                break
            step = _step(value)
            scores = self.weak.add_to(scores, number, step, self.columns)
            chosen.add(number)
            # One alone ranks as it always did, however often it was chosen.
            values = table[number] if len(chosen) == 1 else self.measure.values(scores)
            before, trained = trained, self.measure.mean(values)
            if self._worsened(before, trained):
                break
            choice.note(number, changed=trained != before)
            rounds.append((self.weak.describe(number), step))
            weight = start * np.exp(-values)
            weight /= weight.sum()
            if held_out is not None:
                held_out_scores = self.weak.add_to(held_out_scores, number, step, held_out)
                progress.measure(held_out_scores)
            if progress.record(len(rounds)):
                break
        return rounds

    def _worsened(self, before, trained):
        tolerance = self.settings.tolerance
        return tolerance is not None and trained + tolerance <= before


class Choice:
    """Chooses weak rankers; one that was chosen again and again in vain waits its turn."""

    def __init__(self, max_consecutive):
        self.max_consecutive = max_consecutive
        self.waiting, self.last, self.in_vain = [], None, 0

    def best(self, values):
        """Return number and value of the best that does not wait; ``None`` if all do."""
        values[self.waiting] = -np.inf
        number = int(np.argmax(values)) if len(values) else None
        if number is None or values[number] == -np.inf:
            return None, -np.inf
        return number, values[number]

    def note(self, number, *, changed):
        """Take note of a choice and of whether it changed anything."""
        if changed:
            self.waiting, self.in_vain = [], 0
        elif number == self.last:
            self.in_vain += 1
            if self.in_vain == self.max_consecutive:
                self.waiting, self.in_vain = [*self.waiting, number], 0
        else:
            self.waiting, self.in_vain = [], 0
        self.last = number


def _step(value):
    """Return alpha of a weak ranker of a mean value in [-1, 1]."""
    value = np.clip(value, _LEAST_FAULT - 1, 1 - _LEAST_FAULT)
    return float(0.5 * np.log((1 + value) / (1 - value)))
