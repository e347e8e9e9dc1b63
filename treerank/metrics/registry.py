"""Metrics by name: ``"ndcg@10"``, ``"map"``, ``"mrr"``, ``"p@5"``, ``"err@20"``.

To add one, list it in ``METRICS``: everything that takes a metric, and the laws of
``tests/test_metrics.py``, pick it up from there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treerank.checks import check_column
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.average_precision import AveragePrecision
from treerank.metrics.base import Metric
from treerank.metrics.expected_reciprocal_rank import ExpectedReciprocalRank
from treerank.metrics.ndcg import NDCG
from treerank.metrics.pairwise_accuracy import PairwiseAccuracy
from treerank.metrics.precision import Precision
from treerank.metrics.reciprocal_rank import ReciprocalRank

METRICS: dict[str, Metric] = {
    "ndcg": NDCG(),
    "map": AveragePrecision(),
    "mrr": ReciprocalRank(),
    "p": Precision(),
    "err": ExpectedReciprocalRank(),
    "pairwise_accuracy": PairwiseAccuracy(),
}


def get_metric(metric):
    """Look up a metric.

    Parameters
    ----------
    metric : str, Metric or callable
        A name in ``METRICS``, with ``@k`` for a cutoff; or a metric, returned as it is; or a
        function ``f(y, scores, qid) -> float``, higher better.

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
    if callable(metric):
        return FunctionMetric(metric)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name, a Metric or callable; got {metric!r}.")
    stem, at, cutoff = metric.partition("@")
    if stem not in METRICS or (at and not cutoff.isdecimal()):
        known = ", ".join(METRICS)
        raise ValueError(f"metric must be one of {known}, or one with @k; got {metric!r}.")
    return replace(METRICS[stem], k=int(cutoff)) if at else METRICS[stem]


@dataclass(frozen=True)
class FunctionMetric:
    """A user's function ``f(y, scores, qid) -> float`` in the shape of a metric.

    Parameters
    ----------
    function : callable
        Higher is better; it gets ``qid=None`` for a single query.
    """

    function: Callable[[Any, Any, Any], float]

    @property
    def name(self):
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, y, scores, qid=None) -> float:
        """Return the value of the function."""
        return float(self.function(y, scores, qid))

    def per_query(self, y, scores, qid=None) -> np.ndarray:
        """Return the value of the function on each query alone."""
        y, scores = np.asarray(y), np.asarray(scores)
        groups = QueryGroups.from_qid(qid, len(y))
        rows = np.split(groups.order, groups.indptr[1:-1])
        return np.array([self(y[r], scores[r]) for r in rows])

    def prepared(self, y, qid=None) -> "PreparedFunction":
        """Return a function of the scores alone."""
        qid = qid.codes if isinstance(qid, QueryGroups) else qid
        return PreparedFunction(self, check_column("y", y), qid)


@dataclass(frozen=True, eq=False)
class PreparedFunction:
    """A user's metric that knows the labels: ``prepared(scores)`` is a float."""

    metric: FunctionMetric
    y: np.ndarray
    qid: Any

    @property
    def name(self):
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores) -> float:
        """Return the value of the function."""
        return self.metric(self.y, scores, self.qid)
