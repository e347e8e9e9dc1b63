"""Documents: what a ranker's scores look like, by label, by pair and along a list."""

import numpy as np

from treerank.boundaries.neighbors import find_boundaries
from treerank.inputs.grouping import QueryGroups
from treerank.plots.style import GREY, legend, line_styles, make_axes, shown, tidy

#: Pairs of documents that a calibration curve looks at, at most.
_PAIRS = 200_000


def score_histograms(y, scores, *, bins=40, ax=None):
    """Draw how the scores of each label are spread.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels; the more relevant, the darker.
    scores : array-like of shape (n_documents,)
        Scores.
    bins : int, default=40
        Number of bins.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

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
    legend(ax, title="label", title_fontsize=7)
    ax.set_yticks([])
    return tidy(ax, x="score", y="share of the label", grid="")


def pair_calibration(ranker, X, y, qid=None, *, bins=10, random_state=0, ax=None):
    """Draw how often one document beats another, over how often the ranker says so.

    Parameters
    ----------
    ranker : fitted ranker or dict from str to fitted ranker
        With ``predict_pair_proba``.
    X, y, qid
        Documents that no ranker was fitted to.
    bins : int, default=10
        Number of bins of the probability.
    random_state : int, default=0
        Seed of the pairs, where there are too many.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

    Returns
    -------
    Axes
    """
    ax = make_axes(ax, height=2.9)
    y = np.asarray(y, dtype=float)
    i, j = _pairs(y, QueryGroups.from_qid(qid, len(y)), np.random.default_rng(random_state))
    if len(i) == 0:
        raise ValueError("y must have a query with two different labels; got none.")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    rankers = ranker if isinstance(ranker, dict) else {"ranker": ranker}
    labels, looks = shown(rankers), line_styles(len(rankers))
    for (name, fitted), label, look in zip(rankers.items(), labels, looks, strict=True):
        said = fitted.predict_pair_proba(_rows(X, i), _rows(X, j))
        if not ((said >= 0) & (said <= 1)).all():
            raise ValueError(f"predict_pair_proba must return 0 to 1; that of {name!r} does not.")
        place = np.minimum((said * bins).astype(int), bins - 1)
        n = np.bincount(place, minlength=bins)
        drawn = n > 0
        was = np.bincount(place, y[i] > y[j], minlength=bins)[drawn] / n[drawn]
        mean = np.bincount(place, said, minlength=bins)[drawn] / n[drawn]
        off = np.sum(n[drawn] * np.abs(was - mean)) / len(i)
        ax.plot(mean, was, linewidth=1.2, label=f"{label}: off by {off:.3f}", **look)
        ax.scatter(mean, was, s=60 * n[drawn] / n.max() + 4, color=look["color"], linewidth=0)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    legend(ax, loc="upper left")
    return tidy(ax, x="probability that a beats b", y="share of pairs where it does", grid="both")


def neighbors(y, scores, *, span=None, n_classes=None, ax=None):
    """Draw r along a sorted list, with the labels behind it and the boundaries it shows.

    Parameters
    ----------
    y : array-like of shape (n_documents,) or None
        Labels, to color the list by; ``None`` where there are none.
    scores : array-like of shape (n_documents,)
        Scores of one list.
    span, n_classes
        See :func:`~treerank.boundaries.find_boundaries`.
    ax : Axes, default=None
        Where to draw; ``None`` makes a figure.

    Returns
    -------
    Axes
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
        ax.axvline(position, color=GREY, linewidth=0.8, linestyle="--")
    if y is not None:
        falling = np.argsort(-scores, kind="stable")
        labels, codes = np.unique(y[falling], return_inverse=True)
        band = (0, len(scores), -0.14 * top, -0.03 * top)
        ax.imshow(_color_row(codes, len(labels)), extent=band, aspect="auto", interpolation="none")
        _name_labels(ax, labels)
    ax.set_xlim(0, len(scores))
    step = 10 ** np.floor(np.log10(top))  # 2 to 6 ticks, none of them below 0
    step = step / 2 if top / step < 3 else 2 * step if top / step > 6 else step
    ax.set_yticks(np.arange(0, top, step))
    ax.set_ylim(-0.16 * top, top)
    return tidy(ax, x="place in the sorted list", y="r of neighbors / median")


def label_colors(n_labels):
    """Return colors that get darker with relevance."""
    import matplotlib

    shades = matplotlib.colormaps["viridis_r"]
    return [shades(0.12 + 0.83 * i / max(n_labels - 1, 1)) for i in range(n_labels)]


def _name_labels(ax, labels):
    from matplotlib.patches import Patch

    colors = label_colors(len(labels))
    patches = [Patch(color=c, label=f"{v:g}") for v, c in zip(labels, colors, strict=True)]
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": len(labels)}
    legend(ax, handles=patches, title="label", title_fontsize=7, handlelength=1, **place)


def _color_row(codes, n_labels):
    return np.array(label_colors(n_labels))[codes][None, :, :]


def _pairs(y, groups, rng):
    """Draw pairs of different labels within queries, each in a random order of its two."""
    first = rng.integers(groups.n_documents, size=_PAIRS)
    query = groups.codes[groups.order[first]]
    second = groups.indptr[query] + rng.integers(groups.sizes[query])
    i, j = groups.order[first], groups.order[second]
    different = y[i] != y[j]
    return i[different], j[different]


def _rows(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def _checked(y, scores):
    y, scores = np.asarray(y, dtype=float), np.asarray(scores, dtype=float)
    if y.shape != scores.shape or y.ndim != 1 or len(y) == 0:
        raise ValueError(f"scores must be one per label; got {scores.shape} for {y.shape}.")
    for name, values in {"y": y, "scores": scores}.items():
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite; got NaN or infinity.")
    return y, scores
