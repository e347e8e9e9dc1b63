r"""Precision: the share of relevant documents among the first k.

.. math:: \text{P@}k = \frac1k \sum_{i=1}^{k} [y_i \ge \text{threshold}]

Each position of a tied block counts the share of relevant documents in the block.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treerank.metrics.relevance import count_relevant
from treerank.metrics.threshold_metric import ThresholdMetric
from treerank.numerics.compiling import register_jitable


@register_jitable
def expected_hits(relevant: np.ndarray, ends: np.ndarray, k: int, discounts: np.ndarray) -> float:
    """Return the expected number of relevant documents among the first k."""
    hits, start = 0.0, 0
    depth = min(len(relevant), k)
    while start < depth:
        end = ends[start]
        n_relevant = relevant[start:end].sum()
        hits += n_relevant * (min(end, depth) - start) / (end - start)
        start = end
    return hits


@dataclass(frozen=True, kw_only=True)
class Precision(ThresholdMetric):
    """Precision; a query has nothing to find if no label reaches the threshold.

    The divisor is k for a query of fewer documents too, as in trec_eval.

    The parameters are those of :class:`~treerank.metrics.threshold_metric.ThresholdMetric`.

    Examples
    --------
    >>> Precision(k=2)([0, 1, 2], [0.1, 0.3, 0.2])
    1.0
    """

    stem: ClassVar[str] = "p"
    list_total: ClassVar[Callable[..., float]] = expected_hits

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return k, or the number of documents without a cutoff."""
        divisor = np.diff(indptr) if self.k is None else self.depth
        return np.where(count_relevant(worth, indptr) > 0, divisor, 0).astype(np.float64)
