"""Leaks: test documents that are also in training, and features that rank too well alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.display.results import Shown
from treerank.display.tables import counted
from treerank.documents.canonical_order import row_hashes
from treerank.documents.features import check_matrix
from treerank.documents.labels import check_labels
from treerank.documents.queries import Queries, QueryGroups
from treerank.documents.reading import take_columns
from treerank.inspection.data_sheets import columns_of
from treerank.metrics.registry import AnyMetric, get_metric


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(Shown):
    """Duplicates: documents with the same features as another document.

    Parameters
    ----------
    within : int
        Number of documents with a duplicate in their own query.
    in_reference : ndarray of int
        Rows of the documents with a duplicate in the reference, such as the training data.
    queries_in_reference : int
        Number of queries whose documents all have a duplicate in the reference.

    Examples
    --------
    >>> Duplicates(within=0, in_reference=np.array([3]), queries_in_reference=1).in_reference
    array([3])
    """

    within: int
    in_reference: np.ndarray
    queries_in_reference: int

    def _shown(self) -> str:
        within = counted(self.within, "document")
        shared = counted(len(self.in_reference), "document")
        queries = counted(self.queries_in_reference, "whole query", "whole queries")
        return (
            f"{within} with a duplicate in the same query, {shared} with a duplicate in the "
            f"reference, {queries} in the reference."
        )


def duplicates(X: Any, qid: Queries = None, reference: Any = None) -> Duplicates:
    """Return the duplicates among documents, and those that they share with a reference.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_documents, n_features)
        Features.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    reference : ndarray or sparse matrix, default=None
        Other documents with the same columns, such as the training data.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    >>> print(duplicates(X, [7, 7, 8], reference=X[2:]))
    2 documents with a duplicate in the same query, 1 document with a duplicate in the reference,
    1 whole query in the reference.
    """
    X = check_matrix("X", X)
    groups = QueryGroups.from_qid(qid, X.shape[0])
    hashes = row_hashes(X)
    order = np.lexsort((hashes, groups.codes))
    equals_next = (np.diff(hashes[order]) == 0) & (np.diff(groups.codes[order]) == 0)
    within = int(np.sum(np.append(equals_next, False) | np.append(False, equals_next)))
    if reference is None:
        return Duplicates(within, np.empty(0, dtype=np.int64), 0)
    in_reference = np.isin(hashes, row_hashes(check_matrix("reference", reference)))
    whole_queries = np.logical_and.reduceat(groups.sorted(in_reference), groups.indptr[:-1])
    return Duplicates(within, np.flatnonzero(in_reference), int(whole_queries.sum()))


def single_features(
    X: Any, y: ArrayLike, qid: Queries = None, *, metric: AnyMetric = "ndcg@10"
) -> np.ndarray:
    """Return the metric of a ranking by each feature alone.

    Documents are ranked by ascending and by descending values, and the better of the two counts. A
    feature that alone ranks about as well as a trained ranker may leak the label: for example, a
    count of clicks that came later.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_documents, n_features)
        Features; documents in which the feature is missing come last.
    y : array-like of shape (n_documents,) or str
        Labels; unjudged documents (NaN) are excluded. A str is the name of a column of ``X``, which
        is then not a feature.
    qid : array-like of shape (n_documents,), str or tuple of str, default=None
        Query of each document, or names of columns of ``X``; ``None`` is a single query.
    metric : str, Metric or callable, default="ndcg@10"
        The metric.

    Returns
    -------
    ndarray of shape (n_features,)
        One value per feature, in the order of the columns.

    Examples
    --------
    >>> single_features(np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 9.0]]), [2, 1, 0]).round(2)
    array([1. , 0.9])
    """
    X, (y, qid) = take_columns(X, y=y, qid=qid)
    X = check_matrix("X", X)
    y = check_labels(y, X.shape[0])
    judged = np.flatnonzero(~np.isnan(y))
    X, y, qid = X[judged], y[judged], QueryGroups.from_qid(qid, len(y)).take(judged)
    measured = get_metric(metric).prepared(y, qid)
    return np.array([_better_direction(measured, column) for column in columns_of(X)])


def _better_direction(measured, column):
    """Return the metric of a column as a score, ascending or descending, whichever is better."""
    is_missing = np.isnan(column)
    filled = np.where(is_missing, 0.0, column)
    scores = [np.where(is_missing, np.nextafter(s.min(), -np.inf), s) for s in (filled, -filled)]
    return max(measured(s) for s in scores)
