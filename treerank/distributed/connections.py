"""Connections between workers: values are sent as JSON, with the memory of arrays after it.

Reading a value runs no code. Before the first one, each side proves that it knows the secret of the
fit.
"""

import hmac
import json
import math
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

_LOSS = "every worker must live until the fit is done; another one has ended."
#: Seconds to reach another worker.
_REACH = 120
#: Seconds between two looks at whether the fit is over.
_PULSE = 1
#: Bytes of a random number that is signed, of a signature, and of a number of a worker or of bytes.
_NONCE, _SIGNATURE, _NUMBER = 32, 32, 8


class LostTeamError(RuntimeError):
    """A worker cannot go on, since another one has ended."""

    def __init__(self, text: str = _LOSS):
        super().__init__(text)


@contextmanager
def naming_the_loss() -> Iterator[None]:
    """Tell the loss of a connection from other errors."""
    try:
        yield
    except (ConnectionError, TimeoutError, ssl.SSLError) as error:
        raise LostTeamError from error


def never() -> bool:
    """Tell that a fit is not over."""
    return False


class Connection:
    """A connection to another worker, which waits until ``is_over`` tells that the fit is.

    Examples
    --------
    >>> here, there = (Connection(each, never) for each in socket.socketpair())
    >>> here.send({"a": ("x", b"y", np.arange(2))})
    >>> there.receive()
    {'a': ['x', b'y', array([0, 1])]}
    >>> here.close(), there.close()
    (None, None)
    """

    def __init__(self, opened: socket.socket, is_over: Callable[[], bool]):
        self.socket, self.is_over = opened, is_over
        opened.settimeout(_PULSE)
        with suppress(OSError):  # small pieces would wait 40 ms for the answer to earlier ones
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def send(self, value: Any) -> None:
        """Send a value of JSON, bytes and arrays; tuples arrive as lists.

        In the text, an array is an object whose one key starts with ``$``.
        """
        arrays: list[np.ndarray] = []

        def described(each: Any) -> Any:
            if isinstance(each, np.generic):
                return each.item()
            if isinstance(each, bytes):
                arrays.append(np.frombuffer(each, dtype=np.uint8))
                return {"$bytes": len(each)}
            if not isinstance(each, np.ndarray) or each.dtype.hasobject:
                raise TypeError(f"workers must exchange JSON and arrays of numbers; got {each!r}.")
            arrays.append(np.ascontiguousarray(each).reshape(-1).view(np.uint8))
            return {"$array": [np.lib.format.dtype_to_descr(each.dtype), each.shape]}

        text = json.dumps(value, default=described).encode()
        for data in (len(text).to_bytes(_NUMBER) + text, *arrays):
            self.write(data)

    def receive(self) -> Any:
        """Return what the other side has sent."""
        text = self.read(int.from_bytes(self.read(_NUMBER).tobytes()))
        return json.loads(text.tobytes(), object_hook=self._read_array)

    def _read_array(self, described: dict[str, Any]) -> Any:
        """Return the array, or the bytes, that an object of the text is; else the object."""
        match described:
            case {"$bytes": n_bytes}:
                return self.read(n_bytes).tobytes()
            case {"$array": [kind, shape]}:
                dtype = np.lib.format.descr_to_dtype(kind)
                return self.read(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
        return described

    def write(self, data: Any) -> None:
        """Send bytes."""
        rest = memoryview(data)
        while len(rest):
            rest = rest[self._waited(self.socket.send, rest) :]

    def read(self, n_bytes: int) -> np.ndarray:
        """Return so many bytes."""
        data = np.empty(n_bytes, dtype=np.uint8)
        rest = data.data
        while len(rest):
            n_read = self._waited(self.socket.recv_into, rest)
            if not n_read:
                raise ConnectionResetError("the other side has closed its connection")
            rest = rest[n_read:]
        return data

    def _waited(self, step: Callable[[memoryview], int], rest: memoryview) -> int:
        """Return the number of bytes that a step sends or receives."""
        while not self.is_over():
            with suppress(TimeoutError):
                return step(rest)
        raise ConnectionAbortedError("the fit is over")


def challenge(connection: Connection, secret: bytes) -> int:
    """Return the number of the worker at the other side of a connection that has been accepted.

    Each side signs a random number of the other one with the secret, which is itself never sent:
    who reads a connection, or repeats what was said on another one, cannot join.
    """
    ours = secrets.token_bytes(_NONCE)
    connection.write(ours)
    theirs = connection.read(_NONCE + _NUMBER).tobytes()
    _check_signature(connection, secret, b"joins", ours, theirs)
    connection.write(_sign(secret, b"is joined", ours, theirs))
    return int.from_bytes(theirs[_NONCE:])


def reached(
    address: Any,
    rank: int,
    secret: bytes,
    context: ssl.SSLContext | None = None,
    is_over: Callable[[], bool] = never,
) -> Connection:
    """Return a connection to the first worker, as the worker of a number."""
    opened = socket.create_connection(tuple(address), _REACH)
    try:
        if context is not None:
            opened = context.wrap_socket(opened)
        connection = Connection(opened, is_over)
        theirs = connection.read(_NONCE).tobytes()
        ours = secrets.token_bytes(_NONCE) + rank.to_bytes(_NUMBER)
        connection.write(ours + _sign(secret, b"joins", theirs, ours))
        _check_signature(connection, secret, b"is joined", theirs, ours)
    except BaseException:
        opened.close()
        raise
    return connection


def _sign(secret: bytes, *parts: bytes) -> bytes:
    """Return the signature of parts of known sizes."""
    return hmac.digest(secret, b"".join(parts), "sha256")


def _check_signature(connection: Connection, secret: bytes, *parts: bytes) -> None:
    """Refuse who does not know the secret."""
    signature = connection.read(_SIGNATURE).tobytes()
    if not hmac.compare_digest(signature, _sign(secret, *parts)):
        raise ConnectionAbortedError("the other side is no worker of this fit")
