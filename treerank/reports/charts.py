"""Charts: lines, histograms and sorted differences as SVG, with their numbers as a table.

Colors are classes of the style sheet, so charts follow light and dark. Lines also differ in their
dashes. Each chart has transparent bands with a ``title``: the browser shows the values of the band
under the pointer, and the script of the page shows them sooner, and to the arrow keys.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.display.charts import Curve, Curves
from treerank.reports.page import Markup, element, joined
from treerank.reports.tables import table

#: Size of a chart, and the room left, right, above and below the data, in units of the drawing.
_WIDTH, _HEIGHT = 560, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 12, 50

#: Number of bars of a histogram.
_N_BINS = 20
#: Most points of a line that are drawn as dots, and most bands that tell values.
_MOST_DOTS, _MOST_BANDS = 25, 60
#: Most points of a line, and of a line of sorted differences.
_MOST_POINTS, _MOST_STEPS = 200, 400
#: Ratio of the ends of an axis, both positive, from which it is logarithmic where that may be.
_LOG_FROM = 50


def line_chart(
    title: str,
    chart: Curves,
    *,
    rug: ArrayLike = (),
    mark: tuple[float, str] | None = None,
    may_be_log: bool = False,
) -> Markup:
    """Return an SVG chart of curves, a ``Curves`` such as a result draws by its ``plot()``.

    The axes end at the extremes of the curves, or at 0 and 1 with a diagonal if the values are
    shares. ``rug`` are values of x that get a tick at the bottom; ``mark`` is ``(x, name)`` of a
    vertical line. ``may_be_log`` allows a logarithmic x axis where x is positive and wide-ranging.
    Points that are not finite are left out; without any others, the result is empty.

    Examples
    --------
    >>> ndcg = Curve("ndcg", np.array([1, 2]), np.array([0.4, 0.5]))
    >>> drawn = line_chart("Learning", Curves((ndcg,), x="trees", y="ndcg"))
    >>> drawn.count("<polyline"), "<title>trees 2: ndcg 0.5</title>" in drawn
    (1, True)
    """
    arrays = {curve.name: _thinned(_points(curve)) for curve in chart.curves}
    arrays = {name: line for name, line in arrays.items() if line.shape[1]}
    if not arrays:
        return Markup()
    points = np.concatenate([line[:2] for line in arrays.values()], axis=1)
    ranges = np.column_stack([points.min(axis=1), points.max(axis=1)]).tolist()
    low, high = ranges[0]
    is_log = may_be_log and low > 0 and high / low >= _LOG_FROM
    if chart.from_zero:
        ranges[1] = [min(ranges[1][0], 0.0), max(ranges[1][1], 0.0)]
    if chart.are_shares:
        ranges = [(0.0, 1.0)] * 2
    axes = _Axes(*ranges, is_log=is_log, is_inverted=chart.is_inverted)
    x, y = chart.x, chart.y
    drawn = [axes.grid(x, y)]
    if chart.are_shares:
        drawn.append(axes.polyline(axes.x_range, axes.x_range, "reference"))
    if mark is not None:
        drawn.append(axes.mark(*mark))
    for number, line in enumerate(arrays.values()):
        drawn.append(axes.polyline(line[0], line[1], f"line color{number % 6}"))
        if line.shape[1] <= _MOST_DOTS:
            drawn += [axes.point(a, b, f"point color{number % 6}") for a, b in line[:2].T]
        for a, _, *ends in line.T if len(line) > 2 else ():
            drawn.append(axes.polyline([a, a], ends, f"line color{number % 6}"))
    drawn.append(axes.rug(np.asarray(rug, dtype=np.float64)))
    drawn.append(_line_bands(axes, arrays, x, y))
    rows = [[name, *point] for name, line in arrays.items() for point in line.T]
    columns = ["line", x, y, "lower end", "upper end"]
    return _figure(title, drawn, list(arrays), columns[: max(map(len, rows))], rows)


def histogram(
    title: str, samples: Mapping[str, np.ndarray], *, x: str, x_range: tuple[float, float] | None
) -> Markup:
    """Return an SVG histogram of samples by name, each as the outline of its shares per bin.

    Samples are finite values; ``x`` is the label of the axis, and ``x_range`` its ends or None for
    the extremes of all values.

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
    for n, (low, high) in enumerate(itertools.pairwise(edges)):
        values = ", ".join(f"{name} {100 * share[n]:.1f} %" for name, share in shares.items())
        drawn.append(axes.band(low, high, f"{x} {ranges[n]}: {values}"))
    columns = ["range", *shares]
    rows = [[name, *row] for name, *row in zip(ranges, *shares.values(), strict=True)]
    return _figure(title, drawn, list(samples), columns, rows)


