"""Curves: NDCG@k over k.

To add a plot, take ``ax=None``, draw on ``make_axes(ax)`` and return the Axes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_count
from treerank.metrics.graded_metrics import NDCG
from treerank.plots.style import check_named, legend, line_styles, make_axes, shown, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def ndcg_over_k(
    y: ArrayLike,
    scores: Mapping[str, ArrayLike],
    qid: ArrayLike | None = None,
    *,
    k_max: int = 20,
    errors: bool = True,
    ax: "Axes | None" = None,
    **settings: Any,
) -> "Axes":
    """Draw mean NDCG@k over k.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels.
    scores : dict from str to array-like of shape (n_documents,)
        Scores of each ranker.
    qid : array-like of shape (n_documents,), default=None
        Query ids.
    k_max : int, default=20
        Largest k.
    errors : bool, default=True
        Whether to shade the standard error over queries.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.
    **settings
        Settings of :class:`~treerank.metrics.NDCG`.

    Examples
    --------
    >>> ax = ndcg_over_k([0, 1, 2, 1], {"trees": [0.1, 0.3, 0.2, 0.4]}, k_max=3)
    >>> ax.lines[0].get_xdata()
    array([1, 2, 3])
    """
    check_named("scores", scores)
    check_count("k_max", k_max)
    ks = np.arange(1, k_max + 1)
    tables = []
    for values in scores.values():
        table = np.array([NDCG(k=int(k), **settings).per_query(y, values, qid) for k in ks])
        tables.append(table[:, ~np.isnan(table[0])])
        if tables[-1].size == 0:
            raise ValueError("y must have a query with a relevant document; got none.")
    ax = make_axes(ax)
    styles = line_styles(len(tables))
    for label, table, style in zip(shown(scores), tables, styles, strict=True):
        mean = table.mean(axis=1)
        ax.plot(ks, mean, label=label, linewidth=1.4, **style)
        if errors and table.shape[1] > 1:
            error = table.std(axis=1, ddof=1) / np.sqrt(table.shape[1])
            bounds = mean - error, mean + error
            ax.fill_between(ks, *bounds, color=style["color"], alpha=0.15, linewidth=0)
    ax.set_xlim(1, max(k_max, 2))
    ax.set_xticks([1, *range(5, k_max + 1, 5)])
    legend(ax)
    return tidy(ax, x="k", y="NDCG@k")
