"""Collective: connections between all workers of a fit, by which they tell each other everything.

Each worker has one connection to every other one. It sends and receives at the same time, so nobody
waits for somebody who waits, and no wait is longer than the fit: the connections of a worker that
has ended are closed, and so the others end, too.
"""

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from selectors import BaseSelector, DefaultSelector
from typing import Any

import numpy as np

from treerank.distributed.connections import Flow, naming_the_loss, received, sent
from treerank.distributed.messages import incoming, written
from treerank.team import Filling, Table

#: Seconds between two looks at whether the fit is over.
_PULSE = 1


class Collective:
    """The workers of a fit, see :class:`treerank.team.Team`.

    Parameters
    ----------
    rank : int
        Number of this worker.
    connections : dict from int to socket
        Connections to the other workers.
    is_over : callable
        Tells whether what has started the fit has given it up.
    """

    def __init__(
        self, rank: int, connections: Mapping[int, socket.socket], is_over: Callable[[], bool]
    ):
        self.rank, self.size = rank, len(connections) + 1
        self._connections, self._is_over = connections, is_over
        for connection in connections.values():
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker has passed, in the order of their ranks."""
        message, found = written(value), {self.rank: value}

        def rooms(rank: int) -> Iterator[np.ndarray]:
            found[rank] = yield from incoming()

        self._swap(lambda rank: message, rooms)
        return [found[rank] for rank in range(self.size)]

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
        with DefaultSelector() as selector:
            for rank, connection in self._connections.items():
                flows = sent(connection, messages(rank)), received(connection, rooms(rank))
                _go_on(selector, connection, list(flows))
            while selector.get_map():
                ready = selector.select(_PULSE)
                if not ready and self._is_over():
                    raise ConnectionAbortedError("the fit is over")
                for key, _ in ready:
                    _go_on(selector, key.fileobj, key.data)


def _go_on(selector: BaseSelector, connection: Any, flows: list[Flow]) -> None:
    """Go on with the flows of a connection until each of them waits or ends."""
    waits = [(event, flow) for flow in flows if (event := next(flow, 0))]
    events = {event for event, _ in waits}
    if connection in selector.get_map():
        selector.unregister(connection)
    if waits:
        selector.register(connection, sum(events), [flow for _, flow in waits])
