r"""NDCG: gains discounted by position, over the best that was possible.

.. math:: \text{DCG} = \sum_{i=1}^{k} \frac{g(y_i)}{\log_2(i + 1)}, \qquad
          \text{NDCG} = \text{DCG} / \text{DCG of the ideal order}

A tied block spreads its mean gain over its positions (McSherry and Najork, 2008). Other
discounts are in use: list them in ``DISCOUNTS``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from treerank.metrics.base import Metric, evaluate
from treerank.metrics.relevance import check_gain, label_gains


def log2_discount(positions):
    """Return 1 / log2(i + 1)."""
    return 1 / np.log2(positions + 1)


def delayed_log2_discount(positions):
    """Return 1 / log2(i), but 1 for the first position too: the second one costs nothing."""
    return 1 / np.log2(np.maximum(positions, 2))


DISCOUNTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log2": log2_discount,
    "delayed_log2": delayed_log2_discount,
}

#: What becomes of a query of fewer than k documents: it is scored as it is, or its total is 0.
SHORT_LISTS = ("as_is", "zero")


@register_jitable
def _dcg(gains, ends, k, discounts):
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
    """Normalized discounted cumulative gain; nothing to find if all gains are 0.

    Parameters
    ----------
    k, ties, no_relevant
        See :class:`~treerank.metrics.base.Metric`.
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
    """

    gain: str | tuple[float, ...] = "exponential"
    discount: str = "log2"
    short_lists: str = "as_is"

    stem: ClassVar[str] = "ndcg"
    of_list: ClassVar[Callable] = _dcg

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "gain", check_gain(self.gain))
        if self.discount not in DISCOUNTS:
            raise ValueError(f"discount must be one of {sorted(DISCOUNTS)}; got {self.discount!r}.")
        if self.short_lists not in SHORT_LISTS:
            raise ValueError(
                f"short_lists must be one of {list(SHORT_LISTS)}; got {self.short_lists!r}."
            )

    def worth(self, y):
        """Return gains."""
        return label_gains(y, self.gain)

    def ideal(self, worth, indptr):
        """Return the DCG of the best order."""
        ideal = self.added_up(worth, worth, indptr, "stable")
        if self.short_lists == "zero" and self.k is not None:
            ideal[(np.diff(indptr) < self.k) & (ideal > 0)] = np.inf  # out of their reach
        return ideal

    def discounts(self, indptr):
        """Return the discount of each position that can matter."""
        n_positions = min(self.depth, np.diff(indptr).max())
        return DISCOUNTS[self.discount](np.arange(1.0, n_positions + 1))


def ndcg_score(
    y_true,
    y_score,
    qid=None,
    *,
    k=10,
    gain="exponential",
    discount="log2",
    short_lists="as_is",
    ties="average",
    no_relevant="exclude",
    per_query=False,
):
    """Return the mean NDCG@k over queries.

    Parameters
    ----------
    y_true : array-like of shape (n_documents,)
        Labels, not negative.
    y_score : array-like of shape (n_documents,)
        Scores; the highest is ranked first.
    qid : array-like of shape (n_documents,), default=None
        Query of each document, of any dtype and in any order; ``None`` is one query.
    k, gain, discount, short_lists, ties, no_relevant
        See :class:`NDCG`.
    per_query : bool, default=False
        Return one value per query, in the order of ``np.unique(qid)``.

    Returns
    -------
    float or ndarray of shape (n_queries,)

    Examples
    --------
    >>> y, scores, qid = [1, 0, 0, 2], [0.5, 0.1, 0.7, 0.9], ["a", "a", "b", "b"]
    >>> ndcg_score(y, scores, qid)
    1.0
    >>> ndcg_score([1, 0], [0.0, 0.0], per_query=True).round(3)
    array([0.815])
    """
    metric = NDCG(
        k=k,
        gain=gain,
        discount=discount,
        short_lists=short_lists,
        ties=ties,
        no_relevant=no_relevant,
    )
    return evaluate(metric, y_true, y_score, qid, per_query)
