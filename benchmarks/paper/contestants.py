"""Contestants: the feature parts of TreeDirectRanker, the neural core, and the engines' rankers.

All have about the same trees and the same number of candidates; see ``neural_core.py``. The
neural core, RankNet*, has each of them twice: with pairs across queries, as its paper has them, and
with pairs within queries.
"""

import importlib.util

import numpy as np
from line_up import neural, trees
from parameters import about_rankers
from sklearn import config_context
from sklearn.base import BaseEstimator, clone

from treerank.evaluation.pipelines import request_metadata, takes_qid
from treerank.feature_parts.registry import feature_part_class
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

SIZE = {"full": (200, 60), "quick": (100, 30), "tiny": (3, 1)}


#: What engines get in addition to the parameters of an ``EngineRanker``.
SETTLED = {
    "lightgbm": {"n_jobs": 1, "verbosity": -1},
    "xgboost": {
        "objective": "rank:ndcg",
        "max_depth": 0,
        "grow_policy": "lossguide",
        "n_jobs": 1,
    },
    "catboost": {"loss_function": "YetiRank", "depth": 4, "thread_count": 1},
}


class EngineRanker(BaseEstimator):
    """An engine's own ranker, for rows in any order."""

    def __init__(
        self, engine, n_estimators=100, *, learning_rate=0.1, num_leaves=15, random_state=0
    ):
        self.engine = engine
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.random_state = random_state

    def fit(self, X, y, qid):
        """Sort by query and fit."""
        _, codes = np.unique(qid, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self.model_ = ENGINES[self.engine](self, X[order], y[order], codes[order])
        return self

    def predict(self, X):
        """Return scores."""
        return self.model_.predict(X)


def fit_lightgbm(ranker, X, y, codes):
    """Fit LightGBM's lambdarank."""
    import lightgbm

    model = lightgbm.LGBMRanker(
        n_estimators=ranker.n_estimators,
        learning_rate=ranker.learning_rate,
        num_leaves=ranker.num_leaves,
        random_state=ranker.random_state,
        **SETTLED["lightgbm"],
    )
    return model.fit(X, y, group=np.bincount(codes))


def fit_xgboost(ranker, X, y, codes):
    """Fit XGBoost's rank:ndcg, grown by loss as the others."""
    import xgboost

    model = xgboost.XGBRanker(
        n_estimators=ranker.n_estimators,
        learning_rate=ranker.learning_rate,
        max_leaves=ranker.num_leaves,
        random_state=ranker.random_state,
        **SETTLED["xgboost"],
    )
    return model.fit(X, y, qid=codes)


def fit_catboost(ranker, X, y, codes):
    """Fit CatBoost's YetiRank; its trees are symmetric, of depth 4."""
    import catboost

    model = catboost.CatBoostRanker(
        iterations=ranker.n_estimators,
        learning_rate=ranker.learning_rate,
        random_seed=ranker.random_state,
        silent=True,
        allow_writing_files=False,
        **SETTLED["catboost"],
    )
    return model.fit(catboost.Pool(X, y, group_id=codes))


ENGINES = {"lightgbm": fit_lightgbm, "xgboost": fit_xgboost, "catboost": fit_catboost}


def contestants(protocol, names=None):
    """Return rankers by name, or those of some names, and the grid of each."""
    n_trees, n_epochs = SIZE[protocol]
    parts = {"LightGBMTrees": trees(n_estimators=n_trees)}
    if protocol != "tiny":
        parts |= other_parts(n_trees, n_epochs)
    rankers = {name: TreeDirectRanker(part) for name, part in parts.items()}
    rankers |= {
        "neural core, RankNet*": neural("RankNetStar", n_epochs=n_epochs),
        "LGBMRanker": EngineRanker("lightgbm", n_trees),
        "XGBRanker": EngineRanker("xgboost", n_trees),
        "CatBoostRanker": EngineRanker("catboost", n_trees),
    }
    if names is not None:
        rankers = {name: rankers[check_name(name, rankers)] for name in names}
    return rankers, {name: grid_of(name, protocol) for name in rankers}


def check_name(name, rankers):
    """Return the name of a ranker; refuse what is none."""
    if name not in rankers:
        raise ValueError(f"rankers must be of {', '.join(map(repr, rankers))}; got {name!r}.")
    return name


def can_run(ranker):
    """Return whether the engine of a ranker is installed."""
    engine = getattr(ranker, "engine", None)
    return engine is None or importlib.util.find_spec(engine) is not None


def shown(about):
    """Return the rankers as a file shows them, and the settings of the engines."""
    rankers, grids = contestants(about["protocol"], about.get("names"))
    return about_rankers(rankers, grids) | {"engines": SETTLED}


def other_parts(n_trees, n_epochs):
    """Return the feature parts besides LightGBM's trees."""
    network = {"n_epochs": n_epochs, "decay": "step"}
    return {
        "XGBoostTrees": part("xgboost", n_estimators=n_trees, num_leaves=15, max_depth=0,
                             grow_policy="lossguide", n_jobs=1),
        "HistogramTrees": part("histogram", n_estimators=n_trees, num_leaves=15, n_jobs=1),
        "SoftTrees": part("soft_trees", **network),
        "MLP": part("mlp", **network),
        "Polynomial": part("polynomial", **network),
        "Linear": part("mlp", hidden=(), start="zero", learning_rate=0.01, **network),
    }  # fmt: skip


def part(name, **settings):
    """Return a feature part of a name."""
    return feature_part_class(name)(**settings)


def grid_of(name, protocol):
    """Return the candidates: a rate, and in the full protocol a size or a penalty, too."""
    full = protocol == "full"
    if name in ("LGBMRanker", "XGBRanker", "CatBoostRanker"):
        return {"learning_rate": [0.03, 0.1]} | ({"n_estimators": [100, 200]} if full else {})
    if name.startswith("neural core"):
        rates = {"ranknetstar__learning_rate": [1e-3, 3e-3]}
        rates |= {"ranknetstar__across_queries": [True, False]}
        return rates | ({"ranknetstar__weight_decay": [1e-4, 1e-3]} if full else {})
    if name.endswith("Trees") and name != "SoftTrees":
        rates = {"feature_part__learning_rate": [0.03, 0.1]}
        return rates | ({"feature_part__n_estimators": [100, 200]} if full else {})
    of_part = [1e-3, 3e-3] if name == "SoftTrees" else [3e-3, 1e-2]
    rates = {"feature_part__learning_rate": of_part}
    return rates | ({"feature_part__weight_decay": [0.0, 1e-3]} if full else {})


def fit(estimator, X, y, qid):
    """Fit a copy, with the ids of the queries if it takes them."""
    with config_context(enable_metadata_routing=True):
        estimator = request_metadata(clone(estimator))
        return estimator.fit(X, y, **({"qid": qid} if takes_qid(estimator) else {}))
