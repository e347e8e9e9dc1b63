"""Difference: how far apart two rankers are, and how many queries would show it."""

from dataclasses import dataclass

from treerank.statistics.interval import Interval

#: Level of the intervals and power of the tests that a summary names.
LEVEL, POWER = 0.95, 0.8


@dataclass(frozen=True)
class Difference:
    """The difference of two rankers by a metric; ``Comparison.difference`` makes it.

    Parameters
    ----------
    metric, first, second : str
        Names.
    interval : Interval
        Mean of the first minus mean of the second, with its bounds.
    n_queries : int
        Number of queries tested.
    queries_needed : float
        See :func:`~treerank.statistics.queries_needed`.

    Examples
    --------
    >>> interval = Interval(0.01, -0.02, 0.04, level=0.95)
    >>> print(Difference("map", "a", "b", interval, n_queries=200, queries_needed=1350.0))
    a - b by map: 0.0100 (95 %: -0.0200 to 0.0400) over 200 queries; to show it takes about 1,350.
    """

    metric: str
    first: str
    second: str
    interval: Interval
    n_queries: int
    queries_needed: float

    def __str__(self) -> str:
        """Return the difference in one line."""
        return (
            f"{self.first} - {self.second} by {self.metric}: {self.interval} over "
            f"{self.n_queries:,} queries; to show it takes about {self.queries_needed:,.0f}."
        )
