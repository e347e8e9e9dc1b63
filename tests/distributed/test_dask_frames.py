import os
import signal
import threading
import time
from functools import partial

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from certificates import make_certificate
from dask.dataframe.utils import clear_known_categories
from ranking_sample import make_ranking_sample
from sklearn.base import clone
from worker_fits import assert_equal_fits, model_of

from treerank import HistogramTrees, TreeDirectRanker, XGBoostTrees, checkpointing
from treerank.baselines import RankSVM
from treerank.clicks import ClickRelevance
from treerank.distributed import dask_frames, fit, predict
from treerank.distributed.collective import start_tracker
from treerank.distributed.columns import FrameColumns
from treerank.distributed.dask_frames import _fit_here
from treerank.distributed.shard import Task
from treerank.metrics import NDCG
from treerank.progress import listening

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = make_ranking_sample(n_queries=15)
NAMES = list("abcde")
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=Y, query=[f"q{q}" for q in QID])
LOCAL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
LOCAL |= {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
TREES = HistogramTrees(n_estimators=4, n_jobs=1)
RANKER = TreeDirectRanker(TREES, random_state=0)
ENDLESS = TreeDirectRanker(HistogramTrees(n_estimators=10**6, n_jobs=1))


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster) as client:
        yield client


def partitions(frame, sizes):
    """Return a frame of Dask whose partitions hold so many rows, drawn at random."""
    shuffled = frame.sample(frac=1, random_state=1)
    ends = np.cumsum(sizes)
    pieces = [shuffled[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return of_pieces(pieces, frame[:0])


def of_pieces(pieces, meta=FRAME[:0]):
    """Return a frame of Dask with the given partitions."""
    return dd.from_delayed([dask.delayed(p) for p in pieces], meta=meta, verify_meta=False)


def fit_alone(ranker, frame=FRAME, **options):
    """Fit on one machine."""
    return ranker.fit(frame[NAMES], frame["label"], frame["query"], **options)


def until(happens, seconds=60):
    """Wait until a function returns true."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_fitting(client, address):
    """Tell whether a worker runs its task of a fit."""
    return any("fit_here" in str(key) for key in client.processing().get(address, ()))


def is_idle(client):
    """Tell whether no thread of any worker works."""
    return not any(client.run(lambda dask_worker: len(dask_worker.state.executing)).values())


def test_without_a_client_there_is_an_answer():  # before there is one
    with pytest.raises(ValueError, match=r"client must be a client of Dask .*Client\(\) for this"):
        fit(RANKER, dd.from_pandas(FRAME, npartitions=1))


@pytest.mark.parametrize("sizes", [[30, 0, 50, len(FRAME) - 80], [len(FRAME)], [2] * 90])
def test_any_partitions_give_the_model_of_one_machine(client, sizes):
    frame = FRAME[: sum(sizes)]
    ranker = TreeDirectRanker(HistogramTrees(5, precision="int16", subsample=0.7), random_state=3)
    fitted = fit(ranker, partitions(frame, sizes), "label", "query")
    assert_equal_fits(fitted, fit_alone(ranker, frame))


def test_the_client_is_woken_by_tasks_that_end(client, monkeypatch):
    monkeypatch.setattr(dask_frames, "_PULSE", 120)  # of the client alone
    began = time.monotonic()
    fit(RANKER, dd.from_pandas(FRAME, npartitions=2))
    assert time.monotonic() - began < 100


def test_trees_of_xgboost_with_a_worker_without_rows(client):
    frame = FRAME[FRAME["query"] == "q3"]
    ranker = TreeDirectRanker(XGBoostTrees(3, min_child_weight=0, n_jobs=1), random_state=0)
    fitted = fit(ranker, partitions(frame, [len(frame) - 2, 2]), client=client)
    assert_equal_fits(fitted, fit_alone(ranker, frame))


def test_weights_gaps_of_labels_and_an_eval_set_that_names_other_columns_too(client):
    frame = FRAME.assign(weight=QID % 3, document=[f"d{i}" for i in range(len(Y))], day=7)
    frame["label"] = frame["label"].mask(np.arange(len(Y)) % 5 == 1).astype(float)
    trees = HistogramTrees(9, early_stopping_rounds=2, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=0)
    valid = frame.assign(a=2 * frame["a"])
    fitted = fit(
        ranker,
        partitions(frame, [100, len(Y) - 100]),
        "label",
        "query",
        sample_weight="weight",
        document="document",
        drop=["day"],
        eval_set=partitions(valid, [len(Y) - 10, 10])[["query", "label", "weight", *NAMES[::-1]]],
    )
    eval_set = valid[NAMES], valid["label"], valid["query"]
    one = fit_alone(ranker, frame, sample_weight=frame["weight"], eval_set=eval_set)
    assert_equal_fits(fitted, one)
    assert fitted.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("judged", ["q3", "q4"])
def test_a_worker_whose_rows_have_no_labels_is_as_one_without_rows(client, judged):
    frame = FRAME.assign(label=FRAME["label"].where(FRAME["query"] == judged))
    ranker = TreeDirectRanker(HistogramTrees(3, min_child_samples=1), random_state=0)
    fitted = fit(ranker, partitions(frame, [len(Y)]))
    assert_equal_fits(fitted, fit_alone(ranker, frame))
    with pytest.raises(ValueError, match="frame must have rows; got none with a label"):
        fit(RANKER, frame.assign(label=np.nan).pipe(partitions, [len(Y)]))


def test_two_fits_at_once_take_turns(client):
    ranker, fitted = TreeDirectRanker(TREES, random_state=1), {}

    def run(name, ranker):
        fitted[name] = fit(ranker, partitions(FRAME, [len(Y)]), client=client)

    threads = [threading.Thread(target=run, args=pair) for pair in ((0, RANKER), (1, ranker))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert_equal_fits(fitted[0], fit_alone(RANKER))
    assert_equal_fits(fitted[1], fit_alone(ranker))


def test_scores_keep_partitions_and_index_and_are_empty_where_a_partition_is(client):
    frame = partitions(FRAME, [0, 50, len(Y) - 50, 0])
    ranker = fit_alone(RANKER)
    scores = predict(ranker, frame)
    pieces = [piece.compute() for piece in scores.partitions]
    assert [len(piece) for piece in pieces] == [0, 50, len(Y) - 50, 0]
    whole = scores.compute()
    expected = pd.Series(ranker.predict(FRAME[NAMES]), index=FRAME.index, name="score")
    pd.testing.assert_series_equal(whole.sort_index(), expected)


def test_rankers_without_names_and_frames_without_columns_are_refused():
    frame = partitions(FRAME, [len(Y)])
    with pytest.raises(ValueError, match="ranker must have been fitted to columns with names"):
        predict(RANKER.fit(X, Y, QID), frame)
    with pytest.raises(ValueError, match=r"frame must have the columns \['c'\] of the ranker"):
        predict(fit_alone(RANKER), frame.drop(columns="c"))
    with pytest.raises(TypeError, match="frame must be a data frame of Dask"):
        predict(fit_alone(RANKER), FRAME)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda frame: frame.rename(columns={"a": "A"}), Exception, "a"),
        (lambda frame: frame.assign(query=None), ValueError, "qid must not be missing"),
        (lambda frame: frame.assign(label="good"), ValueError, "Partitions must have .* label has"),
        (lambda frame: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_an_error_in_one_partition_is_raised(client, change, error, message):
    def changed(frame):
        return change(frame) if "q1" in set(frame["query"]) else frame

    frame = of_pieces([FRAME[:100], FRAME[100:]]).map_partitions(changed, meta=FRAME[:0])
    began = time.monotonic()
    with pytest.raises(error, match=message):
        fit(RANKER, frame, "label", "query")
    assert time.monotonic() - began < 10
    until(lambda: is_idle(client))


def test_frames_without_rows_are_refused(client):
    frame = partitions(FRAME, [len(Y)])
    with pytest.raises(ValueError, match="frame must have rows; got none"):
        fit(RANKER, frame[frame["label"] > 100])
    with pytest.raises(ValueError, match="eval_set: frame must have rows; got none"):
        fit(RANKER, frame, eval_set=frame[frame["label"] > 100])
    with pytest.raises(ValueError, match="must leave a row; got zeros only"):
        fit(RANKER, frame.assign(w=0), sample_weight="w")


def test_the_client_hears_the_iterations_of_the_first_worker(client):
    told, frame = [], partitions(FRAME, [len(Y)])
    with listening(lambda *progress: told.append(progress)):
        fitted = fit(RANKER, frame, eval_set=frame.assign(query=frame["query"] + "v", a=0.0))
    values = fitted.evals_result_["validation"]["ndcg@10"]
    until(lambda: len(told) == 4)
    assert told == [(t, 4, {"ndcg@10": value}) for t, value in enumerate(values, 1)]


def test_the_threads_of_a_worker_are_no_setting_of_the_result(client):
    ranker = TreeDirectRanker(HistogramTrees(2, n_jobs=None), random_state=0)
    fitted = fit(ranker, partitions(FRAME, [len(Y)]))
    assert fitted.feature_part_.n_jobs is None
    assert repr(fitted.get_params()) == repr(ranker.get_params())


def test_a_fit_goes_on_from_a_checkpoint(client, tmp_path):
    frame = partitions(FRAME, [len(Y)])
    with checkpointing(tmp_path / "fit.checkpoint", every=2):
        fit(RANKER, frame)
        assert os.listdir(tmp_path) == ["fit.checkpoint"]
        longer = TreeDirectRanker(HistogramTrees(n_estimators=6, n_jobs=1), random_state=0)
        several = fit(longer, frame)
    assert model_of(several) == model_of(fit_alone(longer))


def test_a_fit_without_a_random_state_has_no_use_of_a_checkpoint(client, tmp_path):
    frame = partitions(FRAME, [len(Y)])
    with (
        checkpointing(tmp_path / "fit.checkpoint", every=2),
        pytest.warns(UserWarning, match="random_state must be a number for a fit that goes on"),
    ):
        fit(clone(RANKER).set_params(random_state=None), frame)


def test_a_fit_that_cannot_begin_leaves_the_workers_to_others(client, monkeypatch):
    def lost(*_):
        raise OSError("The scheduler is lost.")

    with monkeypatch.context() as patch:
        patch.setattr(client, "subscribe_topic", lost)
        with pytest.raises(OSError, match="The scheduler is lost"):
            fit(RANKER, partitions(FRAME, [len(Y)]))
    lock = distributed.MultiLock(names=sorted(client.nthreads()), client=client)
    assert lock.acquire(timeout=5)
    lock.release()


@pytest.mark.parametrize(
    ("ranker", "options", "message"),
    [
        (RankSVM(), {}, "ranker must be a DirectRanker"),
        (TreeDirectRanker("xgboost", clicks=ClickRelevance()), {}, "clicks must be None for sev"),
        (TreeDirectRanker(), {}, r'as in TreeDirectRanker\("histogram"\); got LightG'),
        (TreeDirectRanker("streaming"), {}, "feature_part must be 'histogram' or 'xgboost'"),
        (TreeDirectRanker.best(), {}, "feature_part must be 'histogram' or 'xgboost'"),
        (TreeDirectRanker(HistogramTrees(warm_start=True)), {}, "warm_start must be False"),
        (TreeDirectRanker(XGBoostTrees(subsample=0.5)), {}, "subsample must be 1.0 for several"),
        (TreeDirectRanker("xgboost", loss="half_squared_error"), {}, "loss must compare"),
        (TreeDirectRanker("xgboost", metric=NDCG(ties="stable")), {}, "metric must be a Metric"),
        (RANKER, {"label": "grade"}, r"label must be a column of frame, \['a', .*; got 'grade'"),
        (RANKER, {"sample_weight": "w"}, "sample_weight must be a column of frame"),
        (RANKER, {"drop": NAMES}, "frame must have columns of features"),
        (RANKER, {"drop": "z"}, "drop must be a column of frame"),
        (
            RANKER,
            {"drop": [3, "a"]},
            "drop must be the name of a column of frame.*got <class 'int'>",
        ),
        *(
            (RANKER, {name: series}, f"{name} must be the name of a column of frame.* Write fit")
            for name in ("label", "query", "document", "sample_weight", "query_weight", "drop")
            for series in (FRAME["label"], dd.from_pandas(FRAME, npartitions=2)["label"], 3)
            if (name, type(series)) != ("drop", int)
        ),
        (
            RANKER,
            {"query": ("query", "a")},
            r"""frame.assign\(query=frame\["query"\].astype\(str\) \+ "/" \+ frame\["a"\].astype""",
        ),
        (RANKER, {"n_workers": 0}, "n_workers must be"),
        (RANKER, {"n_workers": 3}, "n_workers must be at most the number of workers.*, 2; got 3"),
        (RANKER, {"frame": FRAME}, "frame must be a data frame of Dask or of Spark; got"),
        (
            RANKER,
            {"eval_set": (X, Y, QID)},
            "eval_set must be a data frame of Dask or of Spark; got",
        ),
        (RANKER, {"workers": 4}, "workers.*n_workers"),
    ],
)
def test_what_cannot_be_fitted_is_refused_before_a_row_moves(client, ranker, options, message):
    def never(part):
        raise AssertionError

    frame = partitions(FRAME, [len(Y)])
    frame = frame.map_partitions(never, meta=frame)
    options = {"frame": frame, "label": "label", "query": "query", "eval_set": frame} | options
    with pytest.raises((TypeError, ValueError), match=message):
        fit(ranker, **options)


def test_the_methods_of_a_ranker_name_the_functions_that_take_frames_of_dask():
    frame, ranker = dd.from_pandas(FRAME, npartitions=2), fit_alone(RANKER)
    X_dask, y, qid = frame[NAMES], frame["label"], frame["query"]
    for call in (
        lambda: RANKER.fit(frame),
        lambda: RANKER.fit(frame, "label", "query"),
        lambda: RANKER.fit(X_dask, y, qid),
        lambda: RANKER.fit(FRAME[NAMES], FRAME["label"], FRAME["query"], eval_set=(X_dask, y, qid)),
        lambda: ranker.predict(X_dask),
        lambda: ranker.score(X_dask, y, qid),
        lambda: ranker.rank(X_dask, qid),
    ):
        with pytest.raises(TypeError, match=r"treerank.distributed.fit\(ranker, frame, label, qu"):
            call()


def test_features_that_are_neither_numbers_nor_categories_are_refused_before_a_row_moves():
    frame = partitions(FRAME, [len(Y)])
    wrong = frame.assign(c=frame["label"].astype("int64").astype("datetime64[ns]"))
    with pytest.raises(ValueError, match=r"got .* in the column 'c'\. .* drop=\['c'\]"):
        fit(RANKER, wrong)
    with pytest.raises(ValueError, match="eval_set must hold features that are numbers, text or"):
        fit(RANKER, frame, eval_set=wrong)


@pytest.mark.parametrize("kind", ["category", "string"])
def test_categories_are_refused_where_numbers_were_and_for_trees_of_xgboost(kind):
    frame = partitions(FRAME, [len(Y)])
    colored = frame.assign(c=frame["label"].astype("int64").astype(kind))
    with pytest.raises(ValueError, match=r"feature_part must be 'histogram' .*\['c'\].*drop="):
        fit(TreeDirectRanker("xgboost"), colored)
    with pytest.raises(ValueError, match="must hold numbers in the column 'c', as frame does; got"):
        fit(RANKER, frame, eval_set=colored)
    with pytest.raises(ValueError, match="must hold text or categories in the column 'c', as"):
        fit(RANKER, colored, eval_set=frame)


def test_categories_of_all_workers_have_the_codes_of_one_machine(client):
    rng = np.random.default_rng(0)
    frame = FRAME.assign(
        brand=np.where(QID < 3, "rare " + FRAME["query"], rng.choice(["x", "y", "z"], len(Y))),
        size=pd.Categorical(rng.choice([30, 10, 20, None], len(Y)), categories=[30, 10, 20, 40]),
        word=pd.Categorical(np.where(QID % 2, "1", "2")),
    )
    frame["label"] = frame["label"] + frame["size"].isin([10, 20]) + frame["brand"].isin(["x"])
    names = [*NAMES, "brand", "size", "word"]
    trees = HistogramTrees(6, min_child_samples=5, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=0)
    valid = frame.assign(brand=frame["brand"].replace("y", "new"))[::2]
    halves = [frame[:80], frame[80:]]  # each with levels of its own
    pieces = [part.assign(word=part["word"].astype("str").astype("category")) for part in halves]
    spread = of_pieces(pieces, clear_known_categories(frame[:0], cols=["word"]))
    fitted = fit(ranker, spread, eval_set=dd.from_pandas(valid, npartitions=3))
    eval_set = valid[names], valid["label"], valid["query"]
    one = ranker.fit(frame[names], frame["label"], frame["query"], eval_set=eval_set)
    assert_equal_fits(fitted, one)
    assert fitted.columns_ == one.columns_
    assert len(one.columns_.categories) == 3
    scores = predict(fitted, spread).compute().sort_index()
    np.testing.assert_array_equal(scores, one.predict(frame[names]))


def test_a_cluster_that_encrypts_is_refused_unless_the_user_says_otherwise(tmp_path):
    certificate, key = make_certificate(tmp_path)
    roles = {f"tls_{role}_cert": certificate for role in ("client", "scheduler", "worker")}
    roles |= {f"tls_{role}_key": key for role in ("client", "scheduler", "worker")}
    security = distributed.Security(tls_ca_file=certificate, require_encryption=True, **roles)
    options = LOCAL | {"host": "tls://127.0.0.1", "security": security}
    cluster = distributed.LocalCluster(**options)
    with cluster, distributed.Client(cluster, security=security) as client:
        assert all(address.startswith("tls://") for address in client.nthreads())
        frame = partitions(FRAME, [len(Y)])
        with pytest.raises(ValueError, match="encrypted must be False to fit by a cluster whose"):
            fit(RANKER, frame)
        assert model_of(fit(RANKER, frame, encrypted=False)) == model_of(fit_alone(RANKER))


def test_a_worker_that_waits_for_one_that_never_comes_is_free_once_the_fit_is_given_up(client):
    first = min(client.nthreads())
    start = partial(start_tracker, 2, "127.0.0.1")
    network = client.run(start, workers=[first])[first]
    columns = FrameColumns.of(list(FRAME.columns), "label", "query", {}, {})
    task = Task(RANKER, columns, 0, None)
    future = client.submit(_fit_here, task, 0, network, "topic", [[FRAME]], workers=[first])
    until(lambda: is_fitting(client, first))
    time.sleep(1)  # it has met nobody
    client.cancel([future], force=True)
    assert client.submit(os.getpid, workers=[first], pure=False).result(timeout=20)


def test_the_death_of_a_worker_is_named_and_the_cluster_can_fit_again(client):
    pids = client.run(os.getpid)
    address, killed = max(pids), []

    def kill():
        until(lambda: is_fitting(client, address))
        killed.append(time.monotonic())
        os.kill(pids[address], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    # Where the other one meets the loss before Dask does, its process may end, too.
    with pytest.raises(RuntimeError, match=f"Every worker must live .* {address} .* gone"):
        fit(ENDLESS, partitions(FRAME, [90, len(Y) - 90]))
    assert time.monotonic() - killed[0] < 10
    thread.join()
    client.wait_for_workers(2, timeout=60)
    # Dask computes lost rows once more, and reaches for the dead worker for 30 seconds.
    assert_equal_fits(fit(RANKER, partitions(FRAME, [len(Y)])), fit_alone(RANKER))


def test_embeddings_are_scored_and_fits_say_how_to_write_them():
    vectors = np.random.default_rng(0).normal(size=(len(Y), 2))
    features = FRAME[NAMES].assign(v=[*vectors])
    ranker = RANKER.fit(features, Y, QID)
    pieces = [features[:40], features[40:]]
    as_text = predict(ranker, of_pieces(pieces, features[:0]))
    with pytest.raises(ValueError, match=r"'v' of X must hold lists of 2 .* dataframe.convert-str"):
        as_text.compute()
    with dask.config.set({"dataframe.convert-string": False}):
        spread = of_pieces(pieces, features[:0])
        np.testing.assert_array_equal(predict(ranker, spread).compute(), ranker.predict(features))
        with pytest.raises(ValueError, match=r"frame must have .* \['v_0', 'v_1'\] of the"):
            predict(ranker, spread[NAMES])
        labeled = [piece.assign(label=1.0, query=1) for piece in pieces]
        with pytest.raises(ValueError, match="Of an embedding, make columns 'v_0', 'v_1' and so"):
            fit(RANKER, of_pieces(labeled, labeled[0][:0]), "label", "query")
