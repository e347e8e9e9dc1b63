"""Threshold metrics: metrics of binary relevance, by a threshold on the label.

To add one, derive it from :class:`ThresholdMetric` instead of ``Metric``.
"""

from dataclasses import dataclass

import numpy as np

from treerank.documents.gains import count_relevant, is_relevant
from treerank.documents.queries import QueryGroups
from treerank.metrics.all_relevant import AllRelevantMetric
from treerank.metrics.base import Metric
from treerank.numerics.compiling import register_jitable
from treerank.parameters import Finite


@dataclass(frozen=True, kw_only=True)
class ThresholdMetric(Metric):
    """A metric for which a document is relevant if its label reaches a threshold.

    All other parameters, and the attributes, are as in :class:`~treerank.metrics.base.Metric`.

    Parameters
    ----------
    threshold : float, default=1
        Lowest label that is relevant.

    Examples
    --------
    >>> from treerank.metrics import Precision
    >>> Precision(k=2, threshold=2)([0, 1, 2], [0.1, 0.3, 0.2])
    0.5
    """

    threshold: Finite = 1

    def gains(self, y: np.ndarray) -> np.ndarray:
        """Return 1 for relevant documents, 0 for others."""
        return is_relevant(y, self.threshold)


def number_of_relevant(
    metric: ThresholdMetric, gains: np.ndarray, indptr: np.ndarray
) -> np.ndarray:
    """Return the number of relevant documents, the ideal of metrics that divide by it."""
    return count_relevant(gains, indptr).astype(np.float64)


@register_jitable
def expected_hits(relevant: np.ndarray, ends: np.ndarray, k: int, discounts: np.ndarray) -> float:
    """Return the expected number of relevant documents among the first k, ties in random order.

    ``relevant`` is 1 for relevant documents, else 0, best first; ``ends[i]`` is the end of the tied
    block that starts at ``i``. ``discounts`` are not used; every metric's total takes them.
    """
    hits, start = 0.0, 0
    depth = min(len(relevant), k)
    while start < depth:
        end = ends[start]
        n_relevant = relevant[start:end].sum()
        hits += n_relevant * (min(end, depth) - start) / (end - start)
        start = end
    return hits


