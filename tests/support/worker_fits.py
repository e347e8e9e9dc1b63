"""Fits by several workers, which are threads of this process, compared with the fit of one."""

import pickle
import queue
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numba
import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from treerank.distributed.collective import collective_of, start_tracker, stop_tracker
from treerank.distributed.columns import FrameColumns
from treerank.distributed.shard import Task, fit_shard, fitted_from
from treerank.progress import ignore_progress

HOST = "127.0.0.1"
SETTINGS = {
    "default": {},
    "delta NDCG": {"weight": "ndcg", "k": 5},
    "ERR": {"weight": "err", "smoothing": 1.0},
    "ERR without smoothing": {"weight": "err", "smoothing": 0.0},
    "equal queries": {"weight": "query"},
    "per query": {"query_normalization": "log", "pairs": "balanced"},
    "listwise": {"loss": "listnet"},
    "drawn targets": {"loss": "xendcg"},
    "exact kernel": {"loss": "hinge"},
}


@contextmanager
def network_of(size, patience=60):
    """Let so many workers meet."""
    network = start_tracker(size, HOST)
    try:
        yield network
    finally:
        stop_tracker(network, patience)


def in_threads(size, work):
    """Return what ``work(rank)`` returns for each worker, all at the same time."""
    with (
        warnings.catch_warnings(),  # workers that are threads restore them in any order
        ThreadPoolExecutor(size, initializer=numba.set_num_threads, initargs=(1,)) as pool,
    ):
        return list(pool.map(work, range(size)))


def first_error_or_all(size, work):
    """Return the outcome of each worker; once one has failed, those of others that come soon.

    The others may wait for it in the collective, and cannot be told to stop: engines leave them.
    """
    outcomes, ended = queue.Queue(), [None] * size

    def run(rank):
        numba.set_num_threads(1)
        outcomes.put((rank, work(rank)))

    with warnings.catch_warnings():  # workers that are threads restore them in any order
        for rank in range(size):
            threading.Thread(target=run, args=(rank,), daemon=True).start()
        for _ in range(size):
            failed = any(outcome and not outcome.is_fitted for outcome in ended)
            try:
                rank, outcome = outcomes.get(timeout=3 if failed else 240)
            except queue.Empty:
                assert failed, "a worker has neither failed nor ended"
                break
            ended[rank] = outcome
    return [outcome for outcome in ended if outcome]


def in_collective(size, work):
    """Return what ``work(workers)`` returns for each worker of a collective."""
    with network_of(size) as network:

        def entered(rank):
            with collective_of(network | {"dmlc_task_id": f"{rank:06}"}) as workers:
                return work(workers)

        return in_threads(size, entered)


def frame_of(X, y, qid, **weights):
    """Return documents as a data frame, as engines hold them."""
    X = (
        X
        if hasattr(X, "columns")
        else pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    )
    return X.assign(label=y, query=qid, **weights)


def shards(qid, n_workers, rng):
    """Return the rows of each worker, whole queries at random, maybe none."""
    worker = rng.integers(n_workers, size=len(np.unique(qid)))
    worker = worker[np.unique(qid, return_inverse=True)[1]]
    return [rng.permutation(np.flatnonzero(worker == number)) for number in range(n_workers)]


def partitions_of(frame, rows):
    """Return rows of a frame in three partitions of a worker, one of them empty."""
    middle = len(rows) // 3
    return [[frame.iloc[part]] for part in (rows[:middle], rows[:0], rows[middle:])]


def fit_in_threads(ranker, n_workers, frame, eval_frame=None, rng=None, checkpoint=None):
    """Fit by workers that are threads, to queries that are dealt at random."""
    rng = np.random.default_rng(0) if rng is None else rng
    weights = {name: name for name in ("sample_weight", "query_weight")}
    weights = {name: name if name in frame else None for name in weights}
    columns = FrameColumns.of(list(frame.columns), "label", "query", weights, {})
    seed = int(check_random_state(ranker.random_state).randint(2**31 - 1))
    task = Task(ranker, columns, seed, checkpoint)

    def dealt(frame):
        if frame is None:
            return [None] * n_workers
        of_workers = shards(frame["query"].to_numpy(), n_workers, rng)
        return [partitions_of(frame, rows) for rows in of_workers]

    own, others = dealt(frame), dealt(eval_frame)
    with network_of(n_workers) as network:
        options = {"n_threads": 1, "listener": ignore_progress}
        outcomes = first_error_or_all(
            n_workers, lambda r: fit_shard(task, own[r], others[r], r, network, **options)
        )
        if not all(outcome.is_fitted for outcome in outcomes):
            stop_tracker(network, 1)  # which would wait for workers that were left
    return fitted_from(ranker, outcomes)


def model_of(ranker):
    """Return all bits of the trees; the engine may write 0 as -0, which is the same number."""
    forest = ranker.forest()
    arrays = forest.roots, forest.feature, forest.threshold, forest.left, forest.right
    arrays += forest.missing_left, np.where(forest.left[:, None] < 0, forest.values, 0)
    booster = ranker.feature_part_.booster_
    if not hasattr(booster, "get_dump"):
        return pickle.dumps(booster.as_state())
    statistics = [re.sub(r"-0(?![.\d])", "0", tree) for tree in booster.get_dump(with_stats=True)]
    return [(array + 0).tobytes() for array in arrays], statistics


def assert_same(ranker, n_workers, X, y, qid, eval_set=None, rng=None, **weights):
    """Return the ranker of so many workers; raise AssertionError if it is not that of one."""
    frame = frame_of(X, y, qid, **weights)
    features = frame.drop(columns=["label", "query", *weights])
    eval_frame, fitted_on = None, None
    if eval_set is not None:
        eval_frame = frame_of(*eval_set)
        fitted_on = eval_frame[features.columns], *eval_set[1:]
    one = ranker.fit(features, y, qid, eval_set=fitted_on, **weights)
    several = fit_in_threads(ranker, n_workers, frame, eval_frame, rng)
    assert_equal_fits(several, one)
    np.testing.assert_array_equal(several.predict(features), one.predict(features))
    return several


def assert_equal_fits(several, one):
    """Raise AssertionError where two fits differ."""
    assert model_of(several) == model_of(one)
    assert several.calibration_slope_ == one.calibration_slope_
    assert several.evals_result_ == one.evals_result_
    assert several.best_iteration_ == one.best_iteration_
    assert several.feature_names_in_.tolist() == one.feature_names_in_.tolist()
    for name, values in one.training_queries_.as_state().items():
        np.testing.assert_array_equal(several.training_queries_.as_state()[name], values)
    assert several.get_params(deep=True).keys() == one.get_params(deep=True).keys()
