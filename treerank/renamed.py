"""Names of before the first release, and what they are called now.

``from treerank.feature_parts import Line`` raises an error that names :class:`LinearModel`.
"""

#: The old name of a feature part, and what to write instead.
RENAMED_PARTS = {"chain": "stages", "line": "linear"}

#: The old name of a package's attribute, by package, and what to write instead.
RENAMED = {
    "treerank": {
        "Line": "treerank.feature_parts.LinearModel",
        "results": "treerank.reranking",
        "inputs": "treerank.documents",
    },
    "treerank.clicks": {"read_ubi": "treerank.search_engines.read_ubi"},
    "treerank.datasets": {
        "FeatureLog": "treerank.search_engines.FeatureLog",
        "read_feature_log": "treerank.read_feature_log",
        "read_judgments": "treerank.read_judgments",
    },
    "treerank.evaluation": {
        "Refreshed": "treerank.rankers.Refreshed",
        "refresh": "treerank.rankers.refresh",
    },
    "treerank.feature_parts": {
        "Chain": "treerank.feature_parts.Stages",
        "GivenTrees": "treerank.feature_parts.RefitTrees",
        "Line": "treerank.feature_parts.LinearModel",
        "LinearNetwork": "treerank.feature_parts.MLP((), start='zero')",
    },
    "treerank.reranking": {"runs_as_features": "treerank.search_engines.runs_as_features"},
    "treerank.inspection": {
        "Copies": "treerank.inspection.Duplicates",
        "copies": "treerank.inspection.duplicates",
        "Swaps": "treerank.inspection.RankChanges",
        "costly_swaps": "treerank.inspection.costly_rank_changes",
        "explain_standing": "treerank.inspection.explain_lead",
    },
}
