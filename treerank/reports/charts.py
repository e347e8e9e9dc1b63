"""Charts: lines and histograms as SVG, with a legend below and their numbers as a table.

Colors are classes of the style sheet, so charts follow light and dark. Lines also differ in their
dashes.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.reports.page import Markup, element, joined
from treerank.reports.tables import table

#: Size of a chart, and the room left, right, above and below the data, in units of the drawing.
_WIDTH, _HEIGHT = 440, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 10, 44

#: Number of bars of a histogram.
_N_BINS = 20
#: Two coordinates of the points of a line, and the ends of their intervals if there are any.
Curve = tuple[ArrayLike, ...]


def line_chart(
    title: str, lines: Mapping[str, Curve], *, x: str, y: str, of_shares: bool = False
) -> Markup:
    """Return a chart of lines by name, whose axes have the names ``x`` and ``y``.

    Axes are as long as the lines need. Those of shares go from 0 to 1, with the line on which x and
    y are equal.

    Examples
    --------
    >>> chart = line_chart("Learning", {"ndcg": ([1, 2], [0.4, 0.5])}, x="trees", y="ndcg")
    >>> chart.count("<polyline")
    1
    """
    arrays = {name: np.array(line, dtype=np.float64) for name, line in lines.items()}
    points = np.concatenate([line[:2] for line in arrays.values()], axis=1)
    ranges = np.column_stack([points.min(axis=1), points.max(axis=1)]).tolist()
    axes = _Axes(*([(0.0, 1.0)] * 2 if of_shares else ranges))
    drawn = [axes.grid(x, y)]
    if of_shares:
        drawn.append(axes.polyline(axes.x_range, axes.x_range, "reference"))
    for number, line in enumerate(arrays.values()):
        drawn.append(axes.polyline(line[0], line[1], f"line color{number % 6}"))
        drawn += [axes.point(a, b, f"point color{number % 6}") for a, b in line[:2].T]
        for a, _, *ends in line.T if len(line) > 2 else ():
            drawn.append(axes.polyline([a, a], ends, f"line color{number % 6}"))
    rows = [[name, *point] for name, line in arrays.items() for point in line.T]
    columns = ["line", x, y, "lower end", "upper end"]
    return _figure(title, drawn, list(arrays), columns[: max(map(len, rows))], rows)


def histogram(
    title: str, samples: Mapping[str, np.ndarray], *, x: str, x_range: tuple[float, float] | None
) -> Markup:
    """Return a chart of the shares of finite values, one outline for each sample.

    Examples
    --------
    >>> chart = histogram("Scores", {"label 0": np.array([0.1, 0.2])}, x="score", x_range=None)
    >>> chart.count("<polyline")
    1
    """
    edges = np.histogram_bin_edges(np.concatenate(list(samples.values())), _N_BINS, x_range)
    shares = {name: np.histogram(v, edges)[0] / max(len(v), 1) for name, v in samples.items()}
    top = max(share.max() for share in shares.values())
    axes = _Axes((edges[0], edges[-1]), (0.0, float(top)))
    drawn = [axes.grid(x, "share")]
    for number, share in enumerate(shares.values()):
        steps = np.repeat(edges, 2), np.concatenate([[0], np.repeat(share, 2), [0]])
        drawn.append(axes.polyline(*steps, f"line area color{number % 6}"))
    ranges = [f"{low:.3g} to {high:.3g}" for low, high in itertools.pairwise(edges)]
    columns = ["range", *shares]
    rows = [[name, *row] for name, *row in zip(ranges, *shares.values(), strict=True)]
    return _figure(title, drawn, list(samples), columns, rows)


class _Axes:
    """Two axes: where a point of the data is in the drawing."""

    def __init__(self, x_range: tuple[float, float], y_range: tuple[float, float]):
        self.x_ticks, self.y_ticks = ticks(*x_range), ticks(*y_range)
        self.x_range = min(x_range[0], self.x_ticks[0]), max(x_range[1], self.x_ticks[-1])
        self.y_range = min(y_range[0], self.y_ticks[0]), max(y_range[1], self.y_ticks[-1])

    def coordinates(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return coordinates of the drawing."""
        (left, right), (low, high) = self.x_range, self.y_range
        across = (np.asarray(x) - left) / ((right - left) or 1)
        up = (np.asarray(y) - low) / ((high - low) or 1)
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + across * width, _TOP + (1 - up) * height

    def polyline(self, x: Any, y: Any, class_: str) -> Markup:
        """Return a line through points."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*self.coordinates(x, y), strict=True))
        return element("polyline", points=points, class_=class_)

    def point(self, x: float, y: float, class_: str) -> Markup:
        """Return a dot."""
        a, b = self.coordinates(x, y)
        return element("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3, class_=class_)

    def grid(self, x: str, y: str) -> Markup:
        """Return lines and numbers of the axes, and their names."""
        parts, bottom = [], _HEIGHT - _BOTTOM
        for tick in self.y_ticks:
            height = float(self.coordinates(self.x_range[0], tick)[1])
            parts.append(_line(_LEFT, height, _WIDTH - _RIGHT, height, "grid"))
            parts.append(_text(f"{tick:g}", _LEFT - 6, height + 4, "end"))
        for tick in self.x_ticks:
            parts.append(_text(f"{tick:g}", self.coordinates(tick, 0)[0], bottom + 16, "middle"))
        parts.append(_text(x, (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "middle"))
        middle = (_TOP + bottom) / 2
        parts.append(_text(y, 12, middle, "middle", transform=f"rotate(-90 12 {middle:.1f})"))
        return joined(parts)


def ticks(low: float, high: float) -> list[float]:
    """Return some round numbers from one number to another.

    Examples
    --------
    >>> ticks(0.0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    >>> ticks(3.0, 3.0)
    [3.0]
    """
    if not high > low:
        return [float(low)]
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= 0.999 * raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{n * step:.12g}") for n in range(first, last + 1)] or [float(low)]


def _figure(title, drawn, names, columns, rows):
    """Return a drawing with its title, its legend and its numbers."""
    look = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "class_": "chart", "role": "img"}
    drawing = element("svg", *drawn, **look, aria_label=title)
    keys = [element("li", _key(number), name, class_="key") for number, name in enumerate(names)]
    legend = element("ul", *keys, class_="legend") if len(names) > 1 else ""
    cells = [[c if isinstance(c, str) else f"{c:.4g}" for c in row] for row in rows]
    numbers = element("details", element("summary", "Numbers"), table(title, columns, cells))
    return element("figure", element("figcaption", title), drawing, legend, numbers)


def _key(number):
    """Return the line that stands before a name in a legend."""
    line = _line(0, 5, 24, 5, f"line color{number % 6}")
    return element("svg", line, viewBox="0 0 24 10", class_="sample", aria_hidden="true")


def _line(x1, y1, x2, y2, class_):
    ends = (f"{value:.1f}" for value in (x1, y1, x2, y2))
    return element("line", **dict(zip(("x1", "y1", "x2", "y2"), ends, strict=True)), class_=class_)


def _text(text, x, y, anchor, **attributes):
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **attributes)
