"""Team: the workers that fit one model together, and what they tell each other.

Each worker holds whole queries. What depends on all documents (the place of a document in canonical
order, the step of rounding, the sample for bins, the size of a typical query) is agreed on by the
team, so the model is the same for any number of workers. Outside of :func:`working_in` a fit is a
team of one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Protocol

import numpy as np


class Team(Protocol):
    """The workers of a fit; every worker calls the same methods in the same order.

    Attributes
    ----------
    rank : int
        Number of this worker, from 0.
    size : int
        Number of workers.
    """

    @property
    def rank(self) -> int:
        """Number of this worker."""
        ...

    @property
    def size(self) -> int:
        """Number of workers."""
        ...

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker has passed, in the order of their ranks."""
        ...

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the workers' values, entry by entry."""
        ...


class _Alone:
    """A team of one."""

    rank: ClassVar[int] = 0
    size: ClassVar[int] = 1

    def gather(self, value: Any) -> list[Any]:
        return [value]

    def largest(self, values: np.ndarray) -> np.ndarray:
        return values


_ALONE = _Alone()
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
