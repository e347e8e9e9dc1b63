"""Metrics by name: ``"ndcg@10"``, ``"map"``, ``"mrr"``, ``"p@5"``, ``"err@20"``.

To add a metric, list it in ``METRICS``: everything that takes a metric, and the tests that hold
for all metrics, find it there.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from treerank.checks import closest, shown
from treerank.metrics.base import Metric
from treerank.metrics.expected_reciprocal_rank import ExpectedReciprocalRank
from treerank.metrics.function_metric import FunctionMetric
from treerank.metrics.judged import Judged
from treerank.metrics.ndcg import NDCG
from treerank.metrics.pairwise_accuracy import PairwiseAccuracy
from treerank.metrics.rank_biased_precision import RankBiasedPrecision
from treerank.metrics.threshold_metrics import (
    AveragePrecision,
    Precision,
    Recall,
    ReciprocalRank,
    Success,
)
from treerank.parameters import Rule

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
        meant = closest(stem, named).replace("'?", f"{at}{cutoff}'?")
        raise ValueError(
            f"metric must be one of {known}, or one with @k; got {shown(metric)}.{meant}"
        )
    return replace(named[stem], k=int(cutoff)) if at else named[stem]


#: A metric by name, a metric, or a function that is used like one.
AnyMetric = Annotated[str | Callable[..., float], Rule(lambda _, metric: get_metric(metric))]
