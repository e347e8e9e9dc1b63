r"""Boundaries of classes: where the scores of a sorted list leave a gap.

A ranker that learned classes gives documents of the same class similar scores. Few documents lie
between two classes, so :math:`r(a, b)` of neighbors in the sorted list peaks there (section 5.5 of
the DirectRanker paper). Single neighbors are noisy, so peaks are searched in the differences of
scores a ``span`` of positions apart, averaged over a span, on a logarithmic scale, since these
differences vary from class to class. The differences are taken before :math:`\tau`, which is
increasing and would only flatten large ones.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

from treerank.display.results import Shown
from treerank.display.tables import Table, column_table, counted
from treerank.documents.reading import read_documents
from treerank.parameters import Count, check_arguments
from treerank.rankers.scored import Scored
from treerank.rankers.scoring import scores_of

#: Number of spans in a list.
_N_SPANS = 40
#: Smaller differences of scores, relative to the median, are raised to this before the logarithm.
_FLOOR = 1e-3
#: If the number of classes is not given, a peak must rise by at least a factor, whose logarithm is
#: the first number; the other two were chosen so that 95 % of lists without classes have no peak,
#: with scores drawn from uniform, normal or exponential distributions.
_LEAST_HEIGHT, _NOISE, _NOISE_OF_SINGLE_GAPS = np.log(2.0), 4.7, 6.6
#: With fewer documents, no neighbors lie on either side of a peak.
_FEWEST = 4


class Peaks(NamedTuple):
    """Boundaries between classes in a list of scores.

    Attributes
    ----------
    positions, thresholds, heights, r : ndarray
        As in :class:`Boundaries`.
    """

    positions: np.ndarray
    thresholds: np.ndarray
    heights: np.ndarray
    r: np.ndarray

    def classes(self, scores: ArrayLike) -> np.ndarray:
        """Return the class of each score: how many thresholds it reaches, 0 for the lowest."""
        return np.searchsorted(self.thresholds, scores, side="right")


@dataclass(frozen=True, eq=False, repr=False)
class Boundaries(Shown):
    """Boundaries between the classes of documents that a ranker has sorted.

    It is a classifier: ``predict(X)`` returns the classes of any documents.

    Attributes
    ----------
    ranker : fitted ranker
        Its scores are compared with the thresholds.
    positions : ndarray of shape (n_classes - 1,)
        Number of documents before each boundary, best first.
    thresholds : ndarray of shape (n_classes - 1,)
        Lowest score of each class but class 0, ascending.
    heights : ndarray of shape (n_classes - 1,)
        Factor by which r rises to the peak at each position.
    r : ndarray of shape (n_documents,)
        Smoothed r along the list, best first, relative to its median.
    classes : ndarray of shape (n_documents,)
        Class of each row of ``X``; 0 is the class of the lowest scores.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> X = np.concatenate([np.linspace(0, 1, 100), np.linspace(3, 4, 100)])[:, None]
    >>> ranker = TreeDirectRanker("linear").fit(X, np.repeat([0, 1], 100))
    >>> found = boundaries(ranker, X)
    >>> found.positions, found.predict([[0.5], [3.5]])
    (array([100]), array([0, 1]))
    """

    ranker: Scored
    positions: np.ndarray
    thresholds: np.ndarray
    heights: np.ndarray
    r: np.ndarray
    classes: np.ndarray

    def _shown(self) -> Table:
        documents = counted(len(self.classes), "document")
        title = f"{counted(len(self.positions) + 1, 'class', 'classes')} of {documents}."
        columns = {"documents before": self.positions, "rise of r": self.heights}
        return column_table(title, columns)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each document; 0 is the class of the lowest scores."""
        return np.searchsorted(self.thresholds, self.ranker.predict(X), side="right")


