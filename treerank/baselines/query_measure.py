"""Query measure: the values of a metric by query, for rankers that optimize the metric itself."""

import math

import numpy as np

from treerank.baselines.training_checks import refuse_weights, warn_of_constant_model
from treerank.checks import quote
from treerank.documents.training_set import TrainingSet
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric, get_metric
from treerank.rankers.ranker import Ranker

#: Why a ranker that optimizes a metric of whole queries refuses other weights.
_OF_WHOLE_QUERIES = {
    "sample_weight": "a metric of whole queries is optimized; query_weight weights queries",
    "given_pairs": "a metric of whole queries is optimized, no pairs are compared",
}


class QueryMeasure:
    """Values of a metric by query, for documents in training order.

    Parameters
    ----------
    data : TrainingSet
        Documents of which each query has a value.
    metric : Metric or FunctionMetric
        What is measured.

    Attributes
    ----------
    data : TrainingSet
        These documents.
    weight : ndarray of shape (n_queries,)
        The user's weight of each query in the mean.

    Examples
    --------
    >>> from treerank.documents.rows import Rows
    >>> from treerank.metrics import NDCG
    >>> from treerank.documents.training_set import training_set
    >>> data = training_set(Rows(np.eye(2)), np.array([1.0, 0.0]), np.zeros(2))
    >>> QueryMeasure(data, NDCG(k=1)).values(data.y)
    array([1.])
    """

    def __init__(self, data: TrainingSet, metric: Metric | FunctionMetric) -> None:
        self.data, self.prepared = data, metric.prepared(data.y, data.groups)
        weights = data.weight_of_queries
        self.weight = np.ones(data.groups.n_queries) if weights is None else weights
        self.total_weight = math.fsum(self.weight)

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the value of each query; refuse NaN, for rankings are compared on all queries."""
        values = self.prepared.per_query(scores)
        if np.isnan(values).any():
            raise ValueError(
                f"metric {quote(self.prepared.name)} must return a number for each ranking of a "
                "query, or NaN for each; got NaN for some rankings. Return another number, such as "
                "0, where it is not defined."
            )
        return values

    def mean(self, values: np.ndarray) -> float:
        """Return the weighted mean over queries; its sum is rounded once."""
        return math.fsum((self.weight * values).tolist()) / self.total_weight


def query_measure(ranker: Ranker, data: TrainingSet) -> QueryMeasure | None:
    """Return the measure of the queries in which a ranker's metric depends on the order.

    Without such a query, warn and return ``None``. Weights of documents and pairs are refused.
    """
    refuse_weights(ranker, data, _OF_WHOLE_QUERIES)
    metric = get_metric(ranker.metric)
    queries = measurable(data, metric)
    if queries is None:
        warn_of_constant_model(f"In no query does {metric.name} depend on the order")
        return None
    return QueryMeasure(queries, metric)


def measurable(data: TrainingSet, metric: Metric | FunctionMetric) -> TrainingSet | None:
    """Return the queries whose value depends on the order of documents; ``None`` without any.

    Queries for which a function is NaN are left out; refuses one that is NaN for all.
    """
    if isinstance(metric, FunctionMetric):
        queries = _of_queries(data, data.groups.with_two_labels(data.y))
        return queries and _defined(queries, metric)
    gains = metric.gains(data.y)
    rankable = metric.ideal_of(data.groups.sorted(gains), data.groups) > 0
    return _of_queries(data, rankable & data.groups.with_two_labels(gains))


def _of_queries(data: TrainingSet, mask: np.ndarray) -> TrainingSet | None:
    """Return the documents of some queries, given by a mask; ``None`` without any."""
    kept = mask[data.groups.codes]
    if kept.all():
        return data
    return data.take(np.flatnonzero(kept)) if kept.any() else None


def _defined(data: TrainingSet, metric: FunctionMetric) -> TrainingSet:
    """Return the queries for which a function is not NaN, by the ranking by labels."""
    queries = _of_queries(data, ~np.isnan(metric.per_query(data.y, data.y, data.groups)))
    if queries is None:
        raise ValueError(
            f"metric {quote(metric.name)} must return a number for a query with two different "
            f"labels; got NaN for all {data.groups.n_queries}."
        )
    return queries
