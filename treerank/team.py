"""Team: the workers that fit one model together, and what they tell each other.

Each worker holds whole queries. What depends on all documents (the place of a document in canonical
order, the step of rounding, the sample for bins, the size of a typical query) is agreed on by the
team, so the model is the same for any number of workers. Outside of :func:`working_in` a fit is a
team of one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

#: Rows of a few columns: arrays of the same length.
Table = Sequence[np.ndarray]


class Filling:
    """Columns that are filled from above with the rows of one table after another.

    Examples
    --------
    >>> column = np.zeros(3)
    >>> Filling([column]).add([np.array([7.0, 8.0])])
    >>> column
    array([7., 8., 0.])
    """

    def __init__(self, columns: Table):
        self.columns, self.n_filled = columns, 0

    def add(self, table: Table) -> None:
        """Copy the rows of a table."""
        start = self.n_filled
        self.n_filled += len(table[0])
        for column, values in zip(self.columns, table, strict=True):
            column[start : self.n_filled] = values


class Team:
    """A team of one, and the base class of larger ones, which replace every method.

    Every worker calls the same methods in the same order.

    Attributes
    ----------
    rank : int
        Number of this worker, from 0.
    size : int
        Number of workers.
    """

    rank, size = 0, 1

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker has passed, in the order of their ranks."""
        return [value]

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the workers' values, entry by entry."""
        return values

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the workers' values, entry by entry."""
        return values

    def exchange(self, outgoing: Callable[[int], Iterable[Table]], into: Table) -> None:
        """Send the tables ``outgoing(rank)`` to each worker; fill ``into`` with the rows that come.

        The rows come in any order. ``into`` has room for all of them.
        """
        filling = Filling(into)
        for table in outgoing(0):
            filling.add(table)


_ALONE = Team()
_TEAM: ContextVar[Team] = ContextVar("team", default=_ALONE)


def current_team() -> Team:
    """Return the team of this fit."""
    return _TEAM.get()


@contextmanager
def working_in(team: Team) -> Iterator[None]:
    """Let fits inside the block be those of one worker of a team.

    Examples
    --------
    >>> with working_in(current_team()):
    ...     current_team().size
    1
    """
    token = _TEAM.set(team)
    try:
        yield
    finally:
        _TEAM.reset(token)
