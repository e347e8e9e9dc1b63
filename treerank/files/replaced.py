"""Replaced files: a file is written beside its place and renamed once it is whole.

Locks tell what a living process still needs from what a killed one has left behind. Windows has no
such locks, and does not rename open files.
"""

import errno
import glob
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from treerank.checks import naming, quote

try:
    import fcntl
except ImportError:  # Windows
    HAS_LOCKS = False
else:
    HAS_LOCKS = True


_SUFFIX = ".treerank-part"
#: Letters of a file's name that the name of its part begins with; a name may have 255 bytes.
_N_LETTERS = 50
_STDOUT = 1


@contextmanager
def replaced_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block ends without an error.

    The new file has the mode of the old one. A symbolic link stays, and its target is replaced.
    What is no regular file, such as a device or a pipe, is written to and never replaced.

    After an error, or if the process is killed, ``path`` is as it was before. What a killed
    process leaves beside it is removed by the next call. Errors of the system name ``path``.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "new.txt"
    >>> with replaced_file(path) as file:
    ...     n_bytes = file.write(b"whole")
    >>> path.read_bytes()
    b'whole'
    """
    with naming("path"):
        path = Path(path)
    with _errors_about(path):
        old = _status(path)
        if old is not None and not stat.S_ISREG(old.st_mode):
            with open(path, "wb") as file:
                yield file
        elif old is not None and _is_standard_output(old):
            with open(_STDOUT, "wb", closefd=False) as file:
                yield file
        else:
            target = os.path.realpath(path)
            with _part(target) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # otherwise a crash may leave the new name on an empty file
                _copy_mode(old, file)
                if not HAS_LOCKS:
                    file.close()  # to be renamed
                os.replace(file.name, target)


def check_output(path: str | Path) -> None:
    """Raise the error that :func:`replaced_file` would raise for this path; write nothing.

    It is an ``OSError`` for a folder, a read-only file, or a file in a folder that does not exist
    or is read-only.

    Examples
    --------
    >>> check_output(getfixture("tmp_path"))
    Traceback (most recent call last):
    ...
    IsADirectoryError: [Errno 21] Is a directory: ...
    """
    with naming("path"):
        path = Path(path)
    with _errors_about(path):
        old = _status(path)
        if old is None or stat.S_ISREG(old.st_mode):
            with _part(os.path.realpath(path)):
                pass


@contextmanager
def _errors_about(path):
    """Make errors of the system that name no file, or a temporary one, name ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not str(error.filename or _SUFFIX).endswith(_SUFFIX):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _status(path):
    """Return the stat of the file to be replaced, None if there is none yet.

    Refuses a folder, a read-only file, a missing parent folder, and a path without a file name.
    """
    if path.name == "" or "\0" in path.name:
        raise ValueError(f"path must be the name of a file; got {quote(str(path))}.")
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not path.parent.exists():  # "missing/../name", too, which is no name to read it by
            raise
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return status


def _is_standard_output(status):
    """Tell whether this process writes its output to a file, as to /dev/stdout in a shell."""
    is_open = sys.__stdout__ is not None  # if not, the number may belong to another file
    return is_open and os.path.samestat(status, os.fstat(_STDOUT))


def _copy_mode(old, file):
    """Copy the mode of the replaced file to the new file, and its owner if permitted.

    ``old`` is the stat of the replaced file, ``None`` if there was none. The new file is addressed
    by its descriptor, so no other file that has its path by now is changed.
    """
    if old is not None:
        with suppress(PermissionError, AttributeError):  # Windows has no owners
            os.chown(file.fileno(), old.st_uid, old.st_gid)
        by_number = os.chmod in os.supports_fd  # not on Windows, which locks open files instead
        os.chmod(file.fileno() if by_number else file.name, stat.S_IMODE(old.st_mode))


@contextmanager
def _part(target):
    """Open a new temporary file beside ``target``; remove it at the end unless it was renamed.

    A rename is one step only within a file system. The file is locked while its writer lives; those
    without a lock were left by killed processes, and are removed first.
    """
    folder, name = os.path.split(target)
    start = f".{name[:_N_LETTERS]}."
    left = glob.iglob(f"{glob.escape(os.path.join(folder, start))}*{_SUFFIX}")
    for path in left if HAS_LOCKS else ():
        with suppress(OSError):  # its process is alive, or it is another user's
            _remove_unlocked(path)
    while True:
        path = os.path.join(folder, f"{start}{secrets.token_hex(8)}{_SUFFIX}")
        encoded = os.fsencode(path)  # so that its removal needs no memory
        try:
            with open(path, "xb") as file:
                if HAS_LOCKS:
                    with suppress(OSError):  # some file systems have none
                        fcntl.flock(file, fcntl.LOCK_EX)
                if os.path.exists(path):  # else another process took it for abandoned
                    yield file
                    return
        finally:
            try:  # noqa: SIM105 - suppress() needs memory
                os.unlink(encoded)
            except FileNotFoundError:
                pass


def _remove_unlocked(path):
    """Remove a file whose writer was killed; raise an error if it is locked."""
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(opened)
