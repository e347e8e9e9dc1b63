"""Dots with whiskers: estimates and their intervals as a column of a table, on one scale.

Drawings have no ``viewBox`` and are placed by percentages, so that they are as wide as their
column, and dots stay round. What differs from the reference is filled in the color of its side.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.display.charts import Intervals
from treerank.reports.charts import ticks
from treerank.reports.page import Markup, element, joined
from treerank.reports.tables import table

#: Share of the width that stays free at either end, and most rows that have the lines of a grid.
_MARGIN, _MOST_WITH_GRID = 0.05, 40


@dataclass(frozen=True)
class Dot:
    """An estimate with its interval, from ``low`` to ``high``, that is drawn in a cell of a table.

    ``quartiles`` are drawn as a box, if given. ``is_shown`` is False for a difference that is not
    significant once p-values are adjusted for several tests.

    Examples
    --------
    >>> Dot(0.1, 0.05, 0.2).side, Dot(0.1, -0.1, 0.2).side, Dot(-0.1, -0.2, -0.05).side
    ('plus', 'none', 'minus')
    """

    estimate: float
    low: float
    high: float
    quartiles: tuple[float, float] | None = None
    is_shown: bool = True

    @property
    def has_bounds(self) -> bool:
        """Whether the interval is finite; that of a single query has none."""
        return bool(np.isfinite([self.low, self.high]).all())

    @property
    def side(self) -> str:
        """CSS class by the interval: "plus" above 0, "minus" below, else or if not shown "none".

        It is "box" where there are quartiles.
        """
        if self.quartiles is not None:
            return "box"
        if not self.is_shown:
            return "none"
        return "plus" if self.low > 0 else "minus" if self.high < 0 else "none"

    def __str__(self) -> str:
        """Return the estimate and the interval as text."""
        return f"{self.estimate:+.4f} ({self.low:+.4f} to {self.high:+.4f})"


def dot_table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    zero: bool = True,
    scaled_by: Iterable[Sequence[Any]] = (),
) -> Markup:
    """Return a table whose cells that are a :class:`Dot` are drawn, on one scale per column.

    ``zero`` makes all scales include 0. ``scaled_by`` are rows of another table, whose dots the
    scales must hold too.

    Examples
    --------
    >>> shown = dot_table("Metrics", ["metric", "difference"], [["map", Dot(0.1, 0.0, 0.2)]])
    >>> shown.count("<circle"), shown.count('class="scale"')
    (1, 1)
    """
    cells, rows_of_scale = [list(row) for row in rows], [list(row) for row in scaled_by]
    head: list[Any] = list(columns)
    drawn = [i for i in range(len(columns)) if any(isinstance(row[i], Dot) for row in cells)]
    for i in drawn:
        dots = [row[i] for row in [*cells, *rows_of_scale] if isinstance(row[i], Dot)]
        scale = _Scale.of(dots, zero)
        head[i] = joined([columns[i], scale.head()])
        for row in cells:
            if isinstance(row[i], Dot):
                row[i] = scale.drawing(row[i], with_grid=len(cells) <= _MOST_WITH_GRID)
    return table(caption, head, cells, drawn=drawn)


@dataclass(frozen=True)
class _Scale:
    """The scale that all dots of a column share; it draws them as SVG.

    :meth:`of` makes it from the dots, with some room at both ends. A value becomes a percentage of
    the column's width. :meth:`head` draws the numbers of the axis, :meth:`drawing` one dot.
    """

    low: float
    high: float
    ticks: list[float]
    zero: bool

    @classmethod
    def of(cls, dots: Sequence[Dot], zero: bool) -> "_Scale":
        """Return the scale that all dots of a column fit on, with 0 if ``zero``."""
        values = [v for dot in dots for v in (dot.low, dot.estimate, dot.high)] + [0.0] * zero
        low, high = min(values), max(values)
        room = (high - low) * _MARGIN or 1.0
        return cls(low - room, high + room, _few(ticks(low, high)), zero)

    def _at(self, value: float) -> str:
        return f"{100 * (value - self.low) / (self.high - self.low):.1f}%"

    def head(self) -> Markup:
        """Return the numbers of the scale, for the head of the column."""
        texts = [
            element("text", f"{tick:,g}", x=self._at(tick), y="0.9em", text_anchor="middle")
            for tick in self.ticks
        ]
        return element("svg", *texts, class_="scale", aria_hidden="true")

    def drawing(self, dot: Dot, *, with_grid: bool) -> Markup:
        """Return a dot with its whisker."""
        parts = [self._upright(tick, "grid") for tick in self.ticks if with_grid]
        if self.zero:
            parts.append(self._upright(0.0, "zero"))
        parts.append(self._flat(dot.low, dot.high, f"whisker {dot.side}"))
        if dot.quartiles is not None:
            parts.append(self._flat(*dot.quartiles, "quartiles"))
        at = {"cx": self._at(dot.estimate), "cy": "50%", "r": 4.5}
        parts.append(element("circle", **at, class_=f"dot {dot.side}"))
        title = element("title", str(dot))
        return element("svg", title, *parts, class_="dots", aria_hidden="true")

    def _upright(self, value: float, class_: str) -> Markup:
        at = self._at(value)
        return element("line", x1=at, x2=at, y1="0", y2="100%", class_=class_)

    def _flat(self, low: float, high: float, class_: str) -> Markup:
        ends = {"x1": self._at(low), "x2": self._at(high)}
        return element("line", **ends, y1="50%", y2="50%", class_=class_)


def _few(values: list[float]) -> list[float]:
    """Return every n-th of the ticks, at most four or five, so that 0 stays if it is one."""
    step = -(-len(values) // 4)
    first = values.index(0.0) % step if 0.0 in values else 0
    return values[first::step]


def dots_of(chart: Intervals) -> list[Dot]:
    """Return one :class:`Dot` per row of a forest plot, such as a result draws by its ``plot()``.

    Examples
    --------
    >>> dots_of(Intervals.of(["age"], [(0.1, 0.0, 0.2)], x="drop"))
    [Dot(estimate=0.1, low=0.0, high=0.2, quartiles=None, is_shown=True)]
    """
    rows = zip(chart.estimates.tolist(), chart.low.tolist(), chart.high.tolist(), strict=True)
    return [Dot(estimate, low, high) for estimate, low, high in rows]


def interval_text(dot: Dot) -> str:
    """Return the interval as text.

    Examples
    --------
    >>> interval_text(Dot(0.1, -0.05, 0.2))
    '-0.0500 to 0.2000'
    """
    return f"{dot.low:.4f} to {dot.high:.4f}"


def quartile_dot(values: np.ndarray) -> Dot:
    """Return the median of values as a dot with quartiles, from the 5th to the 95th percentile.

    Examples
    --------
    >>> quartile_dot(np.arange(101.0))
    Dot(estimate=50.0, low=5.0, high=95.0, quartiles=(25.0, 75.0), is_shown=True)
    """
    low, first, middle, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    return Dot(middle, low, high, (first, third))
