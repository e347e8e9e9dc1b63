r"""Estimators: what a new ranking is worth, from the clicks on an old one.

A ranking is worth :math:`\sum_i u_i \gamma_i` in a session: each document has a worth
:math:`u_i` by its position in the new ranking, and a relevance :math:`\gamma_i`, which is the
probability of a click once it is examined. The log knows the clicks :math:`c_i` of an item in the
sessions of its query, and its exposure :math:`e_i`, the sum of the propensities of the positions
where it was shown. A session exposes it :math:`w_i` times on average. So clicks count by
:math:`u_i / w_i`.

To add an estimator, write a function of :class:`ItemSums` and list it in ``ESTIMATORS``.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class ItemSums(NamedTuple):
    """What estimators know of each item.

    Attributes
    ----------
    clicks, exposure : ndarray of shape (n_items,)
        Clicks, and impressions counted by the propensities of their positions.
    sessions : ndarray of shape (n_items,)
        Sessions of the item's query.
    n_sessions : float
        Sessions of all queries.
    worth : ndarray of shape (n_items,)
        Worth of the item's position in the new ranking.
    ratio, clipped_ratio : ndarray of shape (n_items,)
        Worth over the mean exposure in a session, as it is and clipped; 0 for items never shown.
    relevance : ndarray of shape (n_items,)
        Relevance that is known from elsewhere; NaN where there is none.

    Examples
    --------
    >>> one, two = np.array([1.0, 0.0]), np.array([2.0, 2.0])
    >>> sums = ItemSums(one, two, two, 2.0, one, one / 2, one / 2, one)
    >>> inverse_propensity(sums)
    0.25
    """

    clicks: np.ndarray
    exposure: np.ndarray
    sessions: np.ndarray
    n_sessions: float
    worth: np.ndarray
    ratio: np.ndarray
    clipped_ratio: np.ndarray
    relevance: np.ndarray

    def per_session(self, total: np.ndarray) -> float:
        """Return a sum over items by session."""
        return float(total.sum() / self.n_sessions)


def inverse_propensity(sums: ItemSums) -> float:
    """Return the clicks, each counted by worth over exposure: no bias, large variance."""
    return sums.per_session(sums.ratio * sums.clicks)


def clipped(sums: ItemSums) -> float:
    """Return the same with large ratios clipped: less variance, and a bias towards 0."""
    return sums.per_session(sums.clipped_ratio * sums.clicks)


def self_normalized(sums: ItemSums) -> float:
    """Return the clipped estimate times the worth that there is over the worth that was counted."""
    counted = sums.per_session(sums.clipped_ratio * sums.exposure)
    total = sums.per_session(sums.sessions * sums.worth)
    return clipped(sums) * total / counted if counted != 0 else 0.0


def direct(sums: ItemSums) -> float:
    """Return worth times known relevance: small variance, and the bias of the relevance."""
    return sums.per_session(sums.sessions * sums.worth * sums.relevance)


def doubly_robust(sums: ItemSums) -> float:
    """Return the direct estimate, corrected by clicks that the relevance does not predict."""
    unpredicted = sums.clicks - sums.relevance * sums.exposure
    return direct(sums) + sums.per_session(sums.clipped_ratio * unpredicted)


#: Estimators by name.
ESTIMATORS: dict[str, Callable[[ItemSums], float]] = {
    "ips": inverse_propensity,
    "clipped": clipped,
    "self_normalized": self_normalized,
    "direct": direct,
    "doubly_robust": doubly_robust,
}
#: Those that need to know a relevance from elsewhere.
NEED_RELEVANCE = ("direct", "doubly_robust")
