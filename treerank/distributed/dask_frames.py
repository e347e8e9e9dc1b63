"""Dask: a fit to a data frame of Dask by the workers of its cluster, and its scores.

Dask reads the partitions and shuffles their rows from worker to worker, so that each worker holds
whole queries. Then each worker runs one task, see :mod:`treerank.distributed.shard`.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np

from treerank.display.tables import listed
from treerank.distributed.collective import start_tracker, stop_tracker
from treerank.distributed.shard import Outcome, Partition, Task, fit_shard
from treerank.progress import Note, current_listener

#: Seconds between two looks at the tasks, and between two looks at the workers.
_PULSE, _LOOK = 0.25, 1
#: Seconds in which the scheduler answers, and in which workers tell the cause of an error.
_ANSWER, _PATIENCE = 5, 5
#: Seconds for workers to leave each other after a fit.
_LEAVING = 60
#: Most partitions of a worker, and so the share of its rows that Dask has in memory twice while it
#: makes a partition of what has come from the other workers.
_MOST_PARTITIONS = 16
#: What becomes of futures that are no result.
_BROKEN = ("error", "cancelled", "lost")

T = TypeVar("T")


#: Types of columns that are text or categories.
OF_CATEGORIES = frozenset(["category", "str", "string", "string[pyarrow]", "large_string[pyarrow]"])


def kinds_of(frame: Any) -> dict[str, str]:
    """Return the type of each column that is not of numbers, by name."""
    dtypes = frame.dtypes.items()
    return {name: str(dtype) for name, dtype in dtypes if getattr(dtype, "kind", "O") not in "iufb"}


def fit_frames(
    task: Task,
    frame: Any,
    eval_frame: Any,
    *,
    n_workers: int | None,
    client: Any,
    encrypted: bool,
) -> list[Outcome]:
    """Shuffle the rows of frames to workers by query, fit there, and return the workers' outcomes.

    ``eval_frame`` may be None; ``client=None`` is the current client, and ``n_workers=None`` all
    workers. With ``encrypted``, a cluster that encrypts its connections is refused, since the
    connections of a fit are not encrypted. A fit takes a thread of each of its workers until it is
    done. Other fits wait.
    """
    from distributed import MultiLock

    client = _current_client(client)
    _refuse_encryption(client, encrypted)
    workers = _workers_of(client, n_workers)
    frames = {"frame": frame[task.columns.of_training]}
    if eval_frame is not None:
        frames["eval_frame"] = eval_frame[task.columns.of_evaluation]
    lock = MultiLock(names=[*workers], client=client)
    lock.acquire()
    try:
        fit = _Fit(client, workers)
        try:
            return fit.outcomes(task, fit.shuffled(frames, task.columns.query))
        finally:
            if client.status == "running":  # without a scheduler all is gone, and each call waits
                fit.end()
    finally:
        if client.status == "running":
            lock.release()


def _current_client(client: Any) -> Any:
    """Return the client, or if it is None the current one; an error if there is none."""
    from distributed import get_client

    try:
        return client or get_client()
    except ValueError as error:
        raise ValueError(
            "client must be a client of Dask where none is current: write "
            "distributed.Client(ADDRESS), or distributed.Client() for this machine; got None."
        ) from error


def _refuse_encryption(client: Any, encrypted: bool) -> None:
    """Refuse a cluster that encrypts its connections, unless ``encrypted`` is False.

    The connections of a fit are not encrypted.
    """
    if encrypted and client.scheduler.address.startswith("tls"):
        raise ValueError(
            "encrypted must be False to fit by a cluster whose connections are encrypted: the sums "
            "of a fit, some 50,000 rows and the scores of eval_set pass between its workers in the "
            f"clear; got True and {client.scheduler.address}."
        )


def _workers_of(client: Any, n_workers: int | None) -> list[str]:
    """Return the addresses of ``n_workers`` workers, or of all if it is None; refuse too many."""
    workers = sorted(client.nthreads())
    if not workers or (n_workers or 1) > len(workers):
        requested = 1 if n_workers is None else n_workers
        raise ValueError(
            f"n_workers must be at most the number of workers of the cluster, {len(workers)}; got "
            f"{requested}. client.wait_for_workers({requested}) waits for more."
        )
    return workers[:n_workers]


class _Fit:
    """One fit on the given workers of a cluster: the tasks, the tracker, and their end."""

    def __init__(self, client: Any, workers: Sequence[str]):
        self.client, self.workers = client, workers
        self.key, self.futures = f"treerank-{uuid4().hex}", list[Any]()
        self.network: dict[str, Any] | None = None
        self.is_done = False
        listener = current_listener()
        client.subscribe_topic(self.key, lambda event: listener(*event[1]))

    def shuffled(self, frames: dict[str, Any], query: str) -> dict[str, list[Any]]:
        """Return the partitions of each frame by its name, some for each worker, as futures.

        No query is in two of them. ``query`` is the column of query ids. Dask drops the data frame
        of each partition as soon as it is held: nothing else refers to it.
        """
        from dask.delayed import delayed

        n, parts = len(self.workers), {}
        for name, frame in frames.items():
            n_of_worker = min(_MOST_PARTITIONS, max(1, frame.npartitions // n))
            shuffled = frame.shuffle(on=query, npartitions=n * n_of_worker, shuffle_method="p2p")
            held = [delayed(_held, pure=False)(part) for part in shuffled.to_delayed()]
            parts[name] = self.client.compute(held, workers=[*self.workers])
            self.futures.extend(parts[name])
        self._wait(self.futures)
        return parts

    def outcomes(self, task: Task, parts: dict[str, list[Any]]) -> list[Outcome]:
        """Run the task on each worker that holds partitions; return their outcomes by rank."""
        dealt = {"frames": self._dealt(parts["frame"], self.workers)}
        holders = [worker for worker, own in dealt["frames"].items() if own]
        if "eval_frame" in parts:
            dealt["eval_frames"] = self._dealt(parts["eval_frame"], holders)
        host = urlsplit(holders[0]).hostname or "127.0.0.1"
        start = partial(start_tracker, len(holders), host)
        self.network = self.client.run(start, workers=holders[:1])[holders[0]]
        self.first = holders[0]
        futures = []
        for rank, holder in enumerate(holders):
            of_rank = {argument: of_workers[holder] for argument, of_workers in dealt.items()}
            placement: dict[str, Any] = {"workers": [holder], "pure": False, "retries": 0}
            futures.append(
                self.client.submit(
                    _fit_here, task, rank, self.network, self.key, **of_rank, **placement
                )
            )
        self.futures.extend(futures)
        outcomes: dict[Any, Outcome] = {}

        def has_failed(future: Any) -> bool:
            if future.status == "finished" and future not in outcomes:
                outcomes[future] = future.result()
            return future in outcomes and not outcomes[future].is_fitted

        self._wait(futures, has_failed)
        self.is_done = all(outcome.is_fitted for outcome in outcomes.values())
        return [outcomes[future] for future in futures if future in outcomes]

    def _dealt(self, partitions: Sequence[Any], workers: Sequence[str]) -> dict[str, list[Any]]:
        """Return the partitions of each of ``workers``: those that it holds already.

        What none of them holds goes to one that has the fewest.
        """
        holders_of = self.client.who_has(partitions)
        dealt: dict[str, list[Any]] = {worker: [] for worker in workers}
        for future in partitions:
            holders = [worker for worker in holders_of[future.key] if worker in dealt]
            worker = holders[0] if holders else min(dealt, key=lambda worker: len(dealt[worker]))
            dealt[worker].append(future)
        return dealt

    def _wait(
        self, futures: Sequence[Any], has_failed: Callable[[Any], bool] = lambda future: False
    ) -> None:
        """Wait for tasks; raise an error if one fails, or if a worker or the scheduler has died.

        ``has_failed(future)`` tells whether a finished task has returned a failure: then the others
        get some seconds to end, too.
        """
        end, next_look, has_news = np.inf, 0.0, Event()
        for future in futures:
            future.add_done_callback(lambda _: has_news.set())
        while not all(future.done() for future in futures) and time.monotonic() < end:
            has_news.wait(_PULSE)
            has_news.clear()
            if time.monotonic() > next_look:
                self._look()
                next_look = time.monotonic() + _LOOK
            if any(future.status in _BROKEN or has_failed(future) for future in futures):
                end = min(end, time.monotonic() + _PATIENCE)
        if any(future.status in _BROKEN for future in futures):
            self._look()
        for future in futures:
            if future.status == "error":
                raise _cause_of(future.exception())
            elif future.status in _BROKEN:
                raise RuntimeError("The tasks of a fit must not be cancelled; one was cancelled.")
            else:
                has_failed(future)

    def _look(self) -> None:
        """Raise an error if the scheduler or a worker of the fit has died."""
        client = self.client
        try:
            if client.status != "running":
                raise OSError(client.status)
            alive = client.sync(client.scheduler.ncores, callback_timeout=_ANSWER)
        except (OSError, TimeoutError) as error:
            raise RuntimeError(
                "The scheduler of Dask must live until the fit is done; it is gone, or does not "
                f"answer in {_ANSWER} seconds."
            ) from error
        gone = sorted(set(self.workers) - set(alive))
        if gone:
            is_one = len(gone) == 1  # XGBoost may end the process of one that has lost another
            first = "that worker" if is_one else "the first of them to end"
            raise RuntimeError(
                f"Every worker must live until the fit is done; {listed(gone)} "
                f"{'is' if is_one else 'are'} gone. The log of {first} tells why: often it had too "
                "little memory."
            )

    def end(self) -> None:
        """Cancel the fit's remaining tasks and stop its tracker, so that the workers are free."""
        with suppress(Exception):  # the earlier error is reported
            self.client.cancel(self.futures, force=True)
            self.client.unsubscribe_topic(self.key)
            alive = self.client.sync(self.client.scheduler.ncores, callback_timeout=_ANSWER)
            if self.network is not None and not self.is_done and self.first in alive:
                stop = partial(stop_tracker, self.network)  # a task may wait for others to come
                self.client.run(stop, workers=[self.first], on_error="ignore")


