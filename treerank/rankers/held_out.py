"""Held-out documents: early stopping and calibration use them, training does not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np
from scipy.sparse import issparse, vstack

from treerank.feature_parts.base import Validation
from treerank.inputs.batched import BatchedMatrix
from treerank.inputs.documents import check_eval_set
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.registry import get_metric
from treerank.rankers.reading import split_labels
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

    def taking(self, rows: np.ndarray) -> Self:
        """Return the given documents alone, without a metric."""
        return type(self)(self.X[rows], self.y[rows], self.groups.among(rows))


@dataclass(eq=False)
class MetricOfLabels:
    """The weighted mean of a metric over several labels, with a record of each value.

    Attributes
    ----------
    name : str
        Name of the metric.
    metrics : dict from str to callable
        The metric of each label, as a function of the scores.
    weights : dict from str to float
        Weight of each label.
    history : dict from str to list of float
        One value per call, by ``"metric of label"``.

    Examples
    --------
    >>> metric = MetricOfLabels.of("ndcg", {"a": [1, 0], "b": [0, 1]}, None, {"a": 1, "b": 1})
    >>> round(metric(np.array([1.0, 0.0])), 3)
    0.815
    """

    name: str
    metrics: dict[str, Any]
    weights: dict[str, float]
    history: dict[str, list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.history = {f"{self.name} of {label}": [] for label in self.metrics}

    @classmethod
    def of(
        cls, metric: Any, labels: Mapping[str, Any], qid: Any, weights: dict[str, float]
    ) -> Self:
        """Prepare a metric for several labels of the same documents."""
        found = get_metric(metric)
        prepared = {name: found.prepared(y, qid) for name, y in labels.items()}
        return cls(found.name, prepared, weights)

    def results(self, recorded: History, earlier: History) -> History:
        """Return the values of a fit, with those of each label."""
        curves = [("validation", name, values) for name, values in self.history.items()]
        found = _as_long(curves, recorded, earlier, self.name)
        return {"validation": recorded.get("validation", {}) | found.get("validation", {})}

    def __call__(self, scores: np.ndarray) -> float:
        """Return the weighted mean, and record the value of each label."""
        values = {name: float(metric(scores)) for name, metric in self.metrics.items()}
        for name, value in values.items():
            self.history[f"{self.name} of {name}"].append(value)
        total = sum(self.weights[name] for name in values)
        return sum(self.weights[name] * value for name, value in values.items()) / total


@dataclass(eq=False)
class Watched:
    """Metrics of several sets of documents, whose rows are one after the other; the first counts.

    Attributes
    ----------
    curves : list of (str, slice, callable)
        Name of a set, its rows, and a metric of their scores, with a ``name``.
    history : list of list of float
        One value per call, for each curve.

    Examples
    --------
    >>> ndcg, map_ = (get_metric(name).prepared([1, 0]) for name in ("ndcg", "map"))
    >>> both = slice(0, 2)
    >>> watched = Watched([("validation", both, ndcg), ("validation", both, map_)])
    >>> watched(np.array([2.0, 1.0])), watched.history
    (1.0, [[1.0], [1.0]])
    """

    curves: list[tuple[str, slice, Any]]
    history: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.history = [[] for _ in self.curves]

    @property
    def name(self) -> str:
        """Name of the first metric."""
        return str(self.curves[0][2].name)

    def __call__(self, scores: np.ndarray) -> float:
        """Return the value of the first curve, and record those of all."""
        for values, (_, rows, metric) in zip(self.history, self.curves, strict=True):
            values.append(float(metric(scores[rows])))
        return self.history[0][-1]

    def results(self, recorded: History, earlier: History) -> History:
        """Return the values of the iterations that a fit has recorded, by set and metric."""
        names = [(name, metric.name) for name, _, metric in self.curves]
        curves = [(*name, values) for name, values in zip(names, self.history, strict=True)]
        return _as_long(curves, recorded, earlier, self.name)


def _as_long(
    curves: list[tuple[str, str, list[float]]], recorded: History, earlier: History, name: str
) -> History:
    """Return curves of as many values as the recorded one of a name.

    A continued fit has measured its new iterations only, and a chain all of its parts.
    """
    n_recorded = len(recorded.get("validation", {}).get(name, ()))
    found: History = {}
    for part, of, values in curves:
        longer = earlier.get(part, {}).get(of, []) + values
        found.setdefault(part, {})[of] = longer[max(len(longer) - n_recorded, 0) :]
    return found


def watching(sets: list[HeldOut], metrics: list[Any]) -> HeldOut:
    """Return several sets of documents as one, with the metrics of each."""
    if any(isinstance(each.X, BatchedMatrix) for each in sets):
        raise ValueError("eval_set must be a single one, without eval_metric, for Batches.")
    ends = np.cumsum([len(each.y) for each in sets]).tolist()
    names = ["validation", *(f"validation_{n}" for n in range(1, len(sets)))]
    curves = [
        (name, slice(end - len(each.y), end), metric.prepared(each.y, each.groups))
        for name, each, end in zip(names, sets, ends, strict=True)
        for metric in metrics
    ]
    X = [each.X for each in sets]
    stacked = vstack(X, format="csr") if issparse(X[0]) else np.concatenate(X)
    starts = np.cumsum([0, *(each.groups.n_queries for each in sets)])
    codes = [each.groups.codes + start for each, start in zip(sets, starts, strict=False)]
    groups = QueryGroups.from_qid(np.concatenate(codes))
    return HeldOut(stacked, np.concatenate([each.y for each in sets]), groups, Watched(curves))


def hold_out_labels(
    estimator: Any, eval_set: EvalSet, names: list[str], metric: Any, weights: dict[str, float]
) -> HeldOut:
    """Return the documents of an ``eval_set`` with several labels; ``names`` are those of ``y``."""
    X, y, qid = eval_set
    labels = split_labels(y)
    if labels is None or list(labels) != names:
        raise ValueError(f"eval_set must have the labels of y, {names}.")
    X, y, groups = check_eval_set(estimator, X, labels[names[0]], qid)
    return HeldOut(X, y, groups, MetricOfLabels.of(metric, labels, groups, weights))
