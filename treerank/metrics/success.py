r"""Success: whether there is a relevant document among the first k.

If the first k end in a tied block of n documents, r of them relevant and t of them among the first
k, and there is no relevant document before it, one is found with probability

.. math:: 1 - \prod_{i=0}^{t-1} \frac{n - r - i}{n - i}.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treerank.metrics.relevance import count_relevant
from treerank.metrics.threshold_metric import ThresholdMetric
from treerank.numerics.compiling import register_jitable


@register_jitable
def _any_hit(relevant, ends, k, discounts):
    """Return the probability that a relevant document is among the first k."""
    none_yet, start = 1.0, 0
    depth = min(len(relevant), k)
    while start < depth and none_yet > 0:
        n_relevant = relevant[start : ends[start]].sum()
        for i in range(start, min(ends[start], depth)):
            none_yet *= max(1 - n_relevant / (ends[start] - i), 0.0)
        start = ends[start]
    return 1 - none_yet


@dataclass(frozen=True, kw_only=True)
class Success(ThresholdMetric):
    """Success; a query has nothing to find if no label reaches the threshold.

    The parameters are those of :class:`~treerank.metrics.threshold_metric.ThresholdMetric`.

    Examples
    --------
    >>> Success(k=1)([0, 1, 1, 0], [0.2, 0.1, 0.7, 0.3], ["a", "a", "b", "b"])
    0.5
    """

    stem: ClassVar[str] = "success"
    list_total: ClassVar[Callable[..., float]] = _any_hit

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return 1, or 0 where no document is relevant."""
        return (count_relevant(worth, indptr) > 0).astype(np.float64)