def _cause_of(error: Exception) -> Exception:
    """Return a ValueError that a user can act on if types caused an error of Dask's shuffle.

    Any other error is returned as it is.
    """
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if cause is not error and type(cause).__module__.startswith("pyarrow"):
        return ValueError(f"Partitions must have the types of their frame's columns; got {cause}")
    return error


def _held(frame: Any) -> Partition:
    """Return a partition, from which a fit can take its frame: Dask keeps the partition alone."""
    return deque([frame])


def _fit_here(
    task: Task,
    rank: int,
    network: dict[str, Any],
    topic: str,
    frames: list[Partition],
    eval_frames: list[Partition] | None = None,
) -> Outcome:
    """Fit one shard on this worker of Dask, together with the other workers.

    ``rank`` is the worker's number; ``frames`` and ``eval_frames`` are its partitions, which are
    emptied. ``network`` is what ``start_tracker`` returned: how workers find each other. Rank 0
    logs progress as events of Dask by the name ``topic``. The fit ends if Dask cancels its task.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_given_up() -> bool:
        task_state = worker.state.tasks.get(key)
        return task_state is None or task_state.state == "cancelled"

    def hear(n_done: int, n_total: int | None, note: Note) -> None:
        if is_given_up():
            raise RuntimeError("The fit was given up.")
        if rank == 0:
            values = note if isinstance(note, str) else {name: float(note[name]) for name in note}
            worker.log_event(topic, (n_done, n_total, values))

    n_threads = worker.state.nthreads
    patience = 1
    try:
        fit = partial(fit_shard, n_threads=n_threads, listener=hear)
        outcome = _unless(is_given_up, partial(fit, task, frames, eval_frames, rank, network))
        patience = _LEAVING if outcome.is_fitted else 1
    finally:
        if rank == 0:
            stop_tracker(network, patience)
    return outcome


def _unless(is_given_up: Callable[[], bool], function: Callable[[], T]) -> T:
    """Return the result of ``function``, or raise an error once ``is_given_up()`` is true.

    Inside the collective, a worker waits for one that has died as long as for one that is late, and
    cannot be told to stop. So it runs in a thread of its own, and Dask's thread is free again.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    while not wait([future], timeout=_PULSE).done:
        if is_given_up():
            raise RuntimeError("The fit was given up.")
    return future.result()


def predict_frame(ranker: Any, frame: Any, features: list[str]) -> Any:
    """Return the scores of a Dask frame as a lazy series with the same partitions."""
    import pandas as pd
    from dask.delayed import delayed

    model = delayed(ranker, pure=False)  # one copy for all partitions
    meta = pd.Series(dtype="float64", name="score")
    return frame[features].map_partitions(_scores, model, meta=meta)


def _scores(part: Any, ranker: Any) -> Any:
    """Return the scores of a pandas partition as a series; it may be empty."""
    import pandas as pd

    scores = ranker.predict(part) if len(part) else np.empty(0)
    return pd.Series(scores, index=part.index, name="score")
