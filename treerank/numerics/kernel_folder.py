"""Kernel folder: where the machine code of kernels is stored, below the user's cache folder.

The user's cache folder is ``NUMBA_CACHE_DIR``, or the cache folder of the system:
``$XDG_CACHE_HOME`` or ``~/.cache``, on macOS ``~/Library/Caches``, on Windows ``%LOCALAPPDATA%``.
``treerank`` in it has a folder for each module with kernels, each version of numba, and each state
of the source files that kernels are made of: the module itself, and modules from which it imports
functions that are compiled into kernels, or named tuples that kernels take. So an update that
changes none of them leaves kernels stored. Within the folder, numba makes one for each location of
an installed treerank, and compares the source file of the module once more.

A process that makes a new folder removes the folders of the same module that no process has used
for some days. Deleted kernels are compiled again when they are needed.
"""

import hashlib
import os
import re
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
#: An import of this package: a module, and names in it, which may be modules themselves.
_IMPORT = re.compile(rf"^ *from ({_PACKAGE.name}[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(r"\w+")
#: The options of all kernels.
_COMPILING = Path(__file__).with_name("compiling.py")
#: What files say that have functions to compile, or named tuples: machine code reads their fields
#: by position, and numba knows a named tuple by its name.
_COMPILES = re.compile(rb"numerics\.compiling|NamedTuple")
#: Folders that no process has used for this number of days are removed.
DAYS = 3


def kernel_folder(file: str, *part_files: str) -> Path | None:
    """Return the folder for the kernels of a source file; ``None`` if it cannot be written.

    ``part_files`` are the source files of functions that are passed to a kernel.
    """
    folder = user_folder()
    return folder and _make_folder(folder, _name_of(file), _digest(frozenset([file, *part_files])))


def user_folder() -> Path | None:
    """Return the folder of all kernels; ``None`` if there is no cache folder."""
    folder = config.CACHE_DIR or _cache_of_system()
    return Path(folder, "treerank") if folder else None


def _cache_of_system():
    """Return the user's cache folder by the conventions of the system.

    "" for a user without a home.
    """
    with suppress(RuntimeError):  # a user without a home
        if sys.platform == "win32":
            return os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        if sys.platform == "darwin":
            return str(Path.home() / "Library" / "Caches")
        return os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return ""


@cache
def _make_folder(parent, module, digest):
    """Create and return the folder of one state of a module's sources.

    None if it cannot be written. ``digest`` is a hash of the sources. Making a new folder removes
    other folders of the module that have long been unused.
    """
    folder = parent / f"{module}-numba-{numba.__version__}-{digest}"
    is_new = not folder.is_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)  # marks it as used
    except OSError:
        return None
    if is_new:
        remove_unused(parent, module)
    return folder


def remove_unused(parent: Path, module: str) -> None:
    """Delete the folders of a module that no process has used for ``DAYS`` days; ignore errors."""
    with suppress(OSError):
        for folder in parent.glob(f"{module}-numba-*"):
            if time.time() - folder.stat().st_mtime > DAYS * 24 * 3600:
                shutil.rmtree(folder, ignore_errors=True)


def _name_of(file):
    """Return the dotted name of a source file in this package, or the stem of another file."""
    path = Path(file).with_suffix("")
    is_ours = path.is_relative_to(_PACKAGE)
    return ".".join(path.relative_to(_PACKAGE).parts) if is_ours else path.name


@cache
def _digest(files):
    """Return a hash of source files and of all files that are compiled with them."""
    compiled_files, unread_files = set(), {*files, str(_COMPILING)}
    while unread_files:
        file = unread_files.pop()
        compiled_files.add(file)
        unread_files |= _imports_of(file) - compiled_files
    digest = hashlib.sha256()
    for file in sorted(compiled_files):
        digest.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return digest.hexdigest()[:16]


@cache
def _imports_of(file):
    """Return the files of this package that a file imports and that are compiled with it."""
    files = set()
    for module, names in _IMPORT.findall(Path(file).read_text(encoding="utf-8")):
        path = _PACKAGE.joinpath(*module.split(".")[1:])
        files |= {path.with_suffix(".py"), *(path / f"{name}.py" for name in _NAME.findall(names))}
    return {str(path) for path in files if path.is_file() and _COMPILES.search(path.read_bytes())}
