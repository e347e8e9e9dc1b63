"""Metrics: how good a ranking is, for early stopping, the score of rankers and reports.

Call a metric with labels, scores and query ids: ``NDCG(k=10)(y, scores, qid)``, or by its name,
``get_metric("ndcg@10")(y, scores, qid)``. To add a metric, write its class in a file of its own
(see :mod:`treerank.metrics.base`) and list it in :data:`treerank.metrics.registry.METRICS`.
"""

from treerank.metrics.base import Metric, PreparedMetric
from treerank.metrics.conventions import CONVENTIONS, with_convention
from treerank.metrics.diversity import alpha_ndcg, err_ia
from treerank.metrics.expected_reciprocal_rank import ExpectedReciprocalRank
from treerank.metrics.exposure import exposure_by_group
from treerank.metrics.function_metric import FunctionMetric
from treerank.metrics.judged import Judged
from treerank.metrics.ndcg import NDCG
from treerank.metrics.pairwise_accuracy import PairwiseAccuracy
from treerank.metrics.rank_biased_precision import RankBiasedPrecision
from treerank.metrics.registry import METRICS, get_metric
from treerank.metrics.scorer import RankingScorer, make_ranking_scorer
from treerank.metrics.threshold_metrics import (
    AveragePrecision,
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
    "with_convention",
]
