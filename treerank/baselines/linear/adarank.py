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

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.products import moved_scores, row_products
from treerank.baselines.query_measure import QueryMeasure, query_measure
from treerank.baselines.training_checks import start_progress
from treerank.feature_parts.estimator import estimator
from treerank.files.states import count, history
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Auto, Count, Positive, Size

#: The error of a weak ranker counts as at least this much, so that its weight is finite.
_LEAST_ERROR = 1e-6


@estimator(kw_only=True)
class AdaRank(LinearRanker):
    """A sum of weak rankers, each chosen for the queries that the earlier ones rank badly [1]_.

    ``fit`` accepts weights of queries, but not of documents or pairs.

    ``coef_`` and ``mean_`` are explained at
    :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

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
        A weak ranker that is chosen this many times in a row without effect is excluded until
        another one is chosen [2]_; ``None`` excludes none.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Stop after this many rounds without a better value on ``eval_set``, and keep the rounds up
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
       (2025). Pairwise learning to rank by neural networks revisited. Machine Learning 114:112,
       Appendix A.
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

    metric: AnyMetric = "ndcg@10"
    n_estimators: Count = 500
    tolerance: Positive | None = 0.002
    max_consecutive: Size | None = 5
    early_stopping_rounds: Auto | Count | None = "auto"

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
    """Return the rounds to keep: up to the best on the held-out documents, or all.

    ``rounds`` yields ``(features, weights)`` to add. ``held_out`` are standard features of shape
    (n_features, n_documents), or ``None``; ``progress`` measures and stops.
    """
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


def boosting_rounds(
    columns: np.ndarray,
    measure: QueryMeasure,
    n_rounds: int,
    tolerance: float | None,
    max_consecutive: int | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the feature and the weight of each round, as arrays of one number.

    ``columns`` holds standard features as rows of shape (n_features, n_documents). The other
    arguments are explained at :class:`AdaRank`.
    """
    varied = np.flatnonzero(np.ptp(columns, axis=1) > 0)
    feature, sign = np.tile(varied, 2), np.repeat([1.0, -1.0], len(varied))
    ranked = [measure.values(s * columns[j]) for j, s in zip(feature, sign, strict=True)]
    table = np.array(ranked).reshape(len(feature), len(measure.weight))
    start = measure.weight / measure.weight.sum()
    weight, scores, trained = start, np.zeros(columns.shape[1]), -np.inf
    choice, chosen = WeakRankerChoice(max_consecutive), set()
    for _ in range(n_rounds):
        number, value = choice.best(row_products(table, weight))
        if number is None:
            return
        current = slice(number, number + 1)
        move = feature[current], _weight_of(value) * sign[current]
        scores = moved_scores(scores, columns, *move)
        chosen.add(number)
        # A single weak ranker ranks the same however large its weight is.
        values = table[number] if len(chosen) == 1 else measure.values(scores)
        before, trained = trained, measure.mean(values)
        if tolerance is not None and trained + tolerance <= before:
            return
        choice.note(number, changed=trained != before)
        yield move
        weight = start * np.exp(-values)
        weight /= weight.sum()


class WeakRankerChoice:
    """Chooses the best weak ranker, and excludes one that was chosen repeatedly without effect.

    Parameters
    ----------
    max_consecutive : int or None
        Number of ineffective choices in a row that exclude a weak ranker until another one is
        chosen; ``None`` excludes none.
    """

    def __init__(self, max_consecutive: int | None) -> None:
        self.max_consecutive = max_consecutive
        self.excluded: list[int] = []
        self.last: int | None = None
        self.n_idle = 0

    def best(self, values: np.ndarray) -> tuple[int | None, float]:
        """Return ``(number, value)`` of the largest value that is not excluded.

        If all are excluded, it is ``(None, -inf)``. ``values`` has an entry per weak ranker; the
        entries of excluded ones are overwritten.
        """
        values[self.excluded] = -np.inf
        number = int(np.argmax(values)) if len(values) else None
        if number is None or values[number] == -np.inf:
            return None, -np.inf
        return number, values[number]

    def note(self, number: int, *, changed: bool) -> None:
        """Note which weak ranker was chosen, and whether that changed the metric."""
        if changed or number != self.last:
            self.excluded, self.n_idle = [], 0
        else:
            self.n_idle += 1
            if self.n_idle == self.max_consecutive:
                self.excluded, self.n_idle = [*self.excluded, number], 0
        self.last = number


def _weight_of(value):
    """Return alpha of a weak ranker, given its weighted mean of the metric."""
    value = np.clip(value, _LEAST_ERROR - 1, 1 - _LEAST_ERROR)
    return float(0.5 * np.log((1 + value) / (1 - value)))
