"""Processes: a launcher that runs the workers of a fit on this machine."""

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from xgboost.tracker import RabitTracker

from treerank.distributed.worker import serve

#: A process that is not forked has no threads, which a fork would leave in the middle of things.
_CONTEXT = multiprocessing.get_context("spawn")
_HOST = "127.0.0.1"
#: Seconds that a worker may take to end by itself.
_PATIENCE = 5


def run_processes(tasks: Sequence[dict[str, Any]]) -> list[Any]:
    """Run each task in a process of its own, all of them one team; return their rankers.

    The first error of a worker, or its death, ends all of them.
    """
    tracker = RabitTracker(host_ip=_HOST, n_workers=len(tasks))
    tracker.start()
    address = tracker.worker_args()
    with _started(len(tasks)) as workers:
        for (_, pipe), task in zip(workers, tasks, strict=True):
            pipe.send(task | {"address": address})
        return _answers(workers)


@contextmanager
def _started(n_workers: int) -> Iterator[list[tuple[Any, Any]]]:
    """Start processes that wait for a task, and leave none behind."""
    workers: list[tuple[Any, Any]] = []
    try:
        for number in range(n_workers):
            ours, theirs = _CONTEXT.Pipe()
            process = _CONTEXT.Process(
                target=serve, args=(theirs,), daemon=True, name=f"worker {number}"
            )
            process.start()
            theirs.close()
            workers.append((process, ours))
        yield workers
        for process, _ in workers:
            process.join(_PATIENCE)
    finally:
        for process, pipe in workers:
            process.kill()
            process.join()
            pipe.close()


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
                raise _death_of(next(process for process, end in workers if end is pipe)) from None
            if error is not None:
                raise error
    return [found[pipe] for _, pipe in workers]


def _death_of(process: Any) -> RuntimeError:
    process.join(_PATIENCE)
    return RuntimeError(
        f"{process.name} (process {process.pid}) died with exit code {process.exitcode}; "
        "the fit is ended."
    )
