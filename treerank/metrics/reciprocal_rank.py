r"""Reciprocal rank (MRR): one over the position of the first relevant document.

Beyond the cutoff it counts 0. In a tied block of n documents, r of them relevant, the first
relevant one is at position t with probability

.. math:: \frac{r}{n - t + 1} \prod_{i=0}^{t-2} \frac{n - r - i}{n - i}.
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
def _reciprocal_rank(relevant, ends, k, discounts):
    start, n_relevant = 0, 0.0
    depth = min(len(relevant), k)
    while start < depth:
        n_relevant = relevant[start : ends[start]].sum()
        if n_relevant > 0:
            break
        start = ends[start]
    expected, none_yet = 0.0, 1.0
    if start < depth and n_relevant > 0:
        for i in range(start, min(ends[start], depth)):
            chance = n_relevant / (ends[start] - i)
            expected += none_yet * chance / (i + 1)
            none_yet *= 1 - chance
    return expected


@dataclass(frozen=True, kw_only=True)
class ReciprocalRank(Metric):
    """Reciprocal rank; nothing to find if no label reaches the threshold.

    Parameters
    ----------
    k, ties, no_relevant
        See :class:`~treerank.metrics.base.Metric`.
    threshold : float, default=1
        Labels from here on are relevant.

    Examples
    --------
    >>> ReciprocalRank()([0, 1, 1], [0.3, 0.2, 0.1])
    0.5
    """

    threshold: float = 1

    stem: ClassVar[str] = "mrr"
    of_list: ClassVar[Callable] = _reciprocal_rank

    def __post_init__(self):
        super().__post_init__()
        check_number("threshold", self.threshold)

    def worth(self, y):
        """Return 1 for relevant documents, 0 for others."""
        return is_relevant(y, self.threshold)

    def ideal(self, worth, indptr):
        """Return 1."""
        return (count_relevant(worth, indptr) > 0).astype(np.float64)


def mrr_score(
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
    """Return the mean reciprocal rank, over queries.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        See :func:`~treerank.metrics.ndcg.ndcg_score`.
    k, threshold, ties, no_relevant
        See :class:`ReciprocalRank`.

    Returns
    -------
    float or ndarray of shape (n_queries,)

    Examples
    --------
    >>> mrr_score([0, 2, 1, 0], [0.9, 0.8, 0.2, 0.1], [1, 1, 2, 2])
    0.75
    """
    metric = ReciprocalRank(k=k, threshold=threshold, ties=ties, no_relevant=no_relevant)
    return evaluate(metric, y_true, y_score, qid, per_query)