def sorted_differences(
    title: str, differences: np.ndarray, *, x: str, y: str, name_of: Callable[[int], str]
) -> Markup:
    """Return an SVG area chart of differences, sorted from the largest: wins above 0, losses below.

    ``x`` and ``y`` are the axes' labels. A band on which the mouse rests shows the ranks and the
    differences of the entries below it, and of a single one ``name_of(i)``, the name of entry i.

    Examples
    --------
    >>> gaps = np.array([-0.1, 0.3, 0.0])
    >>> chart = sorted_differences("Queries", gaps, x="queries", y="gap", name_of=str)
    >>> "<title>1: +0.3000</title>" in chart, "won 1, equal 1, lost 1" in chart
    (True, True)
    """
    order = np.argsort(-differences, kind="stable")
    values, n = differences[order], len(differences)
    axes = _Axes((0.0, float(n)), (min(float(values[-1]), 0.0), max(float(values[0]), 0.0)))
    drawn = [axes.grid(x, y)]
    steps = _steps(values)
    for class_, part in (("plus", np.maximum(steps[1], 0)), ("minus", np.minimum(steps[1], 0))):
        if part.any():
            drawn.append(axes.polygon(steps[0], part, f"fill {class_}"))
    drawn.append(axes.polyline(axes.x_range, [0, 0], "zero"))
    edges = np.unique(np.linspace(0, n, min(n, _MOST_BANDS) + 1).round().astype(int))
    for first, end in itertools.pairwise(edges.tolist()):
        best, worst = values[first], values[end - 1]
        text = f"{x} {first + 1:,} to {end:,} of {n:,}: {best:+.4f} to {worst:+.4f}"
        if end == first + 1:
            text = f"{name_of(int(order[first]))}: {best:+.4f}"
        drawn.append(axes.band(first, end, text))
    won, lost = int((values > 0).sum()), int((values < 0).sum())
    note = f"won {won:,}, equal {n - won - lost:,}, lost {lost:,}"
    label = f"{title}: {note}; from {values[0]:+.4f} to {values[-1]:+.4f}"
    keys = [(_swatch("plus"), f"won {won:,}"), (_swatch("minus"), f"lost {lost:,}")]
    keys += [(_swatch("none"), f"equal {n - won - lost:,}")] * (n > won + lost)
    return element("figure", element("figcaption", title), _drawing(label, drawn), _legend(keys))


