"""Curves: a value over iterations, over k, over the size of a model."""

from collections.abc import Mapping

import numpy as np

from treerank.checks import check_count
from treerank.metrics.ndcg import NDCG
from treerank.plots.style import GREY, legend, line_styles, make_axes, shown, tidy


def learning_curves(curves, *, metric="ndcg@10", x="iteration", mark_best=True, ax=None):
    """Draw a metric over iterations, or over the size of the training set.

    Parameters
    ----------
    curves : dict from str to array-like, tuple, or fitted ranker
        By name: values from iteration 1 on; or ``(x, values)`` or ``(x, values, errors)``; or a
        ranker fitted with an ``eval_set``.
    metric : str, default="ndcg@10"
        What the values are.
    x : str, default="iteration"
        What they are over; a logarithmic axis where it spans more than a factor of 50 and is
        no iteration.
    mark_best : bool, default=True
        Whether to mark the highest value.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = learning_curves({"trees": [0.3, 0.4, 0.45, 0.44]})
    >>> ax.get_ylabel()
    'ndcg@10'
    """
    _check_named(curves, "curves")
    found = {name: _as_curve(curve, name) for name, curve in curves.items()}
    ax = make_axes(ax)
    widest = 1.0
    for label, curve, look in zip(
        shown(found), found.values(), line_styles(len(found)), strict=True
    ):
        places, values, errors = curve
        ax.plot(places, values, label=label, linewidth=1.4, **look)
        if errors is not None:
            bounds = (values - errors, values + errors)
            ax.fill_between(places, *bounds, color=look["color"], alpha=0.15, linewidth=0)
        if mark_best:
            best = np.nanargmax(values)
            ax.plot(places[best], values[best], "o", color=look["color"], markersize=4)
        widest = max(widest, places.max() / max(places.min(), 1e-12))
    if widest > 50 and x != "iteration":
        ax.set_xscale("log")
    legend(ax)
    return tidy(ax, x=x, y=metric)


def ndcg_over_k(y, scores, qid=None, *, k_max=20, errors=True, ax=None, **policies):
    """Draw mean NDCG@k over k.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels.
    scores : dict from str to array-like of shape (n_documents,)
        By ranker.
    qid : array-like of shape (n_documents,), default=None
        Queries.
    k_max : int, default=20
        Last k.
    errors : bool, default=True
        Whether to shade the standard error over queries.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.
    **policies
        Of :class:`~treerank.metrics.NDCG`.

    Returns
    -------
    Axes
    """
    _check_named(scores, "scores")
    check_count("k_max", k_max)
    ks = np.arange(1, k_max + 1)
    curves = {}
    for name, values in scores.items():
        table = np.array([NDCG(k=int(k), **policies).per_query(y, values, qid) for k in ks])
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


def size_path(sizes, values, *, errors=None, chosen=None, size="trees", metric="ndcg@10", ax=None):
    """Draw a metric over the size of a model: trees grown, or what pruning left of them.

    Parameters
    ----------
    sizes : array-like of shape (n_models,)
        Number of trees, leaves or weights; on a logarithmic axis.
    values : array-like of shape (n_models,)
        Metric of each model.
    errors : array-like of shape (n_models,), default=None
        Standard errors; shaded.
    chosen : float, default=None
        Size to mark.
    size, metric : str
        Names of the axes.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

    Returns
    -------
    Axes
    """
    sizes, values = np.asarray(sizes, dtype=float), np.asarray(values, dtype=float)
    if sizes.shape != values.shape or sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"values must be one per size; got {values.shape} for {sizes.shape}.")
    ax = make_axes(ax)
    order = np.argsort(sizes)
    (look,) = line_styles(1)
    ax.plot(sizes[order], values[order], marker="o", markersize=3, linewidth=1.4, **look)
    if errors is not None:
        spread = np.asarray(errors, dtype=float)[order]
        bounds = (values[order] - spread, values[order] + spread)
        ax.fill_between(sizes[order], *bounds, color=look["color"], alpha=0.15, linewidth=0)
    if chosen is not None:
        value = values[np.argmin(np.abs(sizes - chosen))]
        ax.axvline(chosen, color=GREY, linewidth=0.8, linestyle=":")
        label = f"{chosen:g}: {value:.3f}"
        offset = {"xytext": (4, 4), "textcoords": "offset points"}
        ax.annotate(label, (chosen, ax.get_ylim()[0]), fontsize=7, color=GREY, **offset)
    if (sizes > 0).all():
        ax.set_xscale("log")
    return tidy(ax, x=size, y=metric)


def _check_named(given, name):
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"{name} must be a dict by name of ranker; got {type(given)}.")


def _as_curve(curve, name):
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
    if not evals_result:
        raise ValueError(
            f"curves must be of rankers fitted with an eval_set; {name!r} was fitted without."
        )
    return next(iter(next(iter(evals_result.values())).values()))
