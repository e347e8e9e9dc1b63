r"""Estimators: how relevant the documents of a new ranking are, from the clicks on an old one.

The relevance :math:`\gamma_i` of a document is the probability of a click once it is examined. The
log knows its clicks :math:`c_i` in the :math:`n_i` sessions of its query, and its exposure, the sum
of the propensities of the positions where it was shown, which is :math:`w_i` in a session on
average. So the clicks of a document count by :math:`1 / w_i`. An estimator returns
:math:`n_i \gamma_i`; what that earns is told by :mod:`treerank.clicks.rewards`.

An old ranker that draws its lists at random may log how likely it was to show document i at
position k, :math:`p_{ik}`. That is another thing than the propensity of a position,
:math:`\theta_k`, which is of the user. If :math:`m_{ik}` is 1 where the new ranking has i at k, and
0 elsewhere, then over the sessions of a query in which i was clicked,

.. math:: \sum \frac{m_{ik}}{p_{ik} \theta_k}

is expected to be :math:`n_i \gamma_i`. That holds for a query of a single session, too, where no
exposure can be counted. Among equal scores, :math:`m_{ik}` is the share of what i earns that it
earns at k.

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
    worth : ndarray of shape (n_items,)
        Most that the item earns in the new ranking.
    weight, clipped_weight : ndarray of shape (n_items,)
        1 over the mean exposure in a session, as it is and clipped; 0 for items never shown.
    relevance : ndarray of shape (n_items,)
        Relevance that is known from elsewhere; NaN where there is none.
    matched_clicks, matched_shown : ndarray of shape (n_items,)
        Sums over clicks of m / (p theta), and over impressions of m / p; NaN where p is not logged.
    """

    clicks: np.ndarray
    exposure: np.ndarray
    sessions: np.ndarray
    worth: np.ndarray
    weight: np.ndarray
    clipped_weight: np.ndarray
    relevance: np.ndarray
    matched_clicks: np.ndarray
    matched_shown: np.ndarray


def inverse_propensity(sums: ItemSums) -> np.ndarray:
    """Return the clicks, each counted by 1 over exposure: no bias, large variance."""
    return sums.weight * sums.clicks


def self_normalized(sums: ItemSums) -> np.ndarray:
    """Return clicks by clipped weights, times the worth that there is over what was counted."""
    counted = _over_counted(sums, sums.clipped_weight * sums.exposure)
    return sums.clipped_weight * sums.clicks * counted


def doubly_robust(sums: ItemSums) -> np.ndarray:
    """Return the known relevance, corrected by clicks that it does not predict."""
    unpredicted = sums.clicks - sums.relevance * sums.exposure
    return sums.sessions * sums.relevance + sums.clipped_weight * unpredicted


def policy_ips(sums: ItemSums) -> np.ndarray:
    """Return clicks at the positions of the new ranking, each over its logged propensity."""
    return sums.matched_clicks


def policy_self_normalized(sums: ItemSums) -> np.ndarray:
    """Return "policy_ips" times the worth that there is over the worth that was counted."""
    return policy_ips(sums) * _over_counted(sums, sums.matched_shown)


def _over_counted(sums: ItemSums, sessions: np.ndarray) -> float:
    """Return the worth that there is over that of the sessions that were counted for each item."""
    counted = float((sums.worth * sessions).sum())
    return float((sums.worth * sums.sessions).sum()) / counted if counted != 0 else 0.0


#: Estimators by name.
ESTIMATORS: dict[str, Callable[[ItemSums], np.ndarray]] = {
    "ips": inverse_propensity,
    "self_normalized": self_normalized,
    "doubly_robust": doubly_robust,
    "policy_ips": policy_ips,
    "policy_self_normalized": policy_self_normalized,
}
#: Those that need to know a relevance from elsewhere.
NEED_RELEVANCE = ("doubly_robust",)
#: Those that need to know how likely the old ranker was to show what it did.
NEED_LOGGED = ("policy_ips", "policy_self_normalized")
