"""Query measure: a metric of every query, asked again and again of scores that change little.

Rankers that optimize a metric itself measure all queries hundreds of times. What can be known once
is: the labels are sorted and the queries in which every order is worth the same are left out. And
what stood on top a moment ago is likely to do so again: the lowest of the new scores of *any* k
documents is no higher than the k-th highest, so most documents are passed over by one comparison.
"""

import functools
import math

import numpy as np
from numba import prange

from treerank.inputs.grouping import QueryGroups
from treerank.metrics.base import PreparedMetric
from treerank.metrics.function_metric import FunctionMetric
from treerank.metrics.ranked import MAX_PICKED, TIES, sort_into_blocks
from treerank.numerics.compiling import kernel_for, njit


class QueryMeasure:
    """Values of a metric by query, for documents in training order.

    Parameters
    ----------
    metric : Metric or FunctionMetric
        What is measured.
    y : ndarray of shape (n_documents,)
        Labels; the documents of a query are next to each other.
    query : ndarray of shape (n_documents,)
        Number of each document's query, rising from 0.
    weight : ndarray of shape (n_queries,) or None
        Weight of each query in the mean.

    Examples
    --------
    >>> from treerank.metrics import NDCG
    >>> measure = QueryMeasure(NDCG(k=1), np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 0, 1, 1]))
    >>> measure.values(np.array([0.4, 0.3, 0.2, 0.1]))
    array([1., 0.])
    """

    def __init__(self, metric, y, query, weight=None):
        self.metric, self.y, self.query = metric, y, query
        self.indptr = np.append(0, np.cumsum(np.bincount(query)))
        self.weight = np.ones(len(self.indptr) - 1) if weight is None else weight
        self.total_weight = math.fsum(self.weight)
        self.is_function = isinstance(metric, FunctionMetric)
        if not self.is_function:
            worth = metric.worth(y)
            ideal = metric.ideal(worth, self.indptr)
            self.prepared = PreparedMetric(metric, QueryGroups(None, self.indptr), worth, ideal)
            self.is_short = metric.depth <= MAX_PICKED and metric.ties != "stable"
            if self.is_short:
                self._start_shortlist(len(y))

    def values(self, scores):
        """Return the value of each query."""
        if self.is_function:
            return np.asarray(self.metric.per_query(self.y, scores, self.query), np.float64)
        if not self.is_short:
            return self.prepared.per_query(scores)
        worth, ideal = self.prepared.worth, self.prepared.ideal
        total = self.kernel(scores, worth, self.indptr, *self.shortlist, *self.policy)
        return np.minimum(total / ideal, 1.0)

    def mean(self, values):
        """Return the weighted mean over queries; its sum is rounded once."""
        return math.fsum((self.weight * values).tolist()) / self.total_weight

    def _start_shortlist(self, n_documents):
        metric = self.metric
        top = _first_rows(self.indptr, metric.depth)
        is_top = np.zeros(n_documents, dtype=bool)
        is_top[top] = True
        self.shortlist = top, is_top, np.empty(n_documents, np.int64)
        self.kernel = shortlist_kernel(type(metric).list_total)
        self.policy = *TIES[metric.ties], metric.discounts(self.indptr)


def measurable(data, metric):
    """Keep the queries whose value depends on the order; ``None`` if there are none.

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
        worth, rankable = data.y, np.ones(data.n_queries, dtype=bool)
    else:
        worth = metric.worth(data.y)
        indptr = np.append(0, np.cumsum(np.bincount(data.query)))
        rankable = metric.ideal(worth, indptr) > 0
    first = np.append(True, data.query[1:] != data.query[:-1])
    lowest = np.minimum.reduceat(worth, np.flatnonzero(first))
    rankable &= np.maximum.reduceat(worth, np.flatnonzero(first)) > lowest
    kept = rankable[data.query]
    if kept.all():
        return data
    return data.taking(np.flatnonzero(kept)) if kept.any() else None


def measure_of(data, metric):
    """Return the measure of a training set, its queries weighed as the user wants."""
    first = np.append(True, data.query[1:] != data.query[:-1])
    weight = None if data.query_weight is None else data.query_weight[first]
    return QueryMeasure(metric, data.y, data.query, weight)


def _first_rows(indptr, k):
    """Return k rows of each query; those of fewer repeat, and are never read."""
    rows = indptr[:-1, None] + np.arange(k)
    return np.minimum(rows, indptr[1:, None] - 1)


@functools.cache
def shortlist_kernel(list_total):
    """Make the kernel that ranks what can be among the first of each query, and adds up."""

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


@njit
def _pick_of_query(scores, a, b, top, is_top, kept):
    """Bring ``top`` up to date, and write it with all that ties with its last."""
    k, n_others = len(top), 0
    for n in range(1, k):
        _sink(scores, top, n)
    bound = scores[top[k - 1]]
    for i in range(a, b):
        if scores[i] < bound or is_top[i]:  # as most are
            continue
        left_out = i
        if scores[i] > bound:
            left_out, top[k - 1] = top[k - 1], i
            is_top[left_out], is_top[i] = False, True
            _sink(scores, top, k - 1)
            bound = scores[top[k - 1]]
        if left_out <= i:  # else its turn is yet to come
            kept[k + n_others] = left_out  # may tie with the new last
            n_others += 1
    place = k
    for n in range(k, k + n_others):
        kept[place] = kept[n]
        place += scores[kept[n]] == bound
    kept[:k] = top
    return place


@njit
def _sink(scores, top, n):
    """Move entry ``n`` to its place among the entries before it, by falling score."""
    row, i = top[n], n
    while i > 0 and scores[top[i - 1]] < scores[row]:
        top[i] = top[i - 1]
        i -= 1
    top[i] = row
