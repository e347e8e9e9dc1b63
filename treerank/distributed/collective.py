"""Collective: connections between all workers of a fit, by which they tell each other everything.

Each worker has a connection to every other one to send by, and one to receive by. It sends and
receives at the same time, so nobody waits for somebody who waits, and no wait is longer than the
fit: the connection of a worker that has ended is closed, and so is the *line*, the connection to
what has started the fit, as soon as that has an error.
"""

import pickle
import selectors
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from treerank.team import Filling, Table

LOSS = "every worker must live until the fit is done; another one has ended."


class LostTeamError(RuntimeError):
    """A worker cannot go on, since another one has ended."""


@contextmanager
def naming_the_loss() -> Iterator[None]:
    """Tell the loss of a connection from other errors."""
    try:
        yield
    except (ConnectionError, TimeoutError) as error:
        raise LostTeamError(LOSS) from error


class Collective:
    """The workers of a fit, see :class:`treerank.team.Team`.

    Parameters
    ----------
    rank : int
        Number of this worker.
    line : socket
        Connection to what has started the fit, which sends nothing any more.
    sending, receiving : dict from int to socket
        Connections to the other workers and from them.
    """

    def __init__(
        self,
        rank: int,
        line: socket.socket,
        sending: Mapping[int, socket.socket],
        receiving: Mapping[int, socket.socket],
    ):
        self.rank, self.size = rank, len(sending) + 1
        self._line, self._sending, self._receiving = line, sending, receiving
        for connection in [*sending.values(), *receiving.values()]:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def host(self) -> str:
        """Address of this machine at which other workers reach it."""
        return str(self._line.getsockname()[0])

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker has passed, in the order of their ranks."""
        own = pickle.dumps(value)
        message = np.frombuffer(len(own).to_bytes(8, "little") + own, dtype=np.uint8)
        found: dict[int, np.ndarray] = {}

        def rooms(rank: int) -> Iterator[np.ndarray]:
            size = np.empty(1, dtype="<i8")
            yield size
            found[rank] = np.empty(size[0], dtype=np.uint8)
            yield found[rank]

        self._swap(lambda rank: [message], rooms)
        ranks = range(self.size)
        return [value if rank == self.rank else pickle.loads(found[rank].data) for rank in ranks]

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the workers' values, entry by entry."""
        return np.asarray(np.max(self.gather(values), axis=0))

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the workers' values, entry by entry."""
        return np.asarray(np.sum(self.gather(values), axis=0))

    def total_of_own(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return the sum of the workers' ``parts[rank]``, where ``rank`` is that of this worker."""
        own = parts[self.rank]
        others = np.empty((self.size - 1, *own.shape), dtype=own.dtype)
        rooms = iter(others)
        self._swap(lambda rank: [parts[rank]], lambda rank: [next(rooms)])
        return np.asarray(own + others.sum(axis=0))

    def exchange(self, outgoing: Callable[[int], Iterable[Table]], into: Table) -> None:
        """Send tables to each worker, and fill ``into`` with the rows that come."""
        filling = Filling(into)
        for table in outgoing(self.rank):
            filling.add(table)

        def messages(rank: int) -> Iterator[np.ndarray]:
            for table in outgoing(rank):
                yield np.array([len(table[0])])
                yield from table
            yield np.array([0])

        def rooms(rank: int) -> Iterator[np.ndarray]:
            n_rows = np.empty(1, dtype=np.int64)
            yield n_rows
            while n_rows[0]:
                yield from filling.room(n_rows[0])
                yield n_rows

        self._swap(messages, rooms)

    @naming_the_loss()
    def _swap(
        self,
        messages: Callable[[int], Iterable[np.ndarray]],
        rooms: Callable[[int], Iterable[np.ndarray]],
    ) -> None:
        """Send the messages to each other worker, and fill the rooms with what it sends."""
        flows = [
            *((_send(each, messages(rank)), each, True) for rank, each in self._sending.items()),
            *((_receive(each, rooms(rank)), each, False) for rank, each in self._receiving.items()),
        ]
        with selectors.DefaultSelector() as selector:
            selector.register(self._line, selectors.EVENT_READ)
            for flow, connection, is_sent in flows:
                if _is_waiting(flow):
                    event = selectors.EVENT_WRITE if is_sent else selectors.EVENT_READ
                    selector.register(connection, event, flow)
            while len(selector.get_map()) > 1:
                for key, _ in selector.select():
                    if key.data is None:
                        raise ConnectionAbortedError("the fit is over")
                    if not _is_waiting(key.data):
                        selector.unregister(key.fileobj)


def _is_waiting(flow: Iterator[None]) -> bool:
    """Go on until the next wait; return whether there was one before the end."""
    return next(flow, "end") is None


def _send(connection: socket.socket, messages: Iterable[np.ndarray]) -> Iterator[None]:
    """Send arrays; yield where the connection must be waited for."""
    for message in messages:
        rest = _bytes_of(np.ascontiguousarray(message))
        while len(rest):
            try:
                rest = rest[connection.send(rest) :]
            except BlockingIOError:
                yield


def _receive(connection: socket.socket, rooms: Iterable[np.ndarray]) -> Iterator[None]:
    """Fill arrays; yield where the connection must be waited for."""
    for room in rooms:
        rest = _bytes_of(room)
        while len(rest):
            try:
                n_bytes = connection.recv_into(rest)
            except BlockingIOError:
                yield
                continue
            if not n_bytes:
                raise ConnectionResetError("another worker has closed its connection")
            rest = rest[n_bytes:]


def _bytes_of(values: np.ndarray) -> Any:
    """Return the memory of an array as bytes."""
    return values.reshape(-1).view(np.uint8)
