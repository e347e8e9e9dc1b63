"""Tasks of Ray fit the model of one machine."""

import threading

import numpy as np
import pytest

pytest.importorskip("ray")
pytest.importorskip("xgboost")

import ray
from cluster_cases import EVAL_SET, FEATURES, FRAME, QID, RANKER, X, Y

from treerank import TreeDirectRanker
from treerank.distributed import Predictor, fit
from treerank.distributed.ray_workers import RayWorkers
from treerank.feature_parts.engines.xgboost import XGBoostTrees

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        options = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
        ray.init(num_cpus=4, _node_ip_address="127.0.0.1", **options)
        yield
        ray.shutdown()


@pytest.mark.parametrize("n_workers", [2, 3])
def test_a_dataset_and_arrays_give_the_model_of_one_machine(cluster, n_workers):
    one = RANKER.fit(FEATURES, Y, QID, eval_set=EVAL_SET)
    dataset = ray.data.from_pandas(FRAME.sample(frac=1, random_state=1)).repartition(5)
    held_out = ray.data.from_pandas(FRAME[:90]), "label", "query"
    for data, eval_set in [
        ((FEATURES, Y, QID), EVAL_SET),
        ((dataset, "label", "query"), EVAL_SET),
        ((dataset, "label", "query"), held_out),
    ]:
        several = fit(RANKER, *data, eval_set=eval_set, workers=RayWorkers(n_workers))
        np.testing.assert_array_equal(several.predict(FEATURES), one.predict(FEATURES))
        assert several.evals_result_ == one.evals_result_


def test_batches_of_a_dataset_are_scored(cluster):
    fitted = RANKER.fit(FEATURES, Y, QID, eval_set=EVAL_SET)
    dataset = ray.data.from_pandas(FRAME).map_batches(Predictor(fitted), batch_format="pandas")
    np.testing.assert_array_equal(dataset.to_pandas()["score"], fitted.predict(FEATURES))


def test_errors_of_workers_are_raised(cluster):
    dataset = ray.data.from_pandas(FRAME.assign(a="text"))
    with pytest.raises(ValueError, match="without categories"):
        fit(RANKER, dataset, "label", "query", eval_set=EVAL_SET, workers=RayWorkers(2))
    with pytest.raises(TypeError, match="y must be the name of a column"):
        fit(RANKER, dataset, Y, "query", eval_set=EVAL_SET, workers=RayWorkers(2))


def test_a_cluster_without_room_is_named(cluster):
    with pytest.raises(RuntimeError, match="must have room for 9 tasks"):
        fit(RANKER, X, Y, QID, eval_set=EVAL_SET[:2], workers=RayWorkers(9, patience=1))


def test_a_worker_that_dies_is_named(cluster):
    psutil = pytest.importorskip("psutil")
    endless = TreeDirectRanker(XGBoostTrees(n_estimators=10**6, n_jobs=1))

    def kill_one():
        for process in psutil.Process().children(recursive=True):
            if "fit_share" in " ".join(process.cmdline()):
                process.kill()
                return

    threading.Timer(5, kill_one).start()
    with pytest.raises(RuntimeError, match="every worker must live until the fit is done"):
        fit(endless, X, Y, QID, workers=RayWorkers(2))
