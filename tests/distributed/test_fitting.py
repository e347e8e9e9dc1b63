import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from ranking_sample import make_ranking_sample
from sklearn.base import clone
from worker_fits import SETTINGS, assert_same, model_of

from treerank import HistogramTrees, TreeDirectRanker, XGBoostTrees, checkpointing
from treerank.baselines.linear.ranksvm import RankSVM
from treerank.datasets.letor import write_letor
from treerank.distributed import Processes, fit
from treerank.distributed.collective import Collective
from treerank.distributed.columns import agree_on_columns
from treerank.distributed.connections import Connection
from treerank.distributed.shards import gather_queries
from treerank.feature_parts.engines import bin_sample
from treerank.files.archive import read_archive
from treerank.inputs.canonical import canonical_order, places_in_team
from treerank.inputs.grouping import QueryGroups
from treerank.inputs.id_hashes import id_hashes
from treerank.inputs.rows import Rows
from treerank.metrics import NDCG, AveragePrecision, ExpectedReciprocalRank
from treerank.progress import listening
from treerank.rankers.calibration import fit_steepness
from treerank.rankers.held_out import HeldOut
from treerank.team import working_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = make_ranking_sample(n_queries=15)
TREES = XGBoostTrees(n_estimators=4, n_jobs=1)


def in_threads(size, work):
    """Return what ``work(rank)`` returns for each worker of a team of threads of this process."""
    pairs = [socket.socketpair() for _ in range(1, size)]
    ends = [[Connection(pair[side], lambda: False) for pair in pairs] for side in (0, 1)]
    known = [dict(enumerate(ends[0], start=1)), *({0: each} for each in ends[1])]

    def run(rank):
        with ExitStack() as stack, working_in(Collective(rank, size, known[rank])):
            for each in known[rank].values():
                stack.enter_context(closing(each))
            return work(rank)

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))


def shards(n_workers, rng):
    """Return the rows of each worker, whole queries at random, maybe none."""
    worker = rng.integers(n_workers, size=QID.max() + 1)[QID]
    return [rng.permutation(np.flatnonzero(worker == number)) for number in range(n_workers)]


@pytest.fixture(scope="module")
def launcher():
    with Processes(3) as launcher:
        yield launcher


@pytest.mark.parametrize("name", SETTINGS)
def test_two_or_three_workers_fit_the_model_of_one(launcher, name):
    rng = np.random.default_rng(list(SETTINGS).index(name))
    shuffled = rng.permutation(len(Y))
    settings = SETTINGS[name] | {"random_state": int(rng.integers(100))}
    ranker = TreeDirectRanker(TREES, **settings)
    n_workers = int(rng.integers(2, 4))
    assert_same(ranker, launcher, n_workers, X[shuffled], Y[shuffled], QID[shuffled])


def test_weights_stopping_calibration_and_names_are_those_of_one_worker(launcher):
    trees = XGBoostTrees(n_estimators=9, early_stopping_rounds=2, colsample_bytree=0.6, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=1)
    frame = pd.DataFrame(X, columns=["a", "b c", "ü", "d", "e"])
    weight = (QID % 3).astype(float)
    columns = {"sample_weight": weight, "eval_set": (frame[::2], Y[::2], QID[::2])}
    several = assert_same(ranker, launcher, 2, frame, Y, QID, **columns)
    assert several.feature_names_in_.tolist() == ["a", "b c", "ü", "d", "e"]


HISTOGRAM_SETTINGS = {
    "default": {},
    "documents and features drawn": {"subsample": 0.5, "colsample_bytree": 0.6},
    "queries drawn": {"subsample_queries": 0.3, "min_child_samples": 1},
    "hardly any document drawn": {"subsample": 0.01, "subsample_queries": 0.01},
    "rounded derivatives": {"precision": "int16", "min_child_samples": 1},
    "by level, with constraints": {
        "grow_policy": "depthwise",
        "max_depth": 3,
        "monotone_constraints": [1, 0, 0, -1, 0],
    },
}


