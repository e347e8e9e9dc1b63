"""What goes wrong on clusters of Dask: the cause is named in seconds, and the next fit works.

More of it, which is quick, stands in ``test_dask_frames.py`` and ``test_collective.py``.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from ranking_sample import make_ranking_sample
from worker_fits import assert_equal_fits

from treerank import HistogramTrees, TreeDirectRanker
from treerank.distributed import fit, predict
from treerank.progress import listening

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*Sending large graph"),
]

X, Y, QID = make_ranking_sample(n_queries=15)
NAMES = list("abcde")
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=Y, query=[f"q{q}" for q in QID])
LOCAL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
LOCAL |= {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
RANKER = TreeDirectRanker(HistogramTrees(n_estimators=4, n_jobs=1), random_state=0)
ENDLESS = TreeDirectRanker(HistogramTrees(n_estimators=10**6, n_jobs=1))


@pytest.fixture
def client():
    with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster) as client:
        fit(RANKER, spread())  # kernels are compiled
        yield client


def spread(frame=FRAME, n_partitions=4):
    """Return a frame of Dask whose partitions cut queries."""
    return dd.from_pandas(frame.sample(frac=1, random_state=1), n_partitions, sort=False)


def fit_alone(ranker=RANKER, frame=FRAME, **options):
    return ranker.fit(frame[NAMES], frame["label"], frame["query"], **options)


@contextmanager
def failing(error, message=None, within=10):
    """Expect an error, and that it comes within so many seconds of ``happened()``."""
    times = []
    with pytest.raises(error, match=message):
        yield lambda: times.append(time.monotonic())
    assert time.monotonic() - times[0] < within


def slowly(part):
    time.sleep(0.5)
    return part


def test_a_worker_that_is_killed_while_rows_are_shuffled_is_named(client):
    pids = client.run(os.getpid)
    frame = spread(n_partitions=20).map_partitions(slowly, meta=FRAME[:0])
    with failing(RuntimeError, "Every worker must live .* is gone") as happens:

        def kill():
            happens()
            os.kill(pids[min(pids)], signal.SIGKILL)

        threading.Timer(2, kill).start()
        fit(RANKER, frame)
    client.wait_for_workers(2, timeout=60)
    assert_equal_fits(fit(RANKER, spread()), fit_alone())


def test_all_workers_that_are_killed_are_named(client):
    pids = client.run(os.getpid)
    both = " and ".join(sorted(pids))
    with failing(RuntimeError, f"Every worker must live .* {both} are gone") as happens:

        def kill(n_done, n_total, note):
            if n_done == 3:
                happens()
                for pid in pids.values():
                    os.kill(pid, signal.SIGKILL)

        with listening(kill):
            fit(ENDLESS, spread())
    client.wait_for_workers(2, timeout=60)
    assert_equal_fits(fit(RANKER, spread()), fit_alone())


def test_a_worker_that_is_killed_at_the_last_tree_is_named_or_the_fit_is_right(client):
    pids = client.run(os.getpid)

    def kill(n_done, n_total, note):
        if n_done == n_total:
            os.kill(pids[max(pids)], signal.SIGKILL)

    with listening(kill):
        try:
            fitted = fit(RANKER, spread())
        except RuntimeError as error:
            if "Every worker must live until the fit is done" not in str(error):
                raise
        else:
            assert_equal_fits(fitted, fit_alone())


def test_ctrl_c_ends_the_fit_and_frees_the_workers(client):
    with failing(KeyboardInterrupt) as happens:

        def interrupt(n_done, n_total, note):
            if n_done == 3:
                happens()
                os.kill(os.getpid(), signal.SIGINT)

        with listening(interrupt):
            fit(ENDLESS, spread())
    assert_equal_fits(fit(RANKER, spread()), fit_alone())


def test_a_worker_whose_rows_come_late_is_waited_for(client):
    def late(part):
        time.sleep(20 if "q1" in set(part["query"]) else 0)
        return part

    frame = spread(n_partitions=2).map_partitions(late, meta=FRAME[:0])
    assert_equal_fits(fit(RANKER, frame), fit_alone())


def test_a_query_of_a_third_of_all_rows_and_more_workers_than_queries(client):
    frame = pd.concat([FRAME, FRAME.assign(query="large", a=FRAME["a"] + 1)])[: len(FRAME) * 4 // 3]
    assert_equal_fits(fit(RANKER, spread(frame)), fit_alone(frame=frame))
    few = FRAME[FRAME["query"].isin(["q1"])]
    trees = HistogramTrees(n_estimators=4, min_child_samples=1, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=0)
    assert_equal_fits(fit(ranker, spread(few)), fit_alone(ranker, few))


def test_queries_of_the_training_set_in_eval_set_are_warned_of(client):
    with pytest.warns(UserWarning, match="queries of eval_set.* training set, too"):
        fit(RANKER, spread(), eval_set=spread())


def test_two_thousand_partitions_and_folders_of_hive(client, tmp_path):
    frame = pd.concat([FRAME.assign(query=FRAME["query"] + f"-{n}") for n in range(14)])
    frame = frame[:2000].reset_index(drop=True)
    assert_equal_fits(fit(RANKER, spread(frame, 2000)), fit_alone(frame=frame))
    by_day = frame.assign(day=np.arange(len(frame)) % 3)
    by_day.to_parquet(tmp_path / "train", partition_cols=["day"])
    assert (tmp_path / "train" / "day=0").is_dir()
    read = dd.read_parquet(tmp_path / "train")
    ranker = fit(RANKER, read, drop="day")
    assert_equal_fits(ranker, fit_alone(frame=frame))
    assert len(predict(ranker, read)) == len(frame)


def started(stack, *command):
    """Run a command of Dask until the end of the test."""
    process = stack.enter_context(
        subprocess.Popen([sys.executable, "-m", "distributed.cli." + command[0], *command[1:]])
    )
    stack.callback(process.kill)
    return process


def test_the_death_of_the_scheduler_is_named(tmp_path):
    file = str(tmp_path / "scheduler.json")
    quiet = ("--no-dashboard",)
    with ExitStack() as stack:
        local = ("--host", "127.0.0.1", "--scheduler-file", file)
        scheduler = started(stack, "dask_scheduler", *local, "--port", "0", *quiet)
        for _ in range(2):
            options = ("--nthreads", "1", "--no-nanny", "--death-timeout", "60")
            started(stack, "dask_worker", "--scheduler-file", file, *options, *quiet)
        end = time.monotonic() + 60
        while not os.path.exists(file) and time.monotonic() < end:
            time.sleep(0.1)
        client = stack.enter_context(distributed.Client(scheduler_file=file))
        client.wait_for_workers(2, timeout=60)
        fit(RANKER, spread())
        with failing(RuntimeError, "The scheduler of Dask must live", within=15) as happens:

            def kill(n_done, n_total, note):
                if n_done == 3:
                    happens()
                    scheduler.kill()

            with listening(kill):
                fit(ENDLESS, spread())
        client.close(timeout=1)
