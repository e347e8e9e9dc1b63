"""Fits by several workers, compared with the fit of one."""

import pickle
import re

import numpy as np

from treerank.distributed import fit

SETTINGS = {
    "default": {},
    "delta NDCG": {"weight": "ndcg", "k": 5},
    "ERR": {"weight": "err", "smoothing": 1.0},
    "ERR without smoothing": {"weight": "err", "smoothing": 0.0},
    "equal queries": {"weight": "query", "smoothing": 1.0},
    "per query": {"query_normalization": "log", "pairs": "adjacent"},
    "listwise": {"loss": "listnet"},
    "drawn targets": {"loss": "xendcg"},
    "exact kernel": {"loss": "hinge"},
}


def model_of(ranker):
    """Return all bits of the trees; the engine may write 0 as -0, which is the same number."""
    forest = ranker.forest()
    arrays = forest.roots, forest.feature, forest.threshold, forest.left, forest.right
    arrays += forest.missing_left, np.where(forest.left[:, None] < 0, forest.values, 0)
    booster = ranker.feature_part_.booster_
    if not hasattr(booster, "get_dump"):
        return pickle.dumps(booster.as_state())
    statistics = [re.sub(r"-0(?![.\d])", "0", tree) for tree in booster.get_dump(with_stats=True)]
    return [(array + 0).tobytes() for array in arrays], statistics


def assert_same(ranker, workers, n_workers, X, y, qid, **columns):
    """Return the ranker of so many workers; raise AssertionError if it is not that of one."""
    one = ranker.fit(X, y, qid, **columns)
    workers.n_workers = n_workers
    several = fit(ranker, X, y, qid, workers=workers, **columns)
    assert model_of(several) == model_of(one)
    assert several.steepness_ == one.steepness_
    assert several.evals_result_ == one.evals_result_
    np.testing.assert_array_equal(several.predict(X), one.predict(X))
    return several
