"""Metrics: how good a ranking is, for early stopping, the score of rankers and reports.

Call a metric with labels, scores and query ids: ``NDCG(k=10)(y, scores, qid)``, or by its name,
``get_metric("ndcg@10")(y, scores, qid)``. To add a metric, write its class
(see :mod:`treerank.metrics.base`) and list it in :data:`treerank.metrics.registry.METRICS`.
"""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names

if TYPE_CHECKING:
    from treerank.metrics.base import Metric as Metric
    from treerank.metrics.base import PreparedMetric as PreparedMetric
    from treerank.metrics.conventions import CONVENTIONS as CONVENTIONS
    from treerank.metrics.conventions import with_convention as with_convention
    from treerank.metrics.graded_metrics import NDCG as NDCG
    from treerank.metrics.graded_metrics import ExpectedReciprocalRank as ExpectedReciprocalRank
    from treerank.metrics.graded_metrics import RankBiasedPrecision as RankBiasedPrecision
    from treerank.metrics.group_metrics import alpha_ndcg as alpha_ndcg
    from treerank.metrics.group_metrics import err_ia as err_ia
    from treerank.metrics.group_metrics import exposure_by_group as exposure_by_group
    from treerank.metrics.judged import Judged as Judged
    from treerank.metrics.judged import ndcg_bounds as ndcg_bounds
    from treerank.metrics.pairwise_accuracy import PairwiseAccuracy as PairwiseAccuracy
    from treerank.metrics.registry import METRICS as METRICS
    from treerank.metrics.registry import FunctionMetric as FunctionMetric
    from treerank.metrics.registry import get_metric as get_metric
    from treerank.metrics.scorer import RankingScorer as RankingScorer
    from treerank.metrics.scorer import make_ranking_scorer as make_ranking_scorer
    from treerank.metrics.threshold_metrics import AveragePrecision as AveragePrecision
    from treerank.metrics.threshold_metrics import BinaryPreference as BinaryPreference
    from treerank.metrics.threshold_metrics import Precision as Precision
    from treerank.metrics.threshold_metrics import Recall as Recall
    from treerank.metrics.threshold_metrics import ReciprocalRank as ReciprocalRank
    from treerank.metrics.threshold_metrics import Success as Success
    from treerank.metrics.threshold_metrics import ThresholdMetric as ThresholdMetric

_EXPORTS = {
    "AveragePrecision": "treerank.metrics.threshold_metrics:AveragePrecision",
    "BinaryPreference": "treerank.metrics.threshold_metrics:BinaryPreference",
    "CONVENTIONS": "treerank.metrics.conventions:CONVENTIONS",
    "ExpectedReciprocalRank": "treerank.metrics.graded_metrics:ExpectedReciprocalRank",
    "FunctionMetric": "treerank.metrics.registry:FunctionMetric",
    "Judged": "treerank.metrics.judged:Judged",
    "METRICS": "treerank.metrics.registry:METRICS",
    "Metric": "treerank.metrics.base:Metric",
    "NDCG": "treerank.metrics.graded_metrics:NDCG",
    "PairwiseAccuracy": "treerank.metrics.pairwise_accuracy:PairwiseAccuracy",
    "Precision": "treerank.metrics.threshold_metrics:Precision",
    "PreparedMetric": "treerank.metrics.base:PreparedMetric",
    "RankBiasedPrecision": "treerank.metrics.graded_metrics:RankBiasedPrecision",
    "RankingScorer": "treerank.metrics.scorer:RankingScorer",
    "Recall": "treerank.metrics.threshold_metrics:Recall",
    "ReciprocalRank": "treerank.metrics.threshold_metrics:ReciprocalRank",
    "Success": "treerank.metrics.threshold_metrics:Success",
    "ThresholdMetric": "treerank.metrics.threshold_metrics:ThresholdMetric",
    "alpha_ndcg": "treerank.metrics.group_metrics:alpha_ndcg",
    "err_ia": "treerank.metrics.group_metrics:err_ia",
    "exposure_by_group": "treerank.metrics.group_metrics:exposure_by_group",
    "get_metric": "treerank.metrics.registry:get_metric",
    "make_ranking_scorer": "treerank.metrics.scorer:make_ranking_scorer",
    "ndcg_bounds": "treerank.metrics.judged:ndcg_bounds",
    "with_convention": "treerank.metrics.conventions:with_convention",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
