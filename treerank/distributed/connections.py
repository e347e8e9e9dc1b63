"""Connections between workers: arrays are sent and received as far as that goes without waiting.

A *flow* is a generator that sends or receives. Where it has to wait for its connection, it yields
what for: ``EVENT_READ`` or ``EVENT_WRITE``. Of a connection that blocks, a flow never waits.
"""

import hmac
import secrets
import socket
import ssl
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

import numpy as np

from treerank.distributed.messages import bytes_of

LOSS = "every worker must live until the fit is done; another one has ended."
#: Seconds to reach another worker.
_REACH = 120
#: Bytes of a random number that is signed, of a signature, and of the number of a worker.
_NONCE, _SIGNATURE, _RANK = 32, 32, 8
#: Yields events, and returns a value.
Flow = Generator[int, None, Any]


class LostTeamError(RuntimeError):
    """A worker cannot go on, since another one has ended."""


@contextmanager
def naming_the_loss() -> Iterator[None]:
    """Tell the loss of a connection from other errors."""
    try:
        yield
    except (ConnectionError, TimeoutError, ssl.SSLError) as error:
        raise LostTeamError(LOSS) from error


def sent(connection: socket.socket, messages: Iterable[np.ndarray]) -> Flow:
    """Send arrays."""
    for message in messages:
        rest = bytes_of(np.ascontiguousarray(message))
        while len(rest):
            n_bytes = yield from _waited(partial(connection.send, rest.data), EVENT_WRITE)
            rest = rest[n_bytes:]


def received(connection: socket.socket, rooms: Iterable[np.ndarray]) -> Flow:
    """Fill arrays."""
    for room in rooms:
        rest = bytes_of(room)
        while len(rest):
            n_bytes = yield from _waited(partial(connection.recv_into, rest.data), EVENT_READ)
            if not n_bytes:
                raise ConnectionResetError("the other side has closed its connection")
            rest = rest[n_bytes:]


def _waited(step: Callable[[], Any], event: int) -> Flow:
    """Return what a step returns as soon as it does not have to wait."""
    while True:
        try:
            return step()
        except BlockingIOError:
            yield event
        except ssl.SSLWantReadError:
            yield EVENT_READ
        except ssl.SSLWantWriteError:
            yield EVENT_WRITE


def challenged(connection: socket.socket, secret: bytes) -> Flow:
    """Return the number of the worker at the other side of a connection that has been accepted.

    Each side signs a random number of the other one with the secret, which is itself never sent:
    who reads a connection, or repeats what was said on another one, cannot join.
    """
    if isinstance(connection, ssl.SSLSocket):
        yield from _waited(connection.do_handshake, EVENT_READ)
    ours = secrets.token_bytes(_NONCE)
    yield from sent(connection, [_array(ours)])
    answer = np.empty(_NONCE + _RANK + _SIGNATURE, dtype=np.uint8)
    yield from received(connection, [answer])
    theirs, signature = np.split(answer, [_NONCE + _RANK])
    _check(signature, secret, b"joins", ours, theirs.tobytes())
    yield from sent(connection, [_array(_sign(secret, b"is joined", ours, theirs.tobytes()))])
    return int.from_bytes(theirs[_NONCE:].tobytes())


def reached(address: Any, rank: int, secret: bytes, context: ssl.SSLContext | None) -> Any:
    """Connect to another worker as the worker of a number; return the connection."""
    connection = socket.create_connection(tuple(address), _REACH)
    try:
        if context is not None:
            connection = context.wrap_socket(connection)
        theirs, proof = (np.empty(size, dtype=np.uint8) for size in (_NONCE, _SIGNATURE))
        _run(received(connection, [theirs]))
        ours = secrets.token_bytes(_NONCE) + rank.to_bytes(_RANK)
        _run(sent(connection, [_array(ours + _sign(secret, b"joins", theirs.tobytes(), ours))]))
        _run(received(connection, [proof]))
        _check(proof, secret, b"is joined", theirs.tobytes(), ours)
    except BaseException:
        connection.close()
        raise
    return connection


def _run(flow: Flow) -> None:
    """Run a flow to its end; its connection blocks."""
    for _ in flow:
        pass


def _sign(secret: bytes, *parts: bytes) -> bytes:
    """Return the signature of parts of known sizes."""
    return hmac.digest(secret, b"".join(parts), "sha256")


def _check(signature: np.ndarray, secret: bytes, *parts: bytes) -> None:
    """Refuse who does not know the secret."""
    if not hmac.compare_digest(signature.tobytes(), _sign(secret, *parts)):
        raise ConnectionAbortedError("the other side is no worker of this fit")


def _array(data: bytes) -> np.ndarray:
    """Return bytes as an array."""
    return np.frombuffer(data, dtype=np.uint8)
