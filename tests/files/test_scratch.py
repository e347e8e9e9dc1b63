"""Scratch folders end with their process, and those of killed processes with the next one."""

import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from treerank.files import replaced, scratch
from treerank.files.scratch import ScratchFolder

_MAKE = """
from treerank.files.scratch import ScratchFolder
folder = ScratchFolder()
print(folder.path, flush=True)
input()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_ends_with_its_object_or_its_block(temporary):
    folder = ScratchFolder()
    assert os.path.isdir(folder.path)
    del folder
    assert names(temporary) == []
    with ScratchFolder() as path:
        np.save(f"{path}/array.npy", np.zeros(3))
    assert names(temporary) == []


def test_a_folder_without_locks_ends_with_its_block_too(temporary, monkeypatch):
    (temporary / ".treerank-scratch-old").mkdir()
    for module in (replaced, scratch):
        monkeypatch.setattr(module, "HAS_LOCKS", False)
    with ScratchFolder() as path:
        assert os.path.isdir(path)
    assert names(temporary) == [".treerank-scratch-old"]


def test_what_a_killed_process_leaves_is_removed_by_the_next_and_nothing_else(temporary):
    for name in (".treerank-scratch", "treerank-scratch-mine"):
        (temporary / name).mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", _MAKE], env=environment, **pipes) as process:
        path = process.stdout.readline().strip()
        with ScratchFolder():
            assert os.path.isdir(path)  # its process lives
        process.send_signal(signal.SIGKILL)
    assert os.path.isdir(path)
    with ScratchFolder() as own:
        assert names(temporary) == sorted(
            [".treerank-scratch", os.path.basename(own), "treerank-scratch-mine"]
        )
