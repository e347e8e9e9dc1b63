r"""Models of a walk: a user goes down a list and after each document goes on or leaves.

A model says how likely the user goes on after a click and after a skip. Whether a document below
the last click was examined is not known; it is a hidden Markov chain of two states, of which
"left" is never left again. With :math:`f_r` the probability that place :math:`r` is examined given
the clicks above it, and :math:`b_r` that of the clicks from :math:`r` on if it is examined, one
pass down and one pass up give the expected number of examinations and of steps.

All parameters are rates. They need no more of a log than the successes and the trials to expect of
each, which are summed over blocks of sessions.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.log import ClickLog
from treerank.clicks.models.click_model import (
    BLOCK,
    RATE_PRIOR,
    ClickModel,
    log_of_outcome,
    log_prior,
    rate,
)
from treerank.numerics.compiling import njit

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
    def times(self) -> np.ndarray:
        """Number of sessions that each impression stands for."""
        return self.log.times[self.log.session].astype(np.float64)

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

    #: Names of the parameters beside attractions.
    rates: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _start(self, log: ClickLog) -> None:
        """Set the parameters to start from."""

    @abstractmethod
    def _steps(self, place: int, item: np.ndarray, attraction: np.ndarray) -> Steps:
        """Return the probabilities of going on after a place."""

    def _count(self, expected: Expected, trials: dict[str, "Trials"]) -> None:
        """Add what is to expect of some sessions; by default there are attractions only."""
        item = expected.log.item
        trials["attraction_"].add(item, expected.times, expected.log.clicked, expected.examined)

    def _fit(self, log: ClickLog) -> None:
        self._start(log)
        priors = dict.fromkeys(self.rates, RATE_PRIOR) | {"attraction_": self._prior}

        def step() -> float:
            trials = {name: Trials(np.shape(getattr(self, name))) for name in priors}
            value = sum(log_prior(getattr(self, name), *prior) for name, prior in priors.items())
            for block in log.blocks(BLOCK):
                proba, down = self._down(block, self.attraction_)
                value += float((log_of_outcome(block, proba) * block.times[block.session]).sum())
                self._count(self._up(block, down), trials)
            for name, prior in priors.items():
                setattr(self, name, trials[name].rates(*prior))
            return value

        self._maximize(step, int(log.n_shown_at.sum()))

    def _down(self, log: ClickLog, attraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of clicks and of examinations, given the clicks above."""
        proba = self._walked(log, attraction, lambda rows, _: log.clicked[rows])[0]
        return proba, proba / attraction[log.item]

    def _up(self, log: ClickLog, down: np.ndarray) -> Expected:
        """Return what is to expect given all clicks."""
        examined, went_on = np.empty((2, len(log.item)))
        # Probability of the clicks from the next place on, if it is examined and if it is not.
        if_examined, if_left = np.ones((2, len(log)))
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
        examined, state = np.empty(len(log.item)), np.ones(len(log))
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


class Trials:
    """Successes and trials of rates, summed.

    Examples
    --------
    >>> trials = Trials((2,))
    >>> trials.add(np.array([1, 1]), np.array([1.0, 3.0]), np.array([1.0, 0.0]), np.ones(2))
    >>> trials.rates(0.5, 2.0)
    array([0.5       , 0.33333333])
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.sums = np.zeros((2, math.prod(shape)))

    def add(
        self, rates: np.ndarray, times: np.ndarray, successes: np.ndarray, trials: np.ndarray
    ) -> None:
        """Add successes and trials of some rates, by their numbers; each was seen some times."""
        _add_at(self.sums, rates, times * successes, times * trials)

    def add_to(
        self, number: int, times: np.ndarray, successes: np.ndarray, trials: np.ndarray
    ) -> None:
        """Add successes and trials of one rate, by its number."""
        self.sums[:, number] += (times * successes).sum(), (times * trials).sum()

    def rates(self, mean: float, prior_trials: float) -> np.ndarray | float:
        """Return the most probable rates under a Beta prior."""
        successes, trials = self.sums
        found = rate(successes, trials, mean, prior_trials)
        return found if self.shape else float(found[0])


@njit
def _add_at(sums: np.ndarray, rates: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> None:
    """Add values to those of some rates, one after the other."""
    for i in range(len(rates)):
        sums[0, rates[i]] += successes[i]
        sums[1, rates[i]] += trials[i]


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
