"""Charts as SVG, in a light and a dark form, and Markdown tables.

They are written here rather than by a plotting library so that the same results give the same
bytes on every machine: a test compares the page with what the kept results draw. Colors are those
of Okabe and Ito, which color-blind readers can tell apart; series differ in their markers, too.
"""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
THEMES = {"light": ("#24292f", "#d0d7de"), "dark": ("#e6edf3", "#3d444d")}
WIDTH, LABELS, RIGHT, ROW, FONT = 760, 200, 24, 17, 13
#: Width of a letter of a label.
LETTER = 7.4
Value = tuple[float, float | None, float | None]  # value, low and high


@dataclass(frozen=True)
class Chart:
    """A chart: its alternative text, and a function that draws it in two colors."""

    alt: str
    draw: Callable[[str, str], str]

    def svg(self, theme: str) -> str:
        """Return the SVG of a theme."""
        return self.draw(*THEMES[theme])


def intervals(
    alt: str,
    groups: Mapping[str, Mapping[str, Value]],
    label: str,
    *,
    reference: float | None = 0.0,
    logarithmic: bool = False,
) -> Chart:
    """Return a forest plot: a group of rows per data set, a marker and an interval per series.

    Parameters
    ----------
    alt : str
        Alternative text.
    groups : mapping of mapping
        (value, low, high) by group and series; low and high may be None.
    label : str
        Label of the axis.
    reference : float, default=0.0
        Where a line is drawn across the chart.
    logarithmic : bool, default=False
        Whether the axis is.
    """
    series = list(dict.fromkeys(name for group in groups.values() for name in group))
    numbers = [x for group in groups.values() for value in group.values() for x in value]
    numbers = [x for x in [*numbers, reference] if x is not None]
    ticks = _ticks(min(numbers), max(numbers), logarithmic)
    left = max(LABELS, round(16 + LETTER * max(map(len, groups), default=0)))
    scale = _scale(ticks, left, WIDTH - RIGHT, logarithmic)

    def draw(ink, pale):
        body, top, y = [*_legend(series, ink)], 34 if len(series) > 1 else 10, 0.0
        y = top
        for name, group in groups.items():
            middle = y + ROW * len(group) / 2
            body.append(_text(left - 12, middle + 4, name, ink, anchor="end"))
            for one, (value, low, high) in group.items():
                color = COLORS[series.index(one) % len(COLORS)]
                at, told = y + ROW / 2, f"{name}, {one}: {_number(value)}"
                if low is not None and high is not None:
                    body.append(_line(scale(low), at, scale(high), at, color, 2))
                    told += f" ({_number(low)} to {_number(high)})"
                body.append(_marker(series.index(one), scale(value), at, color, told))
                y += ROW
            y += 9
        frame = [
            *(_line(scale(tick), top - 4, scale(tick), y, pale, 1) for tick in ticks),
            *(_text(scale(t), y + 16, _tick(t, ticks), ink, anchor="middle") for t in ticks),
            _text((left + WIDTH - RIGHT) / 2, y + 38, label, ink, anchor="middle"),
        ]
        if reference is not None:
            frame.append(_line(scale(reference), top - 4, scale(reference), y, ink, 1.5))
        return _svg(alt, y + 48, [*frame, *body])

    return Chart(alt, draw)


