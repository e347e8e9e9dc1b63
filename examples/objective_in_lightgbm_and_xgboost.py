"""
Our objectives in plain LightGBM and XGBoost
============================================

An objective maps scores to a gradient and a hessian, with one entry per row. This is what
``lightgbm.train`` and ``xgboost.train`` expect from a custom objective. Rows may come in any order,
and group sizes are not needed.
"""

# %%
# Data, objective, metric
# -----------------------
# The rows are shuffled, since the documents of a query don't need to be adjacent. The metric also
# comes from treerank. It contains the labels and queries of the validation set, and is used for
# early stopping.

# sphinx_gallery_thumbnail_path = "generated/diagrams/boosting.svg"
import lightgbm as lgb
import numpy as np
import xgboost as xgb

from treerank import QueryKFold, get_metric, make_objective, make_web_search

X, y, qid = make_web_search(n_queries=80, documents_per_query=30, n_features=40, random_state=0)
shuffled = np.random.default_rng(0).permutation(len(y))
X, y, qid = X[shuffled], y[shuffled], qid[shuffled]
train, valid = next(QueryKFold(4).split(X, y, qid))

objective = make_objective(y[train], qid[train], loss="logistic", weight="map")
metric = get_metric("map").prepared(y[valid], qid[valid])  # scores -> a number

# %%
# LightGBM
# --------
# ``feature_pre_filter=False`` is needed because LightGBM would otherwise drop features that its own
# objectives cannot use.

booster = lgb.train(
    {
        "objective": lambda scores, _: objective.derivatives(scores),
        "metric": "None",
        "num_leaves": 15,
        "feature_pre_filter": False,
        "verbosity": -1,
        "seed": 0,
    },
    lgb.Dataset(X[train], y[train]),
    num_boost_round=60,
    valid_sets=[lgb.Dataset(X[valid], y[valid])],
    feval=lambda scores, _: ("MAP", metric(scores), True),
    callbacks=[lgb.early_stopping(20, verbose=False)],
)
with_lightgbm = metric(booster.predict(X[valid], num_iteration=booster.best_iteration))
print(f"LightGBM: MAP {with_lightgbm:.3f} after {booster.best_iteration} trees")

# %%
# XGBoost
# -------
# ``base_score=0`` is needed because XGBoost would otherwise start from a different score, and
# ``maximize=True`` because a higher MAP is better.

train_set, valid_set = xgb.QuantileDMatrix(X[train], y[train]), xgb.DMatrix(X[valid], y[valid])
stop = xgb.callback.EarlyStopping(rounds=20, metric_name="MAP", maximize=True, save_best=True)
booster = xgb.train(
    {
        "base_score": 0,
        "learning_rate": 0.1,
        "max_depth": 4,
        "disable_default_eval_metric": True,
        "seed": 0,
    },
    train_set,
    num_boost_round=60,
    obj=lambda scores, _: objective.derivatives(scores),
    evals=[(valid_set, "valid")],
    custom_metric=lambda scores, _: ("MAP", metric(scores)),
    callbacks=[stop],
    verbose_eval=False,
)
with_xgboost = metric(booster.predict(valid_set))
print(f"XGBoost: MAP {with_xgboost:.3f} after {booster.num_boosted_rounds()} trees")

# %%
# Several outputs
# ---------------
# A model may have an output for each of several labels, with a separate objective for each output.
# Here, the second label says whether a document is good enough. The outputs share the splits of the
# trees. The gradient and the hessian have a column for each output.

labels = {"grade": y, "good": (y >= 2).astype(float)}
objectives = [make_objective(each[train], qid[train]) for each in labels.values()]


def derivatives(scores, _):
    """Return gradient and hessian of all outputs, of shape (n_documents, n_outputs)."""
    pairs = [each.derivatives(scores[:, k]) for k, each in enumerate(objectives)]
    return tuple(np.column_stack(columns) for columns in zip(*pairs, strict=True))


booster = xgb.train(
    {
        "base_score": 0,
        "learning_rate": 0.1,
        "max_depth": 4,
        "num_target": 2,
        "multi_strategy": "multi_output_tree",
        "disable_default_eval_metric": True,
        "seed": 0,
    },
    xgb.QuantileDMatrix(X[train], np.column_stack([*labels.values()])[train]),
    num_boost_round=60,
    obj=derivatives,
)
scores = booster.predict(valid_set)
for k, (name, label) in enumerate(labels.items()):
    of_output = get_metric("ndcg@10")(label[valid], scores[:, k], qid[valid])
    print(f"output for {name!r}: NDCG@10 {of_output:.3f}")
assert scores.shape == (len(valid), 2)

by_chance = metric(np.zeros(len(valid)))
print(f"a random order: MAP {by_chance:.3f}")
assert min(with_lightgbm, with_xgboost) > by_chance + 0.05
