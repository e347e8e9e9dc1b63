"""Curves: a metric over iterations, over the size of the training set, or over k.

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


def learning_curves(
    curves: Mapping[str, Any],
    *,
    metric: str = "ndcg@10",
    x: str = "iteration",
    mark_best: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a metric over iterations, or over the size of the training set.

    Parameters
    ----------
    curves : dict from str to array-like, tuple, or fitted ranker
        By name, one of: values from iteration 1 on; ``(x, values)``; ``(x, values, errors)``; a
        ranker fitted with an ``eval_set``.
    metric : str, default="ndcg@10"
        Label of the values.
    x : str, default="iteration"
        Label of the horizontal axis. It is logarithmic if it spans more than a factor of 50 and
        is not the iteration.
    mark_best : bool, default=True
        Whether to mark the highest value.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.

    Examples
    --------
    >>> ax = learning_curves({"trees": [0.3, 0.4, 0.45, 0.44]})
    >>> ax.get_ylabel()
    'ndcg@10'
    """
    check_named("curves", curves)
    found = {name: _as_curve(curve, name) for name, curve in curves.items()}
    ax = make_axes(ax)
    styles = line_styles(len(found))
    for label, (places, values, errors), style in zip(
        shown(found), found.values(), styles, strict=True
    ):
        ax.plot(places, values, label=label, linewidth=1.4, **style)
        if errors is not None:
            bounds = values - errors, values + errors
            ax.fill_between(places, *bounds, color=style["color"], alpha=0.15, linewidth=0)
        if mark_best:
            best = np.nanargmax(values)
            ax.plot(places[best], values[best], "o", color=style["color"], markersize=4)
    spans = [places.max() / max(places.min(), 1e-12) for places, _, _ in found.values()]
    if x == "iteration":
        ax.locator_params(axis="x", integer=True)
    elif max(spans) > 50:
        ax.set_xscale("log")
    legend(ax)
    return tidy(ax, x=x, y=metric)


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
    array([1., 2., 3.])
    """
    check_named("scores", scores)
    check_count("k_max", k_max)
    ks = np.arange(1, k_max + 1)
    curves = {}
    for name, values in scores.items():
        table = np.array([NDCG(k=int(k), **settings).per_query(y, values, qid) for k in ks])
        table = table[:, ~np.isnan(table[0])]
        if table.size == 0:
            raise ValueError("y must have a query with a relevant document; got none.")
        error = table.std(axis=1, ddof=1) / np.sqrt(table.shape[1]) if table.shape[1] > 1 else None
        curves[name] = (ks, table.mean(axis=1), error) if errors else (ks, table.mean(axis=1))
    ax = learning_curves(curves, metric="NDCG@k", x="k", mark_best=False, ax=ax)
    ax.set_xscale("linear")
    ax.set_xlim(1, max(k_max, 2))
    ax.set_xticks([1, *range(5, k_max + 1, 5)])
    return ax


def _as_curve(curve, name):
    """Return the places, the values and the errors of a curve."""
    if hasattr(curve, "evals_result_"):
        curve = _history(curve.evals_result_, name)
    if not isinstance(curve, tuple):
        curve = (np.arange(1, len(curve) + 1), curve)
    places, values, errors = (*curve, None)[:3]
    places, values = np.asarray(places, dtype=float), np.asarray(values, dtype=float)
    if places.shape != values.shape or values.size == 0:
        raise ValueError(
            f"curves must have as many values as places; got {places.shape} and {values.shape} "
            f"for {name!r}."
        )
    if np.isnan(values).all():
        raise ValueError(f"curves must have a value that is not NaN; got none for {name!r}.")
    return places, values, None if errors is None else np.asarray(errors, dtype=float)


def _history(evals_result, name):
    """Return the values of a fitted ranker by iteration."""
    if not evals_result:
        raise ValueError(
            f"curves must be of rankers fitted with an eval_set; {name!r} was fitted without."
        )
    return next(iter(next(iter(evals_result.values())).values()))
