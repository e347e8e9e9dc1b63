"""One writer: stored kernels are written by one process at a time.

numba numbers the types for which a kernel was compiled, and reads the last number before it writes
the next. Two processes that compile a kernel for different types at the same time would give both
the same number, and the code for one type would run on the other. numba has no public way to
prevent that, so this file replaces one method of the object in which a kernel keeps its stored
code. With versions of numba that are not known, and where ``TREERANK_PLAIN_NUMBA`` is set, kernels
are stored as numba does it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numba

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # Windows
    with suppress(ImportError):
        import msvcrt

#: The file that is locked, where a folder cannot be.
_LOCK = "treerank.lock"
#: First version of numba whose kernels are known to have this object, and the first that is not.
KNOWN = (0, 61), (0, 70)


def let_one_process_write(kernel: Any) -> None:
    """Let a kernel wait, before it stores machine code, until no other process does."""
    is_known = KNOWN[0] <= numba.version_info.short < KNOWN[1]
    stored = getattr(kernel, "_cache", None)  # None if nothing is compiled
    has_locks = fcntl is not None or msvcrt is not None
    if not has_locks or not is_known or stored is None or "TREERANK_PLAIN_NUMBA" in os.environ:
        return
    save = stored.save_overload

    def save_alone(types: Any, code: Any) -> None:
        with suppress(OSError), _alone_in(stored.cache_path):  # as on a full disk
            save(types, code)

    stored.save_overload = save_alone


@contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Wait until no other process is in a block for this folder."""
    os.makedirs(folder, exist_ok=True)
    if fcntl:
        lock = os.open(folder, os.O_RDONLY)
    else:
        lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT)
    try:
        with suppress(OSError):  # some file systems have no locks
            if fcntl:
                fcntl.flock(lock, fcntl.LOCK_EX)
            else:
                msvcrt.locking(lock, msvcrt.LK_LOCK, 1)  # waits for ten seconds
        yield
    finally:
        if not fcntl:
            with suppress(OSError):
                msvcrt.locking(lock, msvcrt.LK_UNLCK, 1)
        os.close(lock)
