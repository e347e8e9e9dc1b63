"""Cascade model: a user examines documents from the top down and leaves with the first click."""

from dataclasses import dataclass

import numpy as np

from treerank.checks import shown
from treerank.clicks.log import ClickLog
from treerank.clicks.models.walks import Steps, WalkModel


@dataclass(eq=False, repr=False)
class Cascade(WalkModel):
    """A user goes down the list up to the first click [1]_, so a session has one click at most.

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

    References
    ----------
    .. [1] Craswell, Zoeter, Taylor and Ramsey (2008). An experimental comparison of click
       position-bias models. WSDM.

    Examples
    --------
    >>> from treerank.clicks import ClickLog
    >>> query, document, position = ["q"] * 4, ["a", "b"] * 2, [1, 2] * 2
    >>> log = ClickLog.from_columns([1, 1, 2, 2], query, document, position, [0, 1, 1, 0])
    >>> Cascade(prior_shows=1).fit(log).attraction_
    array([0.5 , 0.75])
    """

    def _start(self, log: ClickLog) -> None:
        many = log.n_clicks_of_sessions > 1
        if many.any():
            first = np.argmax(many)
            raise ValueError(
                "log must have at most one click per session for a cascade model; got "
                f"{log.n_clicks_of_sessions[first]} in a session of query "
                f"{shown(log.query[first].item())}. A dependent click model takes several."
            )

    def _steps(self, place: int, item: np.ndarray, attraction: np.ndarray) -> Steps:
        return np.zeros(len(item)), np.ones(len(item))
