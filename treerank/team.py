"""Team: the workers that fit one model together, and what they add up.

Each worker holds whole queries. What depends on all documents (the place of a document in canonical
order, the step of rounding, the sample for bins, the size of a typical query) is agreed on by the
team, so the model is the same for any number of workers. Outside of :func:`working_in` a fit is a
team of one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np


class Team:
    """A team of one, and the base class of larger ones, which replace every method but ``any``.

    Every worker calls the same methods in the same order, with arrays of the same dtype.

    Attributes
    ----------
    rank : int
        Number of this worker, from 0.
    size : int
        Number of workers.
    """

    rank, size = 0, 1

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the array of each worker, in the order of ranks; only their lengths may differ."""
        return [values]

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the workers' values, entry by entry."""
        return values

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the workers' values, entry by entry.

        The order of the terms is not defined: floats must have sums that are exact in any order.
        """
        return values

    def any(self, flag: bool) -> bool:
        """Return whether the flag of any worker is true."""
        return bool(self.largest(np.array([flag], dtype=np.int64))[0])


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
