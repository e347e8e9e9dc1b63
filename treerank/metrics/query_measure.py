"""Query measure: the values of a metric by query, for scores that change little between calls.

Rankers that optimize a metric itself measure all queries hundreds of times. So the labels are
sorted once, and queries of which every order has the same value are left out once. The k
documents that were first at the last call are likely to be first again. The lowest of their new
scores is at most the new k-th highest score, so one comparison rules out most other documents.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from treerank.inputs.grouping import QueryGroups
from treerank.metrics.base import Metric, PreparedMetric
from treerank.metrics.ranked import MAX_PICKED, TIES, sort_into_blocks
from treerank.metrics.registry import FunctionMetric
from treerank.numerics.compiling import kernel_for, register_jitable


class QueryMeasure:
    """Values of a metric by query, for documents in training order.

    Parameters
    ----------
    metric : Metric or FunctionMetric
        What is measured.
    y : ndarray of shape (n_documents,)
        Labels; the documents of a query are next to each other.
    groups : QueryGroups
        Queries of the documents.
    weight : ndarray of shape (n_queries,), default=None
        Weight of each query in the mean; ``None`` is 1 for all.

    Examples
    --------
    >>> from treerank.metrics import NDCG
    >>> y, groups = np.array([1.0, 0.0, 0.0, 1.0]), QueryGroups.from_qid([0, 0, 1, 1])
    >>> measure = QueryMeasure(NDCG(k=1), y, groups)
    >>> measure.values(np.array([0.4, 0.3, 0.2, 0.1]))
    array([1., 0.])
    """

    def __init__(
        self,
        metric: Metric | FunctionMetric,
        y: np.ndarray,
        groups: QueryGroups,
        weight: np.ndarray | None = None,
    ) -> None:
        self.weight = np.ones(groups.n_queries) if weight is None else weight
        self.total_weight = math.fsum(self.weight)
        self._values = _values_of(metric, y, groups)

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the value of each query."""
        return self._values(scores)

    def mean(self, values: np.ndarray) -> float:
        """Return the weighted mean over queries; its sum is rounded once."""
        return math.fsum((self.weight * values).tolist()) / self.total_weight


def measurable(data: Any, metric: Metric | FunctionMetric) -> Any:
    """Return the queries whose value depends on the order of documents; ``None`` without any.

    Parameters
    ----------
    data : TrainingSet
        Documents in training order.
    metric : Metric or FunctionMetric
        What is measured.

    Returns
    -------
    TrainingSet or None
    """
    if isinstance(metric, FunctionMetric):
        worth, rankable = data.y, np.ones(data.groups.n_queries, dtype=bool)
    else:
        worth = metric.worth(data.y)
        rankable = metric.ideal(worth, data.groups.indptr) > 0
    kept = (rankable & data.groups.with_two_labels(worth))[data.groups.codes]
    if kept.all():
        return data
    return data.taking(np.flatnonzero(kept)) if kept.any() else None


def measure_of(data: Any, metric: Metric | FunctionMetric) -> QueryMeasure:
    """Return the measure of a training set, with the user's weights of queries."""
    return QueryMeasure(metric, data.y, data.groups, data.weight_of_queries)


def _values_of(
    metric: Metric | FunctionMetric, y: np.ndarray, groups: QueryGroups
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the fastest function from scores to values by query."""
    if isinstance(metric, FunctionMetric):
        return lambda scores: np.asarray(metric.per_query(y, scores, groups.codes), np.float64)
    worth = metric.worth(y)
    ideal = metric.ideal(worth, groups.indptr)
    if metric.depth > MAX_PICKED or metric.ties == "stable":
        return PreparedMetric(metric, groups, worth, ideal).per_query
    kernel, policy = shortlist_kernel(type(metric).list_total), TIES[metric.ties]
    discounts, shortlist = metric.discounts(groups.indptr), _start_shortlist(groups, metric.depth)

    def values(scores):
        total = kernel(scores, worth, groups.indptr, *shortlist, *policy, discounts)
        return np.minimum(total / ideal, 1.0)

    return values


def _start_shortlist(groups, k):
    """Return the first k rows of each query, whether a row is among them, and working memory."""
    top = _first_rows(groups.indptr, k)
    is_top = np.zeros(groups.n_documents, dtype=bool)
    is_top[top] = True
    return top, is_top, np.empty(groups.n_documents, np.int64)


def _first_rows(indptr, k):
    """Return k rows of each query; the last row is repeated in queries of fewer, and not read."""
    rows = indptr[:-1, None] + np.arange(k)
    return np.minimum(rows, indptr[1:, None] - 1)


@functools.cache
def shortlist_kernel(list_total: Callable[..., float]) -> Callable[..., np.ndarray]:
    """Return the kernel that ranks the possible first documents of each query for its total."""

    @kernel_for(list_total, parallel=True)
    def totals(scores, worth, indptr, top, is_top, kept, by_worth, in_blocks, discounts):
        total = np.empty(len(indptr) - 1)
        for q in prange(len(total)):
            a, b, k = indptr[q], indptr[q + 1], top.shape[1]
            if b - a > k:
                b = a + _pick_of_query(scores, a, b, top[q], is_top, kept[a:b])
            else:
                for i in range(a, b):
                    kept[i] = i
            first, ranked = np.empty(b - a), np.empty(b - a)
            for n in range(b - a):
                first[n], ranked[n] = scores[kept[a + n]], worth[kept[a + n]]
            ends = sort_into_blocks(first, ranked, by_worth, in_blocks)
            total[q] = list_total(ranked, ends, k, discounts)
        return total

    return totals


@register_jitable
def _pick_of_query(scores, a, b, top, is_top, kept):
    """Update ``top``, copy it to ``kept`` with what ties with its last; return how many."""
    k, n_others = len(top), 0
    for n in range(1, k):
        _sink(scores, top, n)
    bound = scores[top[k - 1]]
    for i in range(a, b):
        if scores[i] < bound or is_top[i]:  # true for most
            continue
        left_out = i
        if scores[i] > bound:
            left_out, top[k - 1] = top[k - 1], i
            is_top[left_out], is_top[i] = False, True
            _sink(scores, top, k - 1)
            bound = scores[top[k - 1]]
        if left_out <= i:  # else the loop comes to it later
            kept[k + n_others] = left_out  # may tie with the new last
            n_others += 1
    place = k
    for n in range(k, k + n_others):
        kept[place] = kept[n]
        place += scores[kept[n]] == bound
    kept[:k] = top
    return place


@register_jitable
def _sink(scores, top, n):
    """Move entry ``n`` to its place among the entries before it, by falling score."""
    row, i = top[n], n
    while i > 0 and scores[top[i - 1]] < scores[row]:
        top[i] = top[i - 1]
        i -= 1
    top[i] = row
