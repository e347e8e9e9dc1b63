r"""Rank-biased precision (RBP): what a user finds who goes on to the next document by chance.

.. math:: \text{RBP} = (1 - p) \sum_{i=1}^{k} p^{i-1} [y_i \ge \text{threshold}]

with the persistence p. It is not divided by the best possible value. A tied block spreads its
relevant documents over its positions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from treerank.checks import check_number
from treerank.metrics.ndcg import discounted_gain
from treerank.metrics.relevance import count_relevant
from treerank.metrics.threshold_metrics import ThresholdMetric
from treerank.parameters import Rule


@dataclass(frozen=True, kw_only=True)
class RankBiasedPrecision(ThresholdMetric):
    """Rank-biased precision; a query has nothing to find if no label reaches the threshold.

    All other parameters are those of :class:`~treerank.metrics.threshold_metrics.ThresholdMetric`.

    Parameters
    ----------
    persistence : float, default=0.8
        Probability to go on to the next document.

    References
    ----------
    Moffat and Zobel (2008), Rank-biased precision for measurement of retrieval effectiveness.

    Examples
    --------
    >>> round(RankBiasedPrecision(persistence=0.5)([1, 0, 1], [0.3, 0.2, 0.1]), 3)
    0.625
    """

    persistence: Annotated[float, Rule(check_number, above=0, below=1)] = 0.8

    stem: ClassVar[str] = "rbp"
    list_total: ClassVar[Callable[..., float]] = discounted_gain

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return 1, or 0 where no document is relevant."""
        return (count_relevant(worth, indptr) > 0).astype(np.float64)

    def discounts(self, indptr: np.ndarray) -> np.ndarray:
        """Return the probability that the user stops at each position that counts."""
        n_positions = min(self.depth, np.diff(indptr).max())
        return (1 - self.persistence) * self.persistence ** np.arange(n_positions)
