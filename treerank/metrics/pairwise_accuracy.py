r"""Pairwise accuracy: the share of pairs of different labels that are in the right order.

.. math:: \frac{|\{(i, j): y_i > y_j, s_i > s_j\}|}{|\{(i, j): y_i > y_j\}|}

A pair of equal scores is half right: the area under the ROC curve, for two labels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from treerank.metrics.base import NO_DISCOUNTS, Metric, evaluate
from treerank.metrics.ranked import TIES, totals_kernel
from treerank.numerics.compiling import njit


@register_jitable
def _unequal_pairs(ranked, ends, k, discounts):
    return _count_unequal(ranked)


@register_jitable
def _right_pairs(ranked, ends, k, discounts):
    """Count the pairs in the right order, a tie as one half; overwrites ``ranked``."""
    ties, start = 0, 0
    while start < len(ranked):
        ties += _count_unequal(ranked[start : ends[start]])
        start = ends[start]
    # Blocks rise, so that no descent is inside one.
    return ties / 2 + _count_descents(ranked)


@dataclass(frozen=True, kw_only=True)
class PairwiseAccuracy(Metric):
    """Share of rightly ordered pairs; nothing to find if all labels are equal.

    Labels may be any ordered numbers, negative and fractional ones included.

    Parameters
    ----------
    k : None
        There is no cutoff.
    ties, no_relevant
        See :class:`~treerank.metrics.base.Metric`.

    Examples
    --------
    >>> PairwiseAccuracy()([0, 1, 2], [0.1, 0.3, 0.2])
    0.6666666666666666
    """

    stem: ClassVar[str] = "pairwise_accuracy"
    of_list: ClassVar[Callable] = _right_pairs

    def __post_init__(self):
        super().__post_init__()
        if self.k is not None:
            raise ValueError(f"k must be None for {self.stem}; got {self.k!r}.")

    def worth(self, y):
        """Return the labels."""
        return y

    def ideal(self, worth, indptr):
        """Return the number of pairs with different labels."""
        kernel = totals_kernel(_unequal_pairs)
        return kernel(worth, worth, indptr, self.depth, *TIES["stable"], NO_DISCOUNTS)


def pairwise_accuracy_score(
    y_true, y_score, qid=None, *, ties="average", no_relevant="exclude", per_query=False
):
    """Return the mean share of rightly ordered pairs, over queries.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        See :func:`~treerank.metrics.ndcg.ndcg_score`.
    ties, no_relevant
        See :class:`PairwiseAccuracy`.

    Returns
    -------
    float or ndarray of shape (n_queries,)

    Examples
    --------
    >>> pairwise_accuracy_score([0, 1, 1], [0.5, 0.5, 0.9])  # one half and one
    0.75
    """
    metric = PairwiseAccuracy(ties=ties, no_relevant=no_relevant)
    return evaluate(metric, y_true, y_score, qid, per_query)


@njit
def _count_unequal(values):
    """Pairs of different values; equal ones are next to each other."""
    pairs, start = len(values) * (len(values) - 1) // 2, 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[start]:
            pairs -= (i - start) * (i - start - 1) // 2
            start = i
    return pairs


@njit
def _count_descents(values):
    """Pairs of positions i < j with values[i] > values[j], by a merge sort; overwrites."""
    n, width, descents = len(values), 1, 0
    merged = np.empty_like(values)
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for place in range(start, stop):
                if i < middle and (j == stop or values[i] <= values[j]):
                    merged[place] = values[i]
                    i += 1
                else:
                    merged[place] = values[j]
                    descents += middle - i
                    j += 1
        values, merged = merged, values
        width *= 2
    return descents
