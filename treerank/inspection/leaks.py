"""Leaks: test documents that were trained on, and features that rank too well alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.documents.canonical_order import row_hashes
from treerank.documents.features import check_labels, check_matrix
from treerank.documents.queries import Queries, QueryGroups
from treerank.inspection.data_sheets import columns_of
from treerank.metrics.registry import AnyMetric, get_metric


@dataclass(frozen=True, eq=False)
class Copies:
    """Documents with the same values of all features as another document.

    Parameters
    ----------
    within : int
        Number of documents with an equal one in their own query.
    in_reference : ndarray of int
        Rows of documents with an equal one in the reference, such as the training data.
    queries_in_reference : int
        Number of queries of which every document has an equal one in the reference.

    Examples
    --------
    >>> Copies(within=0, in_reference=np.array([3]), queries_in_reference=1).in_reference
    array([3])
    """

    within: int
    in_reference: np.ndarray
    queries_in_reference: int


def copies(X: Any, qid: Queries = None, reference: Any = None) -> Copies:
    """Return how many documents have an equal one, and which have one in a reference.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_documents, n_features)
        Features.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    reference : ndarray or sparse matrix, default=None
        Other documents, such as the training data; of the same kind as ``X``.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    >>> copies(X, [7, 7, 8], reference=X[2:])
    Copies(within=2, in_reference=array([2]), queries_in_reference=1)
    """
    X = check_matrix("X", X)
    groups = QueryGroups.from_qid(qid, X.shape[0])
    hashes = row_hashes(X)
    order = np.lexsort((hashes, groups.codes))
    same = (np.diff(hashes[order]) == 0) & (np.diff(groups.codes[order]) == 0)
    within = int(np.sum(np.append(same, False) | np.append(False, same)))
    if reference is None:
        return Copies(within, np.empty(0, dtype=np.int64), 0)
    known = np.isin(hashes, row_hashes(check_matrix("reference", reference)))
    whole = np.logical_and.reduceat(groups.sorted(known), groups.indptr[:-1])
    return Copies(within, np.flatnonzero(known), int(whole.sum()))


def single_features(
    X: Any, y: ArrayLike, qid: Queries = None, *, metric: AnyMetric = "ndcg@10"
) -> np.ndarray:
    """Return the metric of each feature as the only score, rising or falling, what is better.

    A feature that alone ranks about as well as a ranker may hold what users or judges did later.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_documents, n_features)
        Features; documents without a value come last.
    y : array-like of shape (n_documents,)
        Labels; documents of NaN are left out.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    metric : str, Metric or callable, default="ndcg@10"
        What is measured.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> single_features(np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 9.0]]), [2, 1, 0]).round(2)
    array([1. , 0.9])
    """
    X = check_matrix("X", X)
    y = check_labels(y, X.shape[0], some_unjudged=True)
    judged = np.flatnonzero(~np.isnan(y))
    X, y, qid = X[judged], y[judged], QueryGroups.from_qid(qid, len(y)).among(judged)
    measured = get_metric(metric).prepared(y, qid)
    return np.array([_better_way(measured, column) for column in columns_of(X)])


def _better_way(measured, column):
    """Return the mean value of a column as a score, rising or falling."""
    last = np.isnan(column)
    known = np.where(last, 0.0, column)
    return max(measured(np.where(last, np.nextafter(s.min(), -np.inf), s)) for s in (known, -known))