@pytest.mark.filterwarnings("ignore:All .* documents get the same score")
@pytest.mark.parametrize(("n", "name"), [*enumerate(HISTOGRAM_SETTINGS)])
def test_histogram_trees_too(launcher, n, name):
    values = X.copy()
    values[QID == 3, 1] = np.nan  # one worker alone has missing values
    eval_set = 2 * X[QID > 2], Y[QID > 2], QID[QID > 2]
    trees = HistogramTrees(5, n_jobs=1, **HISTOGRAM_SETTINGS[name])
    ranker = TreeDirectRanker(trees, random_state=n)
    assert_same(ranker, launcher, 2 + n % 2, values, Y, QID, eval_set=eval_set)


@pytest.mark.parametrize("n_workers", [2, 3])
def test_workers_that_search_different_features_find_the_split_of_one(launcher, n_workers):
    copies = np.hstack([X, X, X, X.round(), X[:, ::-1]])  # of four blocks, which tie
    values = np.hstack([copies, np.random.default_rng(0).integers(9, size=(len(Y), 3))])
    settings = {"min_child_samples": 2, "colsample_bytree": 0.4, "n_jobs": 1}
    settings |= {"num_leaves": 31, "learning_rate": 0.1}
    trees = HistogramTrees(n_estimators=5, categorical_features=[25, 26, 27], **settings)
    ranker = TreeDirectRanker(trees, random_state=n_workers)
    data = values[::2], Y[::2], QID[::2]
    launcher.n_workers = n_workers
    several, one = fit(ranker, *data, workers=launcher), ranker.fit(*data)
    assert model_of(several) == model_of(one)
    assert {0, 2} <= set(one.forest().feature // 8)


@pytest.mark.parametrize("trees", [TREES, HistogramTrees(n_estimators=4, min_child_samples=1)])
def test_workers_may_have_no_rows(launcher, trees):
    ranker, rows = TreeDirectRanker(trees, random_state=0), QID < 2
    assert_same(ranker, launcher, 3, X[rows], Y[rows], QID[rows])


def test_an_error_of_the_workers_is_raised(tmp_path):
    path = tmp_path / "valid.txt"
    write_letor(path, X[:, :4], Y, QID)
    wrong = "eval_set: X must have the columns"
    with Processes(2) as own, pytest.raises(ValueError, match=wrong) as caught:
        fit(TreeDirectRanker(TREES), X, Y, QID, eval_set=path, workers=own)
    assert re.search("In a worker:\n.*fit_share.*ValueError", caught.value.__notes__[0], re.DOTALL)


@pytest.mark.parametrize("eval_set", [3, (X,), (X[:, :4], Y, QID), (X, Y[:3], QID)])
def test_a_wrong_eval_set_is_refused_before_any_process_starts(eval_set):
    with pytest.raises(ValueError, match="eval_set"):
        fit(TreeDirectRanker(TREES), X, Y, QID, eval_set=eval_set)


@pytest.mark.parametrize("metric", [NDCG(), ExpectedReciprocalRank(), AveragePrecision(k=3)])
@pytest.mark.parametrize("n_workers", [3, 20])
def test_held_out_documents_are_measured_as_by_one_worker(metric, n_workers):
    scores = (Y + np.random.default_rng(0).choice(9, size=len(Y))) / 7
    one = metric.prepared(Y, QID)(scores)
    parts = shards(n_workers, np.random.default_rng(0))

    def measured(rank):
        rows = parts[rank]
        groups = QueryGroups.from_qid(QID[rows])
        held_out = HeldOut(Rows(X[rows]), Y[rows], groups, metric.prepared(Y[rows], groups))
        return held_out.metric(scores[rows]), fit_steepness(*held_out.of_team(scores[rows]))

    assert in_threads(n_workers, measured) == [(one, fit_steepness(scores, Y, QID))] * n_workers


@pytest.mark.parametrize("trees", [XGBoostTrees(n_jobs=1), HistogramTrees(n_jobs=1)])
def test_a_fit_whose_worker_dies_ends_at_once_and_goes_on_from_its_checkpoint(
    trees, launcher, tmp_path
):
    path = tmp_path / "fit.checkpoint"
    trees = clone(trees).set_params(n_estimators=10**6, learning_rate=0.1)
    ranker = TreeDirectRanker(trees, smoothing=1.0, random_state=0)
    died = []

    def kill(pid):
        while not path.exists():
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        died.append(time.monotonic())

    with checkpointing(path, every=7):
        with Processes(2) as own:
            for _ in range(2):
                own._start()
            pids = [process.pid for process, _ in own._workers]
            threading.Thread(target=kill, args=pids[1:]).start()
            with pytest.raises(RuntimeError, match=rf"worker 1 \(process {pids[1]}\) must live"):
                fit(ranker, X, Y, QID, workers=own)
            assert time.monotonic() - died[0] < 30
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        saved = trees.restore_booster(read_archive(path)["state"]["model"])
        trees.n_estimators = trees.describe(saved)[2] + 2
        launcher.n_workers = 3
        several = fit(ranker, X, Y, QID, workers=launcher)
    assert model_of(several) == model_of(ranker.fit(X, Y, QID))


_FIT = """
from treerank import TreeDirectRanker
from treerank.distributed import Processes, fit
from treerank.progress import listening
if __name__ == "__main__":
    with Processes(1) as workers, listening(lambda *note: print(workers._workers[0][0].pid)):
        ranker = TreeDirectRanker("xgboost").set_params(feature_part__n_estimators=10**6)
        fit(ranker, [[1.0], [2.0]], [0, 1], [1, 1], workers=workers)
"""


def test_workers_end_with_the_process_that_has_started_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_FIT)
    command = [sys.executable, "-u", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        worker = int(process.stdout.readline())  # it grows trees
        process.kill()
        try:
            process.communicate(timeout=30)  # ends once no process has the output open
        except subprocess.TimeoutExpired:
            os.kill(worker, signal.SIGKILL)
            raise


def test_a_process_that_died_before_the_fit_is_named_and_the_next_fit_starts_another():
    with Processes(1) as own:
        one = fit(TreeDirectRanker(TREES, random_state=0), X, Y, QID, workers=own)
        process, _ = own._workers[0]
        process.kill()
        process.join()
        with pytest.raises(RuntimeError, match=r"worker 0 .* must live until the fit is done"):
            fit(TreeDirectRanker(TREES), X, Y, QID, workers=own)
        again = fit(TreeDirectRanker(TREES, random_state=0), X, Y, QID, workers=own)
    assert model_of(again) == model_of(one)
    assert own._workers == []


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_places_are_those_of_the_canonical_order_of_all_documents(n_workers):
    for seed in range(20):
        parts = shards(n_workers, np.random.default_rng(seed))
        whole = canonical_order(X, QueryGroups.from_qid(QID), Y)[0].order

        found = [canonical_order(X[r], QueryGroups.from_qid(QID[r]), Y[r]) for r in parts]
        every_place = in_threads(n_workers, lambda rank, found=found: places_in_team(*found[rank]))
        placed = np.full(len(Y), -1)
        for rows, (groups, _), places in zip(parts, found, every_place, strict=True):
            placed[places] = rows[groups.order]
        np.testing.assert_array_equal(X[placed], X[whole])


def test_every_worker_gets_the_bin_sample_of_one(monkeypatch):
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 20)
    alone = bin_sample.sample_of(Rows(X), 7).array()
    parts = shards(3, np.random.default_rng(0))

    def sample(rank):
        return bin_sample.sample_of(Rows(X[parts[rank]], places=parts[rank]), 7).array()

    for values in in_threads(3, sample):
        np.testing.assert_array_equal(values, alone)


