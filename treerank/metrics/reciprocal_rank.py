r"""Reciprocal rank (MRR): one over the position of the first relevant document.

A document beyond the cutoff counts 0. In a tied block of n documents, r of them relevant, the first
relevant one is at position t with probability

.. math:: \frac{r}{n - t + 1} \prod_{i=0}^{t-2} \frac{n - r - i}{n - i}.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treerank.metrics.relevance import count_relevant
from treerank.metrics.threshold_metric import ThresholdMetric
from treerank.numerics.compiling import register_jitable


@register_jitable
def _reciprocal_rank(relevant, ends, k, discounts):
    """Return the expected reciprocal rank of the first relevant document."""
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
class ReciprocalRank(ThresholdMetric):
    """Reciprocal rank; a query has nothing to find if no label reaches the threshold.

    The parameters are those of :class:`~treerank.metrics.threshold_metric.ThresholdMetric`.

    Examples
    --------
    >>> ReciprocalRank()([0, 1, 1], [0.3, 0.2, 0.1])
    0.5
    """

    stem: ClassVar[str] = "mrr"
    list_total: ClassVar[Callable[..., float]] = _reciprocal_rank

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return 1, or 0 where no document is relevant."""
        return (count_relevant(worth, indptr) > 0).astype(np.float64)
