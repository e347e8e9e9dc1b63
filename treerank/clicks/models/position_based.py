"""Position-based model: the examination of a document depends on its position alone."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.log import ClickLog
from treerank.clicks.models.slots import SlotModel
from treerank.inputs.positions import check_any_click
from treerank.parameters import check_arguments


@dataclass(eq=False, repr=False)
class PositionBased(SlotModel):
    """A click has the probability of the examination of its position times an attraction [1]_.

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
        Probability that a position is examined; 1 at the first one.

    References
    ----------
    .. [1] Craswell, Zoeter, Taylor and Ramsey (2008). An experimental comparison of click
       position-bias models. WSDM.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> log = make_click_log(n_sessions=2000, random_state=0)
    >>> PositionBased().fit(log).examination_.round(1)
    array([1. , 0.5, 0.3, 0.3, 0.2])
    """

    @check_arguments
    def fit(self, log: ClickLog | ClickCounts) -> Self:
        """Fit the model to a log, or to its sums by item and position."""
        if isinstance(log, ClickLog):
            return super().fit(log)
        check_any_click("click", log.clicked)
        self._begin(log)
        self._fit_counts(log)
        self.examination_ = self.slots_.copy()
        return self

    def _slots(self, log: ClickLog) -> np.ndarray:
        return log.position - 1

    def _examined(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        return self.slots_[log.position - 1]

    def _first_state(self, n_sessions: int) -> np.ndarray:
        return np.empty(n_sessions)

    def _examined_given(self, state: np.ndarray, place: int) -> np.ndarray:
        return np.full(len(state), self.slots_[place])

    def _next_state(self, state, place, item, attraction, clicked):
        return state
