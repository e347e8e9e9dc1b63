"""Certainty: how often the models of an ensemble agree on the top documents of a query."""

from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.documents.queries import ByRow, QueryGroups
from treerank.documents.reading import read_documents
from treerank.feature_parts.ensemble import Ensemble
from treerank.parameters import Count, check_arguments
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.scoring import scores_of


@check_arguments
def top_certainty(ranker: DirectRanker, X: Any, qid: ByRow = None, *, k: Count = 3) -> np.ndarray:
    """Return, for each query, the share of an ensemble's models with the same top ``k`` documents.

    An ensemble holds several models, fitted with different seeds or on different queries. If most
    of them have the ensemble's top documents in their own top ``k``, in any order, the top of the
    list is reliable. If few do, the features or the training data do not determine it.

    Parameters
    ----------
    ranker : DirectRanker
        A fitted ranker whose feature part is an ensemble, such as ``TreeDirectRanker.best()``.
    X : array-like, data frame or sparse matrix of shape (n_documents, n_features)
        Whole queries.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    k : int, default=3
        Number of top documents. Those that tie with the last of them are at the top, too.

    Returns
    -------
    ndarray of shape (n_queries,)
        In ascending order of the query ids. It is 1 where there are at most ``k`` documents.

    Examples
    --------
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> X, y, qid = make_web_search(20, documents_per_query=10, n_features=4, random_state=0)
    >>> ranker = TreeDirectRanker(["linear", "histogram"], random_state=0).fit(X, y, qid)
    >>> shares = top_certainty(ranker, X, qid)
    >>> shares.shape, bool(shares.min() >= 0), bool(shares.max() <= 1)
    ((20,), True, True)
    """
    X, _, qid = read_documents(ranker, X, None, qid)
    part = ranker.feature_part_
    if not isinstance(part, Ensemble) or len(part.bags_) < 2:
        rule = "ranker must have an ensemble of several fits, as TreeDirectRanker.best() has"
        raise ValueError(f"{rule}; got {quote(part)}.")
    groups = QueryGroups.from_qid(qid, X.shape[0])
    in_top = _is_in_top(scores_of(ranker, X), groups, k)
    agrees = np.stack([_is_in_top(s, groups, k) == in_top for s in part.scores_by_fit(X)])
    return np.logical_and.reduceat(agrees[:, groups.order], groups.indptr[:-1], axis=1).mean(axis=0)


def _is_in_top(scores: np.ndarray, groups: QueryGroups, k: int) -> np.ndarray:
    """Return a mask of the top ``k`` documents of each query, and of those that tie with the last.

    So it does not depend on the order of rows.
    """
    best_first = np.lexsort((-scores, groups.codes))
    last = best_first[groups.indptr[:-1] + np.minimum(k, groups.sizes) - 1]
    is_in_top: np.ndarray = scores >= scores[last][groups.codes]
    return is_in_top