@check_arguments
def boundaries(ranker: Scored, X: Any, n_classes: Count | None = None) -> Boundaries:
    """Find the classes of documents at the peaks of r between neighbors in the sorted list.

    No labels are needed: a ranker that gives the documents of a class similar scores leaves gaps
    between classes. Classes that were merged in training can be found, too, as far as the ranker
    separates them; compare such sub-classes with chance before you rely on them.

    Parameters
    ----------
    ranker : ranker
        A fitted ranker.
    X : array-like, data frame or sparse matrix of shape (n_documents, n_features)
        Documents, which make a single list. The scores of a ranker that compares documents within
        queries mean little across queries: give it the documents of one query.
    n_classes : int, default=None
        Number of classes: the highest peaks are taken. ``None`` takes each peak at which r is
        twice as high as around it, and higher than by chance. Without any, all documents are of a
        single class. Among fewer than 80 documents chance makes high peaks: give a number.

    Returns
    -------
    Boundaries

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> X = np.concatenate([np.linspace(0, 1, 100), np.linspace(3, 4, 100)])[:, None]
    >>> ranker = TreeDirectRanker("linear").fit(X, np.repeat([0, 1], 100))
    >>> np.bincount(boundaries(ranker, X, n_classes=2).classes)
    array([100, 100])
    """
    scores = scores_of(ranker, read_documents(ranker, X)[0])
    peaks = find_peaks_of_r(scores, n_classes=n_classes)
    return Boundaries(ranker, *peaks, classes=peaks.classes(scores))


def find_peaks_of_r(scores: ArrayLike, *, n_classes: int | None = None) -> Peaks:
    """Return the boundaries between classes in a list of scores, which may be in any order.

    ``n_classes`` is as in :func:`boundaries`.

    Examples
    --------
    >>> find_peaks_of_r([0, 1, 2, 3, 10, 11, 12, 13], n_classes=2).thresholds
    array([6.5])
    """
    falling = np.sort(np.asarray(scores, dtype=np.float64))[::-1]
    if len(falling) < _FEWEST and (n_classes is None or n_classes > 1):
        raise ValueError(f"X must have at least {_FEWEST} documents; got {len(falling)}.")
    span = max(len(falling) // _N_SPANS, 1)
    exponent = int(np.frexp(np.abs(falling).max(initial=0))[1])
    scaled = np.ldexp(falling, -exponent)  # exact, and no difference overflows
    r = scaled[:-span] - scaled[span:]
    median = np.median(r[r > 0]) if (r > 0).any() else 1.0
    logarithm = np.log(np.maximum(r / median, _FLOOR))
    logarithm = uniform_filter1d(logarithm, span, mode="nearest") if len(r) else logarithm
    cuts = np.flatnonzero(falling[:-1] > falling[1:]) + 1  # equal scores are of one class
    positions, heights = _peaks(logarithm, cuts, span)
    if n_classes is None:
        noise = _NOISE / np.sqrt(span) if span > 1 else _NOISE_OF_SINGLE_GAPS
        chosen = heights >= max(_LEAST_HEIGHT, noise)
    elif len(positions) < n_classes - 1:
        raise ValueError(
            f"n_classes must be at most {len(positions) + 1}, one more than the number of peaks of "
            f"r between {len(falling)} documents; got {n_classes}."
        )
    else:
        chosen = np.sort(np.argsort(-heights, kind="stable")[: n_classes - 1])
    positions, heights = positions[chosen], heights[chosen]
    mode: Any = "edge" if len(r) else "constant"
    along = np.pad(np.exp(logarithm), (span // 2, span - span // 2), mode=mode)[: len(falling)]
    return Peaks(positions, _thresholds(falling, positions), np.exp(heights), along)


def _peaks(logarithm, cuts, span):
    """Return ``(positions, heights)`` of the peaks of a smoothed curve.

    ``logarithm`` is the logarithm of the curve, ``cuts`` are the positions at which a list may be
    cut, and ``span`` is the number of positions over which the curve is smoothed. Each peak is
    moved to the nearest cut; of two at one cut, the higher one counts. Heights are logarithms, too.
    """
    peaks, properties = find_peaks(logarithm, prominence=0)
    if len(cuts) == 0 or len(peaks) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0)
    middle = peaks + (span + 1) // 2
    after = np.searchsorted(cuts, middle).clip(max=len(cuts) - 1)
    before = (after - 1).clip(min=0)
    nearest = np.where(cuts[after] - middle < middle - cuts[before], after, before)
    nearest = np.where(cuts[after] == middle, after, nearest)
    # Of two peaks at one cut, the higher one counts.
    order = np.lexsort((-properties["prominences"], nearest))
    first = np.append(True, np.diff(nearest[order]) > 0)
    return cuts[nearest[order][first]], properties["prominences"][order][first]


def _thresholds(falling, positions):
    """Return the threshold of each boundary, ascending, in the middle of the gap of scores.

    ``falling`` are the sorted scores. A threshold is above the lower of the two scores.
    """
    upper, lower = falling[positions - 1], falling[positions]
    return np.maximum(upper / 2 + lower / 2, np.nextafter(lower, np.inf))[::-1]
