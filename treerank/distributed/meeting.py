"""Meeting: workers go on together, and wait only as long as what has started the fit does.

XGBoost waits without a limit for its neighbor to connect, even if that was killed meanwhile, and
its tracker ends the process if a worker dies before all have come. So all come here first.
"""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

#: Seconds to end the wait for workers.
_PATIENCE = 5
#: Where workers meet.
Place = tuple[str, int]


@contextmanager
def waiting_for_workers(host: str, n_workers: int, patience: float) -> Iterator[Place]:
    """Let so many workers meet while the block runs, if each comes within ``patience`` seconds.

    Examples
    --------
    >>> with waiting_for_workers("127.0.0.1", 1, 60) as place, meeting_at(place):
    ...     place[0]
    '127.0.0.1'
    """
    lines: list[socket.socket] = []
    is_over = Event()
    with socket.create_server((host, 0), backlog=n_workers) as server:
        place = server.getsockname()[:2]
        server.settimeout(patience)
        welcome = Thread(target=_welcome, args=(server, n_workers, lines, is_over), daemon=True)
        welcome.start()
        try:
            yield place
        finally:
            is_over.set()
            with suppress(OSError):  # a connection ends the wait for one
                socket.create_connection(place, _PATIENCE).close()
            welcome.join()
            _close(lines)


def _welcome(
    server: socket.socket, n_workers: int, lines: list[socket.socket], is_over: Event
) -> None:
    """Tell all workers to go on as soon as the last one has come."""
    try:
        while len(lines) < n_workers and not is_over.is_set():
            lines.append(server.accept()[0])
        for line in [] if is_over.is_set() else lines:
            line.send(b"!")
    except OSError:  # one has not come in time, or is gone
        _close(lines)


def _close(lines: list[socket.socket]) -> None:
    for line in lines:
        line.close()


@contextmanager
def meeting_at(place: Place) -> Iterator[None]:
    """Meet the other workers, and let waits for a connection in the block fail with the meeting."""
    before, is_over = _listening(), Event()
    with socket.create_connection(place) as line:
        line.settimeout(None)
        if not line.recv(1):
            raise ConnectionAbortedError("nobody waits for the workers any more")
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
