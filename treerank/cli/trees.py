"""Trees of one size: the same trees, leaves and learning rate for every engine.

XGBoost grows by leaf only with ``grow_policy="lossguide"``, and stops at a depth of 6 by default.
To add an engine, list here the parameters for a given number of leaves.
"""

from treerank.feature_parts.registry import make_feature_part

SIZES = {
    "lightgbm": lambda leaves: {"num_leaves": leaves},
    "histogram": lambda leaves: {"num_leaves": leaves},
    "xgboost": lambda leaves: {"num_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"},
}


def size_of_trees(engine, trees, leaves, learning_rate):
    """Return the parameters, which the engine's own ranker and our feature part share."""
    return {"n_estimators": trees, "learning_rate": learning_rate, **SIZES[engine](leaves)}


def grown_to(feature_part, trees, leaves, learning_rate):
    """Make a feature part of a name that grows such trees."""
    part = make_feature_part(feature_part)
    return part.set_params(**size_of_trees(feature_part, trees, leaves, learning_rate))
