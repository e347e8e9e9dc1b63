r"""Graded metrics: labels count by their gain, and ranks by how likely a reader comes so far.

NDCG: gains discounted by position, over the best that was possible.

.. math:: \text{DCG} = \sum_{i=1}^{k} \frac{g(y_i)}{\log_2(i + 1)}, \qquad
          \text{NDCG} = \text{DCG} / \text{DCG of the ideal order}

A tied block spreads its mean gain over its positions (McSherry and Najork, 2008). To
add a discount, list it in ``DISCOUNTS``.

Expected reciprocal rank (ERR): the user stops at the first satisfying document.

.. math:: \text{ERR@}k = \sum_{i=1}^{k} \frac{R_i}{i} \prod_{j<i} (1 - R_j), \qquad
          R = \frac{g(y)}{1 + g(y_{\max})}

With the exponential gain, R = (2^y - 1) / 2^ymax as in Chapelle et al. (2009). In a tied block,
a_t is the chance that the first t documents of a random order all fail to satisfy: the mean over
all t-subsets of the product of q = 1 - R. A document added to j others changes it to
((j + 1 - t) a_t + t q a_{t-1}) / (j + 1).

Rank-biased precision (RBP): what a user finds who goes on to the next document by chance.

.. math:: \text{RBP} = (1 - p) \sum_{i=1}^{k} p^{i-1} [y_i \ge \text{threshold}]

with the persistence p. It is not divided by the best possible value. A tied block spreads its
relevant documents over its positions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from treerank.checks import check_number, quote
from treerank.documents.gains import MAX_LABEL, check_gain, count_relevant, label_gains
from treerank.documents.queries import QueryGroups
from treerank.metrics.all_relevant import AllRelevantMetric
from treerank.metrics.base import Metric
from treerank.metrics.threshold_metrics import ThresholdMetric
from treerank.numerics.compiling import register_jitable
from treerank.parameters import Level, NotNegative, Rule

#: Discount of positions; the delayed one is the same for the first two.
DISCOUNTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log2": lambda positions: 1 / np.log2(positions + 1),
    "delayed_log2": lambda positions: 1 / np.log2(np.maximum(positions, 2)),
}
#: Gain of a label.
Gain = Annotated[Any, Rule(lambda _, gain: check_gain(gain))]


@register_jitable
def discounted_gain(gains: np.ndarray, ends: np.ndarray, k: int, discounts: np.ndarray) -> float:
    """Return the sum of gain times discount over a ranked list.

    Tied documents count their mean gain. ``gains`` are in the order of the ranking. ``ends[i]`` is
    the end of the block of tied documents that begins at position i. Positions beyond ``discounts``
    count nothing; ``k`` is not used.
    """
    dcg, start = 0.0, 0
    depth = min(len(gains), len(discounts))
    while start < depth:
        end = ends[start]
        mean_gain = gains[start]
        if mean_gain != gains[end - 1]:  # equal gains need no mean, and no rounding
            mean_gain = gains[start:end].sum() / (end - start)
        for i in range(start, min(end, depth)):
            dcg += mean_gain * discounts[i]
        start = end
    return dcg


@dataclass(frozen=True, kw_only=True)
class NDCG(AllRelevantMetric):
    """Normalized discounted cumulative gain (NDCG).

    A query without a positive gain has no relevant document. With ``n_relevant``, the ideal order
    also has the relevant documents that are not among the rows: each has the gain of label 1. A row
    is relevant if its gain is positive.

    All other parameters are as in :class:`~treerank.metrics.all_relevant.AllRelevantMetric`.

    Parameters
    ----------
    gain : {"exponential", "linear"} or sequence of float, default="exponential"
        2^y - 1, or y, or the gain of each label 0, 1, 2, ...
    discount : {"log2", "delayed_log2"}, default="log2"
        1 / log2(i + 1) for position i, or, as in Järvelin and Kekäläinen (2002) and the scripts
        of LETOR, 1 / log2(i) with 1 for the first.
    short_lists : {"as_is", "zero"}, default="as_is"
        Value of a query of fewer than k documents: the value of the documents it has, or 0, as in
        the scripts of LETOR.

    References
    ----------
    Järvelin and Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques;
    Burges et al. (2005) for the exponential gain; McSherry and Najork (2008), Computing
    information retrieval performance measures efficiently in the presence of tied scores.

    Examples
    --------
    >>> NDCG(k=10)([0, 1, 2], [0.1, 0.2, 0.3])
    1.0
    >>> round(NDCG(k=10)([1, 0], [0.0, 0.0]), 3)  # a tie
    0.815
    >>> y, scores, qid = [1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1], ["ann", "ann", "bob", "bob"]
    >>> of_all = NDCG(k=2, n_relevant={"ann": 4, "bob": 1})  # four are not among the rows
    >>> NDCG(k=2)(y, scores, qid), of_all.per_query(y, scores, qid).round(3)
    (1.0, array([0.613, 0.   ]))
    """

    gain: Gain = "exponential"
    discount: Annotated[str, Rule.one_of(DISCOUNTS)] = "log2"
    short_lists: Annotated[str, Rule.one_of(("as_is", "zero"))] = "as_is"

    stem = "ndcg"
    list_total = discounted_gain

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gain", check_gain(self.gain))
        if self.n_relevant is not None and not self._gain_of_missed > 0:
            raise ValueError(
                "gain must be positive for label 1 with n_relevant, since relevant documents that "
                f"are not among the rows count as label 1; got gain={quote(self.gain)}."
            )

    def gains(self, y: np.ndarray) -> np.ndarray:
        """Return the gain of each document's label."""
        return label_gains(y, self.gain)

    def ideal(self, gains: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the DCG of the best order of each query.

        It is infinite for a query that has fewer than k documents, and so the value 0, with
        ``short_lists="zero"``.
        """
        return self._zero_if_short(self.totals(gains, gains, indptr, "stable"), indptr)

    def _zero_if_short(self, ideal: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the ideal, infinite where ``short_lists`` makes a value 0 of a list below k."""
        if self.short_lists == "zero" and self.k is not None:
            ideal[(np.diff(indptr) < self.k) & (ideal > 0)] = np.inf
        return ideal

    def ideal_of(self, gains: np.ndarray, groups: QueryGroups) -> np.ndarray:
        """Return :meth:`ideal`; ``n_relevant`` adds the relevant documents that no row has."""
        ideal = self.ideal(gains, groups.indptr)
        if self.n_relevant is None:
            return ideal
        n_missed = self.n_relevant_of(gains, groups) - count_relevant(gains, groups.indptr)
        if not n_missed.any():
            return ideal
        n_missed = np.minimum(n_missed, self.depth)  # no more of them fit into the ideal order
        indptr = groups.indptr + np.append(0, np.cumsum(n_missed))
        extended = np.full(indptr[-1], self._gain_of_missed)
        moved = np.repeat(indptr[:-1] - groups.indptr[:-1], groups.sizes)
        extended[np.arange(len(gains)) + moved] = gains
        ideal = np.where(n_missed > 0, self.totals(extended, extended, indptr, "stable"), ideal)
        return self._zero_if_short(ideal, groups.indptr)

    @property
    def _gain_of_missed(self) -> float:
        """Gain of a relevant document that is not among the rows: the gain of label 1."""
        if not isinstance(self.gain, str) and len(self.gain) < 2:
            return 0.0
        return float(label_gains(np.ones(1), self.gain)[0])

    def discounts(self, n_positions: int) -> np.ndarray:
        """Return the discount of each of the first ``n_positions`` positions."""
        return DISCOUNTS[self.discount](np.arange(1.0, n_positions + 1))


#: Logarithm of a number that is too small to change a number near 1.
NEGLIGIBLE = math.log(1e-20)


@register_jitable
def _expected_reciprocal_rank(stops, ends, k, discounts):
    """Return the expectation of 1 / position at which the user stops, within the first ``k``.

    ``stops`` are the probabilities that a document satisfies the user, in the order of the ranking;
    ``ends[i]`` is the end of the tied block that begins at i, over whose orders is averaged.
    ``discounts`` are not used.
    """
    expected, goes_on, start = 0.0, 1.0, 0
    depth = min(len(stops), k)
    while start < depth and goes_on > 0:
        end = ends[start]
        if end == start + 1:
            expected += goes_on * stops[start] / end
            goes_on *= 1 - stops[start]
        else:
            all_fail = _mean_products(1 - stops[start:end], min(end, depth) - start)
            for t in range(1, len(all_fail)):
                stops_here = max(all_fail[t - 1] - all_fail[t], 0.0)
                expected += goes_on * stops_here / (start + t)
            goes_on *= np.prod(1 - stops[start:end])
        start = end
    return expected


@dataclass(frozen=True, kw_only=True)
class ExpectedReciprocalRank(Metric):
    """Expected reciprocal rank; undefined for a query if no document can satisfy.

    All other parameters are as in :class:`~treerank.metrics.base.Metric`.

    Parameters
    ----------
    gain : {"exponential", "linear"} or sequence of float, default="exponential"
        2^y - 1, or y, or the gain of each label 0, 1, 2, ...
    max_label : float or None, default=None
        The highest label of the scale; ``None`` is the highest label in ``y``, and in
        :func:`treerank.compare` the highest of all test sets. Fix it if you compare values of
        several data sets.

    References
    ----------
    Chapelle, Metlzer, Zhang and Grinspan (2009), Expected reciprocal rank for graded relevance.

    Examples
    --------
    >>> ExpectedReciprocalRank()([1, 0], [0.3, 0.2])  # R = 1/2 at the first position
    0.5
    >>> ExpectedReciprocalRank()([0, 1], [0.3, 0.2])
    0.25
    """

    gain: Gain = "exponential"
    max_label: NotNegative | None = None

    stem = "err"
    list_total = _expected_reciprocal_rank

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gain", check_gain(self.gain))
        if self.gain == "exponential" and self.max_label is not None:
            check_number("max_label", self.max_label, at_most=MAX_LABEL)

    def on_scale(self, max_label: float) -> "ExpectedReciprocalRank":
        """Return the metric with ``max_label``, unless it has one.

        Examples
        --------
        >>> ExpectedReciprocalRank().on_scale(2.0)([1, 0], [0.3, 0.2])  # R = 1/4
        0.25
        """
        if self.max_label is not None:
            return self
        label_gains([max_label], self.gain)  # or refuse the label, as without a scale
        return replace(self, max_label=max_label)

    def gains(self, y: np.ndarray) -> np.ndarray:
        """Return the probability that each document satisfies the user."""
        top = y.max() if self.max_label is None else float(self.max_label)
        if y.max() > top:
            raise ValueError(f"y must be at most max_label={top}; got {y.max()}.")
        gains = label_gains(np.append(y, top), self.gain)
        return gains[:-1] / (1 + gains.max())


@register_jitable
def _mean_products(factors, size):
    """Return the mean product over all subsets of t of the factors, for t = 0 to ``size``.

    The result ends earlier where all that would follow is below 1e-20.
    """
    mean = factors.mean()
    if mean < 1 and size * math.log(max(mean, 1e-300)) < NEGLIGIBLE:
        # By Maclaurin's inequality no mean product of t factors exceeds mean^t.
        size = int(NEGLIGIBLE / math.log(max(mean, 1e-300))) + 1
    means = np.zeros(size + 1)
    means[0] = 1.0
    for j in range(len(factors)):
        for t in range(min(j + 1, size), 0, -1):
            means[t] = ((j + 1 - t) * means[t] + t * factors[j] * means[t - 1]) / (j + 1)
    return means


@dataclass(frozen=True, kw_only=True)
class RankBiasedPrecision(ThresholdMetric):
    """Rank-biased precision; undefined for a query if no label reaches the threshold.

    All other parameters are as in :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    Parameters
    ----------
    persistence : float, default=0.8
        Probability to go on to the next document.

    References
    ----------
    Moffat and Zobel (2008), Rank-biased precision for measurement of retrieval effectiveness.

    Examples
    --------
    >>> round(RankBiasedPrecision(persistence=0.5)([1, 0, 1], [0.3, 0.2, 0.1]), 3)
    0.625
    """

    persistence: Level = 0.8

    stem = "rbp"
    list_total = discounted_gain

    def discounts(self, n_positions: int) -> np.ndarray:
        """Return the probabilities that the user stops at positions 1 to ``n_positions``."""
        return (1 - self.persistence) * self.persistence ** np.arange(n_positions)
