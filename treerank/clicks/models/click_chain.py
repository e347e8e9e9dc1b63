"""Click chain model: how likely a user goes on depends on a skip, a click and its relevance."""

from dataclasses import dataclass

import numpy as np

from treerank.clicks.log import ClickLog
from treerank.clicks.models.walks import Expected, Steps, Trials, WalkModel, share_that_goes_on


@dataclass(eq=False, repr=False)
class ClickChain(WalkModel):
    """A user goes on after a skip, a click on the irrelevant or a click on the relevant [1]_.

    A clicked document is relevant with the probability of its attraction.

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
    continuation_ : ndarray of shape (3,)
        Probability of going on after a skip, after a click on an irrelevant document and after a
        click on a relevant one.
    examination_ : ndarray of shape (n_positions,)
        Mean probability that a document at a position is examined.

    References
    ----------
    .. [1] Guo, Liu, Kannan, Minka, Taylor, Wang and Faloutsos (2009). Click chain model in web
       search. WWW.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> log = make_click_log(n_sessions=2000, random_state=0)
    >>> ClickChain().fit(log).continuation_.shape
    (3,)
    """

    rates = ("continuation_",)

    def _start(self, log: ClickLog) -> None:
        self.continuation_ = share_that_goes_on(log.counts()) * np.array([1.0, 0.9, 0.6])

    def _steps(self, place: int, item: np.ndarray, attraction: np.ndarray) -> Steps:
        skip, irrelevant, relevant = self.continuation_
        return (1 - attraction) * irrelevant + attraction * relevant, np.full(len(item), skip)

    def _count(self, expected: Expected, trials: dict[str, Trials]) -> None:
        super()._count(expected, trials)
        clicks, skips = expected.after_click, expected.after_skip
        item, went_on = expected.log.item[clicks], expected.went_on[clicks]
        a, (_, irrelevant, relevant) = self.attraction_[item], self.continuation_
        on, off = a * relevant, a * (1 - relevant)
        on = on / (on + (1 - a) * irrelevant)
        off = off / (off + (1 - a) * (1 - irrelevant))
        was_relevant = went_on * on + (1 - went_on) * off
        times, go_on = expected.times[clicks], trials["continuation_"]
        trials["attraction_"].add(item, times, was_relevant, np.ones(len(item)))
        go_on.add_to(0, expected.times[skips], expected.went_on[skips], expected.examined[skips])
        go_on.add_to(1, times, went_on * (1 - on), 1 - was_relevant)
        go_on.add_to(2, times, went_on * on, was_relevant)
