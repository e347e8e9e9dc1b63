"""Models with a table of examinations: the position, and perhaps the last click, say how likely."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.log import ClickLog
from treerank.clicks.models.click_model import RATE_PRIOR, ClickModel, log_prior, rate
from treerank.numerics.compiling import njit

#: Rounds before expectation maximization, and the highest rate that it starts from.
_N_ROUNDS, _HIGHEST = 5, 0.99


@dataclass(eq=False, repr=False)
class SlotModel(ClickModel):
    """Base class of models in which an impression falls into a slot of a table.

    The first document of a session is always examined. Without such a rule, only the product of
    examination and attraction could be known.
    """

    @abstractmethod
    def _slots(self, log: ClickLog) -> np.ndarray:
        """Return the slot of each impression; that of the first position is 0."""

    def _n_slots(self) -> int:
        """Return the size of the table."""
        return self.n_positions_

    def _fit(self, log: ClickLog) -> None:
        self._fit_counts(log.counts_of(self._slots, self._n_slots()))

    def _fit_counts(self, counts: ClickCounts) -> None:
        """Fit the model to impressions that are summed by item and slot."""
        table = counts.item, counts.slot, counts.shown, counts.clicked
        clicks = counts.by_item(counts.clicked), counts.by_slot(counts.clicked)
        shown = counts.by_item(counts.shown), counts.by_slot(counts.shown)
        self._start(counts, *clicks)

        def step() -> float:
            attracted, examined = np.zeros(len(counts.items)), np.zeros(counts.n_slots)
            value = _expect(*table, self.attraction_, self.slots_, attracted, examined)
            value += clicks[0] @ np.log(self.attraction_) + clicks[1] @ np.log(self.slots_)
            value += log_prior(self.slots_[1:], *RATE_PRIOR) + log_prior(
                self.attraction_, *self._prior
            )
            self.attraction_ = rate(attracted, shown[0], *self._prior)
            self.slots_[1:] = rate(examined, shown[1], *RATE_PRIOR)[1:]
            return float(value)

        self._maximize(step, counts.shown.sum())

    def _start(self, counts: ClickCounts, of_item: np.ndarray, of_slot: np.ndarray) -> None:
        """Start from rates that explain clicks as if they were Poisson counts.

        Where few impressions are clicked, skips tell next to nothing of examination, so that an
        iteration of expectation maximization hardly moves it, and the start decides.
        """
        for _ in range(_N_ROUNDS):
            wanted = counts.by_slot(counts.shown * self.attraction_[counts.item])
            self.slots_ = np.minimum(rate(of_slot, wanted, *RATE_PRIOR), _HIGHEST)
            self.slots_[0] = 1.0
            exposure = counts.by_item(counts.shown * self.slots_[counts.slot])
            self.attraction_ = np.minimum(
                rate(of_item, exposure, self.prior_mean_, self.prior_shows_), _HIGHEST
            )


@njit
def _expect(
    item: np.ndarray,
    slot: np.ndarray,
    shown: np.ndarray,
    clicked: np.ndarray,
    attraction: np.ndarray,
    examination: np.ndarray,
    attracted: np.ndarray,
    examined: np.ndarray,
) -> float:
    """Add the impressions expected to attract and to be examined; return skips' log likelihood."""
    value = 0.0
    for i in range(len(item)):
        a, e = attraction[item[i]], examination[slot[i]]
        skipped = shown[i] - clicked[i]
        share = 0.0
        if skipped > 0:
            missed = 1 - a * e
            value += skipped * math.log(missed)
            share = skipped / missed
        attracted[item[i]] += clicked[i] + share * a * (1 - e)
        examined[slot[i]] += clicked[i] + share * e * (1 - a)
    return value
