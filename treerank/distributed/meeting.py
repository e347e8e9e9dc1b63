"""Meeting: the place at which the workers of a fit learn of each other, and connect."""

import json
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import wait
from threading import Event, Thread
from typing import Any

from treerank.distributed.collective import Collective, naming_the_loss
from treerank.team import working_in

#: Seconds to end the wait for workers.
_PATIENCE = 5
#: Seconds in which who has connected must say who it is.
_GREETING = 30
#: Seconds to reach a machine.
_REACH = 120
#: Size of the longest message, in bytes.
_LONGEST = 2**20
#: Where workers meet: address, port, and a secret, so that no other program can join.
Place = tuple[str, int, str]


@contextmanager
def waiting_for_workers(host: str, n_workers: int, patience: float) -> Iterator[Place]:
    """Let so many workers meet while the block runs, if each comes within ``patience`` seconds.

    Examples
    --------
    >>> with waiting_for_workers("127.0.0.1", 1, 60) as place, meeting_at(place) as team:
    ...     team.size
    1
    """
    lines: list[socket.socket] = []
    is_over, secret = Event(), secrets.token_hex()
    with socket.create_server((host, 0), backlog=n_workers) as server:
        address = server.getsockname()[:2]
        server.settimeout(patience)
        arguments = server, n_workers, secret, lines, is_over
        welcome = Thread(target=_welcome, args=arguments, daemon=True)
        welcome.start()
        try:
            yield (*address, secret)
        finally:
            is_over.set()
            with suppress(OSError):  # a connection ends the wait for one
                socket.create_connection(address, _PATIENCE).close()
            welcome.join()
            _close(lines)


def _welcome(
    server: socket.socket,
    n_workers: int,
    secret: str,
    lines: list[socket.socket],
    is_over: Event,
) -> None:
    """Tell all workers where the others are as soon as the last one has come."""
    addresses = []
    try:
        while len(lines) < n_workers and not is_over.is_set():
            line, greeting = _accepted(server, secret)
            if greeting is not None:
                lines.append(line)
                addresses.append(greeting)
        for rank, line in enumerate([] if is_over.is_set() else lines):
            _tell(line, [rank, addresses])
    except OSError:  # one has not come in time, or is gone
        _close(lines)


def _close(lines: list[socket.socket]) -> None:
    for line in lines:
        line.close()


@contextmanager
def meeting_at(place: Place) -> Iterator[Collective]:
    """Meet the other workers, and let fits in the block be work of this team."""
    host, port, secret = place
    with ExitStack() as stack:
        with naming_the_loss():
            line = stack.enter_context(socket.create_connection((host, port), _REACH))
            line.settimeout(None)
            own = line.getsockname()[0]
            with socket.create_server((own, 0), backlog=1000) as server:
                _tell(line, [secret, own, server.getsockname()[1]])
                rank, addresses = _heard(line)
                sending = {}
                for other, address in enumerate(addresses):
                    if other != rank:
                        reached = socket.create_connection(tuple(address), _REACH)
                        sending[other] = stack.enter_context(reached)
                        _tell(reached, [secret, rank])
                receiving: dict[int, socket.socket] = {}
                while len(receiving) < len(sending):
                    if line in wait([line, server]):
                        raise ConnectionAbortedError("the fit is over")
                    connection, greeting = _accepted(server, secret)
                    if greeting is not None:
                        receiving[greeting[0]] = stack.enter_context(connection)
        team = Collective(rank, line, sending, receiving)
        with working_in(team):
            yield team


def _accepted(server: socket.socket, secret: str) -> tuple[socket.socket, Any]:
    """Return the next connection, and what it says after the secret; None if it does not know."""
    connection, _ = server.accept()
    connection.settimeout(_GREETING)
    with suppress(OSError, ValueError, TypeError, RecursionError):  # of JSON that is too deep
        told, *greeting = _heard(connection)
        if secrets.compare_digest(told, secret):
            connection.settimeout(None)
            return connection, greeting
    connection.close()
    return connection, None


def _tell(line: socket.socket, message: list[Any]) -> None:
    text = json.dumps(message).encode()
    line.sendall(len(text).to_bytes(4) + text)


def _heard(line: socket.socket) -> list[Any]:
    """Return a message."""
    size = int.from_bytes(_read(line, 4))
    if size > _LONGEST:
        raise ConnectionAbortedError("this is no worker")
    message: list[Any] = json.loads(_read(line, size))
    return message


def _read(line: socket.socket, size: int) -> bytes:
    """Return exactly so many bytes."""
    found = b""
    while len(found) < size:
        more = line.recv(size - len(found))
        if not more:
            raise ConnectionAbortedError("nobody waits for this worker any more")
        found += more
    return found
