r"""Models of a walk: a user goes down a list and after each document goes on or leaves.

A model says how likely the user goes on after a click and after a skip. Whether a document below
the last click was examined is not known; it is a hidden Markov chain of two states, of which
"left" is never left again. With :math:`f_r` the probability that place :math:`r` is examined given
the clicks above it, and :math:`b_r` that of the clicks from :math:`r` on if it is examined, one
pass down and one pass up give the expected number of examinations and of steps.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.log import ClickLog
from treerank.clicks.models.click_model import ClickModel, log_of_outcome

#: Probability of going on after a click, and after a skip.
Steps = tuple[np.ndarray, np.ndarray]


@dataclass(eq=False)
class Expected:
    """What is to expect of each impression of a log, given all clicks of its session.

    Attributes
    ----------
    log : ClickLog
        The log.
    examined : ndarray of shape (n_impressions,)
        Probability that the document was examined.
    went_on : ndarray of shape (n_impressions,)
        Probability that it was examined and the user went on to the next one.
    """

    log: ClickLog
    examined: np.ndarray
    went_on: np.ndarray

    @cached_property
    def has_next(self) -> np.ndarray:
        """Whether the session shows another document below."""
        n_next = np.append(self.log.n_at[1:], 0)
        return self.log.session < np.repeat(n_next, self.log.n_at)

    @cached_property
    def after_click(self) -> np.ndarray:
        """Rows of clicks that are not at the end of their session."""
        return np.flatnonzero(self.log.clicked & self.has_next)

    @cached_property
    def after_skip(self) -> np.ndarray:
        """Rows of skips that are not at the end of their session."""
        return np.flatnonzero(~self.log.clicked & self.has_next)


@dataclass(eq=False, repr=False)
class WalkModel(ClickModel):
    """Base class of models of a walk."""

    @abstractmethod
    def _start(self, log: ClickLog) -> None:
        """Set the parameters to start from."""

    @abstractmethod
    def _steps(self, place: int, item: np.ndarray, attraction: np.ndarray) -> Steps:
        """Return the probabilities of going on after a place."""

    def _update(self, expected: Expected) -> None:
        """Set all parameters to the most probable ones; by default there are attractions only."""
        self._update_attraction(expected)

    def _log_prior(self) -> float:
        """Return the log density of the prior of all parameters but the attractions."""
        return 0.0

    def _fit(self, log: ClickLog) -> None:
        self._start(log)

        def step() -> float:
            proba, down = self._down(log, self.attraction_)
            value = log_of_outcome(log, proba).sum() + self._log_prior()
            value += self._log_prior_of_attraction()
            expected = self._up(log, down)
            self._update(expected)
            return float(value)

        self._maximize(step, len(log.item))

    def _down(self, log: ClickLog, attraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of clicks and of examinations, given the clicks above."""
        proba = self._walked(log, attraction, lambda rows, _: log.clicked[rows])[0]
        return proba, proba / attraction[log.item]

    def _up(self, log: ClickLog, down: np.ndarray) -> Expected:
        """Return what is to expect given all clicks."""
        examined, went_on = np.empty((2, len(log.item)))
        # Probability of the clicks from the next place on, if it is examined and if it is not.
        if_examined, if_left = np.ones((2, log.n_sessions))
        for place, rows in reversed(list(enumerate(log.positions()))):
            n, item, clicked = log.n_at[place], log.item[rows], log.clicked[rows]
            a = self.attraction_[item]
            after_click, after_skip = self._steps(place, item, a)
            step = np.where(clicked, after_click, after_skip)
            on, off = step * if_examined[:n], (1 - step) * if_left[:n]
            below = np.where(clicked, a, 1 - a) * (on + off)
            left = np.where(clicked, 0.0, if_left[:n])
            seen = down[rows] * below
            examined[rows] = seen / (seen + (1 - down[rows]) * left)
            went_on[rows] = examined[rows] * on / (on + off)
            if_examined[:n], if_left[:n] = below, left
        return Expected(log, examined, went_on)

    def _examined(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        examined, state = np.empty(len(log.item)), np.ones(log.n_sessions)
        for place, rows in enumerate(log.positions()):
            item = log.item[rows]
            examined[rows] = state[: log.n_at[place]]
            after_click, after_skip = self._steps(place, item, attraction[item])
            a = attraction[item]
            state = examined[rows] * (a * after_click + (1 - a) * after_skip)
        return examined

    def _first_state(self, n_sessions: int) -> np.ndarray:
        return np.ones(n_sessions)

    def _examined_given(self, state: np.ndarray, place: int) -> np.ndarray:
        return state

    def _next_state(self, state, place, item, attraction, clicked):
        after_click, after_skip = self._steps(place, item, attraction)
        skipped = state * (1 - attraction) / (1 - state * attraction)
        return np.where(clicked, after_click, skipped * after_skip)

    def _update_attraction(
        self, expected: Expected, item: np.ndarray | None = None, more: np.ndarray | None = None
    ) -> None:
        """Set attractions to clicks over examinations; ``more`` trials succeeded in part."""
        log, n_items = expected.log, len(self.attraction_)
        clicks = np.bincount(log.item, log.clicked, minlength=n_items)
        examined = np.bincount(log.item, expected.examined, minlength=n_items)
        if item is not None:
            clicks += np.bincount(item, more, minlength=n_items)
            examined += np.bincount(item, minlength=n_items)
        self.attraction_ = self._attraction_from(clicks, examined)


def share_that_goes_on(counts: ClickCounts) -> float:
    """Return the rates of clicks below the first position over those above the last.

    That is how likely users go on if few of them click. Skips then tell next to nothing, and
    expectation maximization stays where it starts.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> round(share_that_goes_on(make_click_log(2000, random_state=0).counts()), 2)
    0.62
    """
    rates = counts.by_slot(counts.clicked) / counts.by_slot(counts.shown)
    return float(np.clip(rates[1:].sum() / max(rates[:-1].sum(), 1e-9), 0.01, 0.99))
