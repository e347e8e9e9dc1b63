"""Significance: plots of which rankers differ."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treerank.plots.style import COLORS, COLUMN, GRAY, LETTER, LIGHT, make_axes, shown, tidy
from treerank.statistics.mean_ranks import NemenyiResult
from treerank.statistics.paired import format_p
from treerank.statistics.pairwise_tests import PairwiseResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width of a significant p-value, in inches.
_CELL = 0.46

#: Arrow and color of a p-value: not significant, the row is better, the column is better.
ARROWS = ("", "\N{LEFTWARDS ARROW}", "\N{UPWARDS ARROW}")
CELL_COLORS = (LIGHT, COLORS[0], COLORS[1])


def critical_difference_diagram(
    result: NemenyiResult, names: Sequence[str], *, ax: "Axes | None" = None
) -> "Axes":
    """Draw mean ranks on a line, and bars over rankers that do not differ.

    Parameters
    ----------
    result : NemenyiResult
        Result of :func:`~treerank.statistics.nemenyi_test`.
    names : sequence of str
        Names of the rankers, in the order of the columns that were tested.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.

    Returns
    -------
    Axes

    References
    ----------
    Demsar (2006), Statistical comparisons of classifiers over multiple data sets.

    Examples
    --------
    >>> from treerank.statistics import nemenyi_test
    >>> values = [[0.9, 0.8, 0.7], [0.8, 0.6, 0.5], [0.7, 0.5, 0.6], [0.9, 0.8, 0.6]]
    >>> ax = critical_difference_diagram(nemenyi_test(values), ["a", "b", "c"])
    """
    ranks, cliques = result.mean_ranks, result.cliques
    if len(names) != len(ranks):
        raise ValueError(f"names must be one per ranker, {len(ranks)}; got {len(names)}.")
    names = shown(names)
    first = 0.55 + 0.22 * len(cliques)
    depth = first + 0.4 * ((len(ranks) + 1) // 2 - 1)
    name_width = (max(map(len, names)) + 6) * LETTER  # with the rank beside it
    ax = make_axes(ax, height=0.36 * (depth + 1.5), width=_width(2.4 * name_width))
    low = int(np.floor(ranks.min()))
    edges = _draw_scale(ax, name_width, low, max(int(np.ceil(ranks.max())), low + 1))
    _draw_names(ax, ranks, names, edges, first)
    for height, clique in enumerate(cliques):
        ends = ranks[clique].min() - 0.03, ranks[clique].max() + 0.03
        bar = [0.3 + 0.22 * height] * 2
        ax.plot(ends, bar, color=COLORS[0], linewidth=3.5, solid_capstyle="butt")
    _draw_ruler(ax, low, result.critical_difference)
    ax.set_ylim(depth + 0.3, -1.2)
    ax.axis("off")
    return ax


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

    Returns
    -------
    Axes

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
    width = _width(name_width + _CELL * (k - 1))
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


def _width(inches):
    """Return a width of at least one and at most two columns."""
    return min(max(COLUMN, inches), 2 * COLUMN)


def _draw_names(ax, ranks, names, edges, first):
    """Draw a line from each rank to the name of its ranker, the better half on the left."""
    order = np.argsort(ranks, kind="stable")
    n_left = (len(ranks) + 1) // 2
    sides = (order[:n_left], order[n_left:][::-1])
    for side, edge, alignment in zip(sides, edges, ("right", "left"), strict=True):
        for place, ranker in enumerate(side):
            rank, y = ranks[ranker], first + 0.4 * place
            ax.plot([rank, rank, edge], [0, y, y], color=GRAY, linewidth=0.7)
            words = (names[ranker], f"{rank:.2f}")
            text = " ".join(words if alignment == "right" else words[::-1])
            ax.text(edge, y, f" {text} ", ha=alignment, va="center", fontsize=7, in_layout=False)


def _draw_scale(ax, name_width, low, high):
    """Draw the line of ranks between the space for names; return where the names end."""
    share = min(name_width / ax.figure.get_figwidth(), 0.42)  # of the width, on each side
    margin = (high - low) * share / (1 - 2 * share)
    ax.set_xlim(low - margin, high + margin)
    ax.plot([low, high], [0, 0], color="black", linewidth=1)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [0, -0.12], color="black", linewidth=1)
        ax.text(tick, -0.18, str(tick), ha="center", va="bottom", fontsize=7)
    return low - 0.05 * margin, high + 0.05 * margin


def _draw_ruler(ax, low, critical_difference):
    """Draw a line as long as the critical difference."""
    ends, y = (low, low + critical_difference), -0.75
    ax.plot(ends, [y, y], color="black", linewidth=1)
    for end in ends:
        ax.plot([end, end], [y - 0.08, y + 0.08], color="black", linewidth=1)
    text = f" critical difference {critical_difference:.2f}"
    ax.text(ends[1], y, text, ha="left", va="center", fontsize=7, in_layout=False)
