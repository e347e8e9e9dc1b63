"""Scratch: arrays and folders in the folder for temporary files, which end with the process."""

import mmap
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from treerank.files.replaced import HAS_LOCKS, lock, remove_abandoned

_PREFIX = ".treerank-scratch-"


class ScratchFolder:
    """A folder for temporary files, which is removed with this object or by its block of ``with``.

    What a killed process leaves is removed when any process makes the next folder: a lock tells
    whether the process lives. There are no locks on Windows, so it stays there.

    Attributes
    ----------
    path : str
        The folder.

    Examples
    --------
    >>> with ScratchFolder() as path:
    ...     os.listdir(path)
    []
    >>> os.path.exists(path)
    False
    """

    def __init__(self) -> None:
        left = map(str, Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
        remove_abandoned(left, shutil.rmtree)
        self.path, opened = _locked_folder()
        self._finalizer = weakref.finalize(self, _remove, self.path, opened)

    def __enter__(self) -> str:
        """Return the path."""
        return self.path

    def __exit__(self, *error: object) -> None:
        """Remove the folder."""
        self.remove()

    def remove(self) -> None:
        """Remove the folder, if it is still there."""
        self._finalizer()


def _locked_folder() -> tuple[str, int | None]:
    """Make and lock a folder; take another name if it was removed before it was locked."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX)
        if not HAS_LOCKS:
            return path, None
        with suppress(FileNotFoundError):
            opened = os.open(path, os.O_RDONLY)
            lock(opened)
            if os.path.exists(path):
                return path, opened
            os.close(opened)


def _remove(path: str, opened: int | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if opened is not None:
        os.close(opened)


def scratch_array(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """Return an array in a new file in the folder for temporary files, see ``TMPDIR``.

    The system keeps as much of the file in memory as it has room for.

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
    """Take a scratch array out of the memory of this process until it is read; ignore others.

    The system may keep the file in its own memory, which other programs can have.

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
