"""Query boosting: the rounds of AdaRank, each of which chooses one weak ranker.

A weak ranker is a standard feature, and ranks by it upwards or downwards. How well it ranks a query
never changes, so it is measured once, as a table of weak rankers by queries.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treerank.baselines.linear.products import moved_scores, row_products
from treerank.baselines.query_measure import QueryMeasure
from treerank.progress import Progress

#: The error of a weak ranker counts as at least this much, so that its weight is finite.
_LEAST_ERROR = 1e-6


@dataclass(frozen=True, eq=False)
class QueryBoosting:
    """The rounds of AdaRank, on standard features by column.

    Attributes
    ----------
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

    columns: np.ndarray
    measure: QueryMeasure
    n_rounds: int
    tolerance: float | None
    max_consecutive: int | None

    def rounds(
        self, progress: Progress, held_out: np.ndarray | None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return of each round the feature and its weight, as arrays of one number.

        ``held_out`` are standard features by column, or ``None``, whose metric goes to
        ``progress`` after each round.
        """
        held_out_scores = np.zeros(0 if held_out is None else held_out.shape[1])
        rounds: list[tuple[np.ndarray, np.ndarray]] = []
        for move in self._moves():
            rounds.append(move)
            if held_out is not None:
                held_out_scores = moved_scores(held_out_scores, held_out, *move)
                progress.measure(held_out_scores)
            if progress.record(len(rounds)):
                break
        return rounds

    def _moves(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the feature and the weight of each round."""
        varied = np.flatnonzero(np.ptp(self.columns, axis=1) > 0)
        feature, sign = np.tile(varied, 2), np.repeat([1.0, -1.0], len(varied))
        ranked = [
            self.measure.values(s * self.columns[j]) for j, s in zip(feature, sign, strict=True)
        ]
        table = np.array(ranked).reshape(len(feature), len(self.measure.weight))
        start = self.measure.weight / self.measure.weight.sum()
        weight, scores, trained = start, np.zeros(self.columns.shape[1]), -np.inf
        choice, chosen = WeakRankerChoice(self.max_consecutive), set()
        for _ in range(self.n_rounds):
            number, value = choice.best(row_products(table, weight))
            if number is None:
                return
            own = slice(number, number + 1)
            move = feature[own], _weight_of(value) * sign[own]
            scores = moved_scores(scores, self.columns, *move)
            chosen.add(number)
            # A single weak ranker ranks the same however large its weight is.
            values = table[number] if len(chosen) == 1 else self.measure.values(scores)
            before, trained = trained, self.measure.mean(values)
            if self.tolerance is not None and trained + self.tolerance <= before:
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
