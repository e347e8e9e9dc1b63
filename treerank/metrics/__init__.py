"""Metrics of rankings: one implementation for early stopping, ``score`` and reports."""

from treerank.metrics.average_precision import AveragePrecision, map_score
from treerank.metrics.base import Metric, PreparedMetric
from treerank.metrics.conventions import CONVENTIONS, with_convention
from treerank.metrics.expected_reciprocal_rank import ExpectedReciprocalRank, err_score
from treerank.metrics.ndcg import NDCG, ndcg_score
from treerank.metrics.pairwise_accuracy import PairwiseAccuracy, pairwise_accuracy_score
from treerank.metrics.precision import Precision, precision_score
from treerank.metrics.reciprocal_rank import ReciprocalRank, mrr_score
from treerank.metrics.registry import METRICS, FunctionMetric, get_metric
from treerank.metrics.scorer import RankingScorer, make_ranking_scorer

__all__ = [
    "CONVENTIONS",
    "METRICS",
    "NDCG",
    "AveragePrecision",
    "ExpectedReciprocalRank",
    "FunctionMetric",
    "Metric",
    "PairwiseAccuracy",
    "Precision",
    "PreparedMetric",
    "RankingScorer",
    "ReciprocalRank",
    "err_score",
    "get_metric",
    "make_ranking_scorer",
    "map_score",
    "mrr_score",
    "ndcg_score",
    "pairwise_accuracy_score",
    "precision_score",
    "with_convention",
]
