"""Drawing: charts on the Axes of Matplotlib, an optional package.

New figures are transparent, with text in a gray that is readable on white and on black; Axes that
you pass keep their look. No Matplotlib setting is changed. The colors are the palette of Okabe and
Ito, which is safe for color-blind readers; curves also differ in their marks and dashes.
"""

from typing import Any

import numpy as np

from treerank.display.charts import Curves, Intervals, Waterfall
from treerank.display.texts import clean, shortened
from treerank.lazy import naming_the_extra

#: Colors of Okabe and Ito: blue, vermillion, green, purple, orange and sky blue.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
#: The gray of text and frames, and of what is not significant.
GRAY = "#7a7a7a"
_MARKS, _DASHES = "osD^vP", ("-", "--", "-.", ":")
#: Longest name at an axis, and in a title.
_LONGEST_NAME, _LONGEST_TITLE = 32, 70
#: Names are shown literally, even with dollars and backslashes.
_AS_IT_IS: dict[str, Any] = {"parse_math": False, "usetex": False}


def draw_intervals(chart: Intervals, ax: Any = None) -> Any:
    """Draw a forest plot with a row for each name, on ``ax`` or a new figure; return the Axes.

    Rows whose interval includes the reference are gray with hollow points.
    """
    ax = _axes(ax, height=1.2 + 0.3 * max(len(chart.names), 2))
    _label(ax, chart.title, x=chart.x)
    if _is_empty(ax, chart.names):
        return ax
    if chart.reference is not None:
        ax.axvline(chart.reference, color=GRAY, linewidth=1, linestyle=":", zorder=0)
    excluded = chart.excludes_reference | (chart.reference is None)
    for row, estimate in enumerate(chart.estimates):
        color = COLORS[0] if excluded[row] else GRAY
        ax.plot([chart.low[row], chart.high[row]], [row, row], color=color, linewidth=2)
        face = color if excluded[row] else "none"
        ax.plot([estimate], [row], "o", color=color, markerfacecolor=face, zorder=3)
    _name_rows(ax, chart.names)
    return ax


def draw_curves(chart: Curves, ax: Any = None) -> Any:
    """Draw curves with bars for their intervals, on ``ax`` or a new figure; return the Axes.

    There is a legend if there are several curves.
    """
    ax = _axes(ax)
    _label(ax, chart.title, x=chart.x, y=chart.y)
    if _is_empty(ax, [curve for curve in chart.curves if len(curve.x)]):
        return ax
    handles = []
    for number, curve in enumerate(chart.curves):
        look: dict[str, Any] = {
            "color": COLORS[number % len(COLORS)],
            "linestyle": _DASHES[number // len(COLORS) % len(_DASHES)],
        }
        if chart.has_points or len(curve.x) == 1:
            look |= {"marker": _MARKS[number % len(_MARKS)], "markersize": 5}
        if curve.low is not None and curve.high is not None:
            ax.vlines(curve.x, curve.low, curve.high, color=look["color"], linewidth=1.5)
        handles += ax.plot(curve.x, curve.y, **look)
    if chart.are_shares:
        ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1, linestyle=":", zorder=0)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    elif chart.from_zero:
        ax.set_ylim(bottom=0)
    if chart.is_inverted and not ax.yaxis_inverted():
        ax.invert_yaxis()
    if len(handles) > 1:
        names = [shortened(curve.name, _LONGEST_NAME) for curve in chart.curves]
        legend = ax.legend(handles, names, frameon=False, labelcolor=ax.yaxis.label.get_color())
        for text in legend.get_texts():
            text.set(**_AS_IT_IS)
    return ax


def draw_waterfall(chart: Waterfall, ax: Any = None) -> Any:
    """Draw a bar for each part, which begins where the previous one ends; return the Axes.

    The total is a dotted line. ``ax`` is None for a new figure.
    """
    ax = _axes(ax, height=1.4 + 0.32 * max(len(chart.names), 2))
    _label(ax, chart.title, x=chart.x)
    if _is_empty(ax, chart.names):
        return ax
    rows, starts = np.arange(len(chart.names)), chart.starts
    colors = [COLORS[0] if part >= 0 else COLORS[1] for part in chart.parts]
    bars = ax.barh(rows, chart.parts, left=starts, color=colors, height=0.7)
    ends = starts + chart.parts
    ax.vlines(ends[:-1], rows[:-1] - 0.35, rows[:-1] + 1.35, color=GRAY, linewidth=0.8)
    ax.axvline(0, color=GRAY, linewidth=1, zorder=0)
    ax.axvline(chart.total, color=GRAY, linewidth=1, linestyle=":", zorder=0)
    color = ax.xaxis.label.get_color()
    for bar, part, end in zip(bars, chart.parts, ends, strict=True):
        side = 1 if part >= 0 else -1
        ax.annotate(
            f"{part:+.3g}",
            (end, bar.get_y() + bar.get_height() / 2),
            xytext=(3 * side, 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize="small",
            color=color,
        )
    ax.margins(x=0.15)  # room for the numbers
    _name_rows(ax, chart.names)
    return ax


def _axes(ax: Any, height: float = 4.0) -> Any:
    """Return ``ax``, or if it is None the Axes of a new pyplot figure of this height in inches."""
    with naming_the_extra("plot"):
        import matplotlib  # noqa: F401
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, height), layout="constrained")
    figure.patch.set_alpha(0)
    ax.patch.set_alpha(0)
    ax.tick_params(colors=GRAY)
    for spine in ax.spines.values():
        spine.set_color(GRAY)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(GRAY)
    return ax


def _label(ax: Any, title: str, **labels: str) -> None:
    """Set the title, unless it is empty, and the axis labels ``x`` and ``y``, if given."""
    if title:
        ax.set_title(shortened(title, _LONGEST_TITLE), fontsize="medium", **_AS_IT_IS)
    for name, label in labels.items():
        getattr(ax, f"set_{name}label")(shortened(label, _LONGEST_TITLE), **_AS_IT_IS)
    for spine in ("top", "right"):
        ax.spines[spine].set_visible(False)


def _is_empty(ax: Any, values: Any) -> bool:
    """Return whether ``values`` has no entries; if so, write "no values" into the Axes."""
    if len(values):
        return False
    ax.set(xticks=[], yticks=[])
    middle = {"transform": ax.transAxes, "ha": "center", "va": "center"}
    ax.text(0.5, 0.5, "no values", color=ax.xaxis.label.get_color(), **middle)
    return True


def _name_rows(ax: Any, names: Any) -> None:
    """Label the y axis by the names of rows, the first at the top."""
    texts = [shortened(name, _LONGEST_NAME) for name in map(clean, names)]
    ax.set_yticks(range(len(texts)), texts, **_AS_IT_IS)
    ax.set_ylim(len(texts) - 0.4, -0.6)
