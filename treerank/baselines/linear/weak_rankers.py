"""Weak rankers: what AdaRank chooses among, and how well each ranks every query.

A weak ranker is a feature itself or a stump, 1 above a threshold and 0 below, upwards or
downwards. How well it ranks a query never changes, so it is measured once: a table of weak rankers
by queries. To add a kind, write a function from standard features by column to
:class:`WeakRankers` and list it in ``WEAK_RANKERS``.
"""

from dataclasses import dataclass

import numpy as np
from numba import prange

from treerank.baselines.linear.standard_features import moved_scores
from treerank.numerics.compiling import njit

_FAST = {"reassoc", "contract", "arcp", "nsz"}


@dataclass(frozen=True, eq=False)
class WeakRankers:
    """Functions of one feature each.

    Attributes
    ----------
    feature : ndarray of shape (n_rankers,)
        The feature of each.
    threshold : ndarray of shape (n_rankers,)
        Where a stump steps, in standard units; NaN for the feature itself.
    sign : ndarray of shape (n_rankers,)
        1 to rank by rising feature first, -1 the other way round.
    """

    feature: np.ndarray
    threshold: np.ndarray
    sign: np.ndarray

    def __len__(self):
        return len(self.feature)

    def describe(self, number):
        """Return feature, threshold and sign of one of them."""
        return int(self.feature[number]), float(self.threshold[number]), float(self.sign[number])

    def outputs(self, number, columns):
        """Return what one of them says of documents, given standard features by column."""
        column = columns[self.feature[number]]
        if np.isnan(self.threshold[number]):
            return self.sign[number] * column
        return self.sign[number] * (column > self.threshold[number])

    def add_to(self, scores, number, step, columns):
        """Return ``scores`` and ``step`` times what one of them says."""
        if np.isnan(self.threshold[number]):
            moves = self.feature[number : number + 1], step * self.sign[number : number + 1]
            return moved_scores(scores, columns, *moves)
        return scores + step * self.outputs(number, columns)

    def measure(self, columns, measure):
        """Return the table of shape (n_rankers, n_queries)."""
        values = [measure.values(self.outputs(number, columns)) for number in range(len(self))]
        return np.array(values).reshape(len(self), -1)


def features_themselves(columns, n_thresholds):
    """Return each feature that varies, both ways."""
    varied = np.flatnonzero(np.ptp(columns, axis=1) > 0)
    return _both_ways(varied, np.full(len(varied), np.nan))


def stumps(columns, n_thresholds):
    """Return stumps at the quantiles of each feature, both ways; at all values if they are few."""
    shares = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    feature, threshold = [], []
    for j, column in enumerate(columns):
        cuts = np.unique(column)[:-1]
        if len(cuts) > n_thresholds:
            cuts = np.unique(np.quantile(column, shares, method="lower"))
            cuts = cuts[cuts < column.max()]
        feature += [j] * len(cuts)
        threshold += cuts.tolist()
    return _both_ways(np.array(feature, np.int64), np.array(threshold, np.float64))


WEAK_RANKERS = {"feature": features_themselves, "stump": stumps}


def _both_ways(feature, threshold):
    n = len(feature)
    return WeakRankers(np.tile(feature, 2), np.tile(threshold, 2), np.repeat([1.0, -1.0], n))


@njit(parallel=True, fastmath=_FAST)
def weighted_values(table, weight):
    """Return ``table @ weight``, with the same bits for any number of threads."""
    result = np.empty(len(table))
    for number in prange(len(table)):
        total = 0.0
        for q in range(len(weight)):
            total += table[number, q] * weight[q]
        result[number] = total
    return result
