"""Scratch: arrays in the folder for temporary files, which end with the process."""

import mmap
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import DTypeLike


def scratch_array(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """Return an array in a new file in the folder for temporary files, see ``TMPDIR``.

    The operating system caches as much of the file as fits into memory.

    Examples
    --------
    >>> scratch_array((2, 3), np.uint8).shape
    (2, 3)
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size == 0:
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a crash later
            os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, dtype=dtype, mode="w+", shape=shape))


def leave_memory(array: np.ndarray[Any, Any]) -> None:
    """Drop the pages of a scratch array from this process's memory; other arrays are left alone.

    They are read again when needed. The system may keep the file in its own cache, whose memory
    other programs can have.

    Examples
    --------
    >>> array = scratch_array((2, 3), np.uint8)
    >>> array[:] = 7
    >>> leave_memory(array)
    >>> array.sum()
    np.uint64(42)
    """
    pages: Any = getattr(array.base, "_mmap", None)
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)
