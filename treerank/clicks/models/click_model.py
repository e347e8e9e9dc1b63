"""Click model: the probability that a user clicks a document, given the clicks above it.

A document is clicked if it is examined and it attracts the user. Every item has an attraction.
Models differ in how a user examines a list: see :mod:`treerank.clicks.models.slots` and
:mod:`treerank.clicks.models.walks` for the two families.

A model is fitted by expectation maximization over the distinct sessions of a log, so its bits do
not depend on the order of rows, nor on how the log was read. Probabilities have a Beta prior, so
that an item that was shown once and clicked once is not certain to be clicked again. To add a
model, derive a class from one of the families, and list it in
:mod:`treerank.clicks.models.registry`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.clicks.counts import ClickCounts
from treerank.clicks.log import ClickLog
from treerank.clicks.shrinkage import gamma_shape
from treerank.inputs.positions import check_any_click
from treerank.parameters import Count, Positive, Seed, check_arguments, check_parameters

#: Share of successes and number of trials that the prior of a rate other than an attraction is
#: worth.
RATE_PRIOR = (0.5, 2.0)
#: Sessions that are looked at together: few enough for the caches of a processor.
BLOCK = 2**13

#: ``choose(rows, proba)`` tells which impressions of some rows are clicked.
Choose = Callable[[slice, np.ndarray], np.ndarray]


@dataclass(eq=False, repr=False)
class ClickModel(BaseEstimator, ABC):
    """Base class of the click models.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations of expectation maximization.
    tol : float, default=1e-6
        Stop once an iteration raises the log likelihood of an impression by less.
    prior_shows : float, default=None
        Impressions that the prior of an attraction is worth. ``None`` estimates them from how much
        the rates of clicks differ between items. The mean of the prior is the share of clicks at
        the first position.

    Attributes
    ----------
    attraction_ : ndarray of shape (n_items,)
        Probability that each item of the log is clicked once it is examined.
    examination_ : ndarray of shape (n_positions,)
        Mean probability that a document at a position is examined.
    prior_shows_ : float
        Impressions that the prior of an attraction is worth.
    log_posterior_ : list of float
        Log likelihood plus log prior before each iteration, by impression. It never falls.
    items_ : Items
        Items of the log.
    """

    _: KW_ONLY
    max_iter: Count = 100
    tol: Positive = 1e-6
    prior_shows: Positive | None = None

    @check_arguments
    def fit(self, log: ClickLog) -> Self:
        """Fit the model to a log."""
        check_any_click("click", log.clicked)
        distinct = log.distinct()
        self._begin(distinct.counts())
        self._fit(distinct)
        self.examination_ = self._mean_examination(distinct)
        return self

    @check_arguments
    def predict_click_proba(self, log: ClickLog, *, given_clicks: bool = False) -> np.ndarray:
        """Return the probability of a click on each impression of a log.

        With ``given_clicks``, the clicks at better positions of the session are known.
        """
        attraction = self._attraction_of(log)
        return (self._proba_given_clicks if given_clicks else self._proba)(log, attraction)

    def log_likelihood(self, log: ClickLog) -> float:
        """Return the mean log likelihood of an impression, given the clicks above it."""
        attraction, total = self._attraction_of(log), 0.0
        for block in log.blocks(BLOCK):
            outcome = log_of_outcome(block, self._proba_given_clicks(block, attraction))
            total += float((outcome * block.times[block.session]).sum())
        return total / int(log.n_shown_at.sum())

    def perplexity(self, log: ClickLog) -> np.ndarray:
        """Return the perplexity at each position: 1 if clicks are predicted, 2 for a coin."""
        attraction = self._attraction_of(log)

        def surprise(block: ClickLog) -> np.ndarray:
            return -log_of_outcome(block, self._proba(block, attraction))

        return np.exp(mean_by_position(log, surprise))

    @check_arguments
    def sample(self, log: ClickLog, *, random_state: Seed = None) -> ClickLog:
        """Return the sessions of a log with clicks that are drawn from the model."""
        log = log.repeated()
        rng = check_random_state(random_state)
        draws = rng.random_sample(len(log.item))

        def choose(rows: slice, proba: np.ndarray) -> np.ndarray:
            return draws[rows] < proba

        return log.with_clicks(self._walked(log, self._attraction_of(log), choose)[1])

    @abstractmethod
    def _fit(self, log: ClickLog) -> None:
        """Fit all parameters, with :meth:`_maximize`."""

    @abstractmethod
    def _examined(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        """Return the probability that each impression is examined, whatever is clicked."""

    @abstractmethod
    def _first_state(self, n_sessions: int) -> Any:
        """Return what there is to remember of each session before its first position."""

    @abstractmethod
    def _examined_given(self, state: Any, place: int) -> np.ndarray:
        """Return the probability of examination at a place, which counts from 0."""

    @abstractmethod
    def _next_state(
        self, state: Any, place: int, item: np.ndarray, attraction: np.ndarray, clicked: np.ndarray
    ) -> Any:
        """Return the state after a place; ``attraction`` is that of the items shown there."""

    def _clicked(self, examined: np.ndarray, attraction: np.ndarray, place: Any) -> np.ndarray:
        """Return the probability of clicks at places, which count from 0."""
        return examined * attraction

    def _begin(self, counts: ClickCounts) -> None:
        """Check the parameters, and start from attractions that are all the same."""
        check_parameters(self)
        self.items_, self.n_positions_ = counts.items, counts.n_slots
        first = counts.slot == 0
        clicks_at_first = counts.clicked[first].sum() / counts.shown[first].sum()
        self.prior_mean_ = float(np.clip(clicks_at_first, 1e-4, 1 - 1e-4))
        self.prior_shows_ = self.prior_shows or _estimated_shows(counts, self.prior_mean_)
        self.attraction_ = np.full(len(counts.items), self.prior_mean_)

    def _maximize(self, step: Callable[[], float], n_impressions: float) -> None:
        """Repeat a step, which returns the log posterior before it, until little changes."""
        self.log_posterior_: list[float] = []
        for _ in range(self.max_iter):
            self.log_posterior_.append(step() / n_impressions)
            if len(self.log_posterior_) > 1 and np.diff(self.log_posterior_[-2:])[0] < self.tol:
                return

    def _attraction_of(self, log: ClickLog) -> np.ndarray:
        """Return the attraction of the items of a log; that of unknown ones is the prior mean."""
        check_is_fitted(self)
        if log.n_positions > self.n_positions_:
            raise ValueError(
                f"position must be at most {self.n_positions_}, as in fit; got {log.n_positions}."
            )
        if log.items is self.items_:
            return self.attraction_
        rows = self.items_.rows_of(log.items)
        return np.where(rows >= 0, self.attraction_[rows], self.prior_mean_)

    def _proba(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        """Return the probability of a click on each impression."""
        examined = self._examined(log, attraction)
        return self._clicked(examined, attraction[log.item], log.position - 1)

    def _proba_given_clicks(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        """Return the probability of a click on each impression, given the clicks above."""
        return self._walked(log, attraction, lambda rows, _: log.clicked[rows])[0]

    def _walked(
        self, log: ClickLog, attraction: np.ndarray, choose: Choose
    ) -> tuple[np.ndarray, np.ndarray]:
        """Go from position to position; return the probabilities of clicks, and the clicks."""
        proba, clicked = np.empty(len(log.item)), np.empty(len(log.item), dtype=bool)
        state = self._first_state(len(log))
        for place, rows in enumerate(log.positions()):
            item, state = log.item[rows], state[: log.n_at[place]]
            examined = self._examined_given(state, place)
            proba[rows] = self._clicked(examined, attraction[item], place)
            clicked[rows] = choose(rows, proba[rows])
            state = self._next_state(state, place, item, attraction[item], clicked[rows])
        return proba, clicked

    def _mean_examination(self, log: ClickLog) -> np.ndarray:
        """Return the mean probability of examination at each position."""
        return mean_by_position(log, lambda block: self._examined(block, self.attraction_))

    @property
    def _prior(self) -> tuple[float, float]:
        """Mean of the prior of an attraction, and the impressions that it is worth."""
        return self.prior_mean_, self.prior_shows_


def rate(successes: np.ndarray, trials: np.ndarray, mean: float, prior_trials: float) -> np.ndarray:
    """Return the most probable rates under a Beta prior that is worth some trials.

    Examples
    --------
    >>> rate(np.array([1.0, 0.0]), np.array([1.0, 0.0]), 0.5, 2.0)
    array([0.66666667, 0.5       ])
    """
    return (successes + mean * prior_trials) / (trials + prior_trials)


def log_prior(rates: np.ndarray, mean: float, prior_trials: float) -> float:
    """Return the log density of the prior that :func:`rate` has, up to a constant.

    Examples
    --------
    >>> round(log_prior(np.array([0.5]), 0.5, 2.0), 3)
    -1.386
    """
    terms = mean * np.log(rates) + (1 - mean) * np.log1p(-rates)
    return float(prior_trials * terms.sum())


def _estimated_shows(counts: ClickCounts, mean: float) -> float:
    """Return the impressions that a prior with a mean is worth, from the clicks of items."""
    rates = counts.by_slot(counts.clicked) / counts.by_slot(counts.shown)
    expected = counts.by_item(counts.shown * rates[counts.slot])
    has_say = expected > 0
    shape = gamma_shape(counts.by_item(counts.clicked)[has_say], expected[has_say])
    return shape * (1 - mean) / mean  # a Beta distribution that is as wide


def mean_by_position(log: ClickLog, values: Callable[[ClickLog], np.ndarray]) -> np.ndarray:
    """Return the mean at each position of what a function returns of the impressions of a part."""
    sums = np.zeros(log.n_positions)
    for block in log.blocks(BLOCK):
        weighted = values(block) * block.times[block.session]
        sums[: block.n_positions] += np.bincount(block.position - 1, weighted)
    return sums / log.n_shown_at


def log_of_outcome(log: ClickLog, proba: np.ndarray) -> np.ndarray:
    """Return the log probability of what happened to each impression."""
    return np.log(np.where(log.clicked, proba, 1 - proba))
