"""Locks: they tell what a living process still needs from what a killed one has left behind.

Windows has no such locks, and does not rename open files.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    HAS_LOCKS = False
else:
    HAS_LOCKS = True


def lock(opened: Any) -> None:
    """Lock an open file or folder until it is closed, where there are locks."""
    if HAS_LOCKS:
        with suppress(OSError):  # some file systems have none
            fcntl.flock(opened, fcntl.LOCK_EX)


def remove_abandoned(paths: Iterable[str], remove: Callable[[str], object]) -> None:
    """Remove the files or folders whose processes were killed, where there are locks."""
    for path in paths if HAS_LOCKS else ():
        with suppress(OSError):  # its process is alive, or it is another user's
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(path)
            finally:
                os.close(opened)
