"""Charts: the numbers that a plot shows, without a drawing.

A result returns its chart by ``chart()``. Matplotlib draws it by ``plot()``, and a report may draw
it in another way: both show the same numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

#: Largest number of rows of a chart with a row for each name.
MOST_ROWS = 20


@dataclass(frozen=True, eq=False)
class Intervals:
    """Estimates by name, with confidence intervals: a forest plot.

    Parameters
    ----------
    names : tuple of str
        Name of each row, from top to bottom.
    estimates, low, high : ndarray of shape (n_rows,)
        Estimates and the bounds of their intervals; NaN where there are none.
    x : str
        Label of the axis.
    reference : float or None, default=0.0
        Value of the reference line.
    title : str, default=""
        Title.

    Examples
    --------
    >>> Intervals.of(["a", "b"], [(0.2, -0.1, 0.5), (0.4, 0.1, 0.7)], x="drop").excludes_reference
    array([False,  True])
    """

    names: tuple[str, ...]
    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray
    x: str
    reference: float | None = 0.0
    title: str = ""

    @classmethod
    def of(cls, names: Iterable[str], ends: Sequence[Sequence[float]], **settings: Any) -> Self:
        """Return the chart of rows with these names; ``ends`` has (estimate, low, high) of each.

        ``settings`` are the other parameters of the class.
        """
        estimates, low, high = np.array(ends, dtype=np.float64).reshape(-1, 3).T
        return cls(tuple(names), estimates, low, high, **settings)

    @property
    def excludes_reference(self) -> np.ndarray:
        """Whether the interval of each row excludes the reference.

        All False without a reference.
        """
        if self.reference is None:
            return np.zeros(len(self.names), dtype=bool)
        return np.asarray((self.low > self.reference) | (self.high < self.reference))

    def plot(self, ax: Any = None) -> Any:
        """Draw the chart with Matplotlib, and return the Axes."""
        from treerank.display.drawing import draw_intervals

        return draw_intervals(self, ax)


@dataclass(frozen=True, eq=False)
class Curve:
    """Points of one curve, with confidence intervals if there are any.

    Parameters
    ----------
    name : str
        Name of the curve.
    x, y : ndarray of shape (n_points,)
        Points; those that are NaN are gaps.
    low, high : ndarray of shape (n_points,) or None, default=None
        Bounds of the intervals of y.

    Examples
    --------
    >>> len(Curve("ndcg", np.array([1, 2]), np.array([0.4, 0.5])).x)
    2
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves over one axis.

    Parameters
    ----------
    curves : tuple of Curve
        The curves.
    x, y : str
        Labels of the axes.
    has_points : bool, default=True
        Whether each point has a mark.
    are_shares : bool, default=False
        Whether both axes are shares, from 0 to 1, with the diagonal drawn.
    from_zero : bool, default=False
        Whether the y axis begins at 0.
    is_inverted : bool, default=False
        Whether small values are at the top, as of ranks, of which 1 is the best.
    title : str, default=""
        Title.

    Examples
    --------
    >>> curve = Curve("ndcg", np.array([1, 2]), np.array([0.4, 0.5]))
    >>> Curves((curve,), x="iteration", y="ndcg").curves[0].name
    'ndcg'
    """

    curves: tuple[Curve, ...]
    x: str
    y: str
    has_points: bool = True
    are_shares: bool = False
    from_zero: bool = False
    is_inverted: bool = False
    title: str = ""

    def plot(self, ax: Any = None) -> Any:
        """Draw the chart with Matplotlib, and return the Axes."""
        from treerank.display.drawing import draw_curves

        return draw_curves(self, ax)


@dataclass(frozen=True, eq=False)
class Waterfall:
    """Parts that add up to a total, each of which begins where the one before ends.

    Parameters
    ----------
    names : tuple of str
        Name of each part, from top to bottom.
    parts : ndarray of shape (n_parts,)
        The parts.
    x : str
        Label of the axis.
    title : str, default=""
        Title.

    Examples
    --------
    >>> chart = Waterfall(("bm25", "age"), np.array([2.0, -0.5]), x="difference")
    >>> chart.starts, chart.total
    (array([0., 2.]), 1.5)
    """

    names: tuple[str, ...]
    parts: np.ndarray
    x: str
    title: str = ""

    @property
    def starts(self) -> np.ndarray:
        """The value at which each bar starts: the sum of all parts before it."""
        return np.append(0.0, np.cumsum(self.parts))[: len(self.parts)]

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return float(np.sum(self.parts))

    def plot(self, ax: Any = None) -> Any:
        """Draw the chart with Matplotlib, and return the Axes."""
        from treerank.display.drawing import draw_waterfall

        return draw_waterfall(self, ax)


#: All charts.
Chart = Intervals | Curves | Waterfall
