"""
Track with MLflow
=================

A callback logs the metric after each tree. Parameters and the model are logged, too.
"""

# %%
# Data
# ----

from pathlib import Path
from tempfile import TemporaryDirectory

import mlflow

from treerank import LightGBMTrees, TreeDirectRanker, load, make_web_search

X, y, qid = make_web_search(n_queries=60, documents_per_query=20, n_features=30, random_state=0)
train, valid = qid < 40, qid >= 40
ranker = TreeDirectRanker(LightGBMTrees(20), random_state=0)

# %%
# Run
# ---


def log(n_done, n_total, values):
    mlflow.log_metrics({name.replace("@", "_at_"): values[name] for name in values}, step=n_done)


with TemporaryDirectory() as folder, mlflow.start_run() as run:
    mlflow.log_params(ranker.get_params())
    watched = X[valid], y[valid], qid[valid]
    ranker.fit(X[train], y[train], qid[train], eval_set=watched, callbacks=[log])
    ranker.save(path := Path(folder, "model.treerank"))
    mlflow.log_artifact(path)
logged = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path=path.name)
print(mlflow.get_run(run.info.run_id).data.metrics)
assert (load(logged).predict(X) == ranker.predict(X)).all()