class _Axes:
    """The axes of a chart: they map data to coordinates of the SVG, and draw marks at data points.

    ``x_range`` and ``y_range`` are the ends of the axes, extended to the outermost ticks.
    ``is_log`` makes x logarithmic, and ``is_inverted`` puts small values of y at the top.
    """

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        *,
        is_log: bool = False,
        is_inverted: bool = False,
    ):
        self.is_log, self.is_inverted = is_log, is_inverted
        self.x_ticks = _powers(*x_range) if is_log else ticks(*x_range)
        self.y_ticks = ticks(*y_range)
        self.x_range = min(x_range[0], self.x_ticks[0]), max(x_range[1], self.x_ticks[-1])
        self.y_range = min(y_range[0], self.y_ticks[0]), max(y_range[1], self.y_ticks[-1])

    def coordinates(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return ``(right, down)``: the SVG coordinates of points ``x``, ``y`` of the data."""
        (left, right), (low, high) = self.x_range, self.y_range
        x = np.asarray(x, dtype=np.float64)
        if self.is_log:
            x, left, right = np.log(x), math.log(left), math.log(right)
        across = (x - left) / ((right - left) or 1)
        up = (np.asarray(y) - low) / ((high - low) or 1)
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        down = up if self.is_inverted else 1 - up
        return _LEFT + across * width, _TOP + down * height

    def polyline(self, x: Any, y: Any, class_: str) -> Markup:
        """Return a line through points."""
        return element("polyline", points=self._points(x, y), class_=class_)

    def polygon(self, x: np.ndarray, y: np.ndarray, class_: str) -> Markup:
        """Return the area between the curve through the points and the line y = 0."""
        x, y = np.concatenate([x[:1], x, x[-1:]]), np.concatenate([[0], y, [0]])
        return element("polygon", points=self._points(x, y), class_=class_)

    def _points(self, x: Any, y: Any) -> str:
        pairs = zip(*self.coordinates(x, y), strict=True)
        return " ".join(f"{_short(a)},{_short(b)}" for a, b in pairs)

    def point(self, x: float, y: float, class_: str) -> Markup:
        """Return a dot."""
        a, b = self.coordinates(x, y)
        return element("circle", cx=_short(a), cy=_short(b), r=3, class_=class_)

    def mark(self, x: float, name: str) -> Markup:
        """Return a vertical line at ``x`` with its name."""
        a = float(self.coordinates(x, 0)[0])
        is_left = a > (_LEFT + _WIDTH) / 2
        text = _text(
            name, a + (-6 if is_left else 6), _HEIGHT - _BOTTOM - 8, "end" if is_left else "start"
        )
        return joined([_line(a, _TOP, a, _HEIGHT - _BOTTOM, "reference"), text])

    def rug(self, values: np.ndarray) -> Markup:
        """Return a tick at the bottom for each value within the axis."""
        (low, high), bottom = self.x_range, _HEIGHT - _BOTTOM
        inside = np.unique(values[(values >= low) & (values <= high)])
        at = np.unique(self.coordinates(inside, 0)[0].round(1))
        path = "".join(f"M{_short(a)} {bottom}v-7" for a in at)
        return element("path", d=path, class_="rug") if path else Markup()

    def band(self, low: float, high: float, text: str) -> Markup:
        """Return a transparent rectangle from x = ``low`` to ``high`` whose tooltip is ``text``."""
        left, right = (float(self.coordinates(edge, 0)[0]) for edge in (low, high))
        rectangle = {"x": _short(left), "width": _short(max(right - left, 0.1)), "y": _TOP}
        height = _HEIGHT - _TOP - _BOTTOM
        return element("rect", element("title", text), **rectangle, height=height, class_="band")

    def grid(self, x: str, y: str) -> Markup:
        """Return the grid lines, tick labels and axis labels, which are ``x`` and ``y``."""
        parts, bottom = [], _HEIGHT - _BOTTOM
        for tick in self.y_ticks:
            height = float(self.coordinates(self.x_range[1], tick)[1])
            parts.append(_line(_LEFT, height, _WIDTH - _RIGHT, height, "grid"))
            parts.append(_text(f"{tick:,g}", _LEFT - 6, height + 4, "end"))
        for tick in self.x_ticks:
            parts.append(_text(f"{tick:,g}", self.coordinates(tick, 0)[0], bottom + 17, "middle"))
        parts.append(_text(_cut(x), (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "middle"))
        middle = (_TOP + bottom) / 2
        turned = {"transform": f"rotate(-90 14 {middle:.1f})"}
        parts.append(_text(_cut(y, 32), 14, middle, "middle", **turned))
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


def _powers(low: float, high: float) -> list[float]:
    """Return at most seven powers of ten between two positive numbers, or else these two."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, -(-(last - first + 1) // 7))
    return [float(f"1e{n}") for n in range(first, last + 1, step)] or [low, high]


def _points(curve: Curve) -> np.ndarray:
    """Return a curve's finite points as rows x and y, then low and high if it has these."""
    rows = [curve.x, curve.y]
    if curve.low is not None and curve.high is not None:
        rows += [curve.low, curve.high]
    points = np.array(rows, dtype=np.float64)
    return points[:, np.isfinite(points[:2]).all(axis=0)]


def _thinned(line: np.ndarray) -> np.ndarray:
    """Return at most ``_MOST_POINTS`` evenly spaced columns of ``line``, from first to last."""
    n = line.shape[1]
    if n <= _MOST_POINTS:
        return line
    return line[:, np.unique(np.linspace(0, n - 1, _MOST_POINTS).round().astype(int))]


def _steps(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(x, y)`` of the corners of a step function with one step per value.

    With more than ``_MOST_STEPS`` values, that many evenly spaced points are taken instead.
    """
    n = len(values)
    if n <= _MOST_STEPS:
        return np.repeat(np.arange(n + 1), 2)[1:-1], np.repeat(values, 2)
    chosen = np.unique(np.linspace(0, n - 1, _MOST_STEPS).round().astype(int))
    return chosen + 0.5, values[chosen]


def _line_bands(axes: _Axes, lines: Mapping[str, np.ndarray], x: str, y: str) -> Markup:
    """Return a transparent band around each x of the lines, whose tooltip has all values there.

    ``lines`` maps names to the arrays of ``_points``; ``x`` and ``y`` are the axes' labels.
    """
    xs = np.unique(np.concatenate([line[0] for line in lines.values()]))
    if len(xs) > _MOST_BANDS:
        xs = xs[np.linspace(0, len(xs) - 1, _MOST_BANDS).round().astype(int)]
    middles = np.sqrt(xs[1:] * xs[:-1]) if axes.is_log else (xs[1:] + xs[:-1]) / 2
    edges = [axes.x_range[0], *middles.tolist(), axes.x_range[1]]
    bands = []
    for x_value, low, high in zip(xs, edges[:-1], edges[1:], strict=True):
        values = []
        for name, line in lines.items():
            n = int(np.argmin(np.abs(line[0] - x_value)))
            if line[0, n] == x_value:
                named = name if len(lines) > 1 else y
                interval = f" ({line[2, n]:.4g} to {line[3, n]:.4g})" if len(line) > 3 else ""
                values.append(f"{named} {line[1, n]:.4g}{interval}")
        bands.append(axes.band(low, high, f"{x} {x_value:.4g}: {', '.join(values)}"))
    return joined(bands)


def _figure(title, drawn, names, columns, rows):
    """Return a figure: title, drawing, a legend if there are several names, and a table to unfold.

    ``drawn`` are the SVG parts; ``columns`` and ``rows`` are the header and the cells of the table.
    """
    keys = [(_key(number), name) for number, name in enumerate(names)]
    legend = _legend(keys) if len(keys) > 1 else ""
    cells = [[c if isinstance(c, str) else f"{c:.4g}" for c in row] for row in rows]
    numbers = element("details", element("summary", "Numbers"), table(title, columns, cells))
    return element("figure", element("figcaption", title), _drawing(title, drawn), legend, numbers)


def _drawing(label: str, drawn: Sequence[Markup]) -> Markup:
    look = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "class_": "chart", "role": "img"}
    return element("svg", *drawn, **look, aria_label=label)


def _legend(keys: Sequence[tuple[Markup, str]]) -> Markup:
    items = [element("li", sample, name, class_="key") for sample, name in keys]
    return element("ul", *items, class_="legend")


def _key(number):
    """Return the line in the color of curve ``number`` that stands before its name in a legend."""
    line = _line(0, 5, 24, 5, f"line color{number % 6}")
    return element("svg", line, viewBox="0 0 24 10", class_="sample", aria_hidden="true")


def _swatch(class_):
    """Return the area that stands before a name in a legend."""
    area = element("rect", x=1, y=0.5, width=22, height=9, class_=f"fill {class_}")
    return element("svg", area, viewBox="0 0 24 10", class_="sample", aria_hidden="true")


def _line(x1, y1, x2, y2, class_):
    ends = (_short(value) for value in (x1, y1, x2, y2))
    return element("line", **dict(zip(("x1", "y1", "x2", "y2"), ends, strict=True)), class_=class_)


def _text(text, x, y, anchor, **attributes):
    return element("text", text, x=_short(x), y=_short(y), text_anchor=anchor, **attributes)


def _cut(text: str, most: int = 64) -> str:
    """Return a label, shortened to ``most`` characters by an ellipsis at its end."""
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _short(value: Any) -> str:
    """Return a coordinate with a decimal at most."""
    text = f"{float(value):.1f}"
    return text.removesuffix(".0")
