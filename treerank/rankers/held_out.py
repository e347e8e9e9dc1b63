"""Held-out documents: early stopping and calibration use them, training does not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, final

import numpy as np

from treerank.feature_parts.base import Validation
from treerank.inputs.batched import BatchedMatrix
from treerank.inputs.documents import check_features
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.registry import get_metric
from treerank.rankers.reading import check_labels_by_name, split_labels, stacked_rows
from treerank.team import current_team

#: X, y and qid of an ``eval_set`` as the user has passed them.
EvalSet = tuple[Any, Any, Any]
#: Values of metrics by the name of a set and of a metric, one for each iteration.
History = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class MetricOfSum:
    """A metric of the sum of several outputs.

    Attributes
    ----------
    metric : callable
        ``metric(scores)``, with a ``name``.
    """

    metric: Any

    @property
    def name(self) -> str:
        """Name of the metric."""
        return str(self.metric.name)

    def __call__(self, outputs: np.ndarray) -> float:
        """Return the value of the metric."""
        return float(self.metric(outputs.reshape(len(outputs), -1).sum(axis=1)))


@final
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Documents with labels that a ranker is not fitted to.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Labels.
    groups : QueryGroups
        Queries of the documents.
    metric : callable or None
        ``metric(scores)`` is the quality of the scores of these documents; higher is better.
    """

    X: Any
    y: np.ndarray
    groups: QueryGroups
    metric: Callable[[np.ndarray], float] | None = None

    @property
    def has_pairs(self) -> bool:
        """Whether any query of any worker holds two different labels."""
        return any(current_team().gather(bool(self.groups.with_two_labels(self.y).any())))

    def of_team(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, QueryGroups]:
        """Return scores, labels and queries of the documents of all workers, given own scores."""
        if current_team().size == 1:
            return scores, self.y, self.groups
        parts = current_team().gather((scores, self.y, self.groups.codes, self.groups.n_queries))
        every, y, codes, n_queries = zip(*parts, strict=True)
        firsts = np.cumsum(n_queries) - n_queries
        qid = np.concatenate([own + first for own, first in zip(codes, firsts, strict=True)])
        return np.concatenate(every), np.concatenate(y), QueryGroups.from_qid(qid)

    def validation(self, n_outputs: int) -> Validation:
        """Return features and metric for a feature part under an objective of ``n_outputs``."""
        assert self.metric is not None
        return self.X, self.metric if n_outputs == 1 else MetricOfSum(self.metric)

    def judged(self) -> Self:
        """Return the documents that have a label."""
        judged = ~np.isnan(self.y)
        return self if judged.all() else self.taking(np.flatnonzero(judged))

    def taking(self, rows: np.ndarray) -> Self:
        """Return the given documents alone, without a metric."""
        return type(self)(self.X[rows], self.y[rows], self.groups.among(rows))


@dataclass(eq=False)
class Watched:
    """Metrics of documents, whose values are recorded; the first, or a weighted mean, decides.

    Attributes
    ----------
    name : str
        Name of the metric that decides.
    curves : dict from (str, str) to callable
        A metric as a function of the scores of all documents, by the names of a set and of a curve.
    weights : list of float or None
        Weight of each curve in the mean; None is the first curve alone.
    history : list of list of float
        One value per call, for each curve.

    Examples
    --------
    >>> a, b = (get_metric("ndcg").prepared(y) for y in ([1, 0], [0, 1]))
    >>> curves = {("validation", "ndcg of a"): a, ("validation", "ndcg of b"): b}
    >>> watched = Watched("ndcg", curves, weights=[1, 1])
    >>> round(watched(np.array([1.0, 0.0])), 3), watched.history[0]
    (0.815, [1.0])
    """

    name: str
    curves: dict[tuple[str, str], Callable[[np.ndarray], float]]
    weights: list[float] | None = None
    history: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.history = [[] for _ in self.curves]

    def __call__(self, scores: np.ndarray) -> float:
        """Return the value that decides, and record those of all curves."""
        values = [float(metric(scores)) for metric in self.curves.values()]
        for found, value in zip(self.history, values, strict=True):
            found.append(value)
        if self.weights is None:
            return values[0]
        total = sum(self.weights)
        return sum(w * value for w, value in zip(self.weights, values, strict=True)) / total

    def results(self, recorded: History, earlier: History) -> History:
        """Return the values of the iterations that a fit has recorded, by set and curve.

        A continued fit has measured its new iterations only, and a chain all of its parts.
        """
        n_recorded = len(recorded.get("validation", {}).get(self.name, ()))
        found = {part: dict(curves) for part, curves in recorded.items()}
        for (part, name), values in zip(self.curves, self.history, strict=True):
            longer = earlier.get(part, {}).get(name, []) + values
            found.setdefault(part, {})[name] = longer[max(len(longer) - n_recorded, 0) :]
        return found


def watching(sets: list[HeldOut], metrics: list[Any]) -> HeldOut:
    """Return several sets of documents as one, with the metrics of each."""
    if any(isinstance(each.X, BatchedMatrix) for each in sets):
        raise ValueError("eval_set must be a single one, without eval_metric, for Batches.")
    ends = np.cumsum([len(each.y) for each in sets]).tolist()
    names = ["validation", *(f"validation_{n}" for n in range(1, len(sets)))]
    curves: dict[tuple[str, str], Any] = {
        (name, metric.name): partial(
            _value_of_rows, metric.prepared(each.y, each.groups), slice(end - len(each.y), end)
        )
        for name, each, end in zip(names, sets, ends, strict=True)
        for metric in metrics
    }
    stacked = stacked_rows([each.X for each in sets])
    starts = np.cumsum([0, *(each.groups.n_queries for each in sets)])
    codes = [each.groups.codes + start for each, start in zip(sets, starts, strict=False)]
    groups = QueryGroups.from_qid(np.concatenate(codes))
    watched = Watched(metrics[0].name, curves)
    return HeldOut(stacked, np.concatenate([each.y for each in sets]), groups, watched)


def _value_of_rows(metric: Any, rows: slice | np.ndarray, scores: np.ndarray) -> float:
    """Return the value of a metric of some documents, given the scores of all."""
    return float(metric(scores[rows]))


def hold_out_labels(
    estimator: Any, eval_set: EvalSet, names: list[str], metric: Any, weights: dict[str, float]
) -> HeldOut:
    """Return the documents of an ``eval_set`` with several labels; ``names`` are those of ``y``."""
    X, y, qid = eval_set
    labels = split_labels(y)
    if labels is None or list(labels) != names:
        raise ValueError(f"eval_set must have the labels of y, {names}.")
    X = check_features(estimator, X)
    labels = check_labels_by_name(labels, X.shape[0])
    groups, found = QueryGroups.from_qid(qid, X.shape[0]), get_metric(metric)
    curves: dict[tuple[str, str], Any] = {}
    for name, column in labels.items():
        rows = np.flatnonzero(~np.isnan(column))
        prepared = found.prepared(column[rows], groups.among(rows))
        curves["validation", f"{found.name} of {name}"] = partial(_value_of_rows, prepared, rows)
    return HeldOut(X, labels[names[0]], groups, Watched(found.name, curves, list(weights.values())))
