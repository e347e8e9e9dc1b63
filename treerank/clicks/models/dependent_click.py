"""Dependent click model: after a click, the position says how likely the user goes on."""

from dataclasses import dataclass

import numpy as np

from treerank.clicks.log import ClickLog
from treerank.clicks.models.walks import Expected, Steps, Trials, WalkModel


@dataclass(eq=False, repr=False)
class DependentClick(WalkModel):
    """A user goes on after every skip, and after a click with a probability of the position [1]_.

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
    continuation_ : ndarray of shape (n_positions,)
        Probability of going on after a click at each position.

    References
    ----------
    .. [1] Guo, Liu and Wang (2009). Efficient multiple-click models in web search. WSDM.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> log = make_click_log(n_sessions=2000, random_state=0)
    >>> DependentClick().fit(log).continuation_.shape
    (5,)
    """

    rates = ("continuation_",)

    def _start(self, log: ClickLog) -> None:
        self.continuation_ = np.full(log.n_positions, 0.5)

    def _steps(self, place: int, item: np.ndarray, attraction: np.ndarray) -> Steps:
        return np.full(len(item), self.continuation_[place]), np.ones(len(item))

    def _count(self, expected: Expected, trials: dict[str, Trials]) -> None:
        super()._count(expected, trials)
        rows = expected.after_click
        about = expected.times[rows], expected.went_on[rows], np.ones(len(rows))
        trials["continuation_"].add(expected.log.position[rows] - 1, *about)
