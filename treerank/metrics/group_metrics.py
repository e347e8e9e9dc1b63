r"""Metrics of diversity and of exposure.

Aspects of a query are, for example, the meanings of its words. A document may be relevant for
several. Each further document for the same aspect gains less: with the redundancy :math:`\alpha`,
document i of a ranking has the gain

.. math:: g_i = \sum_{s} y_{is} (1 - \alpha)^{\sum_{j<i} y_{js}}.

Tied scores are broken by row. Values equal TREC ndeval's if rows are sorted by document
id: the ideal ranking takes the last of equal documents.

The exposure of a group of documents, such as one seller's, is the exposure of their positions.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, check_column, check_count, quote
from treerank.documents.ids import check_ids
from treerank.documents.queries import ByRow, QueryGroups
from treerank.metrics.graded_metrics import DISCOUNTS
from treerank.parameters import Count, Probability, Rule, check_arguments


@check_arguments
def alpha_ndcg(
    aspects: ArrayLike,
    scores: ArrayLike,
    qid: ByRow = None,
    *,
    k: Count | None = None,
    alpha: Probability = 0.5,
) -> np.ndarray:
    r"""Return the alpha-NDCG of each query: :math:`\sum_i g_i / \log_2(i + 1)`, normalized.

    It is divided by the same sum of a greedy ranking, with the largest gain at each position.

    Parameters
    ----------
    aspects : array-like of shape (n_documents, n_aspects)
        1 where a document is relevant for an aspect, else 0. Columns may stand for different
        aspects in each query.
    scores : array-like of shape (n_documents,)
        Scores; higher is better. Ties are broken by row: the first row is ranked first.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    k : int, default=None
        Cutoff rank; ``None`` is no cutoff.
    alpha : float, default=0.5
        Redundancy: the share of its gain that an aspect loses with each relevant document.

    Returns
    -------
    ndarray of shape (n_queries,)
        In the order of ``np.unique(qid)``; NaN for queries without a relevant document.

    References
    ----------
    Clarke et al. (2008), Novelty and diversity in information retrieval evaluation.

    Examples
    --------
    >>> aspects = [[1, 0], [1, 0], [0, 1]]
    >>> alpha_ndcg(aspects, [0.9, 0.8, 0.7]).round(3)
    array([0.965])
    >>> alpha_ndcg(aspects, [0.9, 0.7, 0.8])
    array([1.])
    """
    values = []
    for rows, order in _queries(aspects, scores, qid):
        discounts = 1 / np.log2(np.arange(len(rows)) + 2)
        rankings = rows[order], rows[_best(rows, alpha)]
        total, ideal = ((discounts * _gains(ranked, alpha))[:k].sum() for ranked in rankings)
        values.append(total / ideal if ideal > 0 else np.nan)
    return np.array(values)


@check_arguments
def err_ia(
    aspects: ArrayLike,
    scores: ArrayLike,
    qid: ByRow = None,
    *,
    k: Annotated[int, Rule(check_count, at_most=10**6)] | None = None,
    alpha: Probability = 0.5,
) -> np.ndarray:
    r"""Return the intent-aware expected reciprocal rank: :math:`\sum_i g_i / i`, normalized.

    It is divided by the same sum of a ranking whose documents are all relevant for all aspects of
    the query.

    Parameters
    ----------
    aspects, scores, qid, k, alpha
        As in :func:`alpha_ndcg`, so that ties of ``scores`` are broken by row; ``k`` is at most
        1,000,000.

    Returns
    -------
    ndarray of shape (n_queries,)
        In the order of ``np.unique(qid)``; NaN for queries without a relevant document.

    References
    ----------
    Chapelle et al. (2011), Intent-based diversification of web search results.

    Examples
    --------
    >>> err_ia([[1, 0], [1, 0], [0, 1]], [0.9, 0.8, 0.7], k=2)
    array([0.5])
    """
    values = []
    for rows, order in _queries(aspects, scores, qid):
        positions = np.arange(len(rows) if k is None else k)
        n_aspects = np.count_nonzero(rows.any(axis=0))
        most = n_aspects * ((1 - alpha) ** positions / (positions + 1)).sum()
        total = (_gains(rows[order], alpha) / np.arange(1, len(rows) + 1))[:k].sum()
        values.append(total / most if n_aspects else np.nan)
    return np.array(values)


def _queries(aspects, scores, qid):
    """Check the arguments of :func:`alpha_ndcg`; return ``(aspects, order)`` of each query.

    ``aspects`` is a boolean matrix with a row per document of the query, and ``order`` its row
    numbers, best score first.
    """
    scores, table = check_column("scores", scores), as_numbers("aspects", aspects)
    if table.ndim != 2 or len(table) != len(scores) or not np.isin(table, [0, 1]).all():
        raise ValueError(
            f"aspects must be 0 or 1, of shape ({len(scores)}, n_aspects); got {quote(aspects)}."
        )
    groups, table = QueryGroups.from_qid(qid, len(scores)), table.astype(bool)
    return [(table[rows], np.argsort(-scores[rows], kind="stable")) for rows in groups.rows]


def _gains(ranked, alpha):
    """Return the gain of each document of a ranked list of one query.

    ``ranked`` is boolean, of shape (n_documents, n_aspects). An aspect adds ``(1 - alpha) ** c`` to
    the gain of a document that has it, after c others that have it.
    """
    earlier = np.cumsum(ranked, axis=0) - ranked
    return (ranked * (1.0 - alpha) ** earlier).sum(axis=1)


def _best(rows, alpha):
    """Return the row numbers of the greedy ranking, with the largest gain left at each position.

    ``rows`` is boolean, of shape (n_documents, n_aspects).
    """
    aspect_gains, order, remaining = np.ones(rows.shape[1]), [], list(range(len(rows)))[::-1]
    while remaining:
        order.append(remaining.pop(int(np.argmax(rows[remaining] @ aspect_gains))))
        aspect_gains = aspect_gains * np.where(rows[order[-1]], 1 - alpha, 1.0)
    return order


@check_arguments
def exposure_by_group(
    group: ArrayLike,
    scores: ArrayLike,
    qid: ByRow = None,
    *,
    k: Count | None = None,
    discount: Annotated[str, Rule.one_of(DISCOUNTS)] = "log2",
) -> dict[Any, float]:
    """Return the mean exposure of the documents of each group, such as one seller's.

    The exposure of a document is the discount of its position. Tied documents share the exposure
    of their positions.

    Parameters
    ----------
    group, scores, qid : array-like of shape (n_documents,)
        Group, score and query of each document; ``qid=None`` is a single query.
    k : int, default=None
        Positions after ``k`` have no exposure; ``None`` is no cutoff.
    discount : {"log2", "delayed_log2"}, default="log2"
        Exposure by position, as in :class:`~treerank.metrics.NDCG`.

    Returns
    -------
    dict
        Mean exposure by group, in ascending order of the groups.

    References
    ----------
    Singh and Joachims (2018), Fairness of exposure in rankings.

    Examples
    --------
    >>> exposure_by_group(["a", "b", "b"], [0.9, 0.5, 0.5])["a"]
    1.0
    """
    scores = check_column("scores", scores)
    groups = QueryGroups.from_qid(qid, len(scores))
    order = np.lexsort((-scores, groups.codes))
    position = groups.positions
    exposure = DISCOUNTS[discount](position + 1.0)
    exposure[position >= (len(scores) if k is None else k)] = 0.0
    is_first = (np.diff(scores[order], prepend=np.nan) != 0) | (position == 0)
    block = np.cumsum(is_first) - 1
    exposure = (np.bincount(block, exposure) / np.bincount(block))[block]
    ids = check_ids("group", group)
    if len(ids) != len(scores):
        raise ValueError(f"group must have {len(scores)} entries; got {len(ids)}.")
    by_group = QueryGroups.from_qid(ids)
    means = np.bincount(by_group.codes[order], exposure) / np.bincount(by_group.codes)
    return dict(zip(by_group.first_of(ids).tolist(), means.tolist(), strict=True))
