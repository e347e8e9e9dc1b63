"""Labels of a comparison: one or several, and their metrics.

Several labels are a structured array here, so that rows can be taken as from any array.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from treerank.checks import check_column
from treerank.documents.labels import are_judged, split_labels, weights_of_labels
from treerank.metrics.base import Metric
from treerank.metrics.judged import judged_share
from treerank.metrics.registry import FunctionMetric


def checked_labels(y: Any, n_documents: int | None = None) -> np.ndarray:
    """Return one label per row, or several as a structured array; NaN is unjudged.

    Examples
    --------
    >>> checked_labels({"relevance": [1, 0], "margin": [0.5, np.nan]}).dtype.names
    ('relevance', 'margin')
    """
    labels = split_labels(y)
    if labels is None:
        return check_column("y", y, n_documents, some_unjudged=True)
    columns = {
        name: check_column(f"y[{name!r}]", column, n_documents, some_unjudged=True)
        for name, column in labels.items()
    }
    first = len(next(iter(columns.values())))
    records = np.empty(first, dtype=[(name, np.float64) for name in columns])
    for name, column in columns.items():
        records[name] = check_column(f"y[{name!r}]", column, first, some_unjudged=True)
    return records


def as_passed(y: np.ndarray) -> Any:
    """Return labels as ``fit`` takes them: several by name."""
    return {name: y[name] for name in y.dtype.names} if y.dtype.names else y


def values_by_query(
    metrics: Mapping[str, Metric | FunctionMetric],
    y: np.ndarray,
    scores: np.ndarray,
    qid: Any,
    label_weights: Mapping[str, float] | None = None,
) -> dict[str, np.ndarray]:
    """Return metrics by query; with several labels, their weighted mean and each label's own.

    The weighted mean is that of ``ranker.score``, which averages each label over the queries in
    which it has relevant documents. Values by query are scaled so that their mean equals it.

    Examples
    --------
    >>> from treerank import get_metric
    >>> y = checked_labels({"a": [1, 0, 0, 1], "b": [0, 1, 0, 0]})
    >>> values_by_query({"mrr": get_metric("mrr")}, y, np.array([2.0, 1, 2, 1]), [1, 1, 2, 2])
    {'mrr': array([1. , 0.25]), 'mrr of a': array([1. , 0.5]), 'mrr of b': array([0.5, nan])}
    """
    if not y.dtype.names:
        return {name: metric.per_query(y, scores, qid) for name, metric in metrics.items()}
    weights = weights_of_labels(label_weights, y.dtype.names)
    values = {}
    for name, metric in metrics.items():
        by_label = {label: metric.per_query(y[label], scores, qid) for label in y.dtype.names}
        values[name] = _shares(np.array([*by_label.values()]), np.array(weights))
        values |= {f"{name} of {label}": column for label, column in by_label.items()}
    return values


def _shares(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return values by query whose mean is the weighted mean of the labels' means.

    If a label has no query with a relevant document, all values are NaN.
    """
    values, weights = values[weights > 0], weights[weights > 0] / weights.sum()
    is_defined = ~np.isnan(values)
    counts = is_defined.sum(axis=1)
    if not counts.all():
        return np.full(values.shape[1], np.nan)
    is_counted = is_defined.any(axis=0)
    shares = (weights * is_counted.sum() / counts) @ np.where(is_defined, values, 0.0)
    return np.where(is_counted, shares, np.nan)


def judged_labels_share(y: np.ndarray, scores: np.ndarray, qid: Any) -> float:
    """Return judged@10, where a document is judged if any of its labels is."""
    return judged_share(np.where(are_judged(as_passed(y)), 0.0, np.nan), scores, qid)
