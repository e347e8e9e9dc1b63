"""Which ranker learns most from clicks? Ours and the engines', under five ways to click.

Synthetic web searches; a weak ranker logs its top 10 with some exploration. NDCG@10 on other
queries, against the true labels; the mean over seeds, and its standard error.
"""

import argparse

import lightgbm
import numpy as np
import xgboost
from timing import say_versions

from treerank import NDCG, LightGBMTrees, TreeDirectRanker, make_web_search
from treerank.baselines.linear.ranksvm import RankSVM
from treerank.clicks import ClickRelevance, simulate_clicks

TREES = {"n_estimators": 200, "learning_rate": 0.05, "num_leaves": 15}
#: Examination of the next position over that of this one after a click, trust and noise.
WAYS = {
    "position": {},
    "noise": {"noise": 0.3},
    "trust": {"trust": 0.3},
    "cascade": {"after_click": 0.2},
    "browsing": {"after_click": 1.5},
}


def drawn_clicks(log, y, severity, rng, noise=0.1, trust=0.0, after_click=1.0):
    """Return clicks; a click changes the examination of all positions below it."""
    gain = (np.exp2(y) - 1) / 15
    clicked, reach = np.empty(len(log.item), dtype=bool), np.ones(log.n_sessions)
    for place, rows in enumerate(log.positions(), start=1):
        row = log.items.document[log.item[rows]]
        top = place**-severity
        wrong = noise + trust * (top - 10**-severity)  # trust in high positions
        proba = np.minimum(reach[: len(row)] * top, 1) * (wrong + (1 - wrong) * gain[row])
        clicked[rows] = rng.random(len(row)) < proba
        reach[: len(row)][clicked[rows]] *= after_click
    return log.with_clicks(clicked)


def rankers(log, X, y, qid):
    """Return a function per ranker that fits it and returns its predict."""
    part = LightGBMTrees(**TREES)
    row, order = log.items.document[log.item], np.argsort(log.session, kind="stable")
    lists = X[row[order]], log.clicked[order].astype(int), log.session[order]
    place, sizes = log.position[order] - 1, np.bincount(log.session)
    shown, counts = log.items.document, log.counts()
    impressions = counts.by_item(counts.shown)
    rate = counts.by_item(counts.clicked) / impressions

    def ours():
        clicks = ClickRelevance(random_state=0).fit(log, (X, qid, np.arange(len(y))))
        return TreeDirectRanker(part, random_state=0).fit(*clicks.training_data()).predict

    def lgbm(**position):
        data = lightgbm.Dataset(*lists[:2], group=sizes, **position)
        options = {"objective": "lambdarank", "verbosity": -1, "num_leaves": 15}
        return lightgbm.train(options | {"learning_rate": 0.05}, data, 200).predict

    def xgb(unbiased):
        leaves = {"max_leaves": 15, "max_depth": 0, "grow_policy": "lossguide"}
        options = {"lambdarank_unbiased": unbiased, "lambdarank_pair_method": "topk"}
        options |= {"n_estimators": 200, "learning_rate": 0.05, "ndcg_exp_gain": False}
        return xgboost.XGBRanker(**leaves, **options).fit(*lists[:2], qid=lists[2]).predict

    def poisson():
        regressor = lightgbm.LGBMRegressor(objective="poisson", verbosity=-1, **TREES)
        return regressor.fit(X[shown], rate, sample_weight=impressions).predict

    def direct(X, y, qid):
        return TreeDirectRanker(part, random_state=0).fit(X, y, qid).predict

    return {
        "TreeDirectRanker on ClickRelevance": ours,
        "TreeDirectRanker on clicks": lambda: direct(*lists),
        "Poisson regression of click rates": poisson,
        "LightGBM": lgbm,
        "LightGBM, position=": lambda: lgbm(position=place),
        "XGBoost": lambda: xgb(False),
        "XGBoost, lambdarank_unbiased": lambda: xgb(True),
        "true labels of shown documents": lambda: direct(X[shown], y[shown], qid[shown]),
    }


def measured(way, severity, n_sessions, seed, chosen):
    """Return the NDCG@10 of each ranker whose name has one of the chosen parts."""
    X, y, qid = make_web_search(700, documents_per_query=40, random_state=seed)
    logged = RankSVM().fit(X[qid < 8], y[qid < 8], qid[qid < 8]).predict
    test, kept = qid >= 400, qid < 400
    shown = y[kept], qid[kept], logged(X[kept])
    log = simulate_clicks(*shown, n_sessions=n_sessions, random_state=seed)
    log = drawn_clicks(log, y, severity, np.random.default_rng(seed), **WAYS[way])
    fits = rankers(log, X[kept], y[kept], qid[kept]) | {"ranker that logged": lambda: logged}
    return {
        name: NDCG(k=10)(y[test], fit()(X[test]), qid[test])
        for name, fit in fits.items()
        if any(part in name for part in chosen)
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, nargs="+", default=[20, 200])
    parser.add_argument("--severity", type=float, nargs="+", default=[0.0, 0.5, 1.0, 1.5, 2.0])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rankers", nargs="+", default=[""], help="parts of their names")
    arguments = parser.parse_args()
    say_versions("lightgbm", "xgboost")
    cells = [
        (way, severity, n)
        for way in arguments.ways
        for severity in arguments.severity
        for n in arguments.sessions
    ]
    for way, severity, n_sessions in cells:
        setting = way, severity, n_sessions
        by_seed = [measured(*setting, seed, arguments.rankers) for seed in arguments.seeds]
        print(f"{way}, severity {severity}, {n_sessions} sessions of each query")
        for name in by_seed[0]:
            values = [each[name] for each in by_seed]
            error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            print(f"{name:40} {np.mean(values):.4f} +- {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
