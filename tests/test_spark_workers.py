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
    for data in [(FEATURES, Y, QID), (spread, "label", "query")]:
        several = fit(RANKER, *data, eval_set=EVAL_SET, workers=SparkWorkers(session, n_workers))
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
    with pytest.raises(TypeError, match="eval_set must be in memory or a file"):
        fit(RANKER, frame, "label", "query", eval_set=(frame, "label", "query"), workers=workers)
