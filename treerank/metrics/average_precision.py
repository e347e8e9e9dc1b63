r"""Average precision (MAP): the precision at each relevant document, averaged over them.

.. math:: \text{AP@}k = \frac1R \sum_{i=1}^{k} [y_i \ge \text{threshold}] \, \text{P@}i

with R the number of relevant documents of the query, found or not, as in trec_eval. At
position t of a tied block of n documents, r of them relevant, after p documents with c
relevant ones, the expected term is (McSherry and Najork, 2008)

.. math:: \frac{r}{n} \cdot \frac{c + 1 + (t - 1)(r - 1) / (n - 1)}{p + t}.
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
def _precisions(relevant, ends, k, discounts):
    total, before, start = 0.0, 0.0, 0
    depth = min(len(relevant), k)
    while start < depth:
        end = ends[start]
        n_relevant = relevant[start:end].sum()
        if n_relevant > 0:
            share = n_relevant / (end - start)
            growth = (n_relevant - 1) / max(end - start - 1, 1)
            for i in range(start, min(end, depth)):
                total += share * (before + 1 + (i - start) * growth) / (i + 1)
        before += n_relevant
        start = end
    return total


@dataclass(frozen=True, kw_only=True)
class AveragePrecision(Metric):
    """Average precision; nothing to find if no label reaches the threshold.

    Parameters
    ----------
    k, ties, no_relevant
        See :class:`~treerank.metrics.base.Metric`.
    threshold : float, default=1
        Labels from here on are relevant.

    References
    ----------
    McSherry and Najork (2008), Computing information retrieval performance measures
    efficiently in the presence of tied scores.

    Examples
    --------
    >>> AveragePrecision()([1, 0, 1], [0.3, 0.2, 0.1])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """

    threshold: float = 1

    stem: ClassVar[str] = "map"
    of_list: ClassVar[Callable] = _precisions

    def __post_init__(self):
        super().__post_init__()
        check_number("threshold", self.threshold)

    def worth(self, y):
        """Return 1 for relevant documents, 0 for others."""
        return is_relevant(y, self.threshold)

    def ideal(self, worth, indptr):
        """Return the number of relevant documents."""
        return count_relevant(worth, indptr).astype(np.float64)


def map_score(
    y_true,
    y_score,
    qid=None,
    *,
    k=None,
    threshold=1,
    ties="average",
    no_relevant="exclude",
    per_query=False,
):
    """Return the mean average precision, over queries.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        See :func:`~treerank.metrics.ndcg.ndcg_score`.
    k, threshold, ties, no_relevant
        See :class:`AveragePrecision`.

    Returns
    -------
    float or ndarray of shape (n_queries,)

    Examples
    --------
    >>> map_score([0, 2, 1, 0], [0.9, 0.8, 0.2, 0.1], [1, 1, 2, 2])  # (1/2 + 1/1) / 2
    0.75
    """
    metric = AveragePrecision(k=k, threshold=threshold, ties=ties, no_relevant=no_relevant)
    return evaluate(metric, y_true, y_score, qid, per_query)
