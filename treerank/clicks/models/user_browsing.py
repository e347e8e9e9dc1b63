"""User browsing model: examination depends on the position and on the last click above it."""

from dataclasses import dataclass

import numpy as np

from treerank.clicks.log import ClickLog
from treerank.clicks.models.slots import SlotModel


@dataclass(eq=False, repr=False)
class UserBrowsing(SlotModel):
    """A position is examined with a probability for each place of the last click above it [1]_.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations of expectation maximization.
    tol : float, default=1e-6
        Stop once an iteration raises the log likelihood of an impression by less.
    prior_shows : float, default=None
        Impressions that the prior of an attraction is worth. ``None`` estimates them.

    Attributes
    ----------
    attraction_ : ndarray of shape (n_items,)
        Probability that each item of the log is clicked once it is examined.
    examination_ : ndarray of shape (n_positions,)
        Mean probability that a document at a position is examined.
    browsing_ : ndarray of shape (n_positions, n_positions)
        Probability of examination by position and by position of the last click; no click is
        column 0.

    References
    ----------
    .. [1] Dupret and Piwowarski (2008). A user browsing model to predict search engine click data
       from past observations. SIGIR.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> log = make_click_log(n_sessions=2000, random_state=0)
    >>> UserBrowsing().fit(log).browsing_.shape
    (5, 5)
    """

    @property
    def browsing_(self) -> np.ndarray:
        """Probability of examination by position and by position of the last click."""
        return self.slots_.reshape(self.n_positions_, self.n_positions_)

    def _n_slots(self) -> int:
        return self.n_positions_**2

    def _slots(self, log: ClickLog) -> np.ndarray:
        last, slots = np.zeros(len(log), dtype=np.int64), np.empty(len(log.item), np.int64)
        for place, rows in enumerate(log.positions()):
            last = last[: log.n_at[place]]
            slots[rows] = place * self.n_positions_ + last
            last = np.where(log.clicked[rows], place + 1, last)
        return slots

    def _examined(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        examined = np.empty(len(log.item))
        # Probability that the last click stands at each position; column 0 is no click.
        last = np.zeros((len(log), log.n_positions + 1))
        last[:, 0] = 1.0
        for place, rows in enumerate(log.positions()):
            last = last[: log.n_at[place]]
            by_last = last[:, : place + 1] * self.browsing_[place, : place + 1]
            examined[rows] = by_last.sum(axis=1)
            a = attraction[log.item[rows]][:, None]
            last[:, : place + 1] -= by_last * a
            last[:, place + 1] = examined[rows] * a[:, 0]
        return examined

    def _first_state(self, n_sessions: int) -> np.ndarray:
        return np.zeros(n_sessions, dtype=np.int64)

    def _examined_given(self, state: np.ndarray, place: int) -> np.ndarray:
        return self.browsing_[place, state]

    def _next_state(self, state, place, item, attraction, clicked):
        return np.where(clicked, place + 1, state)
