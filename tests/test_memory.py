"""Free memory goes back to the system, whatever is in use behind it."""

import os

import numpy as np
import pytest

from treerank.numerics import memory
from treerank.numerics.memory import give_back

_BLOCK, _N = 100_000, 400  # blocks of a size that the C library does not ask the system for


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(memory._trim() is None, reason="needs glibc and Linux")
def test_free_memory_below_memory_in_use_goes_back_to_the_system():
    blocks = [np.ones(_BLOCK, dtype=np.uint8) for _ in range(_N)]
    last = blocks.pop()
    before = _resident()
    del blocks
    give_back()
    assert _resident() < before - 0.8 * _BLOCK * _N
    assert last.all()


def test_nothing_is_given_back_where_the_c_library_cannot(monkeypatch):
    monkeypatch.setattr(memory, "_trim", lambda: None)
    give_back()
