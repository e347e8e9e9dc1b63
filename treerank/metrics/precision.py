r"""Precision: the share of relevant documents among the first k.

.. math:: \text{P@}k = \frac1k \sum_{i=1}^{k} [y_i \ge \text{threshold}]

A tied block has its share of relevant documents at each of its positions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from treerank.checks import check_number
from treerank.metrics.base import Metric, evaluate
from treerank.metrics.relevance import count_relevant, is_relevant


@register_jitable
def _hits(relevant, ends, k, discounts):
    hits, start = 0.0, 0
    depth = min(len(relevant), k)
    while start < depth:
        end = ends[start]
        n_relevant = relevant[start:end].sum()
        hits += n_relevant * (min(end, depth) - start) / (end - start)
        start = end
    return hits


@dataclass(frozen=True, kw_only=True)
class Precision(Metric):
    """Precision; nothing to find if no label reaches the threshold.

    The divisor is k for a query of fewer documents too, as in trec_eval.

    Parameters
    ----------
    k, ties, no_relevant
        See :class:`~treerank.metrics.base.Metric`.
    threshold : float, default=1
        Labels from here on are relevant.

    Examples
    --------
    >>> Precision(k=2)([0, 1, 2], [0.1, 0.3, 0.2])
    1.0
    """

    threshold: float = 1

    stem: ClassVar[str] = "p"
    of_list: ClassVar[Callable] = _hits

    def __post_init__(self):
        super().__post_init__()
        check_number("threshold", self.threshold)

    def worth(self, y):
        """Return 1 for relevant documents, 0 for others."""
        return is_relevant(y, self.threshold)

    def ideal(self, worth, indptr):
        """Return k, or the number of documents without a cutoff."""
        divisor = np.diff(indptr) if self.k is None else self.k
        return np.where(count_relevant(worth, indptr) > 0, divisor, 0).astype(np.float64)


def precision_score(
    y_true,
    y_score,
    qid=None,
    *,
    k=10,
    threshold=1,
    ties="average",
    no_relevant="exclude",
    per_query=False,
):
    """Return the mean precision@k over queries.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        See :func:`~treerank.metrics.ndcg.ndcg_score`.
    k, threshold, ties, no_relevant
        See :class:`Precision`.

    Returns
    -------
    float or ndarray of shape (n_queries,)

    Examples
    --------
    >>> precision_score([1, 0, 1], [0.3, 0.2, 0.1], k=2)
    0.5
    """
    metric = Precision(k=k, threshold=threshold, ties=ties, no_relevant=no_relevant)
    return evaluate(metric, y_true, y_score, qid, per_query)
