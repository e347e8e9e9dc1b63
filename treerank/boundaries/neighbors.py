"""Neighbors in a sorted list: a peak of r(a, b) is the boundary between two classes.

A ranker that was trained on classes puts the documents of a class close together. Few documents
lie between two classes, so neighbors there differ much [1]_. No labels are needed, and classes
that were merged in training are found too, if the ranker separates them. Single neighbors are
noisy. So peaks are searched in r of documents that are ``span`` places apart, averaged over
``span`` places, on a logarithmic scale because the size of r varies from class to class.

References
----------
.. [1] The DirectRanker paper: Pairwise learning to rank by neural networks revisited. Section
   5.5.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

from treerank.checks import check_count, check_number
from treerank.inputs.columns import taken_rows

#: Number of spans in a list, if the user gives no span.
_N_SPANS = 40

#: Lowest r, relative to the median, of which the logarithm is taken: equal scores have r = 0.
_FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The boundaries between the classes of a sorted list.

    Parameters
    ----------
    positions : ndarray of shape (n_classes - 1,)
        Number of documents before each boundary, in the list from best to worst.
    thresholds : ndarray of shape (n_classes - 1,)
        Scores of the boundaries, rising.
    heights : ndarray of shape (n_classes - 1,)
        Factor by which r exceeds its minima on either side.
    r : ndarray of shape (n_documents,)
        Smoothed r along the list, relative to its median.

    Examples
    --------
    >>> found = find_boundaries([0, 1, 2, 3, 4, 10, 11, 12, 13, 14], n_classes=2)
    >>> found.positions, found.thresholds
    (array([5]), array([7.]))
    >>> found.classes([3, 12])
    array([0, 1])
    """

    positions: np.ndarray
    thresholds: np.ndarray
    heights: np.ndarray
    r: np.ndarray

    def classes(self, scores: ArrayLike) -> np.ndarray:
        """Return the class of each score, 0 for the lowest."""
        return np.searchsorted(self.thresholds, scores, side="right")


def compare_neighbors(ranker: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return r of each document and the next one in the list from best to worst.

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
    X = taken_rows(X, order)
    return order, ranker.compare(X[:-1], X[1:])


def find_boundaries(
    scores: ArrayLike,
    *,
    n_classes: int | None = None,
    span: int | None = None,
    least_height: float = 2.0,
) -> Boundaries:
    """Return the boundaries of a list at the peaks of r, without any label.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Scores of a ranker, in any order; the more documents, the better.
    n_classes : int, default=None
        Number of classes: the highest peaks are taken. ``None`` takes all peaks that are at least
        ``least_height`` high.
    span : int, default=None
        Number of places between the documents that are compared; ``None`` is a 40th of the list.
    least_height : float, default=2.0
        Factor by which r must rise to a peak if ``n_classes`` is not given.

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
    falling = np.sort(_check_scores(scores))[::-1]
    span = max(len(falling) // _N_SPANS, 1) if span is None else span
    _check_settings(n_classes, span, least_height, len(falling))
    r = falling[:-span] - falling[span:]
    median = np.median(r[r > 0]) if (r > 0).any() else 1.0
    logarithm = np.log(np.maximum(r / median, _FLOOR))
    logarithm = uniform_filter1d(logarithm, span, mode="nearest")
    peaks, heights = _choose_peaks(logarithm, n_classes, np.log(least_height))
    positions = peaks + (span + 1) // 2
    thresholds = (falling[positions - 1] + falling[positions]) / 2
    padding = (span // 2, span - span // 2)
    r_along_list = np.pad(np.exp(logarithm), padding, mode="edge")
    return Boundaries(positions, thresholds[::-1], np.exp(heights), r_along_list)


def _choose_peaks(logarithm, n_classes, least_height):
    """Return the positions and heights of the highest ``n_classes - 1`` or of all high peaks."""
    peaks, properties = find_peaks(logarithm, prominence=least_height if n_classes is None else 0)
    heights = properties["prominences"]
    if n_classes is None:
        return peaks, heights
    if len(peaks) < n_classes - 1:
        raise ValueError(
            f"n_classes must be at most the number of peaks plus 1, {len(peaks) + 1}; "
            f"got {n_classes}."
        )
    chosen = np.sort(np.argsort(-heights, kind="stable")[: n_classes - 1])
    return peaks[chosen], heights[chosen]


def discover_classes(
    ranker: Any,
    X: Any,
    *,
    n_classes: int | None = None,
    span: int | None = None,
    least_height: float = 2.0,
) -> np.ndarray:
    """Return the class of each document, found at the peaks of r, without any label.

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

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.feature_parts.engines.lightgbm import LightGBMTrees
    >>> X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0, 1], 20)
    >>> trees = LightGBMTrees(n_estimators=5, min_child_samples=1)
    >>> classes = discover_classes(TreeDirectRanker(trees).fit(X, y), X)
    >>> bool((classes == y).all())
    True
    """
    scores = ranker.predict(X)
    found = find_boundaries(scores, n_classes=n_classes, span=span, least_height=least_height)
    return found.classes(scores)


def _check_scores(scores: ArrayLike) -> np.ndarray:
    """Return scores as an array, if they can have a boundary."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or len(scores) < 3:
        raise ValueError(
            f"scores must be at least three in one dimension; got shape {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite; got NaN or infinity.")
    if np.ptp(scores) == 0:
        raise ValueError(f"scores must not be all the same; got {scores[0]:.4g}.")
    return scores


def _check_settings(n_classes, span, least_height, n_documents):
    if n_classes is not None:
        check_count("n_classes", n_classes, at_least=2, at_most=n_documents - 1)
    check_count("span", span, at_most=n_documents - 1)
    check_number("least_height", least_height, at_least=1)
