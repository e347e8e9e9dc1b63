r"""Pairwise accuracy: the share of pairs of different labels that are in the right order.

.. math:: \frac{|\{(i, j): y_i > y_j, s_i > s_j\}|}{|\{(i, j): y_i > y_j\}|}

A pair of equal scores counts one half. For two labels, this is the area under the ROC curve.
"""

from dataclasses import dataclass

import numpy as np

from treerank.metrics.base import Metric
from treerank.numerics.compiling import njit, register_jitable


@register_jitable
def _right_pairs(ranked, ends, k, discounts):
    """Return how many pairs of a ranked list are in the right order; a tied pair counts one half.

    ``ranked`` are the labels in the order of the ranking, ascending within each tied block; they
    are overwritten. ``ends[i]`` is the end of the block that begins at i. ``k`` and ``discounts``
    are not used.
    """
    ties, start = 0, 0
    while start < len(ranked):
        ties += _count_unequal(ranked[start : ends[start]])
        start = ends[start]
    # Labels rise inside a block, so no descent is inside one.
    return ties / 2 + count_descents(ranked)


@dataclass(frozen=True, kw_only=True)
class PairwiseAccuracy(Metric):
    """Share of pairs in the right order; undefined for a query if all labels are equal.

    Labels may be negative and fractional.

    All other parameters are as in :class:`~treerank.metrics.base.Metric`.

    Parameters
    ----------
    k : None, default=None
        This metric has no cutoff.

    Examples
    --------
    >>> PairwiseAccuracy()([0, 1, 2], [0.1, 0.3, 0.2])
    0.6666666666666666
    >>> PairwiseAccuracy()([0, 1, 1], [0.5, 0.5, 0.9])  # (1/2 + 1) / 2
    0.75
    """

    stem = "pairwise_accuracy"
    has_cutoff = False
    list_total = _right_pairs

    def gains(self, y: np.ndarray) -> np.ndarray:
        """Return the labels."""
        return y

    def ideal(self, gains: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return the number of pairs with different labels, all in order in the best ranking."""
        return self.totals(gains, gains, indptr, "stable")


@register_jitable
def _count_unequal(values):
    """Return the number of pairs of different values.

    ``values`` must have equal ones side by side.
    """
    pairs, start = len(values) * (len(values) - 1) // 2, 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[start]:
            pairs -= (i - start) * (i - start - 1) // 2
            start = i
    return pairs


@njit
def count_descents(values: np.ndarray) -> int:
    """Return the number of pairs i < j with values[i] > values[j].

    This sorts ``values`` in place.
    """
    n, width, descents = len(values), 1, 0
    merged = np.empty_like(values)
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for slot in range(start, stop):
                if i < middle and (j == stop or values[i] <= values[j]):
                    merged[slot] = values[i]
                    i += 1
                else:
                    merged[slot] = values[j]
                    descents += middle - i
                    j += 1
        values, merged = merged, values
        width *= 2
    return descents