@dataclass(frozen=True, kw_only=True)
class Precision(ThresholdMetric):
    r"""Precision: the share of relevant documents among the first k.

    .. math:: \text{P@}k = \frac1k \sum_{i=1}^{k} [y_i \ge \text{threshold}]

    Each position of a tied block counts the share of relevant documents in the block.

    A query has no relevant document if no label reaches the threshold.

    The sum is divided by k even if the query has fewer documents, as in trec_eval.

    The parameters are as in :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    Examples
    --------
    >>> Precision(k=2)([0, 1, 2], [0.1, 0.3, 0.2])
    1.0
    """

    stem = "p"
    list_total = expected_hits

    def ideal(self, gains: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the divisor of each query: k, or its number of documents without a cutoff.

        It is 0 for a query without a relevant document.
        """
        divisor = np.diff(indptr) if self.k is None else self.depth
        return np.where(count_relevant(gains, indptr) > 0, divisor, 0).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Recall(AllRelevantMetric, ThresholdMetric):
    r"""Recall: the share of the relevant documents that is among the first k.

    .. math:: \text{R@}k = \frac1R \sum_{i=1}^{k} [y_i \ge \text{threshold}]

    with R the number of relevant documents of the query. Ties are as in precision.

    A query has no relevant document if no label reaches the threshold and ``n_relevant`` knows of
    none.

    The parameters are as in :class:`~treerank.metrics.all_relevant.AllRelevantMetric` and
    :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    Examples
    --------
    >>> Recall(k=2)([0, 1, 2], [0.3, 0.1, 0.2])
    0.5
    >>> y, scores, qid = [1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1], ["ann", "ann", "bob", "bob"]
    >>> Recall(k=2)(y, scores, qid), Recall(k=2, n_relevant={"ann": 4, "bob": 1})(y, scores, qid)
    (1.0, 0.125)
    """

    stem = "recall"
    list_total = expected_hits

    def ideal_of(self, gains: np.ndarray, groups: QueryGroups) -> np.ndarray:
        """Return the number of relevant documents of each query, by ``n_relevant`` or by row."""
        return self.n_relevant_of(gains, groups).astype(np.float64)


@register_jitable
def _any_hit(relevant, ends, k, discounts):
    """Return the probability that a relevant document is among the first k, ties in random order.

    Arguments are as in :func:`expected_hits`.
    """
    none_yet, start = 1.0, 0
    depth = min(len(relevant), k)
    while start < depth and none_yet > 0:
        n_relevant = relevant[start : ends[start]].sum()
        for i in range(start, min(ends[start], depth)):
            none_yet *= max(1 - n_relevant / (ends[start] - i), 0.0)
        start = ends[start]
    return 1 - none_yet


@dataclass(frozen=True, kw_only=True)
class Success(ThresholdMetric):
    r"""Success: whether there is a relevant document among the first k.

    If the first k end in a tied block of n documents, r of them relevant and t of them among the
    first k, and there is no relevant document before it, the probability of success is

    .. math:: 1 - \prod_{i=0}^{t-1} \frac{n - r - i}{n - i}.

    A query has no relevant document if no label reaches the threshold.

    The parameters are as in :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    Examples
    --------
    >>> Success(k=1)([0, 1, 1, 0], [0.2, 0.1, 0.7, 0.3], ["a", "a", "b", "b"])
    0.5
    """

    stem = "success"
    list_total = _any_hit


@register_jitable
def _reciprocal_rank(relevant, ends, k, discounts):
    """Return the expectation of 1 / rank of the first relevant document; 0 beyond the first k.

    Arguments are as in :func:`expected_hits`.
    """
    start, n_relevant = 0, 0.0
    depth = min(len(relevant), k)
    while start < depth:
        n_relevant = relevant[start : ends[start]].sum()
        if n_relevant > 0:
            break
        start = ends[start]
    expected, none_yet = 0.0, 1.0
    if start < depth and n_relevant > 0:
        for i in range(start, min(ends[start], depth)):
            chance = n_relevant / (ends[start] - i)
            expected += none_yet * chance / (i + 1)
            none_yet *= 1 - chance
    return expected


@dataclass(frozen=True, kw_only=True)
class ReciprocalRank(AllRelevantMetric, ThresholdMetric):
    r"""Reciprocal rank: one over the position of the first relevant document.

    A document beyond the cutoff counts 0. In a tied block of n documents, r of them relevant, the
    first relevant one is at position t with probability

    .. math:: \frac{r}{n - t + 1} \prod_{i=0}^{t-2} \frac{n - r - i}{n - i}.

    A query has no relevant document if no label reaches the threshold and ``n_relevant`` knows of
    none. A relevant document that is not among the rows has no position and counts 0.

    The parameters are as in :class:`~treerank.metrics.all_relevant.AllRelevantMetric` and
    :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    Examples
    --------
    >>> ReciprocalRank()([0, 1, 1], [0.3, 0.2, 0.1])
    0.5
    """

    stem = "mrr"
    list_total = _reciprocal_rank

    def ideal_of(self, gains: np.ndarray, groups: QueryGroups) -> np.ndarray:
        """Return 1, or 0 for a query without a relevant document, by ``n_relevant`` or by row."""
        return (self.n_relevant_of(gains, groups) > 0).astype(np.float64)


@register_jitable
def _sum_of_precisions(relevant, ends, k, discounts):
    """Return the expected sum of precision@i over the ranks i <= k of relevant documents.

    Arguments are as in :func:`expected_hits`.
    """
    total, before, start = 0.0, 0.0, 0
    depth = min(len(relevant), k)
    while start < depth:
        end = ends[start]
        n_relevant = relevant[start:end].sum()
        if n_relevant > 0:
            share = n_relevant / (end - start)
            growth = (n_relevant - 1) / max(end - start - 1, 1)
            for i in range(start, min(end, depth)):
                total += share * (before + 1 + (i - start) * growth) / (i + 1)
        before += n_relevant
        start = end
    return total


@dataclass(frozen=True, kw_only=True)
class AveragePrecision(AllRelevantMetric, ThresholdMetric):
    r"""Average precision: the precision at each relevant document, averaged over them.

    .. math:: \text{AP@}k = \frac1R \sum_{i=1}^{k} [y_i \ge \text{threshold}] \, \text{P@}i

    with R the number of all relevant documents of the query, as in trec_eval; with ``n_relevant``,
    also of those that are not among the rows, as trec_eval counts documents of the qrels that the
    run lacks. At
    position t of a tied block of n documents, r of them relevant, after p documents with c
    relevant ones, the expected term is (McSherry and Najork, 2008)

    .. math:: \frac{r}{n} \cdot \frac{c + 1 + (t - 1)(r - 1) / (n - 1)}{p + t}.

    A query has no relevant document if no label reaches the threshold and ``n_relevant`` knows of
    none.

    The parameters are as in :class:`~treerank.metrics.all_relevant.AllRelevantMetric` and
    :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    References
    ----------
    McSherry and Najork (2008), Computing information retrieval performance measures
    efficiently in the presence of tied scores.

    Examples
    --------
    >>> AveragePrecision()([1, 0, 1], [0.3, 0.2, 0.1])  # (1/1 + 2/3) / 2
    0.8333333333333333
    >>> all_relevant = AveragePrecision(n_relevant={"ann": 4})  # two are not among the rows
    >>> all_relevant([1, 0, 1], [0.3, 0.2, 0.1], ["ann"] * 3)  # (1/1 + 2/3) / 4
    0.41666666666666663
    """

    stem = "map"
    list_total = _sum_of_precisions

    def ideal_of(self, gains: np.ndarray, groups: QueryGroups) -> np.ndarray:
        """Return the number of relevant documents of each query, by ``n_relevant`` or by row."""
        return self.n_relevant_of(gains, groups).astype(np.float64)


@register_jitable
def _sum_of_preferences(relevant, ends, k, discounts):
    """Return the sum in bpref: over relevant documents, 1 - min(n, R) / min(R, N).

    n of the N irrelevant documents stand above one of the R relevant ones; tied documents are in
    random order. Arguments are as in :func:`expected_hits`; ``k`` is not used.
    """
    n_relevant = relevant.sum()
    n_irrelevant = len(relevant) - n_relevant
    divisor = max(min(n_relevant, n_irrelevant), 1.0)
    total, above, start = 0.0, 0.0, 0
    while start < len(relevant):
        end = ends[start]
        n_hits = relevant[start:end].sum()
        n_misses = end - start - n_hits
        if n_hits > 0:  # 0 to n_misses documents of the block stand above, equally likely
            wrong = 0.0
            for i in range(int(n_misses) + 1):
                wrong += min(above + i, n_relevant)
            total += n_hits * (1 - wrong / (n_misses + 1) / divisor)
        above += n_misses
        start = end
    return total


@dataclass(frozen=True, kw_only=True)
class BinaryPreference(ThresholdMetric):
    r"""Binary preference: how few judged irrelevant documents rank above relevant ones.

    .. math:: \text{bpref} = \frac1R \sum_r \Big(1 - \frac{\min(n_r, R)}{\min(R, N)}\Big)

    over the R relevant documents r, each below :math:`n_r` of the N judged documents that are not
    relevant (Buckley and Voorhees, 2004; as in trec_eval). Unjudged documents, whose label is
    NaN, change nothing. In a tied block, all orders are equally likely.

    A query has no relevant document if no label reaches the threshold.

    All other parameters are as in :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    Parameters
    ----------
    k : None, default=None
        This metric has no cutoff.

    References
    ----------
    Buckley and Voorhees (2004), Retrieval evaluation with incomplete information.

    Examples
    --------
    >>> BinaryPreference()([1, 0, np.nan, 1, 0], [0.5, 0.4, 0.3, 0.2, 0.1])  # (1 + (1 - 1 / 2)) / 2
    0.75
    """

    stem = "bpref"
    has_cutoff = False
    list_total = _sum_of_preferences
    ideal = number_of_relevant
