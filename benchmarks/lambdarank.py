"""Lambdarank: LightGBM's fits, and the scores that it had before each tree."""

import lightgbm
import numpy as np

LEAVES = 15


def fit_lightgbm(data, objective, n_trees, **params):
    params |= {"objective": objective, "verbosity": -1, "metric": "none"}
    return lightgbm.train({"num_leaves": LEAVES} | params, data, num_boost_round=n_trees)


def scores_before_trees(X, data, n_trees):
    """Return the scores that lambdarank has before each tree."""
    booster = fit_lightgbm(data, "lambdarank", n_trees)
    later = [booster.predict(X, raw_score=True, num_iteration=t) for t in range(1, n_trees)]
    return [np.zeros(len(X)), *later]
