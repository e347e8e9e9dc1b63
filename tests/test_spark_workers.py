"""Tasks of Spark in barrier mode fit the model of one machine."""

import sys

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("xgboost")

from cluster_cases import EVAL_SET, FEATURES, FRAME, QID, RANKER, Y
from pyspark.sql import SparkSession

from treerank.distributed import Predictor, fit
from treerank.distributed.spark_workers import SparkWorkers
from treerank.progress import listening

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def session():
    builder = SparkSession.builder.master("local[3]")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.mark.parametrize("n_workers", [2, 3])
def test_a_data_frame_and_arrays_give_the_model_of_one_machine(session, n_workers):
    one = RANKER.fit(FEATURES, Y, QID, eval_set=EVAL_SET)
    spread = session.createDataFrame(FRAME.sample(frac=1, random_state=1)).repartition(5)
    held_out = session.createDataFrame(FRAME[:90].rename(columns={"label": "y"})), "y", "query"
    frames = (spread, "label", "query")
    for data, evaluated in [
        ((FEATURES, Y, QID), EVAL_SET),
        (frames, EVAL_SET),
        (frames, held_out),
        ((FEATURES, Y, QID), held_out),
    ]:
        workers = SparkWorkers(session, n_workers)
        several = fit(RANKER, *data, eval_set=evaluated, workers=workers)
        np.testing.assert_array_equal(several.predict(FEATURES), one.predict(FEATURES))
        assert several.evals_result_ == one.evals_result_


def test_a_data_frame_is_scored(session):
    fitted = RANKER.fit(FEATURES, Y, QID, eval_set=EVAL_SET)
    frame = session.createDataFrame(FEATURES)
    schema = ", ".join(f"{name} double" for name in [*FEATURES, "score"])
    found = frame.mapInPandas(Predictor(fitted).over, schema).toPandas()
    expected = FEATURES.assign(score=fitted.predict(FEATURES))
    columns = expected.columns.tolist()
    np.testing.assert_array_equal(found.sort_values(columns), expected.sort_values(columns))


def test_errors_of_workers_are_raised(session):
    frame, workers = session.createDataFrame(FRAME.assign(a="text")), SparkWorkers(session, 2)
    with pytest.raises(ValueError, match="without categories"):
        fit(RANKER, frame, "label", "query", eval_set=EVAL_SET, workers=workers)
    good, other = session.createDataFrame(FRAME), session.createDataFrame(FRAME[list("abcd")])
    held_out = other.selectExpr("*", "a as label", "'q' as query"), "label", "query"
    with pytest.raises(ValueError, match="eval_set: X must have the columns of training"):
        fit(RANKER, good, "label", "query", eval_set=held_out, workers=workers)


def test_iterations_are_told_to_the_driver(session):
    told = []
    with listening(lambda n_done, n_total, note: told.append((n_done, n_total))):
        ranker = fit(RANKER, FEATURES, Y, QID, eval_set=EVAL_SET, workers=SparkWorkers(session, 2))
    assert told == [
        (t, 9) for t in range(1, len(ranker.evals_result_["validation"]["ndcg@10"]) + 1)
    ]
