"""Clicks of simulated users, and rankers that learn from them."""

import lightgbm
import numpy as np
import xgboost

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.clicks import ClickRelevance

#: All rankers have the same trees, and one thread, since other programs may run.
TREES = {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 15, "n_jobs": 1}
OURS, IGNORED = "TreeDirectRanker, debiased", "TreeDirectRanker, positions ignored"
NAIVE = (IGNORED, "TreeDirectRanker, clicks as labels", "Poisson regression of click rates")
POSITION, UNBIASED = "LightGBM, position=", "XGBoost, lambdarank_unbiased"
PEERS = ("LightGBM", POSITION, "XGBoost", UNBIASED)
TRUTH, LOGGED = "true labels of shown documents", "ranker that logged"
#: Users: noise and trust; examination below a click over that without one. Users of the cascade
#: mostly leave with a click; those who browse look further.
USERS = {
    "position": {},
    "noise": {"noise": 0.3},
    "trust": {"trust": 0.3},
    "cascade": {"after_click": 0.2},
    "browsing": {"after_click": 1.5},
}


def drawn_clicks(log, y, severity, rng, noise=0.1, trust=0.0, after_click=1.0):
    """Return clicks; a click changes the examination of all positions below it."""
    gain = (np.exp2(y) - 1) / (2 ** y.max() - 1)
    clicked, reach = np.empty(len(log.item), dtype=bool), np.ones(len(log))
    ends = np.cumsum(log.n_at)
    for position, rows in enumerate(map(slice, ends - log.n_at, ends), start=1):
        row = log.items.document[log.item[rows]]
        top = position**-severity
        wrong = noise + trust * (top - 10**-severity)  # trust in high positions
        proba = np.minimum(reach[: len(row)] * top, 1) * (wrong + (1 - wrong) * gain[row])
        clicked[rows] = rng.random(len(row)) < proba
        reach[: len(row)][clicked[rows]] *= after_click
    return log.with_clicks(clicked)


def rankers(log, X, y, qid):
    """Return a function per ranker that fits it and returns its predict."""
    part, counts, shown = (
        LightGBMTrees(**TREES, colsample_bytree=1.0),
        log.counts(),
        log.items.document,
    )
    row, order = shown[log.item], np.argsort(log.session, kind="stable")
    lists = X[row[order]], log.clicked[order].astype(int), log.session[order]
    sizes, position = np.bincount(log.session), log.position[order] - 1
    impressions = counts.by_item(counts.shown)
    rate = counts.by_item(counts.clicked) / impressions

    def ours(**settings):
        clicks = ClickRelevance(**settings, random_state=0)
        return direct(*clicks.fit(log, (X, qid, np.arange(len(y)))).training_data())

    def direct(X, y, qid):
        return TreeDirectRanker(part, random_state=0).fit(X, y, qid).predict

    def lgbm(**position):
        data = lightgbm.Dataset(*lists[:2], group=sizes, **position)
        options = {"objective": "lambdarank", "verbosity": -1, "num_threads": 1}
        options |= {"num_leaves": TREES["num_leaves"], "learning_rate": TREES["learning_rate"]}
        return lightgbm.train(options, data, TREES["n_estimators"]).predict

    def xgb(unbiased):
        options = {"max_leaves": TREES["num_leaves"], "max_depth": 0, "grow_policy": "lossguide"}
        options |= {"lambdarank_unbiased": unbiased, "lambdarank_pair_method": "topk"}
        options |= {name: TREES[name] for name in ("n_estimators", "learning_rate", "n_jobs")}
        ranker = xgboost.XGBRanker(**options, ndcg_exp_gain=False)
        return ranker.fit(*lists[:2], qid=lists[2]).predict

    def poisson():
        regressor = lightgbm.LGBMRegressor(objective="poisson", verbosity=-1, **TREES)
        return regressor.fit(X[shown], rate, sample_weight=impressions).predict

    return {
        OURS: ours,
        NAIVE[0]: lambda: ours(propensities=np.ones(log.n_positions)),
        NAIVE[1]: lambda: direct(*lists),
        NAIVE[2]: poisson,
        "LightGBM": lgbm,
        POSITION: lambda: lgbm(position=position),
        "XGBoost": lambda: xgb(False),
        UNBIASED: lambda: xgb(True),
        TRUTH: lambda: direct(X[shown], y[shown], qid[shown]),
    }
