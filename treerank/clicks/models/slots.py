"""Models with a table of examinations: the position, and perhaps the last click, say how likely."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.log import ClickLog
from treerank.clicks.models.click_model import RATE_PRIOR, ClickModel, log_prior, rate
from treerank.numerics.compiling import njit


@dataclass(eq=False, repr=False)
class SlotModel(ClickModel):
    """Base class of models in which an impression falls into a slot of a table.

    The first document of a session is always examined. Without such a rule, only the product of
    examination and attraction could be known.
    """

    @abstractmethod
    def _slots(self, log: ClickLog) -> np.ndarray:
        """Return the slot of each impression; that of the first position is 0."""

    def _fit(self, log: ClickLog) -> None:
        self._fit_counts(ClickCounts.of(log.item, self._slots(log), log.clicked, log.items))

    def _fit_counts(self, counts: ClickCounts) -> None:
        """Fit the model to impressions that are summed by item and slot."""
        self.slots_ = np.full(counts.n_slots, 0.5)
        self.slots_[0] = 1.0

        def step() -> float:
            attracted, examined = np.zeros(len(counts.items)), np.zeros(counts.n_slots)
            table = counts.item, counts.slot, counts.shown, counts.clicked
            value = _expect(*table, self.attraction_, self.slots_, attracted, examined)
            value += log_prior(self.slots_[1:], *RATE_PRIOR) + self._log_prior_of_attraction()
            self.attraction_ = self._attraction_from(attracted, counts.by_item(counts.shown))
            self.slots_[1:] = rate(examined, counts.by_slot(counts.shown), *RATE_PRIOR)[1:]
            return value

        self._maximize(step, counts.shown.sum())


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
    """Add the expected number of impressions that attract, and that are examined."""
    value = 0.0
    for i in range(len(item)):
        a, e = attraction[item[i]], examination[slot[i]]
        if clicked[i] > 0:
            value += clicked[i] * math.log(a * e)
        skipped = shown[i] - clicked[i]
        a_of_skipped = e_of_skipped = 0.0
        if skipped > 0:
            value += skipped * math.log(1 - a * e)
            a_of_skipped = skipped * a * (1 - e) / (1 - a * e)
            e_of_skipped = skipped * e * (1 - a) / (1 - a * e)
        attracted[item[i]] += clicked[i] + a_of_skipped
        examined[slot[i]] += clicked[i] + e_of_skipped
    return value
