"""Threshold metrics: metrics that see only whether a document is relevant.

To add one, derive it from :class:`ThresholdMetric` instead of ``Metric``.
"""

from dataclasses import dataclass

import numpy as np

from treerank.metrics.base import Metric
from treerank.metrics.relevance import is_relevant
from treerank.parameters import Finite


@dataclass(frozen=True, kw_only=True)
class ThresholdMetric(Metric):
    """A metric for which a document is relevant if its label reaches a threshold.

    All other parameters, and the attributes, are those of :class:`~treerank.metrics.base.Metric`.

    Parameters
    ----------
    threshold : float, default=1
        Lowest label that is relevant.

    Examples
    --------
    >>> from treerank.metrics import Precision
    >>> Precision(k=2, threshold=2)([0, 1, 2], [0.1, 0.3, 0.2])
    0.5
    """

    threshold: Finite = 1

    def worth(self, y: np.ndarray) -> np.ndarray:
        """Return 1 for relevant documents, 0 for others."""
        return is_relevant(y, self.threshold)
