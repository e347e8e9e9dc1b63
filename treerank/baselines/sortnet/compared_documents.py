"""Compared documents: documents that a comparator sorts, and what is known about their order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.baselines.sortnet.comparator import Comparator
from treerank.baselines.sortnet.comparison_sort import sort_by_comparison
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.base import Metric
from treerank.metrics.registry import get_metric
from treerank.rankers.held_out import HeldOut
from treerank.rankers.training_set import TrainingSet


@dataclass(frozen=True, eq=False)
class ComparedDocuments:
    """Documents to sort, with labels.

    Attributes
    ----------
    X : ndarray of shape (n_documents, n_features)
        Standard features.
    worth : ndarray of shape (n_documents,)
        What decides which of two documents belongs above the other.
    groups : QueryGroups
        Queries of the documents.
    weight : ndarray of shape (n_documents,)
        Weight of each document; that of a pair is the product.
    metric : callable or None
        ``metric(scores)`` is the quality of a ranking; without it, fewer wrong pairs are better.
    """

    X: np.ndarray
    worth: np.ndarray
    groups: QueryGroups
    weight: np.ndarray
    metric: Callable[[np.ndarray], float] | None

    @classmethod
    def of_training(cls, X: np.ndarray, data: TrainingSet, metric: Any) -> Self:
        """Return a training set; without the metric, if it has a value in no query."""
        weight = np.ones(len(X)) if data.sample_weight is None else data.sample_weight
        if data.query_weight is not None:
            weight = weight * np.sqrt(data.query_weight)
        try:
            prepared = get_metric(metric).prepared(data.y, data.groups)
        except ValueError:
            prepared = None
        return cls(X, data.y, data.groups, weight, prepared)

    @classmethod
    def of_held_out(cls, X: np.ndarray, held_out: HeldOut, metric: Any) -> Self:
        """Return held-out documents, of which only differences that the metric sees count."""
        metric = get_metric(metric)
        worth = metric.worth(held_out.y) if isinstance(metric, Metric) else held_out.y
        return cls(X, worth, held_out.groups, np.ones(len(X)), held_out.metric)

    @property
    def has_pairs(self) -> bool:
        """Whether any query holds two documents of different worth."""
        return bool(self.groups.with_two_labels(self.worth).any())

    def sort(self, comparator: Comparator) -> tuple[np.ndarray, float]:
        """Return the pairs that sorting compares wrongly, and the quality of the ranking."""
        projected = comparator.project(self.X)
        order, (i, j, preference) = sort_by_comparison(
            self.groups, lambda i, j: comparator.prefer(*projected, i, j)
        )
        advantage = self.worth[i] - self.worth[j]
        wrong = (advantage != 0) & (advantage * preference <= 0)
        better, worse = np.where(advantage > 0, i, j)[wrong], np.where(advantage > 0, j, i)[wrong]
        position = np.empty(len(order))
        position[order] = np.arange(len(order))
        quality = -float(wrong.sum()) if self.metric is None else self.metric(-position)
        return np.stack([better, worse]), quality

    def error(self, comparator: Comparator, pairs: np.ndarray) -> float:
        """Return the share of pairs that a comparator gets wrong."""
        if not pairs.shape[1]:
            return 0.0
        projected = comparator.project(self.X)
        return float((comparator.prefer(*projected, *pairs) <= 0).mean())
