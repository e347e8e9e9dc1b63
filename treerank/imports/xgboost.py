"""XGBoost: models of its own objectives and of booster DART, beside those that this package grows.

Scores are margins, before an objective turns them into probabilities or rates. DART multiplies the
leaves of each tree by a weight, in single precision. A fit that stopped early scores by the trees
up to its best iteration, as XGBRanker does.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.forests.forest import Forest
from treerank.forests.joining import some_trees
from treerank.forests.xgboost_model import read_xgboost


def _logit(share: np.ndarray) -> np.ndarray:
    """Return the log odds; XGBoost computes the odds in single precision."""
    one = np.float32(1)
    return -np.log((one / share.astype(np.float32) - one).astype(np.float64))


#: How an objective turns ``base_score`` into the first margin.
_MARGINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "binary:logistic": _logit,
    "binary:logitraw": lambda score: score,
    "count:poisson": np.log,
    "reg:gamma": np.log,
    "reg:logistic": _logit,
    "reg:tweedie": np.log,
}


def read_xgboost_model(document: dict[str, Any]) -> Forest:
    """Return the trees of a model, given what its file holds."""
    learner = dict(document["learner"])
    objective, booster = dict(learner["objective"]), learner["gradient_booster"]
    margin = _MARGINS.get(objective.get("name", ""))
    if margin is not None:
        learner["objective"] = {"name": "reg:squarederror"}
    weights = None
    if booster.get("name") == "dart":
        weights = np.array(booster["weight_drop"], dtype=np.float32)
        learner["gradient_booster"] = booster["gbtree"]
    forest = read_xgboost(document | {"learner": learner})
    if weights is not None:
        forest = _weighed(forest, weights)
    best = learner.get("attributes", {}).get("best_iteration")
    if best is not None:
        model = learner["gradient_booster"]["model"]
        ends = model.get("iteration_indptr", range(forest.n_trees + 1))
        forest = some_trees(forest, 0, int(ends[np.clip(int(best) + 1, 0, len(ends) - 1)]))
    return forest if margin is None else _with_margin(forest, margin)


def _weighed(forest: Forest, weights: np.ndarray) -> Forest:
    """Return a forest with a weight for each tree."""
    if weights.shape != (forest.n_trees,) or not np.isfinite(weights).all():
        raise ValueError("A model of XGBoost must have a weight for each tree under DART.")
    factor = weights[forest.tree_of_node][:, None]
    return replace(forest, values=(forest.values.astype(np.float32) * factor).astype(np.float64))


def _with_margin(forest: Forest, margin: Callable[[np.ndarray], np.ndarray]) -> Forest:
    with np.errstate(divide="ignore", invalid="ignore"):
        constant = margin(forest.constant).astype(np.float32).astype(np.float64)
    if not np.isfinite(constant).all():
        raise ValueError("A model of XGBoost must have a base_score in the range of its objective.")
    return replace(forest, constant=constant + 0.0)
