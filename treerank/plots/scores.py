"""Scores: plots of a ranker's scores by label, by pair and along a sorted list."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.boundaries.neighbors import find_boundaries
from treerank.checks import check_count
from treerank.inputs.columns import taken_rows
from treerank.inputs.grouping import QueryGroups
from treerank.inspection.pair_calibration import calibration_curve, drawn_pairs
from treerank.plots.style import GRAY, legend, line_styles, make_axes, shown, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def score_histograms(
    y: ArrayLike, scores: ArrayLike, *, bins: int = 40, ax: "Axes | None" = None
) -> "Axes":
    """Draw a histogram of the scores of each label.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels; a more relevant label is darker.
    scores : array-like of shape (n_documents,)
        Scores.
    bins : int, default=40
        Number of bins.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = score_histograms([0, 0, 1, 1, 2], [0.1, 0.2, 0.6, 0.7, 1.5])
    >>> ax.get_xlabel()
    'score'
    """
    y, scores = _checked(y, scores)
    ax = make_axes(ax)
    labels = np.unique(y)
    edges = np.histogram_bin_edges(scores, bins)
    for label, color in zip(labels, label_colors(len(labels)), strict=True):
        share, _ = np.histogram(scores[y == label], edges, density=True)
        ax.stairs(share, edges, fill=True, color=color, alpha=0.25)
        ax.stairs(share, edges, color=color, linewidth=1.3, label=f"{label:g}")
    legend(ax, title="label")
    ax.set_yticks([])
    return tidy(ax, x="score", y="share of the label", grid="")


def pair_calibration(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    bins: int = 10,
    random_state: int = 0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the share of pairs in which a beats b, over the probability that the ranker predicts.

    Parameters
    ----------
    ranker : fitted ranker or dict from str to fitted ranker
        With ``predict_pair_proba``.
    X, y, qid
        Documents, labels and query ids that no ranker was fitted to.
    bins : int, default=10
        Number of bins of the probability.
    random_state : int, default=0
        Seed of the pairs that are drawn.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.datasets.synthetic import make_web_search
    >>> data, fresh = (make_web_search(100, random_state=seed) for seed in (0, 1))
    >>> ax = pair_calibration(TreeDirectRanker(random_state=0).fit(*data), *fresh)
    >>> ax.get_xlabel()
    'probability that a beats b'
    """
    check_count("random_state", random_state, at_least=0)
    ax = make_axes(ax, height=2.9)
    y = np.asarray(y, dtype=float)
    i, j = drawn_pairs(y, QueryGroups.from_qid(qid, len(y)), np.random.default_rng(random_state))
    if len(i) == 0:
        raise ValueError("y must have a query with two different labels; got none.")
    ax.plot([0, 1], [0, 1], color=GRAY, linewidth=0.8, linestyle=":")
    rankers = ranker if isinstance(ranker, dict) else {"ranker": ranker}
    labels, styles = shown(rankers), line_styles(len(rankers))
    for (name, fitted), label, style in zip(rankers.items(), labels, styles, strict=True):
        predicted = fitted.predict_pair_proba(taken_rows(X, i), taken_rows(X, j))
        if not ((predicted >= 0) & (predicted <= 1)).all():
            raise ValueError(f"predict_pair_proba must return 0 to 1; that of {name!r} does not.")
        _draw_calibration(ax, predicted, y[i] > y[j], bins, label, style)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    legend(ax)
    return tidy(ax, x="probability that a beats b", y="share of pairs where it does", grid="both")


def _draw_calibration(ax, predicted, won, bins, label, style):
    """Draw the share of pairs won over the mean predicted probability, bin by bin."""
    curve = calibration_curve(predicted, won, bins=bins)
    mean, share, n = curve.predicted, curve.won, curve.counts
    ax.plot(mean, share, linewidth=1.2, label=f"{label}: off by {curve.error:.3f}", **style)
    ax.scatter(mean, share, s=60 * n / n.max() + 4, color=style["color"], linewidth=0)


def neighbors(
    y: ArrayLike | None,
    scores: ArrayLike,
    *,
    span: int | None = None,
    n_classes: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw r along a sorted list, with its labels below and the boundaries found.

    Parameters
    ----------
    y : array-like of shape (n_documents,) or None
        Labels, for a band of colors; ``None`` draws no band.
    scores : array-like of shape (n_documents,)
        Scores of one list.
    span, n_classes
        See :func:`~treerank.boundaries.find_boundaries`.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = neighbors([0, 0, 0, 1, 1, 1], [0.0, 0.1, 0.2, 1.0, 1.1, 1.2], n_classes=2)
    >>> ax.get_xlabel()
    'place in the sorted list'
    """
    if y is not None:
        y, scores = _checked(y, scores)
    scores = np.asarray(scores, dtype=float)
    found = find_boundaries(scores, span=span, n_classes=n_classes)
    ax = make_axes(ax)
    places = np.arange(len(scores)) + 0.5
    ax.plot(places, found.r, color="black", linewidth=1)
    top = found.r.max() * 1.08
    for position in found.positions:
        ax.axvline(position, color=GRAY, linewidth=0.8, linestyle="--")
    if y is not None:
        _draw_labels(ax, np.asarray(y)[np.argsort(-scores, kind="stable")], top)
    ax.set_xlim(0, len(scores))
    step = 10 ** np.floor(np.log10(top))  # 2 to 6 ticks, none of them below 0
    step = step / 2 if top / step < 3 else 2 * step if top / step > 6 else step
    ax.set_yticks(np.arange(0, top, step))
    ax.set_ylim(-0.16 * top, top)
    return tidy(ax, x="place in the sorted list", y="r of neighbors / median")


def label_colors(n_labels: int) -> list[Any]:
    """Return colors that get darker with relevance."""
    import matplotlib

    shades = matplotlib.colormaps["viridis_r"]
    return [shades(0.12 + 0.83 * i / max(n_labels - 1, 1)) for i in range(n_labels)]


def _draw_labels(ax, y, top):
    """Draw a band of colors for labels in the order of the list, and their legend."""
    from matplotlib.patches import Patch

    labels, codes = np.unique(y, return_inverse=True)
    colors = label_colors(len(labels))
    band = (0, len(y), -0.14 * top, -0.03 * top)
    row = np.array(colors)[codes][None, :, :]
    ax.imshow(row, extent=band, aspect="auto", interpolation="none")
    patches = [Patch(color=c, label=f"{v:g}") for v, c in zip(labels, colors, strict=True)]
    legend(ax, handles=patches, title="label", handlelength=1)


def _checked(y: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores as arrays; refuse other lengths and values that are not finite."""
    y, scores = np.asarray(y, dtype=float), np.asarray(scores, dtype=float)
    if y.shape != scores.shape or y.ndim != 1 or len(y) == 0:
        raise ValueError(f"scores must be one per label; got {scores.shape} for {y.shape}.")
    for name, values in {"y": y, "scores": scores}.items():
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite; got NaN or infinity.")
    return y, scores
