"""Query boosting: the rounds of AdaRank, each of which chooses one weak ranker.

A weak ranker is a standard feature, and ranks by it upwards or downwards. How well it ranks a query
never changes, so it is measured once, as a table of weak rankers by queries.
"""

from collections.abc import Iterator

import numpy as np

from treerank.baselines.linear.products import moved_scores, row_products
from treerank.baselines.query_measure import QueryMeasure

#: The error of a weak ranker counts as at least this much, so that its weight is finite.
_LEAST_ERROR = 1e-6


def boosting_rounds(
    columns: np.ndarray,
    measure: QueryMeasure,
    n_rounds: int,
    tolerance: float | None,
    max_consecutive: int | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the feature and the weight of each round, as arrays of one number.

    ``columns`` holds standard features as rows of shape (n_features, n_documents). The other
    arguments are explained at :class:`~treerank.baselines.linear.adarank.AdaRank`.
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
        own = slice(number, number + 1)
        move = feature[own], _weight_of(value) * sign[own]
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
