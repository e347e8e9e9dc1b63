"""Rankers of ``bench_vector_outputs.py``: one score, or several outputs under a head."""

from sklearn.base import clone

from treerank import TreeDirectRanker
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.histogram.trees import HistogramTrees

TREES = {"full": 500, "quick": 200, "tiny": 3}
ALIKE = {"learning_rate": 0.1, "colsample_bytree": 1.0}
ALPHAS = {
    "full": {"l1": (0.01, 0.03, 0.1, 0.2), "l2": (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)},
    "quick": {"l1": (0.03, 0.1, 0.2), "l2": (1e-3, 0.1, 1.0, 10.0)},
    "tiny": {"l1": (0.1,), "l2": (1.0,)},
}
FORMS = (("levels", "l2"), ("trees", "l1"), ("trees", "l2"), ("leaves", "l1"), ("leaves", "l2"))


def ranker_of(part, output, penalty="l2", **settings):
    """Return a ranker over one score, over levels, or over trees or leaves."""
    if output not in ("score", "levels"):
        part = clone(part).set_params(output=output)
    return TreeDirectRanker(
        part, per_level=output == "levels", head_penalty=penalty, random_state=0, **settings
    )


def trees_of(protocol_name, **settings):
    return {"n_estimators": TREES[protocol_name], "num_leaves": 15, "n_jobs": 1, **ALIKE} | settings


def few_trees(n_trees, output, **settings):
    """Return a ranker that does not stop early."""
    return ranker_of(LightGBMTrees(**trees_of("tiny", n_estimators=n_trees)), output, **settings)


def compared(protocol_name):
    """Return the rankers that are compared, and their grid."""
    stopped = trees_of(protocol_name, early_stopping_rounds=50)
    lightgbm, histogram = LightGBMTrees(**stopped), HistogramTrees(**stopped)
    rankers = {f"LightGBM, {o} {p}": ranker_of(lightgbm, o, p) for o, p in FORMS}
    rankers["Histogram, levels l2"] = ranker_of(histogram, "levels")
    alphas = {p: list(values) for p, values in ALPHAS[protocol_name].items()}
    grid = {name: {"head_alpha": alphas[name[-2:]]} for name in rankers}
    rankers["LightGBM, score"] = ranker_of(lightgbm, "score")
    rankers["Histogram, score"] = ranker_of(histogram, "score")
    return rankers, grid
