"""A law: three workers of Dask and of Spark fit the model of one machine, bit for bit."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ranking_sample import make_ranking_sample
from sklearn.base import clone
from worker_fits import assert_equal_fits

from treerank import HistogramTrees, TreeDirectRanker, XGBoostTrees
from treerank.distributed import fit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),  # of Spark about newer pandas, of Dask about large graphs
]

X, Y, QID = make_ranking_sample(n_queries=18)
NAMES = list("abcde")
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=Y, query=[f"q{q}" for q in QID])
TREES = {
    "float32": HistogramTrees(6, min_child_samples=3, n_jobs=1),
    "int16 and subsample": HistogramTrees(
        6, precision="int16", subsample=0.7, min_child_samples=3, n_jobs=1
    ),
    "queries drawn, by level": HistogramTrees(
        6, subsample_queries=0.6, grow_policy="depthwise", max_depth=3, n_jobs=1
    ),
    "xgboost": XGBoostTrees(6, min_child_weight=0, n_jobs=1),
}


@dataclass
class DaskEngine:
    """Three processes of Dask."""

    cluster: Any
    client: Any

    @classmethod
    def start(cls):
        distributed = importlib.import_module("distributed")
        options = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": 0}
        options |= {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
        cluster = distributed.LocalCluster(**options)
        return cls(cluster, distributed.Client(cluster))

    def frame(self, rows):
        dd = importlib.import_module("dask.dataframe")
        return dd.from_pandas(rows.sample(frac=1, random_state=1), npartitions=7, sort=False)

    def stop(self):
        self.client.close()
        self.cluster.close()


@dataclass
class SparkEngine:
    """Three slots of Spark."""

    session: Any

    @classmethod
    def start(cls):
        pytest.importorskip("pyspark")
        return cls(importlib.import_module("spark_session").make_session(n_slots=3))

    def frame(self, rows):
        return importlib.import_module("spark_session").spread(self.session, rows, 7)

    def stop(self):
        self.session.stop()


ENGINES = [
    pytest.param(DaskEngine, marks=pytest.mark.nightly, id="dask"),
    pytest.param(SparkEngine, marks=pytest.mark.spark, id="spark"),
]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    engine = request.param.start()
    yield engine
    engine.stop()


def check(engine, ranker, frame, names=NAMES, valid=None, **weights):
    """Compare the fit of three workers with that of one machine."""
    held_out = None if valid is None else engine.frame(valid)
    several = fit(ranker, engine.frame(frame), eval_set=held_out, n_workers=3, **weights)
    columns = {argument: frame[name] for argument, name in weights.items()}
    eval_set = None if valid is None else (valid[names], valid["label"], valid["query"])
    one = ranker.fit(frame[names], frame["label"], frame["query"], eval_set=eval_set, **columns)
    assert_equal_fits(several, one)
    np.testing.assert_array_equal(several.predict(frame[names]), one.predict(frame[names]))


@pytest.mark.parametrize("trees", TREES)
def test_partitions_that_cut_every_query(engine, trees):
    check(engine, TreeDirectRanker(TREES[trees], random_state=3), FRAME)


@pytest.mark.parametrize("weight", ["sample_weight", "query_weight"])
@pytest.mark.parametrize("trees", TREES)
def test_weights_gaps_of_labels_and_features_and_early_stopping(engine, trees, weight):
    frame = FRAME.assign(weight=QID % 3 / 2, d=FRAME["d"].mask(np.arange(len(Y)) % 3 == 1))
    frame["label"] = frame["label"].mask(np.arange(len(Y)) % 5 == 1).astype(float)
    valid = frame.assign(a=2 * frame["a"], query=frame["query"] + "v").drop(columns="weight")
    part = clone(TREES[trees]).set_params(early_stopping_rounds=2)
    ranker = TreeDirectRanker(part, random_state=1, weight="ndcg")
    check(engine, ranker, frame, valid=valid, **{weight: "weight"})


@pytest.mark.parametrize("trees", ["float32", "xgboost"])
def test_more_workers_than_queries(engine, trees):
    few = FRAME[FRAME["query"].isin(["q1", "q2"])]
    part = clone(TREES[trees])
    if trees == "float32":
        part.set_params(min_child_samples=1)
    check(engine, TreeDirectRanker(part, random_state=0), few)
    check(engine, TreeDirectRanker(part, random_state=0), few, valid=FRAME)


def test_text_as_categories(engine):
    brands = np.random.default_rng(0).choice(
        ["x", "y", "z", "rare"], len(Y), p=[0.4, 0.3, 0.2, 0.1]
    )
    frame = FRAME.assign(brand=pd.Series(brands, dtype="str"))
    frame["label"] = frame["label"] + frame["brand"].isin(["x", "z"])
    names = [*NAMES, "brand"]
    check(engine, TreeDirectRanker(TREES["float32"], random_state=0), frame, names, valid=frame)
