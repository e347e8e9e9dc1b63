"""Early stopping: metrics of held-out documents, which are recorded after each iteration.

The first metric, or the weighted mean over several labels, decides how many iterations are kept.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from treerank.checks import naming, naming_label, quote
from treerank.documents.eval_set import (
    EvalSet,
    LabeledSet,
    checked_set,
    hashes_of_sets,
    joined_sets,
    split_off_share,
    unpacked,
)
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.documents.training_set import TrainingSet
from treerank.metrics.base import Metric, exact_sum
from treerank.metrics.judged import refuse_judged
from treerank.metrics.registry import refuse_equal_names
from treerank.rankers.scoring import metric_of

#: Values of metrics by the name of a set and of a metric, one for each iteration.
History = dict[str, dict[str, list[float]]]


@dataclass(eq=False)
class RecordedMetrics:
    """Metrics of held-out documents, recorded at every call.

    Attributes
    ----------
    name : str
        Name of the metric that early stopping watches.
    curves : dict from (str, str) to callable
        ``curve(scores)`` is the value of a metric. The key is the name of an evaluation set, such
        as "validation" or "validation_1", and the name of the metric, with "of <label>" if there
        are several labels. ``scores`` are the scores of the documents of all sets.
    weights : sequence of float
        Weights of the first curves, whose weighted mean decides when to stop: one for each label.
    history : list of list of float
        Values of all curves at each call.
    describe : callable
        Returns a text that depends on the documents, labels, queries and metrics alone.
    metrics : sequence of Metric or FunctionMetric
        The metrics, each of which is measured on every label.
    label_weights : dict from str to float
        Weights of the labels by name, in the mean of each metric; a single label has the name "".

    Examples
    --------
    >>> from treerank import get_metric
    >>> a, b = (get_metric("ndcg").prepared(y) for y in ([1, 0], [0, 1]))
    >>> curves = {("validation", "ndcg of a"): a, ("validation", "ndcg of b"): b}
    >>> recorded = RecordedMetrics("ndcg", curves, weights=[1, 1])
    >>> round(recorded(np.array([1.0, 0.0])), 3), recorded.history[0]
    (0.815, [1.0, 0.6309297535714575])
    """

    name: str
    curves: dict[tuple[str, str], Callable[[np.ndarray], float]]
    weights: Sequence[float] = (1.0,)
    history: list[list[float]] = field(default_factory=list)
    describe: Callable[[], str] = str
    metrics: Sequence[Any] = ()
    label_weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """A text that depends on the documents, labels, queries and metrics alone."""
        return self.describe()

    @property
    def latest(self) -> dict[str, float]:
        """Values of the metrics at the last call on the first evaluation set, by name."""
        first = next(iter(self.curves))[0]
        last = zip(self.curves, self.history[-1], strict=True)
        return {name: value for (part, name), value in last if part == first}

    def values(self, scores: np.ndarray) -> list[float]:
        """Return the value of each curve, and record nothing.

        ``scores`` may be of shape (n_documents, n_outputs); the outputs are then added up.
        """
        if scores.ndim > 1:
            scores = scores.sum(axis=1)
        return [curve(scores) for curve in self.curves.values()]

    def __call__(self, scores: np.ndarray) -> float:
        """Record the values of all curves, and return the weighted mean of the first ones."""
        values = self.values(scores)
        self.history.append(values)
        return _weighted_mean(self.weights, values)

    def results(self, recorded: History, earlier: History) -> History:
        """Return ``{set name: {curve name: values}}`` for the iterations that a fit has kept.

        With several labels, the weighted mean of each metric over them has the metric's name.

        Parameters
        ----------
        recorded : dict
            Record of the feature part: ``{"validation": {name: one value per iteration}}``. It is
            returned unchanged if it has no values, as of a part that learns in one step.
        earlier : dict
            The results of the fit that this one continues, which measures new iterations only.
            Stages measure the iterations of all their parts.
        """
        n_recorded = len(recorded.get("validation", {}).get(self.name, ()))
        if not n_recorded:  # the part learns in one step
            return recorded
        results = {part: dict(curves) for part, curves in recorded.items()}
        n_before = max(n_recorded - len(self.history), 0)
        for column, (part, name) in enumerate(self.curves):
            before = earlier.get(part, {}).get(name, [])[:n_before]
            values = before + [row[column] for row in self.history]
            results.setdefault(part, {}).setdefault(name, values[-n_recorded:])
        for curves, metric in product(results.values(), self.metrics):
            names = {f"{metric.name} of {label}": w for label, w in self.label_weights.items()}
            weights = {name: w for name, w in names.items() if name in curves}
            # A label that an earlier fit did not have has fewer values, of the last iterations.
            n_common = min((len(curves[name]) for name in weights), default=0)
            rows = zip(*(curves[name][-n_common:] for name in weights), strict=True)
            if n_common:
                means = [_weighted_mean([*weights.values()], row) for row in rows]
                curves.setdefault(metric.name, means)
        return results


def _weighted_mean(weights: Sequence[float], values: Sequence[float]) -> float:
    """Return the mean of the first values, one for each weight."""
    return sum(w * value for w, value in zip(weights, values, strict=False)) / sum(weights)


def hold_out(
    ranker: Any, data: TrainingSet, eval_set: Any, eval_metric: Any, *, had_queries: bool
) -> EvalSet:
    """Return the documents of one ``eval_set`` or several, with all metrics of each of them.

    A warning names queries of the first set that are also in the training set ``data``.

    Parameters
    ----------
    ranker : Ranker
        Its metric is recorded if ``eval_metric`` is None.
    data : TrainingSet
        Documents that are trained on.
    eval_set : tuple (X, y) or (X, y, qid), or list of them
        Held-out documents; the first set decides when to stop.
    eval_metric : str, Metric, list of them or None
        Metrics to record; the first decides.
    had_queries : bool
        Whether the training set has several queries, so that a set needs ``qid``.

    Returns
    -------
    EvalSet
        All sets joined; its ``metric`` is a :class:`RecordedMetrics`.
    """
    metrics = metrics_of(ranker, eval_metric)
    is_list = isinstance(eval_set, list) and eval_set
    are_several = is_list and all(isinstance(unpacked(entry), tuple) for entry in eval_set)
    given = eval_set if are_several else [eval_set]
    settings = {"of_several": len(given) > 1, "had_queries": had_queries}
    with naming("eval_set"):
        sets = [
            checked_set(ranker, data, one, decides=not number, **settings)
            for number, one in enumerate(given)
        ]
        return with_metrics(sets, metrics, [*(data.label_weights or {"": 1.0}).values()])


def hold_out_share(
    data: TrainingSet,
    share: float,
    metrics: Sequence[Any],
    seed: int,
    earlier: TrainingQueries | None = None,
) -> tuple[TrainingSet, EvalSet]:
    """Return ``(training set, evaluation set)``, with a share of the queries held out.

    ``metrics`` are recorded on the held-out queries, which ``seed`` draws. For ``earlier``, the
    training queries of the model from which the fit starts, see
    :func:`~treerank.documents.eval_set.split_off_share`.
    """
    train, held_out = split_off_share(data, share, seed, earlier)
    labels, weights = {"": held_out.y}, [1.0]
    if held_out.labels is not None:
        labels, weight_of = held_out.labels, held_out.label_weights or {}
        weights = [weight_of[name] for name in labels]
    sets = [(held_out.documents, labels, held_out.groups)]
    try:
        return train, with_metrics(sets, metrics, weights)
    except ValueError as error:
        raise ValueError(
            f"eval_set={quote(share)} holds out queries that no metric can be measured of; {error} "
            "Write eval_set=(X, y, qid), another share or another random_state."
        ) from error


def metrics_of(ranker: Any, eval_metric: Any) -> list[Any]:
    """Return the metrics that are recorded, of which the first decides; refuse equal names."""
    names = eval_metric if isinstance(eval_metric, list | tuple) else [eval_metric]
    if not names:
        raise ValueError("eval_metric must be a metric or several, or None for metric; got none.")
    with naming("eval_metric"):
        metrics = [metric_of(ranker, name) for name in names]
    refuse_equal_names("eval_metric", metrics)  # curves are recorded by name
    refuse_judged("metric" if eval_metric is None else "eval_metric", metrics, "an eval_set")
    return metrics


def with_metrics(
    sets: Sequence[LabeledSet], metrics: Sequence[Any], weights: Sequence[float] = (1.0,)
) -> EvalSet:
    """Return evaluation sets as one, with the metrics of each label of each set.

    ``sets`` are tuples (documents, labels by name, queries); a single label has the name "".
    ``weights`` are the weights of the labels in the value that decides when to stop.
    """
    curves, n_before = {}, 0
    weight_of = dict(zip(sets[0][1], weights, strict=True))
    for number, (documents, labels, groups) in enumerate(sets):
        part = f"validation_{number}" if number else "validation"
        for metric, (label, y) in product(metrics, labels.items()):
            name = f"{metric.name} of {label}" if label else metric.name
            try:
                with naming_label(label):
                    curves[part, name] = _curve(metric, y, groups, n_before, documents)
            except ValueError:
                if weight_of[label]:
                    raise
        n_before += groups.n_documents
    # A label of weight 0 in which there is nothing to find has no curve.
    first = [f"{metrics[0].name} of {label}" if label else metrics[0].name for label in weight_of]
    has_curve = [("validation", name) in curves for name in first]
    recorded_weights = [w for w, kept in zip(weights, has_curve, strict=True) if kept]
    settings = [metric if isinstance(metric, Metric) else metric.name for metric in metrics]
    described = f"{[*curves]} by {settings}, weighed by {weights}"
    recorded = RecordedMetrics(
        metrics[0].name,
        curves,
        recorded_weights,
        describe=lambda: f"{described} of {hashes_of_sets(sets)}",
        metrics=metrics,
        label_weights=weight_of,
    )
    return replace(joined_sets(sets, weights), metric=recorded)


def _curve(
    metric: Any, y: np.ndarray, groups: QueryGroups, start: int, documents: Rows
) -> Callable[[np.ndarray], float]:
    """Return a metric of one set as a function of the scores of all sets.

    The scores of this set begin at index ``start``. Documents whose label in ``y`` is NaN are left
    out.
    """
    judged = np.flatnonzero(~np.isnan(y))
    judgments = y[judged], groups.take(judged)
    if documents.is_shard:
        mean = mean_over_all(metric, *judgments, documents)
        return lambda scores: mean(scores[start + judged])
    prepared = metric.prepared(*judgments)
    return lambda scores: float(prepared(scores[start + judged]))


def mean_over_all(
    metric: Metric, y: np.ndarray, groups: QueryGroups, documents: Rows
) -> Callable[[np.ndarray], float]:
    """Return the mean of a metric over the queries of all workers, as a function of scores.

    Each worker passes the scores of its own documents. The sum is rounded once, as on one worker.
    """
    labels = documents.of_all(y)  # gains may depend on their range, and warn of what few reach
    part = metric.prepared_part(metric.gains(labels)[documents.numbers_of(len(y))], groups)
    if not documents.any(bool(part.ideal.any())):
        raise metric.nothing_to_find(len(labels))

    def mean(scores: np.ndarray) -> float:
        values = part.per_query(scores)
        values = values[~np.isnan(values)]
        n_queries = int(documents.total(np.array([len(values)]))[0])
        return math.fsum(documents.of_all(np.array(exact_sum(values)))) / n_queries

    return mean
