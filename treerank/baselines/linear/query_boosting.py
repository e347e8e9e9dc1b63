"""Query boosting: the rounds of AdaRank, each of which chooses one weak ranker."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treerank.baselines.linear.products import row_products
from treerank.baselines.linear.weak_rankers import WeakRankers
from treerank.metrics.query_measure import QueryMeasure
from treerank.progress import Progress

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
