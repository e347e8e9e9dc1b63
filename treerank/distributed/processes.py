"""Processes: the workers of a fit on this machine."""

import contextlib
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any, Self

from xgboost.core import XGBoostError
from xgboost.tracker import RabitTracker

from treerank.distributed.worker import serve

#: A process that is not forked has no threads, which a fork would leave in the middle of things.
_CONTEXT = multiprocessing.get_context("spawn")
_HOST = "127.0.0.1"
#: Seconds that a worker may take to end by itself.
_PATIENCE = 5


class Processes:
    """Processes that fit rankers together, one fit after another.

    They listen to this machine only, on free ports.

    Parameters
    ----------
    n_workers : int
        Number of processes.

    Examples
    --------
    >>> with Processes(4) as launcher:  # doctest: +SKIP
    ...     fitted = fit(ranker, X, y, qid, workers=4, launcher=launcher)
    """

    def __init__(self, n_workers: int):
        self.n_workers = n_workers
        self._workers: list[tuple[Any, Any]] = []

    def __enter__(self) -> Self:
        """Start the processes."""
        try:
            for number in range(self.n_workers):
                ours, theirs = _CONTEXT.Pipe()
                process = _CONTEXT.Process(
                    target=serve, args=(theirs,), daemon=True, name=f"worker {number}"
                )
                process.start()
                theirs.close()
                self._workers.append((process, ours))
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """End the processes."""
        if kind is None:
            for process, pipe in self._workers:
                pipe.send(None)
                process.join(_PATIENCE)
        self._kill()

    def __call__(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a process of its own, all of them one team; return their rankers.

        The first error of a worker, or its death, is raised. The other workers may then still wait
        for it, so all of them are ended.
        """
        if len(tasks) > len(self._workers):
            raise ValueError(
                f"launcher must have {len(tasks)} running processes; got {len(self._workers)}. "
                "They end with the block of `with`, and after an error."
            )
        tracker = RabitTracker(host_ip=_HOST, n_workers=len(tasks))
        tracker.start()
        address = tracker.worker_args()
        workers = self._workers[: len(tasks)]
        try:
            for (process, pipe), task in zip(workers, tasks, strict=True):
                _send(process, pipe, task | {"address": address})
            return _answers(workers)
        except BaseException:
            self._kill()
            raise
        finally:
            with contextlib.suppress(XGBoostError):  # it misses workers that have died
                tracker.free()

    def _kill(self) -> None:
        for process, pipe in self._workers:
            process.kill()
            process.join()
            pipe.close()
        self._workers = []


def run_processes(tasks: Sequence[dict[str, Any]]) -> list[Any]:
    """Run each task in a new process, all of them one team; return their rankers."""
    with Processes(len(tasks)) as launcher:
        return launcher(tasks)


def _send(process: Any, pipe: Any, task: dict[str, Any]) -> None:
    """Send a task to a process."""
    try:
        pipe.send(task)
    except BrokenPipeError:
        raise _death_of(process) from None


def _answers(workers: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return the ranker of each worker; raise the first error."""
    found: dict[Any, Any] = {}
    while len(found) < len(workers):
        waiting = [pipe for _, pipe in workers if pipe not in found]
        pipe: Any
        for pipe in wait(waiting):
            try:
                found[pipe], error = pipe.recv()
            except (EOFError, ConnectionResetError):
                process = next(process for process, end in workers if end is pipe)
                raise _death_of(process) from None
            if error is not None:
                raise error
    return [found[pipe] for _, pipe in workers]


def _death_of(process: Any) -> RuntimeError:
    process.join(_PATIENCE)
    return RuntimeError(
        f"{process.name} (process {process.pid}) must live until the fit is done; "
        f"it ended with exit code {process.exitcode}."
    )
