"""Neighbors in a sorted list: a peak of r(a, b) is the boundary between two classes.

A ranker that was trained on classes puts the documents of a class close together. Few documents
lie between two classes, so neighbors there differ much (section 5.5 of the DirectRanker paper). No
labels are needed, and classes that were merged in training are found too, if the ranker separates
them. Single neighbors are noisy. So peaks are searched in r of documents that are ``span`` places
apart, averaged over ``span`` places, on a logarithmic scale because the size of r varies from class
to class.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

#: Number of spans in a list.
_N_SPANS = 40
#: Lowest r, relative to the median, of which the logarithm is taken: equal scores have r = 0.
_FLOOR = 1e-3
#: Factor by which r must rise to a peak if the number of classes is not given.
_LEAST_HEIGHT = 2.0


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The boundaries between the classes of a sorted list.

    ``positions`` are the numbers of documents before each boundary, best first; ``thresholds`` are
    the scores of the boundaries, rising; ``r`` is smoothed along the list, relative to its median.
    """

    positions: np.ndarray
    thresholds: np.ndarray
    r: np.ndarray

    def classes(self, scores):
        """Return the class of each score, 0 for the lowest."""
        return np.searchsorted(self.thresholds, scores, side="right")


def find_boundaries(scores, *, n_classes=None):
    """Return the boundaries at the highest peaks of r, or at all that are high."""
    falling = np.sort(scores)[::-1]
    span = max(len(falling) // _N_SPANS, 1)
    r = falling[:-span] - falling[span:]
    median = np.median(r[r > 0]) if (r > 0).any() else 1.0
    logarithm = np.log(np.maximum(r / median, _FLOOR))
    logarithm = uniform_filter1d(logarithm, span, mode="nearest")
    positions = _peaks(logarithm, n_classes) + (span + 1) // 2
    thresholds = (falling[positions - 1] + falling[positions]) / 2
    padding = (span // 2, span - span // 2)
    return Boundaries(positions, thresholds[::-1], np.pad(np.exp(logarithm), padding, mode="edge"))


def _peaks(logarithm, n_classes):
    """Return the positions of the highest ``n_classes - 1`` peaks, or of all high ones."""
    least = np.log(_LEAST_HEIGHT) if n_classes is None else 0
    peaks, properties = find_peaks(logarithm, prominence=least)
    if n_classes is None:
        return peaks
    if len(peaks) < n_classes - 1:
        raise ValueError(f"n_classes must be at most {len(peaks) + 1}; got {n_classes}.")
    heights = properties["prominences"]
    return peaks[np.sort(np.argsort(-heights, kind="stable")[: n_classes - 1])]
