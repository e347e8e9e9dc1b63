"""Meeting: workers wait for each other only as long as the process that has started the fit does.

XGBoost waits without a limit for its neighbor to connect, even if that was killed meanwhile.
"""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

#: Where workers ask whether they are still waited for.
Place = tuple[str, int]


@contextmanager
def waiting_for_workers(host: str, n_workers: int) -> Iterator[Place]:
    """Let so many workers wait for each other as long as the block runs.

    Examples
    --------
    >>> with waiting_for_workers("127.0.0.1", 2) as place, waiting_with(place):
    ...     place[0]
    '127.0.0.1'
    """
    with socket.create_server((host, 0), backlog=n_workers) as server:
        yield server.getsockname()[:2]


@contextmanager
def waiting_with(place: Place) -> Iterator[None]:
    """Let all waits for a connection fail that begin in this block, once nobody waits any more."""
    before, is_over = _listening(), Event()
    with socket.create_connection(place) as line:
        watch = Thread(target=_watch, args=(line, before, is_over), daemon=True)
        watch.start()
        try:
            yield
        finally:
            is_over.set()
            with suppress(OSError):  # the other side may have closed it
                line.shutdown(socket.SHUT_RDWR)
            watch.join()


def _watch(line: socket.socket, before: set[int], is_over: Event) -> None:
    """Wait until one side closes the line; if it is the other, close what listens since."""
    with suppress(OSError):
        line.recv(1)
    if not is_over.is_set():
        for number in _listening() - before:
            with suppress(OSError), socket.socket(fileno=os.dup(number)) as server:
                server.shutdown(socket.SHUT_RDWR)


def _listening() -> set[int]:
    """Return the numbers of the sockets of this process that listen; none on Windows."""
    found = set()
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else ():
        with suppress(OSError):  # it is closed by now
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as each:
                    if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        found.add(int(name))
    return found
