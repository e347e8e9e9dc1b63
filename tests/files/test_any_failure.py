"""Any failure at any step of any writer: the old file or the new one, and nothing beside it."""

import builtins
import errno
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from treerank import HistogramTrees, TreeDirectRanker, checkpointing, export, report
from treerank.baselines import RankSVM
from treerank.datasets import make_web_search, write_letor, write_parquet
from treerank.files.archive import read_archive
from treerank.files.checkpoint import Checkpoint

X, Y, QID = make_web_search(12, documents_per_query=6, n_features=3, random_state=0)
RANKER = RankSVM().fit(X, Y, QID)
PAGE = report(RANKER, X, Y, QID, n_examples=1)
STEPS = [(builtins, "open"), (os, "fsync"), (os, "replace"), (os, "stat"), (os, "chmod")]


def fit_with_a_checkpoint(path, seed=0):
    trees = HistogramTrees(n_estimators=3, n_jobs=1)
    with checkpointing(path, every=1):
        TreeDirectRanker(trees, random_state=seed).fit(X, Y, QID)


def old_content(write, path):
    """Return the content of an old file; a checkpoint is read, so it must be one."""
    if write is not fit_with_a_checkpoint:
        return b"old"
    path.unlink()
    write(path, seed=1)
    return path.read_bytes()


WRITERS = {
    "save": RANKER.save,
    "export": lambda path: export(RANKER, path, format="c", check=X),
    "convert to Parquet": lambda path: write_parquet(path, X, Y, QID),
    "convert to LETOR": lambda path: write_letor(path, X, Y, QID),
    "report": PAGE.save,
    "checkpoint": fit_with_a_checkpoint,
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


def check_whole(path, old, new):
    """Refuse a file that is neither; one of a checkpoint may be of any tree, but is whole."""
    if path.read_bytes() not in (old, new):
        assert read_archive(path)["checkpoint_of"]


class FailingStep:
    """The n-th call of steps of the system on a file of a folder fails as on a full disk."""

    def __init__(self, folder, number):
        self.folder, self.number, self.n_calls = str(folder), number, 0

    def wrapped(self, step):
        def call(place, *args, **options):
            if isinstance(place, int) or str(place).startswith(self.folder):
                self.n_calls += 1
                if self.n_calls == self.number:
                    raise OSError(errno.ENOSPC, "No space left on device", str(place))
            return step(place, *args, **options)

        return call


@every_writer
def test_a_step_that_fails_leaves_the_old_file_or_the_new_one(tmp_path, monkeypatch, write):
    path = tmp_path / "file.parquet"
    write(path)
    new = path.read_bytes()
    old = old_content(write, path)
    for number in range(1, 200):
        path.write_bytes(old)
        failing = FailingStep(tmp_path, number)
        with monkeypatch.context() as patch:
            for module, name in STEPS:
                patch.setattr(module, name, failing.wrapped(getattr(module, name)))
            try:
                write(path)
            except (OSError, ValueError) as error:  # a checkpoint is read, too
                assert "No space left on device" in str(error)  # noqa: PT017
        check_whole(path, old, new)
        assert os.listdir(tmp_path) == [path.name]
        if failing.n_calls < number:
            break
    assert 3 < number < 199
    assert path.read_bytes() == new


@every_writer
def test_a_full_disk_leaves_the_old_file(tmp_path, write):
    path = tmp_path / "file.parquet"
    write(path)
    size = path.stat().st_size
    old = old_content(write, path)
    path.write_bytes(old)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for most in np.unique(np.linspace(0, size - 1, 7).astype(int)).tolist():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            with pytest.raises(OSError, match=r"too large|Cannot write|No space"):
                write(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        check_whole(path, old, old)
        assert os.listdir(tmp_path) == [path.name]


OUT_OF_MEMORY = """
import sys, pathlib, _testcapi
sys.path.insert(0, sys.argv[1])
from test_any_failure import fail_allocations
fail_allocations(sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]), _testcapi)
"""


def fail_allocations(writer, path, number, testcapi):
    """Write a file without one allocation of memory, then without the next, and so to the last."""
    write = WRITERS[writer]
    if writer == "checkpoint":  # numba crashes in the fit around it
        write(path)
        state = read_archive(path)["state"]
        write = lambda path: Checkpoint(path, 1).save("fit", state)  # noqa: E731
    write(path)
    write(path)  # what the first call keeps is no allocation of the others
    new, n_whole = path.read_bytes(), 0
    while n_whole < 60:
        number += 1
        os.write(1, b"%d\n" % number)
        path.write_bytes(b"old")
        testcapi.set_nomemory(number, number + 1)
        try:
            write(path)
            n_whole += 1
        except Exception:  # NumPy and ZIP files say it in many ways
            n_whole = 0
        finally:
            testcapi.remove_mem_hooks()
        assert path.read_bytes() in (b"old", new), number
        assert os.listdir(path.parent) == [path.name], number


@pytest.fixture
def in_memory():
    """A folder whose thousands of files wait for no disk, where the system has one."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_an_allocation_that_fails_leaves_the_old_file_or_the_new_one(in_memory, writer):
    pytest.importorskip("_testcapi", reason="this Python has no means to refuse memory")
    path, number, status = in_memory / "file.parquet", 0, -signal.SIGSEGV
    command = [sys.executable, "-c", OUT_OF_MEMORY, os.path.dirname(__file__), writer, str(path)]
    while status == -signal.SIGSEGV:  # of pyarrow; the next process goes on
        done = subprocess.run([*command, str(number)], capture_output=True, text=True, timeout=300)
        number, status = int(done.stdout.split()[-1]), done.returncode
    assert status == 0, done.stderr
    assert number > 300
