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

from treerank.metrics.relevance import count_relevant
from treerank.metrics.threshold_metric import ThresholdMetric
from treerank.numerics.compiling import register_jitable


@register_jitable
def _sum_of_precisions(relevant, ends, k, discounts):
    """Return the expected sum of the precisions at the relevant documents."""
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
class AveragePrecision(ThresholdMetric):
    """Average precision; a query has nothing to find if no label reaches the threshold.

    The parameters are those of :class:`~treerank.metrics.threshold_metric.ThresholdMetric`.

    References
    ----------
    McSherry and Najork (2008), Computing information retrieval performance measures
    efficiently in the presence of tied scores.

    Examples
    --------
    >>> AveragePrecision()([1, 0, 1], [0.3, 0.2, 0.1])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """

    stem: ClassVar[str] = "map"
    list_total: ClassVar[Callable[..., float]] = _sum_of_precisions

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the number of relevant documents."""
        return count_relevant(worth, indptr).astype(np.float64)
