"""Dynamic Bayesian network model: a user goes on until a clicked document satisfies."""

from dataclasses import dataclass

import numpy as np

from treerank.clicks.log import ClickLog
from treerank.clicks.models.walks import Expected, Steps, Trials, WalkModel, share_that_goes_on


@dataclass(eq=False, repr=False)
class DynamicBayesian(WalkModel):
    """A clicked document may satisfy; a user who is not satisfied goes on with a probability [1]_.

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
    satisfaction_ : ndarray of shape (n_items,)
        Probability that each item satisfies once it is clicked.
    continuation_ : float
        Probability that a user who is not satisfied goes on.
    examination_ : ndarray of shape (n_positions,)
        Mean probability that a document at a position is examined.

    References
    ----------
    .. [1] Chapelle and Zhang (2009). A dynamic Bayesian network click model for web search ranking.
       WWW.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> log = make_click_log(n_sessions=2000, random_state=0)
    >>> 0 < DynamicBayesian().fit(log).continuation_ < 1
    True
    """

    rates = ("satisfaction_", "continuation_")

    def _start(self, log: ClickLog) -> None:
        self.satisfaction_ = np.full(len(log.items), 0.5)
        self.continuation_ = share_that_goes_on(log.counts())

    def _steps(self, place: int, item: np.ndarray, attraction: np.ndarray) -> Steps:
        on = self.continuation_
        return on * (1 - self.satisfaction_[item]), np.full(len(item), on)

    def _count(self, expected: Expected, trials: dict[str, Trials]) -> None:
        super()._count(expected, trials)
        clicks, skips = expected.after_click, expected.after_skip
        item, times = expected.log.item[clicks], expected.times[clicks]
        went_on = expected.went_on[clicks]
        s, on = self.satisfaction_[item], self.continuation_
        satisfied = (1 - went_on) * s / (s + (1 - s) * (1 - on))
        trials["satisfaction_"].add(item, times, satisfied, np.ones(len(item)))
        go_on = trials["continuation_"]
        go_on.add_to(0, times, went_on, 1 - satisfied)
        go_on.add_to(0, expected.times[skips], expected.went_on[skips], expected.examined[skips])
