"""Sorting by a comparator: the documents of many queries at the same time, and its mistakes.

A comparator is a function of two arrays of documents that says how much the first is preferred to
the second. It need not be transitive, so the result may depend on the order at the start. The sort
is a merge sort, which asks for O(n log n) comparisons. The merges of all queries take their steps
together: one call of the comparator compares the first documents of all runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.baselines.neural.comparator import Comparator
from treerank.documents.eval_set import EvalSet
from treerank.documents.queries import QueryGroups
from treerank.documents.training_set import TrainingSet
from treerank.metrics.base import Metric
from treerank.metrics.registry import get_metric
from treerank.progress import number_of

#: ``prefer(i, j)`` is positive where row ``i[n]`` belongs above row ``j[n]``.
Preference = Callable[[np.ndarray, np.ndarray], np.ndarray]


def sort_by_comparison(
    groups: QueryGroups, prefer: Preference
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sort each query, best first; of two that are preferred equally, the earlier stays ahead.

    Parameters
    ----------
    groups : QueryGroups
        Which rows form a query.
    prefer : callable
        ``prefer(i, j) -> array``, positive where row ``i[n]`` belongs above row ``j[n]``.

    Returns
    -------
    order : ndarray of shape (n_documents,)
        Rows, query by query, best first.
    compared : tuple of ndarray (i, j, preference)
        All comparisons that were made.

    Examples
    --------
    >>> height = np.array([3.0, 1.0, 2.0])
    >>> groups = QueryGroups.from_qid(None, 3)
    >>> order, _ = sort_by_comparison(groups, lambda i, j: height[i] - height[j])
    >>> order
    array([0, 2, 1])
    """
    order = groups.order.copy()
    compared = [(order[:0], order[:0], np.zeros(0))]
    width = 1
    while width < groups.sizes.max(initial=0):
        order = _merge_neighbors(order, _runs(groups, width), prefer, compared)
        width *= 2
    i, j, preference = (np.concatenate(parts) for parts in zip(*compared, strict=True))
    return order, (i, j, preference)


def _runs(groups, width):
    """Return ``(begin, middle, end)`` of all pairs of neighboring sorted runs of this width.

    They are arrays of positions; a pair's second run may be shorter or empty.
    """
    n_pairs = -(-groups.sizes // (2 * width))
    query = np.repeat(np.arange(groups.n_queries), n_pairs)
    number = np.arange(len(query)) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    begin = groups.indptr[query] + 2 * width * number
    last = groups.indptr[query + 1]
    return begin, np.minimum(begin + width, last), np.minimum(begin + 2 * width, last)


def _merge_neighbors(order, runs, prefer, compared):
    """Return ``order`` with each pair of runs merged by preference.

    ``runs`` come from :func:`_runs`. All comparisons ``(i, j, preference)`` are appended to
    ``compared``.
    """
    begin, middle, end = runs
    merged = order.copy()
    left, right, target = begin.copy(), middle.copy(), begin.copy()
    active = np.flatnonzero((left < middle) & (right < end))
    while len(active):
        i, j = order[left[active]], order[right[active]]
        preference = prefer(i, j)
        compared.append((i, j, preference))
        from_right = preference < 0
        merged[target[active]] = np.where(from_right, j, i)
        target[active] += 1
        right[active] += from_right
        left[active] += ~from_right
        active = active[(left[active] < middle[active]) & (right[active] < end[active])]
    for n in np.flatnonzero(left < middle):  # the right run was used up first
        merged[target[n] : end[n]] = order[left[n] : middle[n]]
    return merged


@dataclass(frozen=True, eq=False)
class ComparedDocuments:
    """Documents to sort, with labels.

    Attributes
    ----------
    X : ndarray of shape (n_documents, n_features)
        Standard features.
    gains : ndarray of shape (n_documents,)
        What decides which of two documents belongs above the other.
    groups : QueryGroups
        Queries of the documents.
    weight : ndarray of shape (n_documents,)
        Weight of each document; the weight of a pair is the product.
    metric : callable or None
        ``metric(scores)`` is the quality of a ranking; without it, fewer wrong pairs are better.
    """

    X: np.ndarray
    gains: np.ndarray
    groups: QueryGroups
    weight: np.ndarray
    metric: Callable[[np.ndarray], float] | None

    @classmethod
    def of_training(cls, X: np.ndarray, data: TrainingSet, metric: Any) -> Self:
        """Return the documents of a training set; ``metric`` is None if no query is relevant to it.

        ``X`` are their standardized features. Weights of queries and documents become one per
        document.
        """
        weight = np.ones(len(X)) if data.sample_weight is None else data.sample_weight
        if data.query_weight is not None:
            weight = weight * np.sqrt(data.query_weight)
        try:
            prepared = get_metric(metric).prepared(data.y, data.groups)
        except ValueError:
            prepared = None
        return cls(X, data.y, data.groups, weight, prepared)

    @classmethod
    def of_held_out(cls, X: np.ndarray, held_out: EvalSet, metric: Any) -> Self:
        """Return held-out documents to sort; pairs count whose gains differ by the metric."""
        metric = get_metric(metric)
        gains = metric.gains(held_out.y) if isinstance(metric, Metric) else held_out.y
        return cls(X, gains, held_out.groups, np.ones(len(X)), held_out.metric)

    @property
    def has_pairs(self) -> bool:
        """Whether any query holds two documents of different gains."""
        return bool(self.groups.with_two_labels(self.gains).any())

    def sort(self, comparator: Comparator) -> tuple[np.ndarray, float]:
        """Sort by a comparator; return ``(wrong pairs, quality of the ranking)``.

        The wrong pairs have shape (2, n_pairs): rows of the better and the worse document of each.
        """
        projected = comparator.project(self.X)
        order, (i, j, preference) = sort_by_comparison(
            self.groups, lambda i, j: comparator.prefer(*projected, i, j)
        )
        advantage = self.gains[i] - self.gains[j]
        wrong = (advantage != 0) & (advantage * preference <= 0)
        better, worse = np.where(advantage > 0, i, j)[wrong], np.where(advantage > 0, j, i)[wrong]
        position = np.empty(len(order))
        position[order] = np.arange(len(order))
        quality = -float(wrong.sum()) if self.metric is None else number_of(self.metric, -position)
        return np.stack([better, worse]), quality

    def error(self, comparator: Comparator, pairs: np.ndarray) -> float:
        """Return the share of pairs (better, worse) that a comparator gets wrong; 0 of none."""
        if not pairs.shape[1]:
            return 0.0
        projected = comparator.project(self.X)
        return float((comparator.prefer(*projected, *pairs) <= 0).mean())
