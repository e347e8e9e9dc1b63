"""Processes: the workers of a fit on this machine."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from threading import Thread
from typing import Any

import joblib
import numpy as np

from treerank.distributed.launcher import PULSE, Channel, News, results_of
from treerank.distributed.parts import Part, blocks
from treerank.distributed.worker import fit_share

#: A process that is not forked has no threads, which a fork would leave in the middle of things.
_CONTEXT = multiprocessing.get_context("spawn")
#: Seconds that a worker may take to end by itself.
_PATIENCE = 5


class Processes(contextlib.AbstractContextManager["Processes"]):
    """Processes that fit rankers together, one fit after another, and end with the block.

    The first one listens to this machine only, on a free port. Without ``n_jobs``, the cores of it
    are shared among them.

    Parameters
    ----------
    n_workers : int
        Number of processes.

    Examples
    --------
    >>> with Processes(4) as workers:  # doctest: +SKIP
    ...     fitted = fit(ranker, X, y, qid, workers=workers)
    """

    def __init__(self, n_workers: int):
        self.n_workers = n_workers
        self._workers: list[tuple[Any, Any]] = []

    def close(self, *error: object) -> None:
        """End the processes."""
        for process, pipe in self._workers:
            process.kill()
            process.join()
            pipe.close()
        self._workers = []

    __exit__ = close

    def parts(self, columns: Mapping[str, np.ndarray]) -> list[list[Part]]:
        """Return the parts of each worker: rows next to each other, which are sent to it."""
        if not isinstance(columns["X"], np.ndarray):
            raise TypeError(
                "X must be in memory or a file for processes of this machine; "
                f"got {type(columns['X'])}."
            )
        return [[part] for part in blocks(columns, self.n_workers)]

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a process of its own, all of them one team; return their results.

        An error of a worker, or its death, is raised. The other workers may then still wait for it,
        so all of them are ended; the next fit starts others.
        """

        def start(known: dict[str, Any]) -> None:
            rank = known["rank"]
            with contextlib.suppress(BrokenPipeError):  # of one that is dead: told by _news_of
                self._workers[rank][1].send((tasks[rank], known))

        try:
            while len(self._workers) < len(tasks):
                self._start()
            return results_of(len(tasks), start, _news_of(self._workers[: len(tasks)]))
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        """Start one more process, which never gets an interrupt.

        So Ctrl-C does not make each worker print where it was; this process ends them.
        """
        ours, theirs = _CONTEXT.Pipe()
        n_threads = max(1, joblib.cpu_count() // self.n_workers)
        name = f"worker {len(self._workers)}"
        process = _CONTEXT.Process(target=serve, args=(theirs, n_threads), daemon=True, name=name)
        resource_tracker.ensure_running()  # which lets interrupts through again when it begins
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._workers.append((process, ours))


def _news_of(workers: Sequence[tuple[Any, Any]]) -> Iterator[News | None]:
    """Yield what workers send, and their deaths as errors."""
    pending: dict[Any, int] = {pipe: rank for rank, (_, pipe) in enumerate(workers)}
    while True:
        for ready in wait(pending, PULSE):
            pipe: Any = ready
            rank = pending[pipe]
            try:
                kind, value = pipe.recv()
            except (EOFError, ConnectionResetError):
                kind, value = "error", _death_of(workers[rank][0])
            if kind in ("result", "error"):
                del pending[pipe]
            yield rank, kind, value
        yield None


def serve(pipe: Any, n_threads: int) -> None:
    """Receive pickled tasks, and send the result or the error of each one."""
    Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("OMP_NUM_THREADS", str(n_threads))
    with contextlib.suppress(EOFError):  # the process that has started this one is gone
        while True:
            message = pipe.recv_bytes()
            try:
                task, known = pickle.loads(message)
                channel = Channel(**known, tell=lambda *news: pipe.send(news))
                pipe.send(("result", fit_share(**task, channel=channel)))
            except Exception as error:
                pipe.send(("error", portable(error)))


def _end_with_parent() -> None:
    """End this process once that which has started it is gone, in the middle of a fit, too."""
    parent: Any = multiprocessing.parent_process()
    parent.join()
    os._exit(1)


def portable(error: Exception) -> Exception:
    """Return the error, or one with its text if it cannot be sent; a note says where it was."""
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # of any kind: classes say how their errors are pickled
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"In a worker:\n{trace}")
    return error


def _death_of(process: Any) -> RuntimeError:
    process.join(_PATIENCE)
    return RuntimeError(
        f"{process.name} (process {process.pid}) must live until the fit is done; "
        f"it ended with exit code {process.exitcode}."
    )
