"""Labels: one or several labels per document, as users pass them to ``fit`` and ``score``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from treerank.checks import check_choice, check_number
from treerank.inputs.columns import as_frame
from treerank.inputs.documents import check_eval_set
from treerank.metrics.registry import get_metric
from treerank.rankers.held_out import EvalSet, HeldOut


def split_labels(y: Any) -> dict[str, np.ndarray] | None:
    """Return several labels by name, or ``None`` if ``y`` is a single one.

    Several labels are a mapping from names to columns, a data frame, or an array of two dimensions
    whose columns are named "0", "1" and so on.

    Examples
    --------
    >>> list(split_labels({"relevance": [1, 0], "margin": [0.5, 0.2]}))
    ['relevance', 'margin']
    >>> split_labels([1, 0]) is None
    True
    """
    if isinstance(y, Mapping):
        if not y:
            raise ValueError(f"y must hold at least one label; got {y!r}.")
        return {str(name): np.asarray(column) for name, column in y.items()}
    frame = as_frame(y)
    if frame is not None:
        several = len(frame.columns) > 1
        return {name: frame[name].to_numpy() for name in frame.columns} if several else None
    values = y if hasattr(y, "ndim") else np.asarray(y, dtype=object)
    if values.ndim != 2 or values.shape[1] < 2:
        return None
    return {str(c): np.asarray(y)[:, c] for c in range(values.shape[1])}


def check_per_label(
    name: str, given: Any, labels: list[str], default: float | None
) -> dict[str, float]:
    """Return a number per label from a mapping by name or a sequence with one for each.

    Labels that are not named get the default, or are left out if it is ``None``.

    Examples
    --------
    >>> check_per_label("label_weights", {"margin": 0.5}, ["relevance", "margin"], 1.0)
    {'relevance': 1.0, 'margin': 0.5}
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        if np.ndim(given) != 1 or len(given) != len(labels):
            raise ValueError(f"{name} must have a number per label, {labels}; got {given!r}.")
        given = dict(zip(labels, given, strict=True))
    for label, value in given.items():
        check_choice(f"each label of {name}", label, labels)
        check_number(f"{name}[{label!r}]", value, at_least=0)
    filled = {label: given.get(label, default) for label in labels}
    return {label: float(value) for label, value in filled.items() if value is not None}


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

    def added_to(self, evals_result: dict[str, Any]) -> dict[str, list[float]]:
        """Return the history of a fit, with the values of each label."""
        return {**evals_result.get("validation", {}), **self.history}

    def __call__(self, scores: np.ndarray) -> float:
        """Return the weighted mean, and record the value of each label."""
        values = {name: float(metric(scores)) for name, metric in self.metrics.items()}
        for name, value in values.items():
            self.history[f"{self.name} of {name}"].append(value)
        total = sum(self.weights[name] for name in values)
        return sum(self.weights[name] * value for name, value in values.items()) / total


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
