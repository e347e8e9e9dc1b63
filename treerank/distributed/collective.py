"""Collective: the workers of a fit tell each other everything through the first one.

Each worker has a connection to the first one, which has one to each of them. No wait is longer than
the fit: the connections of a worker that has ended are closed, and so the others end, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from treerank.distributed.connections import Connection, naming_the_loss
from treerank.team import Filling, Table, Team


class Collective(Team):
    """The workers of a fit, of whom the first hears from all others.

    ``connections`` are those of the first worker to all others, or of another one to the first.
    """

    def __init__(self, rank: int, size: int, connections: Mapping[int, Connection]):
        self.rank, self.size, self._connections = rank, size, connections

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker has passed, in the order of their ranks."""
        return list(self._answer(value, lambda values: [values] * self.size))

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the workers' values, entry by entry."""
        return np.asarray(self._answer(values, lambda every: [np.max(every, axis=0)] * self.size))

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the workers' values, entry by entry."""
        return np.asarray(self._answer(values, lambda every: [np.sum(every, axis=0)] * self.size))

    @naming_the_loss()
    def exchange(self, outgoing: Callable[[int], Iterable[Table]], into: Table) -> None:
        """Send tables to each worker, and fill ``into`` with the rows that come.

        One worker after the other sends, so that nobody waits for somebody who waits.
        """
        filling = Filling(into)
        for source in range(self.size):
            for rank, table in self._tables_of(source, outgoing):
                if rank == self.rank:
                    filling.add(table)
                else:
                    self._connections[0 if self.rank else rank].send((rank, list(table)))
            if self.rank in (0, source):
                for rank, connection in self._connections.items():
                    if rank != source:
                        connection.send(None)

    def _tables_of(
        self, source: int, outgoing: Callable[[int], Iterable[Table]]
    ) -> Iterator[tuple[int, Table]]:
        """Yield the tables of a worker that come here, and the worker that each is for."""
        if source != self.rank:
            yield from iter(self._connections[0 if self.rank else source].receive, None)
            return
        for rank in range(self.size):
            for table in outgoing(rank):
                yield rank, table

    @naming_the_loss()
    def _answer(self, value: Any, answers: Callable[[list[Any]], Sequence[Any]]) -> Any:
        """Return the answer for this worker, which the first one finds from the values of all."""
        if self.rank:
            self._connections[0].send(value)
            return self._connections[0].receive()
        every = [value, *(each.receive() for each in self._connections.values())]
        own, *others = answers(every)
        for connection, answer in zip(self._connections.values(), others, strict=True):
            connection.send(answer)
        return own
