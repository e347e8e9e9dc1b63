"""Scratch arrays: what cannot be had is an error at once."""

import errno
import os

import numpy as np
import pytest

from treerank.files.scratch import scratch_array


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
