"""Query boosting: the rounds of AdaRank, each of which chooses one weak ranker.

A weak ranker is a feature itself, or a stump that is 1 above a threshold and 0 below, and ranks by
it upwards or downwards. How well it ranks a query never changes, so it is measured once, as a
table of weak rankers by queries. To add a kind, write a function from standard features by column
and a number of thresholds to :class:`WeakRankers`, and list it in ``WEAK_RANKERS``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treerank.baselines.linear.products import moved_scores, row_products
from treerank.baselines.stumps import quantile_thresholds
from treerank.metrics.query_measure import QueryMeasure
from treerank.progress import Progress


@dataclass(frozen=True, eq=False)
class WeakRankers:
    """Functions of one feature each.

    Attributes
    ----------
    feature : ndarray of shape (n_rankers,)
        The feature of each.
    threshold : ndarray of shape (n_rankers,)
        Threshold of a stump, in standard units; NaN for the feature itself.
    sign : ndarray of shape (n_rankers,)
        1 if large values rank first, -1 if small values do.
    """

    feature: np.ndarray
    threshold: np.ndarray
    sign: np.ndarray

    def __len__(self) -> int:
        return len(self.feature)

    def describe(self, number: int) -> tuple[int, float, float]:
        """Return feature, threshold and sign of the weak ranker of a number."""
        return int(self.feature[number]), float(self.threshold[number]), float(self.sign[number])

    def outputs(self, number: int, columns: np.ndarray) -> np.ndarray:
        """Return the outputs of one weak ranker, given standard features by column."""
        column = columns[self.feature[number]]
        if np.isnan(self.threshold[number]):
            return self.sign[number] * column
        return self.sign[number] * (column > self.threshold[number])

    def add_to(
        self, scores: np.ndarray, number: int, step: float, columns: np.ndarray
    ) -> np.ndarray:
        """Return ``scores`` plus ``step`` times the outputs of one weak ranker."""
        if np.isnan(self.threshold[number]):
            moves = self.feature[number : number + 1], step * self.sign[number : number + 1]
            return moved_scores(scores, columns, *moves)
        return scores + step * self.outputs(number, columns)

    def measure(self, columns: np.ndarray, measure: QueryMeasure) -> np.ndarray:
        """Return the value of each weak ranker in each query, of shape (n_rankers, n_queries)."""
        values = [measure.values(self.outputs(number, columns)) for number in range(len(self))]
        return np.array(values).reshape(len(self), len(measure.weight))


def features_themselves(columns: np.ndarray, n_thresholds: int) -> WeakRankers:
    """Return each feature that varies, upwards and downwards; thresholds are not needed."""
    varied = np.flatnonzero(np.ptp(columns, axis=1) > 0)
    return _both_ways(varied, np.full(len(varied), np.nan))


def stumps(columns: np.ndarray, n_thresholds: int) -> WeakRankers:
    """Return stumps at quantiles of each feature, or at all values if those are few."""
    cuts = [quantile_thresholds(column, n_thresholds) for column in columns]
    cuts = [own[own < column.max()] for own, column in zip(cuts, columns, strict=True)]
    feature = np.repeat(np.arange(len(columns)), [len(own) for own in cuts])
    return _both_ways(feature, np.concatenate(cuts))


#: Kinds of weak rankers.
WEAK_RANKERS = {"feature": features_themselves, "stump": stumps}


def _both_ways(feature, threshold):
    n = len(feature)
    return WeakRankers(np.tile(feature, 2), np.tile(threshold, 2), np.repeat([1.0, -1.0], n))


#: The error of a weak ranker counts as at least this much, so that its weight is finite.
_LEAST_ERROR = 1e-6

#: A chosen weak ranker, as (feature, threshold, sign), and its weight alpha.
Round = tuple[tuple[int, float, float], float]


@dataclass(frozen=True, eq=False)
class QueryBoosting:
    """The rounds of AdaRank, on standard features by column.

    Attributes
    ----------
    weak : WeakRankers
        What to choose from.
    columns : ndarray of shape (n_features, n_documents)
        Standard features.
    measure : QueryMeasure
        The metric of every query.
    n_rounds : int
        Largest number of rounds.
    tolerance : float or None
        Stop once a round lowers the metric by so much; that round is dropped.
    max_consecutive : int or None
        See :class:`WeakRankerChoice`.
    """

    weak: WeakRankers
    columns: np.ndarray
    measure: QueryMeasure
    n_rounds: int
    tolerance: float | None
    max_consecutive: int | None

    def rounds(self, progress: Progress, held_out: np.ndarray | None) -> list[Round]:
        """Return the weak ranker and the weight of each round.

        ``held_out`` are standard features by column, or ``None``, whose metric goes to
        ``progress`` after each round.
        """
        held_out_scores = np.zeros(0 if held_out is None else held_out.shape[1])
        rounds: list[Round] = []
        for number, step in self._steps():
            rounds.append((self.weak.describe(number), step))
            if held_out is not None:
                held_out_scores = self.weak.add_to(held_out_scores, number, step, held_out)
                progress.measure(held_out_scores)
            if progress.record(len(rounds)):
                break
        return rounds

    def _steps(self) -> Iterator[tuple[int, float]]:
        """Yield number and weight of the weak ranker of each round."""
        table = self.weak.measure(self.columns, self.measure)
        start = self.measure.weight / self.measure.weight.sum()
        weight, scores, trained = start, np.zeros(self.columns.shape[1]), -np.inf
        choice, chosen = WeakRankerChoice(self.max_consecutive), set()
        for _ in range(self.n_rounds):
            number, value = choice.best(row_products(table, weight))
            if number is None:
                return
            step = _weight_of(value)
            scores = self.weak.add_to(scores, number, step, self.columns)
            chosen.add(number)
            # A single weak ranker ranks the same however large its weight is.
            values = table[number] if len(chosen) == 1 else self.measure.values(scores)
            before, trained = trained, self.measure.mean(values)
            if self.tolerance is not None and trained + self.tolerance <= before:
                return
            choice.note(number, changed=trained != before)
            yield number, step
            weight = start * np.exp(-values)
            weight /= weight.sum()


class WeakRankerChoice:
    """Chooses the best weak ranker, and excludes one that was chosen repeatedly without effect.

    Parameters
    ----------
    max_consecutive : int or None
        So many choices in a row that change nothing exclude a weak ranker until another one is
        chosen; ``None`` excludes none.
    """

    def __init__(self, max_consecutive: int | None) -> None:
        self.max_consecutive = max_consecutive
        self.excluded: list[int] = []
        self.last: int | None = None
        self.n_idle = 0

    def best(self, values: np.ndarray) -> tuple[int | None, float]:
        """Return number and value of the best that is not excluded; ``None`` if all are."""
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
