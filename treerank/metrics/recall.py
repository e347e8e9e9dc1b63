r"""Recall: the share of the relevant documents that is among the first k.

.. math:: \text{R@}k = \frac1R \sum_{i=1}^{k} [y_i \ge \text{threshold}]

with R the number of relevant documents of the query. Ties are as in precision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treerank.metrics.precision import expected_hits
from treerank.metrics.relevance import count_relevant
from treerank.metrics.threshold_metric import ThresholdMetric


@dataclass(frozen=True, kw_only=True)
class Recall(ThresholdMetric):
    """Recall; a query has nothing to find if no label reaches the threshold.

    The parameters are those of :class:`~treerank.metrics.threshold_metric.ThresholdMetric`.

    Examples
    --------
    >>> Recall(k=2)([0, 1, 2], [0.3, 0.1, 0.2])
    0.5
    """

    stem: ClassVar[str] = "recall"
    list_total: ClassVar[Callable[..., float]] = expected_hits

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the number of relevant documents."""
        return count_relevant(worth, indptr).astype(np.float64)
