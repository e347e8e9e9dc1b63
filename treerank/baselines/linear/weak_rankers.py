"""Weak rankers: the functions AdaRank chooses from, and how well each ranks every query.

A weak ranker is a feature itself, or a stump that is 1 above a threshold and 0 below, and ranks by
it upwards or downwards. How well it ranks a query never changes, so it is measured once, as a
table of weak rankers by queries. To add a kind, write a function from standard features by column
and a number of thresholds to :class:`WeakRankers`, and list it in ``WEAK_RANKERS``.
"""

from dataclasses import dataclass

import numpy as np

from treerank.baselines.linear.products import moved_scores
from treerank.baselines.stumps.stumps import quantile_thresholds
from treerank.metrics.query_measure import QueryMeasure


@dataclass(frozen=True, eq=False)
class WeakRankers:
    """Functions of one feature each.

    Attributes
    ----------
    feature : ndarray of shape (n_rankers,)
        The feature of each.
    threshold : ndarray of shape (n_rankers,)
        Threshold of a stump, in standard units; NaN for the feature itself.
    sign : ndarray of shape (n_rankers,)
        1 if large values rank first, -1 if small values do.
    """

    feature: np.ndarray
    threshold: np.ndarray
    sign: np.ndarray

    def __len__(self) -> int:
        return len(self.feature)

    def describe(self, number: int) -> tuple[int, float, float]:
        """Return feature, threshold and sign of the weak ranker of a number."""
        return int(self.feature[number]), float(self.threshold[number]), float(self.sign[number])

    def outputs(self, number: int, columns: np.ndarray) -> np.ndarray:
        """Return the outputs of one weak ranker, given standard features by column."""
        column = columns[self.feature[number]]
        if np.isnan(self.threshold[number]):
            return self.sign[number] * column
        return self.sign[number] * (column > self.threshold[number])

    def add_to(
        self, scores: np.ndarray, number: int, step: float, columns: np.ndarray
    ) -> np.ndarray:
        """Return ``scores`` plus ``step`` times the outputs of one weak ranker."""
        if np.isnan(self.threshold[number]):
            moves = self.feature[number : number + 1], step * self.sign[number : number + 1]
            return moved_scores(scores, columns, *moves)
        return scores + step * self.outputs(number, columns)

    def measure(self, columns: np.ndarray, measure: QueryMeasure) -> np.ndarray:
        """Return the value of each weak ranker in each query, of shape (n_rankers, n_queries)."""
        values = [measure.values(self.outputs(number, columns)) for number in range(len(self))]
        return np.array(values).reshape(len(self), len(measure.weight))


def features_themselves(columns: np.ndarray, n_thresholds: int) -> WeakRankers:
    """Return each feature that varies, upwards and downwards; thresholds are not needed."""
    varied = np.flatnonzero(np.ptp(columns, axis=1) > 0)
    return _both_ways(varied, np.full(len(varied), np.nan))


def stumps(columns: np.ndarray, n_thresholds: int) -> WeakRankers:
    """Return stumps at quantiles of each feature, or at all values if those are few."""
    cuts = [quantile_thresholds(column, n_thresholds) for column in columns]
    cuts = [own[own < column.max()] for own, column in zip(cuts, columns, strict=True)]
    feature = np.repeat(np.arange(len(columns)), [len(own) for own in cuts])
    return _both_ways(feature, np.concatenate(cuts))


#: Kinds of weak rankers.
WEAK_RANKERS = {"feature": features_themselves, "stump": stumps}


def _both_ways(feature, threshold):
    n = len(feature)
    return WeakRankers(np.tile(feature, 2), np.tile(threshold, 2), np.repeat([1.0, -1.0], n))
