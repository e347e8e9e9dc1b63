"""Connections: a server that only those who know a secret can join, and messages in JSON."""

import json
import math
import secrets
import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, Self

#: Seconds to reach a machine.
REACH = 120
#: Size of the longest message, in bytes.
_LONGEST = 2**20
#: Bytes before a message, with its size.
_HEAD = 4


class Door:
    """A server that hears all its connections side by side, so that a silent one delays no other.

    Parameters
    ----------
    server : socket
        Where connections come in.
    secret : str
        What each must say first.
    is_over : socket
        Ends the wait for connections as soon as anything can be read from it.

    Examples
    --------
    >>> is_over, end = socket.socketpair()
    >>> with is_over, end, socket.create_server(("127.0.0.1", 0)) as server:
    ...     with socket.create_connection(server.getsockname()) as line:
    ...         tell(line, ["secret", "hello"])
    ...         with Door(server, "secret", is_over) as door:
    ...             connection, greeting = door.next()
    ...         connection.close()
    >>> greeting
    ['hello']
    """

    def __init__(self, server: socket.socket, secret: str, is_over: socket.socket):
        self.server, self.secret, self.is_over = server, secret, is_over
        self.said: dict[socket.socket, bytes] = {}
        server.setblocking(False)

    def __enter__(self) -> Self:
        """Return the door itself."""
        return self

    def __exit__(self, *_: Any) -> None:
        """Close the connections that have not said the secret."""
        close_all(self.said)

    def next(self, patience: float = math.inf) -> tuple[socket.socket, list[Any]]:
        """Return the next connection that knows the secret, and what it says after the secret."""
        end = time.monotonic() + patience
        while True:
            rest = None if end == math.inf else max(0.0, end - time.monotonic())
            ready: Any = wait([self.is_over, self.server, *self.said], rest)
            if not ready:
                raise TimeoutError("a worker has not come")
            if ready == [self.is_over]:  # after all that came before the end
                raise ConnectionAbortedError("the fit is over")
            for connection in set(ready) - {self.is_over}:
                if connection is self.server:
                    self._open()
                elif (greeting := self._hear(connection)) is not None:
                    return connection, greeting

    def _open(self) -> None:
        with suppress(OSError):  # it is gone already
            connection, _ = self.server.accept()
            connection.setblocking(False)
            self.said[connection] = b""

    def _hear(self, connection: socket.socket) -> list[Any] | None:
        """Return what comes after the secret once it is there; close who does not know that."""
        said = self.said.pop(connection)
        with suppress(OSError, ValueError, TypeError, RecursionError):  # of JSON that is too deep
            said += _some(connection, _size(said) - len(said))
            if len(said) < _size(said):
                self.said[connection] = said
                return None
            told, *greeting = json.loads(said[_HEAD:])
            if secrets.compare_digest(told, self.secret):
                connection.setblocking(True)
                return greeting
        connection.close()
        return None


def tell(line: socket.socket, message: Sequence[Any]) -> None:
    """Send a message."""
    text = json.dumps(message).encode()
    line.sendall(len(text).to_bytes(_HEAD) + text)


def heard(line: socket.socket) -> list[Any]:
    """Return a message."""
    said = b""
    while len(said) < _size(said):
        said += _some(line, _size(said) - len(said))
    message: list[Any] = json.loads(said[_HEAD:])
    return message


def close_all(lines: Iterable[socket.socket]) -> None:
    """Close connections."""
    for line in lines:
        line.close()


def _size(said: bytes) -> int:
    """Return the size of a message that begins so, as far as that is known."""
    size = int.from_bytes(said[:_HEAD]) if len(said) >= _HEAD else 0
    if size > _LONGEST:
        raise ConnectionAbortedError("this is no worker")
    return _HEAD + size


def _some(line: socket.socket, most: int) -> bytes:
    """Return the bytes that have come, which are some."""
    found = line.recv(most)
    if not found:
        raise ConnectionAbortedError("nobody waits for this worker any more")
    return found
