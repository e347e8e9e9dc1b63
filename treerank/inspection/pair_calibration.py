"""Calibration of pair probabilities: how often a beats b, by the predicted probability."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, refuse_where
from treerank.display.charts import Curve, Curves
from treerank.display.results import Shown
from treerank.display.tables import Table, counted
from treerank.documents.queries import ByRow, QueryGroups
from treerank.parameters import Count, check_arguments

#: Number of pairs that are drawn; pairs of equal labels are dropped.
N_DRAWN = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(Shown):
    """Calibration curve: the share of pairs in which a beats b, by predicted probability.

    Parameters
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean predicted probability of the pairs of a bin.
    won : ndarray of shape (n_bins,)
        Share of these pairs in which a is the more relevant document.
    counts : ndarray of shape (n_bins,)
        Number of pairs of each bin; empty bins are dropped.
    interval : ndarray of shape (2, n_bins)
        Lower and upper ends of 95 % confidence intervals of ``won``, over queries.

    Examples
    --------
    >>> round(calibration_curve([0.2, 0.2, 0.2, 0.2, 0.8], [1, 0, 0, 0, 1]).error, 2)
    0.08
    """

    predicted: np.ndarray
    won: np.ndarray
    counts: np.ndarray
    interval: np.ndarray

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |won - predicted|, weighted by pairs."""
        gaps = self.counts * np.abs(self.won - self.predicted)
        return float(np.sum(gaps) / self.counts.sum()) if len(gaps) else float("nan")

    def chart(self) -> Curves:
        """Return the reliability diagram, as :meth:`plot` shows it."""
        curve = Curve("calibration", self.predicted, self.won, *self.interval)
        return Curves(
            (curve,),
            x="predicted probability that a beats b",
            y="share of pairs in which it does",
            are_shares=True,
            title=f"Calibration (expected calibration error {self.error:.3f})",
        )

    @check_arguments
    def plot(self, ax: Any = None) -> Any:
        """Plot the reliability diagram with 95 % confidence intervals; needs Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart().plot(ax)

    def _shown(self) -> Table:
        pairs = counted(int(self.counts.sum()), "pair")
        title = f"Calibration of {pairs}: expected calibration error {self.error:.4f}."
        columns = [self.predicted, self.won, *self.interval, self.counts]
        header = ["predicted", "won", "low", "high", "pairs"]
        return Table(title, header, list(zip(*columns, strict=True)))


@check_arguments
def calibration_curve(
    predicted: ArrayLike, won: ArrayLike, qid: ByRow = None, *, bins: Count = 10
) -> CalibrationCurve:
    """Return the calibration curve of predicted pair probabilities.

    Parameters
    ----------
    predicted : array-like of shape (n_pairs,)
        Probabilities, by ``predict_pair_proba``, that a beats b.
    won : array-like of shape (n_pairs,)
        Whether a is the more relevant document.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair, for the intervals; ``None`` is one query for each pair.
    bins : int, default=10
        Number of bins.

    Examples
    --------
    >>> curve = calibration_curve([0.1, 0.2, 0.9, 0.7], [0, 1, 1, 1], bins=2)
    >>> curve.won, curve.interval.round(2)
    (array([0.5, 1. ]), array([[0.09, 0.34],
           [0.91, 1.  ]]))
    """
    predicted = check_column("predicted", predicted)
    won = check_column("won", won, len(predicted))
    refuse_where((predicted < 0) | (predicted > 1), predicted, "predicted must be 0 to 1")
    refuse_where((won != 0) & (won != 1), won, "won must be 0 or 1")
    bin_of = np.minimum((predicted * bins).astype(int), bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    used = counts > 0
    n = counts[used]
    share = np.bincount(bin_of, won, minlength=bins)[used] / n
    mean = np.bincount(bin_of, predicted, minlength=bins)[used] / n
    codes = QueryGroups.from_qid(np.arange(len(won)) if qid is None else qid, len(won)).codes
    used_bin = (np.cumsum(used) - 1)[bin_of]
    return CalibrationCurve(mean, share, n, _interval(share, n, won, used_bin, codes))


def _interval(share, n, won, bin_of, codes):
    """Return 95 % Wilson intervals of the shares of bins, clustered by query.

    Parameters
    ----------
    share, n : ndarray of shape (n_bins,)
        Share of pairs that are won, and number of pairs.
    won, bin_of, codes : ndarray of shape (n_pairs,)
        Outcome, bin and query number of each pair.

    Returns
    -------
    ndarray of shape (2, n_bins)
        Lower and upper ends.

    Notes
    -----
    Pairs of a query are correlated. So n is replaced by the effective sample size: the number of
    independent pairs whose shares would vary as much as the shares do between queries. If all pairs
    of a bin are won, or none is, a query counts as one pair.
    """
    shape = codes.max() + 1, len(share)
    cells = np.ravel_multi_index((codes, bin_of), shape)
    present, cell = np.unique(cells, return_inverse=True)
    column = present % shape[1]
    residual = np.bincount(cell, won - share[bin_of])
    variance = np.bincount(column, residual**2, minlength=shape[1]) / n**2
    n_queries = np.bincount(column, minlength=shape[1])
    effective = np.where(
        variance > 0, share * (1 - share) / np.maximum(variance, 1e-300), n_queries
    )
    effective, z = np.minimum(effective, n), 1.959964
    center = share + z**2 / (2 * effective)
    half = z * np.sqrt(share * (1 - share) / effective + z**2 / (4 * effective**2))
    return np.clip([center - half, center + half] / (1 + z**2 / effective), 0, 1)


def drawn_pairs(
    y: np.ndarray, groups: QueryGroups, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(i, j)``: rows of random pairs of different labels within queries.

    200,000 pairs are drawn, each in a random order; pairs of equal labels are dropped.

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
