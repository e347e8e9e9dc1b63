r"""Fusion: one score for each document from the scores of several retrievers, without labels.

Reciprocal rank fusion adds :math:`1 / (k + \text{rank})`. Its k was chosen as 60 on lists of 1,000
documents, where the first document of a list counts 17 times as much as the last. On lists of 15 it
counts only 1.2 times as much under the same k, so that fusion merely counts how many retrievers
found a document. So by default k is a share of the length of the lists.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from treerank.checks import quote
from treerank.documents.queries import ByRow, QueryGroups
from treerank.parameters import Auto, Positive, Rule, check_arguments
from treerank.reranking.normalization import NORMALIZATIONS, check_scores, normalized_by_query

#: k over the length of the lists, and the largest k, which is the usual one.
_SHARE, _LARGEST = 0.2, 60.0


@check_arguments
def fuse(
    runs: Mapping[str, ArrayLike],
    qid: ByRow = None,
    *,
    method: Annotated[str, Rule.one_of(("reciprocal_rank", *NORMALIZATIONS))] = "reciprocal_rank",
    k: Positive | Auto = "auto",
) -> np.ndarray:
    """Fuse the scores of several retrievers into one score per document.

    Parameters
    ----------
    runs : dict from str to array-like of shape (n_documents,)
        Scores by retriever, higher is better; NaN where it has not found the document.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    method : {"reciprocal_rank", "min_max", "z_score", "l2"}, default="reciprocal_rank"
        What is added: ``1 / (k + rank)`` within the query [1]_, with the mean rank of equal scores,
        and 0 for a document that was not found; or the scores normalized by
        :func:`normalize_scores`.
    k : float or "auto", default="auto"
        Constant of "reciprocal_rank": the larger, the less the top ranks differ. "auto" is a fifth
        of the length of the longest list of the query, and at most 60: 3 for lists of 15 documents,
        20 for 100, 60 from 300 on. Search engines use a fixed number, mostly 60, which was chosen
        on lists of 1,000 documents [1]_; on short lists it merely counts retrievers.

    Returns
    -------
    ndarray of shape (n_documents,)

    References
    ----------
    .. [1] Cormack et al. (2009). Reciprocal rank fusion outperforms Condorcet and individual rank
       learning methods.

    Examples
    --------
    >>> runs = {"words": [3.0, 2.0, np.nan], "vectors": [np.nan, 0.9, 0.8]}
    >>> fuse(runs).round(3)
    array([0.714, 1.131, 0.417])
    >>> fuse(runs, k=60).round(4)
    array([0.0164, 0.0325, 0.0161])
    """
    if method != "reciprocal_rank" and k != "auto":
        raise ValueError(
            f"k must be 'auto' for method={quote(method)}, which has none; got {quote(k)}."
        )
    if not runs:
        raise ValueError("runs must hold the scores of a retriever; got none.")
    columns = {name: check_scores(f"runs[{quote(name)}]", values) for name, values in runs.items()}
    n = len(next(iter(columns.values())))
    for name, scores in columns.items():
        if len(scores) != n:
            raise ValueError(f"runs[{quote(name)}] must have {n} entries; got {len(scores)}.")
    groups = QueryGroups.from_qid(qid, n)
    if method == "reciprocal_rank":
        parts = reciprocal_ranks(columns, groups, None if k == "auto" else float(k))
    else:
        parts = {
            name: normalized_by_query(scores, groups, method) for name, scores in columns.items()
        }
    total = np.zeros(n)
    for part in parts.values():
        total += part
    return total


def reciprocal_ranks(
    columns: Mapping[str, np.ndarray], groups: QueryGroups, k: float | None = None
) -> dict[str, np.ndarray]:
    """Return ``1 / (k + rank)`` of each document by retriever; 0 if it was not found (NaN).

    With ``k=None``, it is a fifth of the longest list of the query, at most 60.

    Examples
    --------
    >>> reciprocal_ranks({"words": np.array([3.0, 2.0])}, QueryGroups.from_qid(None, 2), 1.0)
    {'words': array([0.5       , 0.33333333])}
    """
    reciprocal = {name: np.zeros(groups.n_documents) for name in columns}
    for rows in groups.rows:
        lists = {name: rows[~np.isnan(scores[rows])] for name, scores in columns.items()}
        longest = max(map(len, lists.values()))
        constant = min(_SHARE * longest, _LARGEST) if k is None else k
        for name, retrieved in lists.items():
            ranks = rankdata(-columns[name][retrieved])  # the mean rank of equal scores
            reciprocal[name][retrieved] = 1 / (constant + ranks)
    return reciprocal
