"""Significance: a plot of which rankers differ."""

from typing import TYPE_CHECKING

import numpy as np

from treerank.plots.style import COLORS, COLUMN, LETTER, LIGHT, make_axes, shown, tidy
from treerank.statistics.paired import format_p
from treerank.statistics.pairwise_tests import PairwiseResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width of a significant p-value, in inches.
_CELL = 0.46
#: Arrow and color of a p-value: not significant, the row is better, the column is better.
ARROWS = ("", "\N{LEFTWARDS ARROW}", "\N{UPWARDS ARROW}")
CELL_COLORS = (LIGHT, COLORS[0], COLORS[1])


def p_value_matrix(
    result: PairwiseResult, *, alpha: float = 0.05, ax: "Axes | None" = None
) -> "Axes":
    """Draw the p-value of every pair; a significant one is colored and points to the better.

    Parameters
    ----------
    result : PairwiseResult
        Result of :func:`~treerank.statistics.pairwise_tests` or of ``Comparison.test``.
    alpha : float, default=0.05
        Level of significance.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.

    Examples
    --------
    >>> from treerank.statistics import pairwise_tests
    >>> values = [[5, 1, 1], [6, 1, 2], [7, 1, 3], [8, 1, 1], [9, 1, 2]]
    >>> ax = p_value_matrix(pairwise_tests(values, ["tree", "forest", "stump"], adjust=False))
    >>> [text.get_text() for text in ax.texts]
    ['.062', '.062', '.250']
    """
    k, names = len(result.names), shown(result.names)
    name_width = max(map(len, names)) * LETTER
    width = min(max(COLUMN, name_width + _CELL * (k - 1)), 2 * COLUMN)
    ax = make_axes(ax, height=max(1.6, 0.42 * k + 0.7), width=width)
    font_size = 7 * min(1, (width - name_width) / (k - 1) / _CELL)
    for row, column in zip(*np.tril_indices(k, -1), strict=True):
        p_value, difference = result.p_values[row, column], result.differences[row, column]
        winner = 0 if p_value > alpha else 1 if difference > 0 else 2
        _draw_p_value(ax, column, row - 1, p_value, winner, font_size)
    ax.set_xlim(-0.5, k - 1.5)
    ax.set_ylim(k - 1.5, -0.5)
    ax.set_aspect("equal" if k > 12 else "auto")
    ax.set_xticks(range(k - 1), names[:-1], rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(k - 1), names[1:])
    tidy(ax).grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    test = f"{result.test}{', Holm' if result.adjusted else ''}"
    ax.set_title(f"p-values, {test}\n{ARROWS[1]} row better, {ARROWS[2]} column better", fontsize=7)
    return ax


def _draw_p_value(ax, x, y, p_value, winner, font_size):
    """Draw a p-value in a cell; ``winner`` is 0 for nobody, 1 for the row, 2 for the column."""
    from matplotlib.patches import Rectangle

    color = CELL_COLORS[winner]
    ax.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=color, linewidth=0))
    text = f"{ARROWS[winner]} {format_p(p_value)}".strip().replace("0.", ".")
    look = {"color": "white", "fontweight": "bold"} if winner else {"color": "black"}
    ax.text(x, y, text, ha="center", va="center", fontsize=font_size, **look)
