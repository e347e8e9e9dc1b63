"""Metrics: how good a ranking is, for early stopping, the score of rankers and reports.

Call a metric with labels, scores and query ids: ``NDCG(k=10)(y, scores, qid)``, or by its name,
``get_metric("ndcg@10")(y, scores, qid)``. To add a metric, write its class
(see :mod:`treerank.metrics.base`) and list it in :data:`treerank.metrics.registry.METRICS`.
"""

from treerank.metrics.base import Metric, PreparedMetric
from treerank.metrics.graded_metrics import NDCG, ExpectedReciprocalRank, RankBiasedPrecision
from treerank.metrics.group_metrics import alpha_ndcg, err_ia, exposure_by_group
from treerank.metrics.judged import Judged, ndcg_bounds
from treerank.metrics.pairwise_accuracy import PairwiseAccuracy
from treerank.metrics.registry import (
    CONVENTIONS,
    METRICS,
    FunctionMetric,
    RankingScorer,
    get_metric,
    make_ranking_scorer,
    with_convention,
)
from treerank.metrics.threshold_metrics import (
    AveragePrecision,
    BinaryPreference,
    Precision,
    Recall,
    ReciprocalRank,
    Success,
    ThresholdMetric,
)

__all__ = [
    "CONVENTIONS",
    "METRICS",
    "NDCG",
    "AveragePrecision",
    "BinaryPreference",
    "ExpectedReciprocalRank",
    "FunctionMetric",
    "Judged",
    "Metric",
    "PairwiseAccuracy",
    "Precision",
    "PreparedMetric",
    "RankBiasedPrecision",
    "RankingScorer",
    "Recall",
    "ReciprocalRank",
    "Success",
    "ThresholdMetric",
    "alpha_ndcg",
    "err_ia",
    "exposure_by_group",
    "get_metric",
    "make_ranking_scorer",
    "ndcg_bounds",
    "with_convention",
]
