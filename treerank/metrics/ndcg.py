r"""NDCG: gains discounted by position, over the best that was possible.

.. math:: \text{DCG} = \sum_{i=1}^{k} \frac{g(y_i)}{\log_2(i + 1)}, \qquad
          \text{NDCG} = \text{DCG} / \text{DCG of the ideal order}

A tied block spreads its mean gain over its positions (McSherry and Najork, 2008). To
add a discount, list it in ``DISCOUNTS``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from treerank.metrics.base import Metric
from treerank.metrics.relevance import Gain, check_gain, label_gains
from treerank.numerics.compiling import register_jitable
from treerank.parameters import Rule


def log2_discount(positions: np.ndarray) -> np.ndarray:
    """Return 1 / log2(i + 1)."""
    return 1 / np.log2(positions + 1)


def delayed_log2_discount(positions: np.ndarray) -> np.ndarray:
    """Return 1 / log2(i), and 1 for the first position: the first two have the same discount."""
    return 1 / np.log2(np.maximum(positions, 2))


DISCOUNTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log2": log2_discount,
    "delayed_log2": delayed_log2_discount,
}

#: Value of a query of fewer than k documents: that of the documents it has, or 0.
SHORT_LISTS = ("as_is", "zero")


@register_jitable
def discounted_gain(gains: np.ndarray, ends: np.ndarray, k: int, discounts: np.ndarray) -> float:
    """Return the expected sum of discounted gains."""
    dcg, start = 0.0, 0
    depth = min(len(gains), len(discounts))
    while start < depth:
        end = ends[start]
        mean_gain = gains[start]
        if mean_gain != gains[end - 1]:  # equal gains need no mean, and no rounding
            mean_gain = gains[start:end].sum() / (end - start)
        for i in range(start, min(end, depth)):
            dcg += mean_gain * discounts[i]
        start = end
    return dcg


@dataclass(frozen=True, kw_only=True)
class NDCG(Metric):
    """Normalized discounted cumulative gain; a query has nothing to find if all gains are 0.

    All other parameters are those of :class:`~treerank.metrics.base.Metric`.

    Parameters
    ----------
    gain : {"exponential", "linear"} or sequence of float, default="exponential"
        2^y - 1, or y, or the gain of each label 0, 1, 2, ...
    discount : {"log2", "delayed_log2"}, default="log2"
        1 / log2(i + 1) for position i, or, as in Järvelin and Kekäläinen (2002) and the scripts
        of LETOR, 1 / log2(i) with 1 for the first.
    short_lists : {"as_is", "zero"}, default="as_is"
        Value of a query of fewer than k documents: that of the documents it has, or 0, as in the
        scripts of LETOR.

    References
    ----------
    Järvelin and Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques;
    Burges et al. (2005) for the exponential gain; McSherry and Najork (2008), Computing
    information retrieval performance measures efficiently in the presence of tied scores.

    Examples
    --------
    >>> NDCG(k=10)([0, 1, 2], [0.1, 0.2, 0.3])
    1.0
    >>> round(NDCG(k=10)([1, 0], [0.0, 0.0]), 3)  # a tie
    0.815
    """

    gain: Gain = "exponential"
    discount: Annotated[str, Rule.one_of(DISCOUNTS)] = "log2"
    short_lists: Annotated[str, Rule.one_of(SHORT_LISTS)] = "as_is"

    stem: ClassVar[str] = "ndcg"
    list_total: ClassVar[Callable[..., float]] = discounted_gain

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gain", check_gain(self.gain))

    def worth(self, y: np.ndarray) -> np.ndarray:
        """Return the gain of each label."""
        return label_gains(y, self.gain)

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the DCG of the best order."""
        ideal = self.totals(worth, worth, indptr, "stable")
        if self.short_lists == "zero" and self.k is not None:
            ideal[(np.diff(indptr) < self.k) & (ideal > 0)] = np.inf  # their value is 0
        return ideal

    def discounts(self, indptr: np.ndarray) -> np.ndarray:
        """Return the discount of each position that counts."""
        n_positions = min(self.depth, np.diff(indptr).max())
        return DISCOUNTS[self.discount](np.arange(1.0, n_positions + 1))
