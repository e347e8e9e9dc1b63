"""Scratch arrays: what cannot be had is an error at once."""

import errno
import os

import numpy as np
import pytest

from treerank.files.scratch import leave_memory, scratch_array


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs posix_fallocate")
def test_a_full_disk_is_an_error_before_anything_is_written(monkeypatch):
    asked = []

    def full_disk(descriptor, start, size):
        asked.append((start, size))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full_disk)
    with pytest.raises(OSError, match="No space left"):
        scratch_array((2, 3), np.float64)
    assert asked == [(0, 48)]


def test_systems_without_a_way_to_reserve_a_file_have_scratch_arrays(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    array = scratch_array((2, 3), np.float32)
    array[:] = 1.5
    assert (array.shape, array.sum()) == ((2, 3), 9.0)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_pages_leave_the_memory_of_the_process_and_come_back(monkeypatch):
    array = scratch_array((2**25,), np.uint8)
    array[:] = 7
    before = resident_bytes()
    leave_memory(array)
    assert resident_bytes() < before - 2**24
    assert (array[:: 2**12] == 7).all()
    ordinary = np.ones(3)
    leave_memory(ordinary)
    assert ordinary.sum() == 3
    monkeypatch.delattr("mmap.MADV_DONTNEED", raising=False)
    leave_memory(array)
    assert scratch_array((0, 3), np.float32).shape == (0, 3)
