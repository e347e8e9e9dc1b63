"""Significance: which rankers differ, drawn."""

import numpy as np

from treerank.plots.style import COLOURS, COLUMN, GREY, LETTER, LIGHT, make_axes, shown, tidy
from treerank.statistics.paired import format_p

#: Inches that a significant p-value takes.
_CELL = 0.46


def critical_difference_diagram(result, names, *, ax=None):
    """Draw mean ranks on a line, and bars over rankers that do not differ.

    Parameters
    ----------
    result : NemenyiResult
        Of :func:`~treerank.statistics.nemenyi_test`.
    names : sequence of str
        The rankers, in the order of its columns.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

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
    order = np.argsort(ranks, kind="stable")
    n_left = (len(ranks) + 1) // 2
    sides = (order[:n_left], order[n_left:][::-1])
    first = 0.55 + 0.22 * len(cliques)
    depth = first + 0.4 * (n_left - 1)
    room = (max(map(len, names)) + 6) * LETTER  # for a name and its rank, on either side
    ax = make_axes(ax, height=0.36 * (depth + 1.5), width=_width(2.4 * room))
    low, high = np.floor(ranks.min()), np.ceil(ranks.max())
    high = max(high, low + 1)
    edges = _draw_scale(ax, room, int(low), int(high))
    for side, edge, alignment in zip(sides, edges, ("right", "left"), strict=True):
        for place, ranker in enumerate(side):
            y = first + 0.4 * place
            ax.plot([ranks[ranker], ranks[ranker], edge], [0, y, y], color=GREY, linewidth=0.7)
            words = (names[ranker], f"{ranks[ranker]:.2f}")
            text = " ".join(words if alignment == "right" else words[::-1])
            ax.text(edge, y, f" {text} ", ha=alignment, va="center", fontsize=7, in_layout=False)
    for height, clique in enumerate(cliques):
        ends = ranks[clique].min() - 0.03, ranks[clique].max() + 0.03
        bar = [0.3 + 0.22 * height] * 2
        ax.plot(ends, bar, color=COLOURS[0], linewidth=3.5, solid_capstyle="butt")
    _draw_ruler(ax, low, result.critical_difference)
    ax.set_ylim(depth + 0.3, -1.2)
    ax.axis("off")
    return ax


def p_value_matrix(result, *, alpha=0.05, ax=None):
    """Draw the p-value of every pair; significant ones are colored and point to the better.

    Parameters
    ----------
    result : PairwiseResult
        Of :func:`~treerank.statistics.pairwise_tests`, or of ``Comparison.test``.
    alpha : float, default=0.05
        Level.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

    Returns
    -------
    Axes
    """
    k, names = len(result.names), shown(result.names)
    room = max(map(len, names)) * LETTER
    width = _width(room + _CELL * (k - 1))
    ax = make_axes(ax, height=max(1.6, 0.42 * k + 0.7), width=width)
    size = 7 * min(1, (width - room) / (k - 1) / _CELL)
    for row in range(1, k):
        for column in range(row):
            p_value = result.p_values[row, column]
            significant = bool(p_value <= alpha)
            better_row = result.differences[row, column] > 0
            color = (COLOURS[0] if better_row else COLOURS[1]) if significant else LIGHT
            ax.add_patch(_square(column, row - 1, color))
            arrow = ("\N{LEFTWARDS ARROW}" if better_row else "\N{UPWARDS ARROW}") * significant
            ax.text(
                column,
                row - 1,
                f"{arrow} {format_p(p_value)}".strip().replace("0.", "."),
                ha="center",
                va="center",
                fontsize=size,
                color="white" if significant else "black",
                fontweight="bold" if significant else "normal",
            )
    ax.set_xlim(-0.5, k - 1.5)
    ax.set_ylim(k - 1.5, -0.5)
    ax.set_aspect("equal" if k > 12 else "auto")
    ax.set_xticks(range(k - 1), names[:-1], rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(k - 1), names[1:])
    tidy(ax, grid="")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    words = f"{result.test}{', Holm' if result.adjusted else ''}"
    ax.set_title(
        f"p-values, {words}\n\N{LEFTWARDS ARROW} row better, \N{UPWARDS ARROW} column better",
        fontsize=7,
    )
    return ax


def query_gains(a, b, *, names=("a", "b"), metric="ndcg@10", ax=None):
    """Draw by how much one ranker beats another, query by query, from gain to loss.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of the two rankers, as the columns of ``Comparison.by_query``.
    names : sequence of two str, default=("a", "b")
        The rankers.
    metric : str, default="ndcg@10"
        What the values are.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

    Returns
    -------
    Axes
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"a and b must be paired; got shapes {a.shape} and {b.shape}.")
    gains = np.sort((a - b)[~np.isnan(a - b)])[::-1]
    if len(gains) == 0:
        raise ValueError("a and b must have at least one query in common; got none.")
    ax = make_axes(ax)
    share = 100 * (np.arange(len(gains)) + 0.5) / len(gains)
    shades = {"step": "mid", "linewidth": 0}
    ax.fill_between(share, np.maximum(gains, 0), color=COLOURS[0], **shades)
    ax.fill_between(share, np.minimum(gains, 0), color=COLOURS[1], **shades)
    ax.axhline(0, color="black", linewidth=0.6)
    ax.axhline(gains.mean(), color="black", linewidth=0.8, linestyle="--")
    corner = {"transform": ax.transAxes, "fontsize": 7}
    won, lost, names = np.mean(gains > 0), np.mean(gains < 0), shown(names)
    ax.text(0.03, 0.06, f"{names[0]} better: {won:.0%}", color=COLOURS[0], **corner)
    ax.text(
        0.97,
        0.94,
        f"{names[1]} better: {lost:.0%}",
        color=COLOURS[1],
        ha="right",
        va="top",
        **corner,
    )
    ax.text(0.97, 0.84, f"mean {gains.mean():+.4f} (dashed)", ha="right", va="top", **corner)
    ax.set_xlim(0, 100)
    return tidy(ax, x="% of queries", y=f"gain in {metric}")


def _square(column, row, color):
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=color, linewidth=0)


def _width(inches):
    return min(max(COLUMN, inches), 2 * COLUMN)


def _draw_scale(ax, room, low, high):
    """Draw the line of ranks, leaving room for the names; return where they end."""
    share = min(room / ax.figure.get_figwidth(), 0.42)  # of the width, on each side
    margin = (high - low) * share / (1 - 2 * share)
    ax.set_xlim(low - margin, high + margin)
    ax.plot([low, high], [0, 0], color="black", linewidth=1)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [0, -0.12], color="black", linewidth=1)
        ax.text(tick, -0.18, str(tick), ha="center", va="bottom", fontsize=7)
    return low - 0.05 * margin, high + 0.05 * margin


def _draw_ruler(ax, low, critical_difference):
    """Show how long the critical difference is."""
    ends, y = (low, low + critical_difference), -0.75
    ax.plot(ends, [y, y], color="black", linewidth=1)
    for end in ends:
        ax.plot([end, end], [y - 0.08, y + 0.08], color="black", linewidth=1)
    text = f" critical difference {critical_difference:.2f}"
    ax.text(ends[1], y, text, ha="left", va="center", fontsize=7, in_layout=False)
