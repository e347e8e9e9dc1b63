"""A process that runs the cases of one fuzzer: its limits, its output, its end."""

import contextlib
import faulthandler
import importlib
import multiprocessing
import os
import resource
import signal
import tempfile
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

#: What a case may take unless its module says otherwise.
LIMITS = {"SECONDS": 120, "GIGABYTES": 4}
#: Forked from a process that has only imported the fuzzer.
CONTEXT = multiprocessing.get_context("forkserver")


def shorten(text: str, length: int = 3000) -> str:
    """Return both ends of a text that is too long."""
    half = length // 2
    return text if len(text) <= length else f"{text[:half]}\n[...]\n{text[-half:]}"


def limit(fuzzer, what: str) -> float:
    """Return how much of something a case of a fuzzer may take."""
    return getattr(fuzzer, what, LIMITS[what])


def _serve(module: str, folder: str, pipe: Connection) -> None:
    """Run the case of each seed that arrives; answer with an error's text, or with None."""
    os.setsid()  # what a case starts ends with this process
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    output = os.open(f"{folder}/output", os.O_CREAT | os.O_RDWR | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.enable()
    fuzzer = importlib.import_module(module)
    most = int(limit(fuzzer, "GIGABYTES") * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    while (seed := pipe.recv()) is not None:
        os.ftruncate(output, 0)
        pipe.send(_failure(fuzzer, seed))


def _failure(fuzzer, seed: int) -> str | None:
    try:
        fuzzer.case(np.random.default_rng(seed))
    except Exception:
        return shorten(traceback.format_exc())
    return None


class Worker:
    """The parent's side of one process, which runs one case at a time."""

    def __init__(self, fuzzer):
        self.seconds = limit(fuzzer, "SECONDS")
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True)
        self.pipe, theirs = CONTEXT.Pipe()
        arguments = (fuzzer.__name__, self._folder.name, theirs)
        self._process = CONTEXT.Process(target=_serve, args=arguments)
        self._process.start()
        theirs.close()

    def start(self, seed: int) -> None:
        """Begin a case."""
        self.seed, self.deadline = seed, time.monotonic() + self.seconds
        self.pipe.send(seed)

    def answer(self) -> tuple[bool, str | None]:
        """Return whether this process can go on, and how its case failed, None for not at all."""
        if time.monotonic() >= self.deadline and not self.pipe.poll():
            return False, f"It took more than {self.seconds} seconds.\n{self._output()}"
        try:
            return True, self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(5)
            return False, f"Its process died: {self._process.exitcode}.\n{self._output()}"

    def _output(self) -> str:
        with open(Path(self._folder.name, "output"), errors="replace") as file:
            return shorten(file.read(1_000_000))

    def stop(self) -> None:
        """End the process and all that its cases started, and remove their files."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)  # an end in order, unless it hangs
            self._process.join(2)
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, or has not yet made its group
            self._process.kill()
        self._process.join()
        self._folder.cleanup()