def curves(alt: str, series: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> Chart:
    """Return lines over a logarithmic axis, each a series of (x, y)."""
    names, top, bottom, left = list(series), 30 + 20 * math.ceil(len(series) / 2), 340, 60
    places = sorted({point[0] for points in series.values() for point in points})
    heights = [point[1] for points in series.values() for point in points]
    ticks = _ticks(min(heights), max(heights), False)
    across, up = (
        _scale([places[0], places[-1]], left + 14, WIDTH - RIGHT, True),
        _scale(ticks, bottom, top, False),
    )

    def draw(ink, pale):
        body = [*_legend(names, ink, columns=2)]
        body += [_line(left, up(tick), WIDTH - RIGHT, up(tick), pale, 1) for tick in ticks]
        body += [_text(left - 8, up(t) + 4, _tick(t, ticks), ink, anchor="end") for t in ticks]
        body += [_text(across(p), bottom + 20, f"{p:,g}", ink, anchor="middle") for p in places]
        body.append(_text((left + WIDTH) / 2, bottom + 42, x, ink, anchor="middle"))
        body.append(_text(4, top - 8, y, ink))
        for number, (name, points) in enumerate(series.items()):
            color = COLORS[number % len(COLORS)]
            corners = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in points)
            body.append(
                f'<polyline points="{corners}" fill="none" stroke="{color}" stroke-width="2"/>'
            )
            body += [
                _marker(number, across(a), up(b), color, f"{name}, {a:,g}: {_number(b)}")
                for a, b in points
            ]
        return _svg(alt, bottom + 52, body)

    return Chart(alt, draw)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, numbers to the right."""
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    bars = ["---:" if each else "---" for each in numeric]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (head, bars, *rows))


def _is_number(text):
    return not text or re.fullmatch(r"[−+-]?[\d.,]+( ?[a-zA-Zµ%]{1,3})?", str(text)) is not None


def ndcg(value: float | None) -> str:
    """Return a value of NDCG with four digits."""
    return "" if value is None else f"{value:.4f}".replace("0.", ".", 1)


def signed(value: float) -> str:
    """Return a difference with four digits and its sign."""
    return f"{value:+.4f}".replace("0.", ".", 1).replace("-", "−")


def _svg(alt, height, body):
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" height="{height:.0f}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="{FONT}">',
            f"<title>{escape(alt)}</title>",
            *body,
            "</svg>",
            "",
        ]
    )


def _legend(series, ink, columns=None):
    """Draw markers and names above a chart of several series."""
    if len(series) < 2:
        return
    x, y = 14.0, 14.0
    for number, name in enumerate(series):
        width = 30 + 7.2 * len(name)
        if columns:
            x, y = 14 + WIDTH / columns * (number % columns), 14 + 20 * (number // columns)
        yield _marker(number, x, y - 4, COLORS[number % len(COLORS)], name)
        yield _text(x + 12, y, name, ink)
        x += width


def _marker(number, x, y, color, title):
    """Draw a circle, square, diamond or triangle."""
    r = 5.0
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{color}">',
        f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" fill="{color}">',
        f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z" fill="{color}">',
        f'<path d="M{x:.1f} {y - 6:.1f}l6 10.5h-12z" fill="{color}">',
        f'<path d="M{x:.1f} {y + 6:.1f}l6 -10.5h-12z" fill="{color}">',
    )
    shape = shapes[number % len(shapes)]
    return f"{shape}<title>{escape(title)}</title></{shape[1 : shape.index(' ')]}>"


def _line(x1, y1, x2, y2, color, width):
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{color}" stroke-width="{width}"/>'
    )


def _text(x, y, text, color, anchor="start"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _ticks(low, high, logarithmic):
    """Return round numbers that cover the values."""
    if logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [m * 10.0**p for p in powers for m in (1, 2, 5)]
        first = max(i for i, tick in enumerate(ticks) if tick <= low)
        last = min(i for i, tick in enumerate(ticks) if tick >= high)
        return ticks[first : last + 1]
    span = max(high - low, 1e-9)
    step = next(m * 10.0**p for p in range(-9, 9) for m in (1, 2, 5) if span / (m * 10.0**p) <= 7)
    return [
        step * n for n in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)
    ]


def _scale(ticks, start, end, logarithmic):
    """Return a function from values to coordinates."""
    turn = math.log if logarithmic else float
    low, high = turn(ticks[0]), turn(ticks[-1])
    return lambda value: start + (end - start) * (turn(value) - low) / max(high - low, 1e-12)


def _tick(value, ticks):
    """Return the text of a tick, as exact as its neighbors need."""
    step = min((b - a for a, b in itertools.pairwise(ticks)), default=1)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:,.{digits}f}".replace("-", "−")


def _number(value):
    return f"{value:.4g}"
