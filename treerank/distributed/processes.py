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
from pathlib import Path
from threading import Thread
from typing import Any, Self

import joblib
import numpy as np

from treerank.distributed.collective import LostTeamError
from treerank.distributed.launcher import meeting_for
from treerank.distributed.parts import Part, stored_parts
from treerank.distributed.worker import fit_share
from treerank.files.scratch import ScratchFolder

#: A process that is not forked has no threads, which a fork would leave in the middle of things.
_CONTEXT = multiprocessing.get_context("spawn")
_HOST = "127.0.0.1"
#: Seconds that a worker may take to end by itself, or to tell why it has failed.
_PATIENCE = 5


class Processes:
    """Processes that fit rankers together, one fit after another.

    They listen to this machine only, on free ports. Without ``n_jobs``, the cores of the machine
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

    def __enter__(self) -> Self:
        """Start the processes."""
        n_threads = max(1, joblib.cpu_count() // self.n_workers)
        try:
            for number in range(self.n_workers):
                ours, theirs = _CONTEXT.Pipe()
                process = _CONTEXT.Process(
                    target=serve, args=(theirs, n_threads), daemon=True, name=f"worker {number}"
                )
                with _held_interrupts():
                    process.start()
                theirs.close()
                self._workers.append((process, ours))
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """End the processes."""
        self._kill()

    @contextlib.contextmanager
    def parts(self, columns: Mapping[str, np.ndarray]) -> Iterator[list[list[Part]]]:
        """Write arrays to files that live as long as the block; return the parts of the workers."""
        if not isinstance(columns["X"], np.ndarray):
            raise TypeError(
                "X must be in memory or a file for processes of this machine; "
                f"got {type(columns['X'])}."
            )
        with ScratchFolder() as folder:
            yield stored_parts(Path(folder), columns, self.n_workers)

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a process of its own, all of them one team; return their rankers.

        An error of a worker, or its death, is raised. The other workers may then still wait for it,
        so all of them are ended.
        """
        if len(self._workers) < len(tasks):
            raise ValueError(
                f"workers must have {len(tasks)} running processes; got {len(self._workers)}. "
                "They end with the block of `with`, and after an error."
            )
        workers = self._workers[: len(tasks)]
        try:
            with meeting_for(len(tasks), _HOST) as address:
                for (process, pipe), task in zip(workers, tasks, strict=True):
                    _send(process, pipe, task | {"address": address})
                return _answers(workers)
        except BaseException:
            self._kill()
            raise

    def _kill(self) -> None:
        for process, pipe in self._workers:
            process.kill()
            process.join()
            pipe.close()
        self._workers = []


@contextlib.contextmanager
def _held_interrupts() -> Iterator[None]:
    """Hold back interrupts of this thread; a process that starts meanwhile never gets one.

    So Ctrl-C does not make each worker print where it was; this process ends them.
    """
    resource_tracker.ensure_running()  # which lets interrupts through again when it begins
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(pipe: Any, n_threads: int) -> None:
    """Receive arguments of :func:`fit_share`, and send ``(ranker, None)`` or ``(None, error)``."""
    Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("OMP_NUM_THREADS", str(n_threads))
    while True:
        try:
            task = pipe.recv_bytes()
        except EOFError:  # the process that has started this one is gone
            return
        pipe.send(_answer_to(task))


def _answer_to(task: bytes) -> tuple[Any, Any]:
    """Return the ranker of a pickled task, or an error."""
    try:
        return fit_share(**pickle.loads(task)), None
    except Exception as error:
        return None, portable(error)


def _end_with_parent() -> None:
    """End this process once that which has started it is gone, in the middle of a fit, too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
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


def _send(process: Any, pipe: Any, task: dict[str, Any]) -> None:
    """Send a task to a process."""
    try:
        pipe.send(task)
    except BrokenPipeError:
        raise _death_of(process) from None


def _answers(workers: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return the ranker of each worker; raise the error that the others follow from."""
    found: dict[Any, Any] = {}
    errors: list[Exception] = []
    while len(found) < len(workers):
        pipe: Any
        missing = [pipe for _, pipe in workers if pipe not in found]
        ready = wait(missing, _PATIENCE if errors else None)
        if not ready:
            break
        for pipe in ready:
            try:
                found[pipe], error = pipe.recv()
            except (EOFError, ConnectionResetError):
                process = next(process for process, its_pipe in workers if its_pipe is pipe)
                found[pipe], error = None, _death_of(process)
            if error is not None:
                if not isinstance(error, LostTeamError):
                    raise error
                errors.append(error)
    if errors:
        raise errors[0]
    return [found[pipe] for _, pipe in workers]


def _death_of(process: Any) -> RuntimeError:
    process.join(_PATIENCE)
    return RuntimeError(
        f"{process.name} (process {process.pid}) must live until the fit is done; "
        f"it ended with exit code {process.exitcode}."
    )
