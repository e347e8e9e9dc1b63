"""Pair calibration: how often a beats b where a ranker predicts it with some probability."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column
from treerank.inputs.grouping import QueryGroups
from treerank.parameters import Count, check_arguments

#: Number of pairs that are drawn; those of equal labels are dropped.
N_DRAWN = 200_000


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Shares of pairs in which a beats b, by predicted probability.

    Parameters
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean predicted probability of the pairs of a bin.
    won : ndarray of shape (n_bins,)
        Share of these pairs in which a is the more relevant document.
    counts : ndarray of shape (n_bins,)
        Number of pairs of each bin; bins without pairs are left out.

    Examples
    --------
    >>> curve = CalibrationCurve(np.array([0.2, 0.8]), np.array([0.3, 0.7]), np.array([10, 10]))
    >>> round(curve.error, 3)
    0.1
    """

    predicted: np.ndarray
    won: np.ndarray
    counts: np.ndarray

    @property
    def error(self) -> float:
        """Mean absolute difference of the two, each bin weighed by its pairs."""
        gaps = self.counts * np.abs(self.won - self.predicted)
        return float(np.sum(gaps) / self.counts.sum())


@check_arguments
def calibration_curve(
    predicted: ArrayLike, won: ArrayLike, *, bins: Count = 10
) -> CalibrationCurve:
    """Return the shares of pairs won, in bins of the predicted probability.

    Parameters
    ----------
    predicted : array-like of shape (n_pairs,)
        Probabilities, by ``predict_pair_proba``, that a beats b.
    won : array-like of shape (n_pairs,)
        Whether a is the more relevant document.
    bins : int, default=10
        Number of bins.

    Examples
    --------
    >>> calibration_curve([0.1, 0.2, 0.9, 0.7], [0, 1, 1, 1], bins=2).won
    array([0.5, 1. ])
    """
    predicted = check_column("predicted", predicted)
    won = check_column("won", won)
    if len(predicted) != len(won):
        raise ValueError(
            f"won must have one entry per entry of predicted; got {len(won)} for {len(predicted)}."
        )
    if predicted.min() < 0 or predicted.max() > 1:
        raise ValueError(
            f"predicted must be 0 to 1; got {predicted.min():g} to {predicted.max():g}."
        )
    places = np.minimum((predicted * bins).astype(int), bins - 1)
    counts = np.bincount(places, minlength=bins)
    used = counts > 0
    n = counts[used]
    share = np.bincount(places, won, minlength=bins)[used] / n
    mean = np.bincount(places, predicted, minlength=bins)[used] / n
    return CalibrationCurve(mean, share, n)


def drawn_pairs(
    y: np.ndarray, groups: QueryGroups, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw random pairs of different labels within queries, each in a random order.

    Examples
    --------
    >>> groups = QueryGroups.from_qid([0, 0, 1])
    >>> i, j = drawn_pairs(np.array([1.0, 0.0, 5.0]), groups, np.random.default_rng(0))
    >>> sorted({*zip(i.tolist(), j.tolist())})
    [(0, 1), (1, 0)]
    """
    first = rng.integers(groups.n_documents, size=N_DRAWN)
    query = groups.codes[groups.order[first]]
    second = groups.indptr[query] + rng.integers(groups.sizes[query])
    i, j = groups.order[first], groups.order[second]
    different = y[i] != y[j]
    return i[different], j[different]
