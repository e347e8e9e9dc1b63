"""A small ranker of each kind, and of each kind of feature part, to test what holds for all."""

from ranking_sample import make_ranking_sample

from treerank.feature_parts import LightGBMTrees, RefitTrees
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.rankers import ForestRanker, NestedRanker
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.registry import RANKERS, ranker_class

SMALL_TREES = LightGBMTrees(n_estimators=3, min_child_samples=5, n_jobs=1)
#: Settings that make a feature part quick; others are as they are by default.
PART_SETTINGS = {
    "lightgbm": {"n_estimators": 3, "min_child_samples": 5, "n_jobs": 1},
    "xgboost": {"n_estimators": 3, "n_jobs": 1},
    "histogram": {"n_estimators": 3, "min_child_samples": 5},
    "streaming": {"n_estimators": 3, "min_child_samples": 5},
    "ensemble": {"parts": ("linear", SMALL_TREES), "n_bags": 2},
    "stages": {"parts": ("linear", SMALL_TREES)},
    "mlp": {"hidden": (4,), "n_epochs": 1},
    "polynomial": {"n_epochs": 1},
    "soft_trees": {"n_estimators": 2, "depth": 2, "n_epochs": 1},
}
#: Settings that make a ranker quick.
SETTINGS = {
    "AdaRank": {"n_estimators": 4},
    "ColumnRanker": {"column": 1},
    "CoordinateAscent": {"n_restarts": 1, "n_sweeps": 1, "n_steps": 3},
    "ESRank": {"n_generations": 10},
    "FRank": {"n_estimators": 4},
    "IESRRank": {"n_generations": 10},
    "IESVMRank": {"n_generations": 10},
    "LambdaMART": {"n_estimators": 3, "min_child_samples": 5},
    "LambdaRank": {"hidden": (4,), "n_epochs": 1},
    "LargeMarginPRank": {"n_epochs": 2, "n_perceptrons": 3},
    "ListNet": {"n_epochs": 1},
    "ListNetStar": {"hidden": (4, 2), "n_epochs": 1},
    "MART": {"n_estimators": 3, "min_child_samples": 5},
    "PRank": {"n_epochs": 2},
    "QuadraticPRank": {"n_epochs": 2},
    "RankBoost": {"n_estimators": 4},
    "RankNet": {"n_epochs": 1},
    "RankNetStar": {"hidden": (4, 2), "n_epochs": 1},
    "RankProp": {"hidden": (4,), "n_epochs": 1},
    "SortNet": {"n_hidden": 3, "max_iter": 1, "n_epochs": 1},
}
#: Names of rankers, and of feature parts under a ranker.
NAMES = [*RANKERS, *FEATURE_PARTS, "RefitTrees"]
DATA = make_ranking_sample()


def made(name):
    """Return a small ranker of a name, or a ranker with a small feature part of a name."""
    if name in FEATURE_PARTS:
        part = feature_part_class(name)(**PART_SETTINGS.get(name, {}))
        settings = {} if name == "linear" else {"weight": "ndcg", "smoothing": 1.0}
        return TreeDirectRanker(part, **settings)
    if name in ("ForestRanker", "RefitTrees"):
        forest = made("lightgbm").set_params(random_state=0).fit(*DATA).forest()
        is_ranker = name == "ForestRanker"
        return ForestRanker(forest) if is_ranker else TreeDirectRanker(RefitTrees(forest))
    kind = ranker_class(name)
    if kind is NestedRanker:
        return kind(made("lightgbm"), sizes=(6,))
    if issubclass(kind, TreeDirectRanker):
        part = "streaming" if name == "StreamingRanker" else "lightgbm"
        return kind(made(part).feature_part)
    return kind(**SETTINGS.get(name, {}))
