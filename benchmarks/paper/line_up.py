"""Line-up: the rankers of Table 1 of the DirectRanker paper, and the grids of their parameters.

Grids follow the paper's Table 4 as far as two cores allow: eight candidates each in the full
protocol, two in the quick one. Neural rankers get features of normal distribution, as in section
4.4; for the others the scale does not matter. Nor does the standard deviation, which is not that of
the paper, since networks standardize. TreeDirectRanker is ours, and RankSVM is a strong line; both
are not in the paper's table.
"""

from sklearn.pipeline import make_pipeline
from transforms import NormalTransformer

from treerank.feature_parts.trees.lightgbm import LightGBMTrees
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.registry import ranker_class

SMALL, LARGE = (32, 20, 5), (200, 50, 30, 10, 5)


def neural(name, **settings):
    """Return a network behind the transform."""
    return make_pipeline(NormalTransformer(3**0.5), ranker(name, **settings))


def ranker(name, **settings):
    """Return a ranker of treerank by name."""
    return ranker_class(name)(**settings)


def trees(**settings):
    """Return trees that are alike for all."""
    return LightGBMTrees(**{"n_estimators": 100, "num_leaves": 15, "n_jobs": 1} | settings)


def table1_rankers(protocol):
    """Return the rankers of Table 1 by name, and the grid of each that has one."""
    if protocol == "tiny":
        return {
            "RankNet*": neural("RankNetStar", hidden=(4,), n_epochs=2),
            "AdaRank": ranker("AdaRank", n_estimators=5),
            "TreeDirectRanker": TreeDirectRanker(trees(n_estimators=5)),
        }, {"AdaRank": {"n_estimators": [2, 5]}}
    rankers = {
        "RankNet*": neural("RankNetStar", n_epochs=30, decay_epochs=10),
        "RankNet": neural("RankNet", n_epochs=30),
        "ListNet*": neural("ListNetStar", n_epochs=30),
        "ListNet": neural("ListNet", n_epochs=30),
        "LambdaMART": ranker("LambdaMART", num_leaves=15, n_jobs=1),
        "AdaRank": ranker("AdaRank"),
        "ES-Rank": ranker("ESRank"),
        "IESR-Rank": ranker("IESRRank"),
        "IESVM-Rank": ranker("IESVMRank"),
        "RankSVM": ranker("RankSVM"),
        "TreeDirectRanker": TreeDirectRanker(trees()),
    }
    grids = FULL_GRIDS if protocol == "full" else QUICK_GRIDS
    return rankers, {name: grid for name, grid in grids.items() if name in rankers}


def _networks(name, hidden, **grid):
    step = name.lower()
    grid = {"hidden": hidden} | grid
    return {f"{step}__{key}": list(values) for key, values in grid.items()}


_LAMBDA_MART = {"n_estimators": [50, 200], "learning_rate": [0.03, 0.1], "num_leaves": [7, 15]}
_TREES = {
    "feature_part__n_estimators": [50, 200],
    "feature_part__learning_rate": [0.03, 0.1],
    "feature_part__num_leaves": [7, 15],
}
FULL_GRIDS = {
    "RankNet*": _networks(
        "RankNetStar", (SMALL, LARGE), weight_decay=(1e-4, 1e-3), n_epochs=(10, 30)
    ),
    "RankNet": _networks(
        "RankNet", ((10,), (64, 32)), learning_rate=(0.01, 0.1), n_epochs=(10, 30)
    ),
    "ListNet*": _networks(
        "ListNetStar", (SMALL, LARGE), weight_decay=(1e-4, 1e-3), n_epochs=(10, 30)
    ),
    "ListNet": _networks("ListNet", ((), (10,)), learning_rate=(0.01, 0.1), n_epochs=(10, 30)),
    "LambdaMART": _LAMBDA_MART,
    "AdaRank": {"n_estimators": [100, 500], "tolerance": [0.002, None], "max_consecutive": [2, 5]},
    "RankSVM": {"C": [0.01, 0.1, 1.0, 10.0]},
    "TreeDirectRanker": _TREES,
}
QUICK_GRIDS = {
    "RankNet*": _networks("RankNetStar", (SMALL,), n_epochs=(10, 30)),
    "RankNet": _networks("RankNet", ((10,),), learning_rate=(0.01, 0.1)),
    "ListNet*": _networks("ListNetStar", (SMALL,), n_epochs=(10, 30)),
    "ListNet": _networks("ListNet", ((),), learning_rate=(0.01, 0.1)),
    "LambdaMART": {"learning_rate": [0.03, 0.1]},
    "AdaRank": {"max_consecutive": [2, 5]},
    "RankSVM": {"C": [0.1, 1.0]},
    "TreeDirectRanker": {"feature_part__learning_rate": [0.03, 0.1]},
}
