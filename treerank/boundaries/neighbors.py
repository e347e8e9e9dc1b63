"""Neighbors in a sorted list: where r(a, b) peaks, one class ends and the next begins.

A ranker that was trained on classes puts their documents close together, so that few documents
lie between two classes and neighbors there differ much [1]_. That needs no labels, and it shows
classes that were merged in training, as far as the ranker keeps them apart. Single neighbors are
noisy: peaks are sought in r of documents ``span`` places apart, averaged over as many places, on
a logarithmic scale, since r within a class may be of any size.

References
----------
.. [1] The DirectRanker paper: Pairwise learning to rank by neural networks revisited. Section
   5.5.
"""

import numbers
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

#: Share of the list that a span covers.
_SPANS = 40

#: What is smaller than this share of the usual r counts as that: equal scores have no logarithm.
_FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Where the classes of a sorted list end.

    Attributes
    ----------
    positions : ndarray of shape (n_classes - 1,)
        Number of documents before each boundary, in the list from best to worst.
    thresholds : ndarray of shape (n_classes - 1,)
        Scores of the boundaries, rising.
    heights : ndarray of shape (n_classes - 1,)
        By what factor r rises there over what it falls to on either side.
    r : ndarray of shape (n_documents,)
        Smoothed r along the list, relative to its median.
    """

    positions: np.ndarray
    thresholds: np.ndarray
    heights: np.ndarray
    r: np.ndarray

    def classes(self, scores):
        """Return the class of each score, 0 for the lowest."""
        return np.searchsorted(self.thresholds, scores, side="right")


def compare_neighbors(ranker, X):
    """Return r of each document and the next one, in the list sorted from best to worst.

    Parameters
    ----------
    ranker : fitted ranker
        With ``predict`` and ``compare``.
    X : array-like of shape (n_documents, n_features)
        Documents of one list.

    Returns
    -------
    order : ndarray of shape (n_documents,)
        Rows from best to worst.
    r : ndarray of shape (n_documents - 1,)
        r(order[i], order[i + 1]), never negative.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.feature_parts.engines.lightgbm import LightGBMTrees
    >>> X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0, 1], 20)
    >>> trees = LightGBMTrees(n_estimators=5, min_child_samples=1)
    >>> order, r = compare_neighbors(TreeDirectRanker(trees).fit(X, y), X)
    >>> int(np.argmax(r))
    19
    """
    order = np.argsort(-ranker.predict(X), kind="stable")
    X = X.iloc[order] if hasattr(X, "iloc") else np.asarray(X)[order]
    return order, ranker.compare(X[:-1], X[1:])


def find_boundaries(scores, *, n_classes=None, span=None, least_height=2.0):
    """Find the classes of a list by the peaks of r, without any label.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        What the ranker predicts, in any order; the more documents, the better.
    n_classes : int, default=None
        Number of classes; takes the highest peaks. ``None`` takes all that are high enough.
    span : int, default=None
        Places between the documents that are compared; ``None`` is a 40th of the list.
    least_height : float, default=2.0
        Factor by which r must rise to a peak where ``n_classes`` is not given.

    Returns
    -------
    Boundaries

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = np.concatenate([rng.normal(mean, 0.3, 200) for mean in (0, 2, 4)])
    >>> find_boundaries(scores).thresholds.round().tolist()
    [1.0, 3.0]
    """
    falling = np.sort(_checked_scores(scores))[::-1]
    span = max(len(falling) // _SPANS, 1) if span is None else span
    _check_settings(n_classes, span, least_height, len(falling))
    r = falling[:-span] - falling[span:]
    usual = np.median(r[r > 0]) if (r > 0).any() else 1.0
    logarithm = np.log(np.maximum(r / usual, _FLOOR))
    logarithm = uniform_filter1d(logarithm, span, mode="nearest")
    wanted = 0 if n_classes is not None else np.log(least_height)
    peaks, about = find_peaks(logarithm, prominence=wanted)
    heights = about["prominences"]
    if n_classes is not None:
        chosen = np.sort(np.argsort(-heights, kind="stable")[: n_classes - 1])
        peaks, heights = peaks[chosen], heights[chosen]
        if len(peaks) < n_classes - 1:
            raise ValueError(
                f"n_classes must be at most the number of peaks and 1, {len(peaks) + 1}; "
                f"got {n_classes}."
            )
    positions = peaks + (span + 1) // 2
    thresholds = (falling[positions - 1] + falling[positions]) / 2
    padding = (span // 2, span - span // 2)
    along = np.pad(np.exp(logarithm), padding, mode="edge")
    return Boundaries(positions, thresholds[::-1], np.exp(heights), along)


def discover_classes(ranker, X, *, n_classes=None, span=None, least_height=2.0):
    """Group documents by the peaks of r, without any label.

    Parameters
    ----------
    ranker : fitted ranker
        With ``predict``.
    X : array-like of shape (n_documents, n_features)
        Documents of one list.
    n_classes, span, least_height
        See :func:`find_boundaries`.

    Returns
    -------
    ndarray of shape (n_documents,)
        Class of each row, 0 for the least relevant.
    """
    scores = ranker.predict(X)
    options = {"n_classes": n_classes, "span": span, "least_height": least_height}
    return find_boundaries(scores, **options).classes(scores)


def _checked_scores(scores):
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or len(scores) < 3:
        raise ValueError(f"scores must be at least three in a row; got shape {scores.shape}.")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite; got NaN or infinity.")
    if np.ptp(scores) == 0:
        raise ValueError(f"scores must not be all the same; got {scores[0]:.4g}.")
    return scores


def _check_settings(n_classes, span, least_height, n_documents):
    for name, value, lowest in (("n_classes", n_classes, 2), ("span", span, 1)):
        is_whole = isinstance(value, numbers.Integral)
        if value is not None and (not is_whole or not lowest <= value < n_documents):
            raise ValueError(
                f"{name} must be an integer from {lowest} to below {n_documents}, the number of "
                f"documents; got {value!r}."
            )
    if not least_height >= 1:
        raise ValueError(f"least_height must be at least 1; got {least_height!r}.")
