"""Kernel folder: where the machine code of kernels is stored, below the user's cache folder.

The user's cache folder is ``NUMBA_CACHE_DIR``, or the cache folder of the system:
``$XDG_CACHE_HOME`` or ``~/.cache``, on macOS ``~/Library/Caches``, on Windows ``%LOCALAPPDATA%``.
``treerank`` in it has a folder for each version of numba and for each state of the source files. So
after an update, or after an edit of a function that is compiled into functions of other files,
kernels are compiled anew. Within it, numba makes a folder for each location of an installed
treerank.

A process that makes a new folder removes the folders that no process has used for some days.
Deleted kernels are compiled again when they are needed.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

_PACKAGE = Path(__file__).parents[1]
#: Settings of numba; its type hints do not name all of them.
config: Any = numba.config
#: Folders that no process has used for this number of days are removed.
DAYS = 3


def kernel_folder() -> Path | None:
    """Return the folder for machine code; ``None`` if it cannot be written."""
    return _make_folder(config.CACHE_DIR or _cache_of_system())


def _cache_of_system():
    """Return the cache folder of the operating system."""
    with suppress(RuntimeError):  # a user without a home
        if sys.platform == "win32":
            return os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        if sys.platform == "darwin":
            return str(Path.home() / "Library" / "Caches")
        return os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return ""


@cache
def _make_folder(parent):
    """Make and return the folder of this version below ``parent``; None if it cannot be written."""
    if not parent:
        return None
    folder = Path(parent, "treerank", f"numba-{numba.__version__}-{_sources()}")
    is_new = not folder.is_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)  # marks it as used
    except OSError:
        return None
    if is_new:
        remove_unused(folder.parent)
    return folder


def remove_unused(parent: Path) -> None:
    """Remove folders of versions that no process has used for ``DAYS`` days, as far as allowed."""
    with suppress(OSError):
        for folder in parent.glob("*numba-*"):
            if time.time() - folder.stat().st_mtime > DAYS * 24 * 3600:
                shutil.rmtree(folder, ignore_errors=True)


@cache
def _sources():
    """Return a digest of the source files of all subpackages that have kernels."""
    texts = {path: path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))}
    subpackages = {
        _subpackage(path) for path, text in texts.items() if b"numerics.compiling" in text
    }
    digest = hashlib.sha256()
    for path, text in texts.items():
        if _subpackage(path) in subpackages:
            digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()[:16]


def _subpackage(path):
    return path.relative_to(_PACKAGE).parts[0]
