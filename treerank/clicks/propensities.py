r"""Propensities: how likely each position is examined, relative to the first one.

A document that was shown at several positions tells them apart: its relevance is the same at each.
If an item was clicked :math:`c_i` times in all and shown :math:`n_{ik}` times at position
:math:`k`, it is expected to have been clicked there

.. math:: c_i \frac{n_{ik} \theta_k}{\sum_l n_{il} \theta_l}

times. The propensities :math:`\theta` are those for which this sums to the clicks of each
position. That is the likelihood of the position-based model with Poisson counts, given the clicks
of each item. Attractions do not appear in it, so few impressions of an item cause no bias.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from treerank.checks import quote, refuse_where, warn_user
from treerank.clicks.counts import ClickCounts, spread
from treerank.clicks.log import ClickLog
from treerank.parameters import check_arguments
from treerank.statistics.paired import check_values

_MAX_ITER, _TOL = 2000, 1e-7
#: Least share of impressions whose documents change their positions, for propensities to be known.
_MOVED = 0.1


@check_arguments
def estimate_propensities(log: ClickLog | ClickCounts) -> np.ndarray:
    """Return the probability that each position is examined, over that of the first one.

    Nothing is known of a position whose documents were never shown elsewhere. Ranks that differ
    between sessions are needed: those of a ranker that explores, of swaps, or of two rankers.

    Parameters
    ----------
    log : ClickLog or ClickCounts
        Impressions and clicks.

    Returns
    -------
    ndarray of shape (n_positions,)
        Propensities; the first is 1, or the first one that shows documents. Those of positions
        that never do, such as those of ads, are NaN.

    Examples
    --------
    >>> from treerank.clicks import simulate_clicks
    >>> y, qid, old = np.tile([0, 1], 40), np.repeat(np.arange(20), 4), np.arange(80) % 3
    >>> log = simulate_clicks(y, qid, old, n_sessions=1000, exploration=9.0, random_state=0)
    >>> estimate_propensities(log).round(2)
    array([1.  , 0.5 , 0.33, 0.26])
    """
    counts = log.counts()
    _check_clicked(counts)
    counts, positions = counts.without_gaps()
    _warn_of_fixed_rankings(counts)
    return spread(_most_likely(counts, np.ones(counts.n_slots)), positions)


def _most_likely(counts: ClickCounts, propensities: np.ndarray) -> np.ndarray:
    """Return the propensities of slots that are all shown, found from those given."""
    clicks_of_item = counts.by_item(counts.clicked)
    clicks = counts.by_slot(counts.clicked)
    for _ in range(_MAX_ITER):
        exposure = counts.by_item(counts.shown * propensities[counts.slot])
        rate = np.divide(
            clicks_of_item, exposure, out=np.zeros(len(counts.items)), where=exposure > 0
        )
        expected = counts.by_slot(counts.shown * rate[counts.item])
        new = np.divide(clicks, expected, out=np.zeros(counts.n_slots), where=expected > 0)
        new /= new[0] or 1.0
        change = np.abs(new - propensities).max()
        propensities = new
        if change < _TOL:
            break
    return propensities


class SessionPropensities:
    """The propensities of some sessions of a log, estimated from them unless they are given."""

    def __init__(self, log: ClickLog, given: Any) -> None:
        self.log, self.is_given = log, given is not None
        if self.is_given:
            self.whole = check_propensities(given, log.n_at > 0)
            return
        self.whole = estimate_propensities(log)
        self.counts, self.positions = log.counts().without_gaps()
        slot = np.searchsorted(self.positions, log.position - 1)
        key = self.counts.item.astype(np.int64) * self.counts.n_slots + self.counts.slot
        self.row = np.searchsorted(key, log.item.astype(np.int64) * self.counts.n_slots + slot)

    def of(self, copies: np.ndarray) -> np.ndarray:
        """Return the propensities where each session counts so many times."""
        if self.is_given or (copies == 1).all():
            return self.whole
        weight, n = copies[self.log.session], len(self.counts.item)
        shown, clicked = (
            np.bincount(self.row, weight * each, minlength=n) for each in (1, self.log.clicked)
        )
        counts = replace(self.counts, shown=shown, clicked=clicked)
        return spread(_most_likely(counts, self.whole[self.positions]), self.positions)


def check_propensities(propensities: Any, is_shown: np.ndarray) -> np.ndarray:
    """Return given propensities; refuse what is not above 0 and at most 1, or too short.

    A propensity may be NaN, not known, unless its position shows documents (``is_shown``).
    """
    given, n = check_values("propensities", propensities), len(is_shown)
    wrong = (given <= 0) | (given > 1)
    refuse_where(wrong, given, "propensities must be above 0 and at most 1 at each position")
    if len(given) < n:
        raise ValueError(
            f"propensities must have an entry for each of {n} positions; got {len(given)}."
        )
    unknown = is_shown & np.isnan(given[:n])
    if unknown.any():
        rule = "propensities must be known at each position that shows documents"
        raise ValueError(f"{rule}; got nan at position {int(np.argmax(unknown)) + 1}.")
    return given[:n]


def _check_clicked(counts: ClickCounts) -> None:
    """Refuse positions that show documents, none of which is clicked."""
    is_shown, clicks = counts.by_slot(counts.shown) > 0, counts.by_slot(counts.clicked)
    without = np.flatnonzero(is_shown & (clicks == 0))
    if len(without):
        raise ValueError(
            "position must have a click wherever it is, to tell propensities; got none at "
            f"{quote((without + 1).tolist())}. Leave these positions out, or pass propensities."
        )


def _warn_of_fixed_rankings(counts: ClickCounts) -> None:
    """Warn where hardly any document changes its position."""
    moved = np.bincount(counts.item, minlength=len(counts.items)) > 1
    share = (counts.shown * moved[counts.item]).sum() / counts.shown.sum()
    if share < _MOVED and counts.n_slots > 1:
        warn_user(
            "Only documents that one query showed at two positions tell position and relevance "
            f"apart; they are {share:.1%} of all impressions. If qid is the session, give the "
            "query instead, and leave session and position out of the features. If rankings never "
            "change, let some sessions see two documents swapped."
        )