def test_queries_become_whole_and_loads_are_even():
    qid = np.random.default_rng(0).permutation(np.repeat(np.arange(40), np.arange(40) % 7 + 1))
    numbers, names = np.arange(len(qid), dtype=float), np.array([f"q{each}" for each in qid])
    parts = np.array_split(np.arange(len(qid)), [0, 50])  # the first worker has no rows

    def shard(rank):
        rows = parts[rank]
        part = {"X": numbers[rows, None], "y": numbers[rows], "qid": id_hashes(names[rows])}
        part["sample_weight"] = numbers[rows] + 1
        halves = slice(0, 9), slice(9, None)
        return gather_queries([{name: part[name][half] for name in part} for half in halves])

    shards = in_threads(3, shard)
    rows = [shard["y"].astype(int) for shard in shards]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(len(qid)))
    assert sum(len(set(qid[own])) for own in rows) == 40
    assert max(map(len, rows)) - min(map(len, rows)) <= 1
    for own, shard in zip(rows, shards, strict=True):
        np.testing.assert_array_equal(shard["X"][:, 0], own)
        np.testing.assert_array_equal(shard["sample_weight"], own + 1)
        np.testing.assert_array_equal(shard["qid"], id_hashes(names)[own])


def test_hashes_are_equal_where_query_ids_are():
    day = np.datetime64("2020-01-02")
    dates = [np.array([day, day + 1]), np.array([day]).astype("datetime64[ns]"), [day.item()]]
    one = id_hashes([1])[0]
    assert one == id_hashes(np.array([1.0]))[0] == id_hashes([True])[0] != id_hashes(["1"])[0]
    assert len(set(id_hashes([-1, -2, 1.5, "a", "1", 2**63, float("inf")]))) == 7
    assert len({id_hashes(values)[0] for values in dates}) == 1


