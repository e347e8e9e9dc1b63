"""Names from before the first release, and their current names.

``from treerank.feature_parts import Line`` raises an error that names :class:`LinearModel`, as do
``import treerank.results`` and members of objects such as ``NDCG().worth``.
"""

import sys
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

#: The old name of a feature part, and what to write instead.
RENAMED_PARTS = {"chain": "stages", "line": "linear"}

#: The old name of an export format, and what to write instead.
RENAMED_FORMATS = {
    "elastic": "'elasticsearch'; the plugin for learning to rank is 'elasticsearch-plugin'",
    "elasticsearch-2023": "'elasticsearch-plugin' with version='2023-12'",
}

#: The old name of a package's attribute, by package, and what to write instead.
RENAMED = {
    "treerank": {
        "Line": "treerank.feature_parts.LinearModel",
        "results": "treerank.reranking",
        "inputs": "treerank.documents",
    },
    "treerank.clicks": {
        "read_ubi": "treerank.search_engines.read_ubi",
        "ClickData": "treerank.clicks.click_data.ClickData",
        "ClickShares": "treerank.clicks.relevance_model.ClickShares",
        "Interleaved": "treerank.clicks.interleaving.Interleaved",
        "LogEvaluation": "treerank.clicks.evaluation.LogEvaluation",
        "Preference": "treerank.clicks.interleaving.Preference",
        "Propensities": "treerank.clicks.propensities.Propensities",
        "TrustBias": "treerank.clicks.trust_bias.TrustBias",
    },
    "treerank.datasets": {
        "FeatureLog": "treerank.search_engines.feature_logs.FeatureLog",
        "read_feature_log": "treerank.read_feature_log",
        "read_judgments": "treerank.read_judgments",
    },
    "treerank.evaluation": {
        "Refreshed": "treerank.rankers.refreshing.Refreshed",
        "refresh": "treerank.rankers.refresh",
        "Comparison": "treerank.evaluation.ranker_comparison.Comparison",
        "Difference": "treerank.evaluation.summary.Difference",
        "Failure": "treerank.evaluation.ranker_comparison.Failure",
        "Summary": "treerank.evaluation.summary.Summary",
    },
    "treerank.feature_parts": {
        "Chain": "treerank.feature_parts.Stages",
        "GivenTrees": "treerank.feature_parts.RefitTrees",
        "Line": "treerank.feature_parts.LinearModel",
        "LinearNetwork": "treerank.feature_parts.MLP((), start='zero')",
        "BoostedTrees": "treerank.feature_parts.trees.boosting.BoostedTrees",
        "NetworkPart": "treerank.feature_parts.networks.network_part.NetworkPart",
    },
    "treerank.reranking": {
        "runs_as_features": "treerank.search_engines.runs_as_features",
        "SampledLists": "treerank.reranking.sampling.SampledLists",
    },
    "treerank.inspection": {
        "Copies": "treerank.inspection.leaks.Duplicates",
        "copies": "treerank.inspection.duplicates",
        "Swaps": "treerank.inspection.rank_changes.RankChanges",
        "costly_swaps": "treerank.inspection.costly_rank_changes",
        "explain_standing": "treerank.inspection.explain_lead",
        "Boundaries": "treerank.inspection.class_boundaries.Boundaries",
        "CalibrationCurve": "treerank.inspection.pair_calibration.CalibrationCurve",
        "DataSheet": "treerank.inspection.data_sheets.DataSheet",
        "Duplicates": "treerank.inspection.leaks.Duplicates",
        "Effect": "treerank.inspection.effects.Effect",
        "Importances": "treerank.inspection.importance.Importances",
        "RankChanges": "treerank.inspection.rank_changes.RankChanges",
        "Slice": "treerank.inspection.query_slices.Slice",
        "Slices": "treerank.inspection.query_slices.Slices",
    },
    "treerank.baselines": {
        "BoostedRanker": "treerank.baselines.boosted.BoostedRanker",
        "LinearRanker": "treerank.baselines.linear.linear_ranker.LinearRanker",
        "NeuralRanker": "treerank.baselines.neural.neural_ranker.NeuralRanker",
        "StumpRanker": "treerank.baselines.stump_ranker.StumpRanker",
    },
    "treerank.exports": {"ExportReport": "treerank.exports.report.ExportReport"},
    "treerank.metrics": {
        "FunctionMetric": "treerank.metrics.registry.FunctionMetric",
        "PreparedMetric": "treerank.metrics.base.PreparedMetric",
        "ThresholdMetric": "treerank.metrics.threshold_metrics.ThresholdMetric",
    },
    "treerank.rankers": {
        "AntisymmetricHead": "treerank.rankers.head.AntisymmetricHead",
        "ExplainedMargins": "treerank.rankers.explanation.ExplainedMargins",
        "LearningCurves": "treerank.progress.LearningCurves",
        "Refreshed": "treerank.rankers.refreshing.Refreshed",
    },
    "treerank.search_engines": {
        "Candidates": "treerank.search_engines.runs.Candidates",
        "FeatureLog": "treerank.search_engines.feature_logs.FeatureLog",
    },
    "treerank.statistics": {
        "Interval": "treerank.statistics.resampled.Interval",
        "PairedResult": "treerank.statistics.paired.PairedResult",
        "PredictionPowered": "treerank.statistics.double_sampling.PredictionPowered",
    },
}

#: The old name of a member, by class, and what it is called now.
RENAMED_MEMBERS = {
    "Comparison": {"n_seen": "seen"},
    "ExportReport": {"ndcg": "value", "ndcg_of_program": "value_of_program"},
    "Metric": {"worth": "gains"},
    "QueryGroups": {"among": "take", "places": "positions"},
}


class RenamedMembers:
    """Base class whose subclasses in ``RENAMED_MEMBERS`` answer an old attribute with its new name.

    Examples
    --------
    >>> from treerank import NDCG
    >>> NDCG(5).worth
    Traceback (most recent call last):
    ...
    AttributeError: NDCG.worth is now gains.
    """

    def __getattr__(self, name: str) -> Any:
        """Raise an AttributeError, which says what a renamed attribute is called now."""
        for base in type(self).__mro__:
            if name in RENAMED_MEMBERS.get(base.__name__, {}):
                new = RENAMED_MEMBERS[base.__name__][name]
                raise AttributeError(f"{type(self).__name__}.{name} is now {new}.")
        return object.__getattribute__(self, name)  # with the message of a property


class _RenamedModules(MetaPathFinder):
    """Import hook that answers an old module, such as ``treerank.results``, with its new name.

    Python asks it for modules that do not exist.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        package, _, name = fullname.rpartition(".")
        if name in RENAMED.get(package, {}):
            refuse_old_name(package, name)


def refuse_old_name(package: str, name: str) -> NoReturn:
    """Raise an ImportError that says what a renamed object of a package is called now."""
    raise ImportError(f"{package}.{name} is now {RENAMED[package][name]}.")


def answer_old_modules() -> None:
    """Install the import hook that answers old module names with the new ones, once."""
    if not any(isinstance(finder, _RenamedModules) for finder in sys.meta_path):
        sys.meta_path.append(_RenamedModules())
