"""Leaks: test documents that are also in training, and features that rank too well alone."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.display.results import Shown
from treerank.display.tables import counted
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import Columns
from treerank.documents.embeddings import with_entries
from treerank.documents.features import check_alike, check_matrix
from treerank.documents.labels import check_labels
from treerank.documents.queries import Queries, QueryGroups
from treerank.documents.reading import take_columns
from treerank.inspection.data_sheets import columns_of
from treerank.metrics.base import Metric, mean_value
from treerank.metrics.registry import AnyMetric, FunctionMetric, get_metric
from treerank.parameters import check_arguments


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


@check_arguments
def duplicates(X: Any, qid: Queries = None, reference: Any = None) -> Duplicates:
    """Return the duplicates among documents, and those that they share with a reference.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_documents, n_features)
        Features.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    reference : ndarray, sparse matrix or data frame, default=None
        Other documents with the same columns, such as the training data. Columns of data frames
        are found by the names in ``X``.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    >>> print(duplicates(X, [7, 7, 8], reference=X[2:]))
    2 documents with a duplicate in the same query, 1 document with a duplicate in the reference,
    1 whole query in the reference.
    """
    if reference is None:
        X = check_matrix("X", X)
    else:
        X, reference, _ = check_alike(X, reference)
    groups = QueryGroups.from_qid(qid, X.shape[0])
    hashes = row_hashes(X)
    order = np.lexsort((hashes, groups.codes))
    equals_next = (np.diff(hashes[order]) == 0) & (np.diff(groups.codes[order]) == 0)
    within = int(np.sum(np.append(equals_next, False) | np.append(False, equals_next)))
    if reference is None:
        return Duplicates(within, np.empty(0, dtype=np.int64), 0)
    in_reference = np.isin(hashes, row_hashes(reference))
    whole_queries = np.logical_and.reduceat(groups.sorted(in_reference), groups.indptr[:-1])
    return Duplicates(within, np.flatnonzero(in_reference), int(whole_queries.sum()))


@check_arguments
def single_features(
    X: Any, y: ArrayLike, qid: Queries = None, *, metric: AnyMetric = "ndcg@10"
) -> np.ndarray:
    """Return the metric of a ranking by each feature alone.

    Documents are ranked by ascending and by descending values, and the better of the two counts.
    Categories have no order: they are ranked by the mean label that they have in other queries, as
    a ranker would learn it. A feature that alone ranks about as well as a trained ranker may leak
    the label: for example, a count of clicks that came later.

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
        The metric; a function is averaged over queries, as in :func:`treerank.compare`.

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
    categorical = Columns.of(with_entries(X)).categories
    X = check_matrix("X", X)
    y = check_labels(y, X.shape[0])
    judged = np.flatnonzero(~np.isnan(y))
    X, y, groups = X[judged], y[judged], QueryGroups.from_qid(qid, len(y)).take(judged)
    return values_of_features(X, y, groups, get_metric(metric), categorical)


def values_of_features(
    X: Any,
    y: np.ndarray,
    groups: QueryGroups,
    metric: Metric | FunctionMetric,
    categorical: Collection[int],
) -> np.ndarray:
    """Return :func:`single_features` of a matrix, whose ``categorical`` columns hold codes.

    Examples
    --------
    >>> codes, y = np.array([[0.0], [1.0], [2.0], [1.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> groups = QueryGroups.from_qid([7, 7, 8, 8], 4)
    >>> values_of_features(codes, y, groups, get_metric("ndcg"), [0])
    array([1.])
    """
    prepared = metric.prepared(y, groups)

    def measured(scores: np.ndarray) -> float:
        # The mean over queries, also of a function, whose value of all documents is another number.
        values = prepared.per_query(scores)
        return np.nan if np.isnan(values).all() else mean_value(values, metric.name)

    return np.array(
        [
            measured(_by_other_queries(column, y, groups.codes))
            if number in categorical
            else _better_direction(measured, column)
            for number, column in enumerate(columns_of(X))
        ]
    )


def _by_other_queries(column, y, queries):
    """Return the mean label that each document's category has in other queries.

    Categories without documents in other queries come last, and so do missing ones.
    """
    _, codes = np.unique(column, return_inverse=True)
    _, pairs = np.unique(np.column_stack([codes, queries]), axis=0, return_inverse=True)
    pairs = pairs.ravel()
    totals, counts = (np.bincount(codes, values)[codes] for values in (y, np.ones_like(y)))
    totals -= np.bincount(pairs, y)[pairs]
    counts -= np.bincount(pairs)[pairs]
    known = (counts > 0) & ~np.isnan(column)
    means = np.divide(totals, counts, out=np.zeros_like(y), where=known)
    return np.where(known, means, means.min(initial=0.0) - 1)


def _better_direction(measured, column):
    """Return the metric of a column as a score, ascending or descending, whichever is better."""
    is_missing = np.isnan(column)
    filled = np.where(is_missing, 0.0, column)
    scores = [np.where(is_missing, np.nextafter(s.min(), -np.inf), s) for s in (filled, -filled)]
    return np.fmax(*map(measured, scores))  # a function may have a value in one direction alone
