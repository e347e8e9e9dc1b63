"""Refit: rankers that learn from the validation part, too, once it has told the number of trees."""

from operator import attrgetter
from unittest.mock import patch

import catboost
import lightgbm
import numpy as np
import quality_rankers
import xgboost

from treerank import TreeDirectRanker

#: Number of trees that a fitted ranker keeps.
N_TREES = {
    lightgbm.LGBMRanker: attrgetter("best_iteration_"),
    xgboost.XGBRanker: lambda ranker: ranker.best_iteration + 1,
    catboost.CatBoostRanker: attrgetter("tree_count_"),
    TreeDirectRanker: attrgetter("best_iteration_"),
}


def joined(*parts):
    """Return the rows of several parts as one."""
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def refitted(fit):
    """Return a function that fits to both parts, with as many trees as early stopping keeps."""

    def fit_to_all(train, valid, seed):
        stopped = fit(train, valid, seed).__self__
        with patch.object(quality_rankers, "TREES", N_TREES[type(stopped)](stopped)):
            return fit(joined(train, valid), None, seed)

    return fit_to_all
