import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from certificates import make_certificate
from ranking_sample import make_ranking_sample

from treerank import HistogramTrees, TreeDirectRanker, XGBoostTrees
from treerank.distributed import DaskWorkers, fit
from treerank.progress import listening

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = make_ranking_sample(n_queries=15)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(label=Y, query=[f"q{q}" for q in QID])
LOCAL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
LOCAL |= {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
RANKER = TreeDirectRanker(XGBoostTrees(n_estimators=4, n_jobs=1), random_state=0)


@pytest.fixture(scope="module")
def alone():
    """Scores of the model of one machine."""
    return RANKER.fit(FRAME[list("abcde")], Y, QID).predict(FRAME[list("abcde")])


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster) as client:
        yield client


def partitions(sizes):
    """Return a data frame of Dask whose partitions hold so many rows, drawn at random."""
    shuffled = FRAME.sample(frac=1, random_state=1)
    ends = np.cumsum(sizes)
    pieces = [shuffled[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return of_pieces(pieces)


def of_pieces(pieces):
    """Return a data frame of Dask with the given partitions."""
    delayed = [dask.delayed(piece) for piece in pieces]
    return dd.from_delayed(delayed, meta=FRAME[:0], verify_meta=False)


def test_the_death_of_a_worker_is_named_and_the_cluster_can_fit_again(client):
    endless = TreeDirectRanker(XGBoostTrees(n_estimators=10**6, n_jobs=1))
    pids = client.run(os.getpid)
    address = min(pids)

    def kill():
        while not any("fit_here" in str(key) for key in client.processing()[address]):
            time.sleep(0.1)
        os.kill(pids[address], signal.SIGKILL)

    threading.Thread(target=kill).start()
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=f"worker {address} must live"):
        fit(endless, partitions([90, len(Y) - 90]), "label", "query", workers=DaskWorkers(client))
    assert time.monotonic() - began < 30
    client.wait_for_workers(2, timeout=30)  # which the tests below use


@pytest.mark.parametrize("sizes", [[30, 0, 50, len(Y) - 80], [len(Y)]])
def test_any_partitions_give_the_model_of_one_machine(client, alone, sizes):
    fitted = fit(RANKER, partitions(sizes), "label", "query", workers=DaskWorkers(client))
    np.testing.assert_array_equal(fitted.predict(FRAME[list("abcde")]), alone)
    assert fitted.feature_names_in_.tolist() == list("abcde")


def test_arrays_of_dask_and_of_numpy_too(client):
    weight = QID % 3 + 1.0
    trees = XGBoostTrees(n_estimators=9, early_stopping_rounds=2, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=0)
    one = ranker.fit(X, Y, QID, query_weight=weight, eval_set=(X[:90], Y[:90], QID[:90]))
    spread = [da.from_array(array, chunks=50) for array in (X, Y, QID, weight)]
    evaluated = tuple(array[:90] for array in spread[:3])
    for *data, weights in ([X, Y, QID, weight], spread):
        settings = {"workers": DaskWorkers(client), "query_weight": weights}
        several = fit(ranker, *data, **settings, eval_set=evaluated)
        np.testing.assert_array_equal(several.predict(X), one.predict(X))
        assert several.evals_result_ == one.evals_result_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.rename(columns={"a": "A"}), "same columns in all partitions"),
        (lambda frame: frame.drop(columns="a"), "same columns in all partitions"),
        (lambda frame: frame.assign(query=None), "qid must not be missing"),
        (lambda frame: frame.assign(a="text"), "without categories"),
    ],
)
def test_an_error_in_one_partition_is_raised(client, change, message):
    pieces = [FRAME[:100], change(FRAME[100:])]
    with pytest.raises(ValueError, match=message):
        fit(RANKER, of_pieces(pieces), "label", "query", workers=DaskWorkers(client))


def test_all_columns_are_computed_before_workers_wait_for_each_other(client):
    def slow(labels):
        time.sleep(0.5)
        return labels

    labels = da.from_array(Y, chunks=50).map_blocks(slow, dtype=Y.dtype)
    columns = {"X": da.from_array(X, chunks=(50, -1)), "y": labels, "qid": da.from_array(QID, 50)}
    parts = DaskWorkers(client).parts(columns)
    assert all(future.done() for each in parts for part in each for future in part.values())


def test_the_client_hears_the_iterations_of_the_first_worker(client):
    told = []
    with listening(lambda *progress: told.append(progress)):
        fitted = fit(RANKER, X, Y, QID, eval_set=(2 * X, Y, QID), workers=DaskWorkers(client))
    values = fitted.evals_result_["validation"]["ndcg@10"]
    assert told == [(t, 4, {"ndcg@10": value}) for t, value in enumerate(values, 1)]


def test_workers_of_an_encrypted_cluster_encrypt_what_they_send_or_refuse(tmp_path):
    certificate, key = make_certificate(tmp_path)
    roles = {f"tls_{role}_cert": certificate for role in ("client", "scheduler", "worker")}
    roles |= {f"tls_{role}_key": key for role in ("client", "scheduler", "worker")}
    security = distributed.Security(tls_ca_file=certificate, require_encryption=True, **roles)
    ranker = TreeDirectRanker(HistogramTrees(n_estimators=2, n_jobs=1), random_state=0)
    with (
        distributed.LocalCluster(
            **LOCAL | {"host": "tls://127.0.0.1"}, security=security
        ) as cluster,
        distributed.Client(cluster, security=security) as client,
    ):
        workers = DaskWorkers(client)
        assert all(address.startswith("tls://") for address in client.nthreads())
        fitted = fit(ranker, X, Y, QID, workers=workers)
        with pytest.raises(ValueError, match="must be 'histogram' for workers of Dask whose"):
            fit(RANKER, X, Y, QID, workers=workers)
    np.testing.assert_array_equal(fitted.predict(X), ranker.fit(X, Y, QID).predict(X))


def test_collections_that_do_not_go_together_are_refused(client):
    frame, workers = partitions([len(Y)]), DaskWorkers(client)
    with pytest.raises(ValueError, match="y must have the partitions of X, 1; got 2"):
        fit(RANKER, frame, da.from_array(Y, chunks=(len(Y) + 1) // 2), "query", workers=workers)
    with pytest.raises(TypeError, match="y must be a collection of Dask, or a name"):
        fit(RANKER, frame, Y, "query", workers=workers)
    with pytest.raises(TypeError, match="X must be in memory or a file for processes"):
        fit(RANKER, frame, "label", "query", workers=1)