def test_the_first_worker_tells_its_iterations_and_metrics(launcher):
    told, eval_set = [], (2 * X, Y, QID)
    launcher.n_workers = 2
    with listening(lambda *message: told.append(message)):
        ranker = fit(TreeDirectRanker(TREES), X, Y, QID, workers=launcher, eval_set=eval_set)
    values = ranker.evals_result_["validation"]["ndcg@10"]
    assert told == [(t, len(values), {"ndcg@10": value}) for t, value in enumerate(values, 1)]


@pytest.mark.parametrize("form", ["Parquet", "LETOR"])
def test_workers_read_their_shares_of_a_file(launcher, tmp_path, form):
    rows = np.random.default_rng(0).permutation(len(Y))
    path = tmp_path / "train.txt"
    if form == "LETOR":
        write_letor(path, X[rows], Y[rows], QID[rows])
    else:
        columns = {f"f{j}": X[rows, j] for j in range(X.shape[1])}
        path = tmp_path / "train.parquet"
        table = pa.table({"grade": Y[rows], "user": QID[rows].astype(str), **columns})
        parquet.write_table(table, path, row_group_size=50)
    ranker = TreeDirectRanker(TREES, random_state=0)
    names = () if form == "LETOR" else ("grade", "user")
    launcher.n_workers = 2
    assert model_of(fit(ranker, path, *names, workers=launcher)) == model_of(ranker.fit(X, Y, QID))


def test_workers_of_other_versions_are_refused():
    class WithAnOldOne:
        def gather(self, value):
            return [value, (value[0] | {"xgboost": "0.1"}, value[1])]

    with working_in(WithAnOldOne()), pytest.raises(RuntimeError, match=r"same versions; .*'0\.1'"):
        agree_on_columns(TreeDirectRanker(), [], None)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (RankSVM(), "ranker must be a DirectRanker"),
        (TreeDirectRanker(), r'several workers, as in TreeDirectRanker\("histogram"\); got LightG'),
        (TreeDirectRanker("streaming"), "feature_part must be 'histogram' or 'xgboost' for"),
        (TreeDirectRanker.best(), "feature_part must be 'histogram' or 'xgboost' for several"),
        (TreeDirectRanker(HistogramTrees(warm_start=True)), "warm_start must be False for several"),
        (TreeDirectRanker(XGBoostTrees(subsample=0.5)), "subsample must be 1.0 for several"),
        (TreeDirectRanker("xgboost", loss="half_squared_error"), "loss must compare documents"),
        (TreeDirectRanker("xgboost", metric=NDCG(ties="stable")), "metric must be a Metric that"),
    ],
)
def test_what_would_give_another_model_is_refused_before_any_process_starts(ranker, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit(ranker, X, Y, QID, eval_set=(X, Y, QID))


def test_columns_of_categories_and_several_labels_are_refused():
    ranker = TreeDirectRanker("xgboost")
    with pytest.raises(ValueError, match="X must be dense numbers, without categories"):
        fit(ranker, pd.DataFrame({"a": ["x", "y"]}), [0, 1], [1, 1])
    with pytest.raises(TypeError, match=r"Write fit\(ranker, .* position=, are for ranker\.fit"):
        fit(ranker, X, Y, QID, position=Y)
    with pytest.raises(ValueError, match="y must be a single label"):
        fit(ranker, X, np.stack([Y, Y], axis=1), QID)
    with pytest.raises(ValueError, match="workers must be"):
        fit(ranker, X, Y, QID, workers=0)
    with pytest.raises(TypeError, match="workers must be a number of processes, or a launcher"):
        fit(ranker, X, Y, QID, workers="dask")
