"""Any failure at any step of any writer: the old file or the new one, and nothing beside it."""

import builtins
import errno
import os
import resource

import numpy as np
import pytest

from treerank import (
    export,
    make_web_search,
    report,
    write_parquet,
)
from treerank.baselines import RankSVM
from treerank.datasets.letor import write_letor

X, Y, QID = make_web_search(12, documents_per_query=6, n_features=3, random_state=0)
RANKER = RankSVM().fit(X, Y, QID)
PAGE = report(RANKER, X, Y, QID, n_examples=1)
STEPS = [(builtins, "open"), (os, "fsync"), (os, "replace"), (os, "stat"), (os, "chmod")]


WRITERS = {
    "save": RANKER.save,
    "export": lambda path: export(RANKER, path, format="c", check=X),
    "convert to Parquet": lambda path: write_parquet(path, X, Y, QID),
    "convert to LETOR": lambda path: write_letor(path, X, Y, QID),
    "report": PAGE.save,
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


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
    old = b"old"
    for number in range(1, 200):
        path.write_bytes(old)
        failing = FailingStep(tmp_path, number)
        with monkeypatch.context() as patch:
            for module, name in STEPS:
                patch.setattr(module, name, failing.wrapped(getattr(module, name)))
            try:
                write(path)
            except OSError as error:
                assert "No space left on device" in str(error)  # noqa: PT017
        assert path.read_bytes() in (old, new)
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
    path.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for most in np.unique(np.linspace(0, size - 1, 7).astype(int)).tolist():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            with pytest.raises(OSError, match=r"too large|Cannot write|No space"):
                write(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == [path.name]
