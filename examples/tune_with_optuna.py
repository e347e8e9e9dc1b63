"""
Tune with Optuna
================

Optuna draws parameters, and ends bad fits early by a callback after each tree.
"""

# %%
# Data
# ----

import optuna

from treerank import LightGBMTrees, QueryShuffleSplit, TreeDirectRanker, make_web_search

X, y, qid = make_web_search(n_queries=60, documents_per_query=20, n_features=30, random_state=0)
train, valid = next(QueryShuffleSplit(1, random_state=0).split(X, qid=qid))
watched = X[valid], y[valid], qid[valid]

# %%
# Search
# ------


def suggested(trial):
    return {
        "smoothing": trial.suggest_float("smoothing", 0, 2),
        "feature_part__learning_rate": trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        "feature_part__num_leaves": trial.suggest_int("num_leaves", 4, 255, log=True),
        "feature_part__reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 100, log=True),
        "feature_part__colsample_bytree": trial.suggest_float("colsample_bytree", 0.3, 1),
    }


def objective(trial):
    def prune(n_done, n_total, values):
        trial.report(values["ndcg@10"], n_done)
        if trial.should_prune():
            raise optuna.TrialPruned

    ranker = TreeDirectRanker(LightGBMTrees(20), random_state=0).set_params(**suggested(trial))
    ranker.fit(X[train], y[train], qid[train], eval_set=watched, callbacks=[prune])
    return ranker.score(*watched)


study = optuna.create_study(direction="maximize")
study.optimize(objective, n_trials=8)
print(f"NDCG@10 {study.best_value:.3f} with {study.best_params}")
assert study.best_value > 0.5
