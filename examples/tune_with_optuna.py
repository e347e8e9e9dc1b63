"""
Tune with Optuna
================

``suggest_trees`` draws parameters. By a callback after each tree, Optuna ends bad fits early.
"""

# %%
# Data
# ----

import optuna

from treerank import LightGBMTrees, QueryShuffleSplit, TreeDirectRanker, make_web_search
from treerank.model_selection import suggest_trees

X, y, qid = make_web_search(n_queries=60, documents_per_query=20, n_features=30, random_state=0)
train, valid = next(QueryShuffleSplit(1, random_state=0).split(X, qid=qid))
watched = X[valid], y[valid], qid[valid]

# %%
# Search
# ------


def objective(trial):
    def prune(n_done, n_total, values):
        trial.report(values["ndcg@10"], n_done)
        if trial.should_prune():
            raise optuna.TrialPruned

    ranker = TreeDirectRanker(LightGBMTrees(20), random_state=0).set_params(**suggest_trees(trial))
    ranker.fit(X[train], y[train], qid[train], eval_set=watched, callbacks=[prune])
    return ranker.score(*watched)


study = optuna.create_study(direction="maximize")
study.optimize(objective, n_trials=8)
print(f"NDCG@10 {study.best_value:.3f} with {study.best_params}")
assert study.best_value > 0.5
