"""Metrics by name: ``"ndcg@10"``, ``"map"``, ``"mrr"``, ``"p@5"``, ``"err@20"``.

To add a metric, list it in ``METRICS``: everything that takes a metric, and the tests that hold
for all metrics, find it there.

Function metrics: a user's function of labels, scores and query ids, used like a metric.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, check_signature, closest, shown
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.base import Metric
from treerank.metrics.graded_metrics import NDCG, ExpectedReciprocalRank, RankBiasedPrecision
from treerank.metrics.judged import Judged
from treerank.metrics.pairwise_accuracy import PairwiseAccuracy
from treerank.metrics.threshold_metrics import (
    AveragePrecision,
    BinaryPreference,
    Precision,
    Recall,
    ReciprocalRank,
    Success,
)
from treerank.parameters import Rule


@dataclass(frozen=True)
class FunctionMetric:
    """A user's function ``f(y, scores, qid) -> float`` with the methods of a metric.

    Parameters
    ----------
    function : callable
        Higher is better. It gets ``qid=None`` for a single query.

    Examples
    --------
    >>> def first_label(y, scores, qid=None):
    ...     return y[np.argmax(scores)]
    >>> metric = FunctionMetric(first_label)
    >>> metric.name, metric([0, 1, 2], [0.3, 0.2, 0.1])
    ('first_label', 0.0)
    """

    function: Callable[[Any, Any, Any], float]

    def __post_init__(self) -> None:
        """Refuse a function of other arguments before anything is trained."""
        check_signature("metric", self.function, "y", "scores", "qid")

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the value of the function."""
        value = self.function(y, scores, qid)
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"metric {self.name!r} must return one number, of which higher is better; got "
                f"{shown(value)}."
            ) from error

    def per_query(
        self, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the value of the function on each query alone."""
        y, scores = np.asarray(y), np.asarray(scores)
        groups = QueryGroups.from_qid(qid, len(y))
        rows = np.split(groups.order, groups.indptr[1:-1])
        return np.array([self(y[r], scores[r]) for r in rows])

    def prepared(
        self, y: ArrayLike, qid: ArrayLike | QueryGroups | None = None
    ) -> "PreparedFunction":
        """Return a function of the scores alone."""
        qid = qid.codes if isinstance(qid, QueryGroups) else qid
        return PreparedFunction(self, check_column("y", y), qid)


@dataclass(frozen=True, eq=False)
class PreparedFunction:
    """A function metric that knows the labels: ``prepared(scores)`` is a float."""

    metric: FunctionMetric
    y: np.ndarray
    qid: ArrayLike | None

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores: ArrayLike) -> float:
        """Return the value of the function."""
        return self.metric(self.y, scores, self.qid)

    def per_query(self, scores: ArrayLike) -> np.ndarray:
        """Return the value of the function on each query alone."""
        return self.metric.per_query(self.y, scores, self.qid)


METRICS: dict[str, Metric] = {
    "ndcg": NDCG(),
    "map": AveragePrecision(),
    "mrr": ReciprocalRank(),
    "p": Precision(),
    "err": ExpectedReciprocalRank(),
    "pairwise_accuracy": PairwiseAccuracy(),
    "recall": Recall(),
    "rbp": RankBiasedPrecision(),
    "success": Success(),
    "bpref": BinaryPreference(),
}
#: What is said beside metrics, and ranks nothing.
BESIDE: dict[str, Metric] = {"judged": Judged()}


def get_metric(metric: str | Callable[..., float]) -> Metric | FunctionMetric:
    """Return the metric of a name, or of a user's function.

    Parameters
    ----------
    metric : str, Metric or callable
        A name in ``METRICS``, or "judged", with ``@k`` for a cutoff; or a metric, returned as it
        is; or a function ``f(y, scores, qid) -> float``, higher is better.

    Returns
    -------
    Metric or FunctionMetric

    Examples
    --------
    >>> get_metric("map@5")
    AveragePrecision(k=5, ties='average', no_relevant='exclude', threshold=1)
    >>> get_metric("map")([0, 1], [0.2, 0.1])
    0.5
    """
    if isinstance(metric, Metric | FunctionMetric):
        return metric
    if callable(metric) and not isinstance(metric, type):
        return FunctionMetric(metric)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name, a Metric or callable; got {shown(metric)}.")
    stem, at, cutoff = metric.partition("@")
    named = METRICS | BESIDE
    # A longer number than any list needs, or digits of other alphabets, are no cutoff.
    if stem not in named or (at and not re.fullmatch("[0-9]{1,18}", cutoff)):
        known = ", ".join(named)
        cut = f"{at}{cutoff}" if cutoff.isdecimal() else ""
        meant = closest(stem, named).replace("'?", f"{cut}'?") if stem not in named else ""
        raise ValueError(
            f"metric must be one of {known}, or one with @k; got {shown(metric)}.{meant}"
        )
    return replace(named[stem], k=int(cutoff)) if at else named[stem]


#: A metric by name, a metric, or a function that is used like one.
AnyMetric = Annotated[str | Callable[..., float], Rule(lambda _, metric: get_metric(metric))]
