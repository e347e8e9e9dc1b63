"""Counts: how often each item was shown and clicked in each slot, such as a position."""

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True, eq=False)
class ClickCounts:
    """Impressions and clicks, summed by item and slot.

    Attributes
    ----------
    item : ndarray of shape (n_counts,)
        Number of the item, ascending.
    slot : ndarray of shape (n_counts,)
        Slot: for most purposes the position, counted from 0.
    shown, clicked : ndarray of shape (n_counts,)
        Number of impressions and of clicks.
    n_items, n_slots : int
        Numbers of items and of slots.

    Examples
    --------
    >>> counts = ClickCounts.of(np.array([0, 1, 0]), np.array([0, 1, 0]), np.array([1, 0, 0]), 2)
    >>> counts.item, counts.slot, counts.shown, counts.clicked
    (array([0, 1]), array([0, 1]), array([2., 1.]), array([1., 0.]))
    """

    item: np.ndarray
    slot: np.ndarray
    shown: np.ndarray
    clicked: np.ndarray
    n_items: int
    n_slots: int

    @classmethod
    def of(cls, item: np.ndarray, slot: np.ndarray, clicked: np.ndarray, n_items: int) -> Self:
        """Sum impressions."""
        n_slots = int(slot.max()) + 1
        codes, place = np.unique(item * n_slots + slot, return_inverse=True)
        shown = np.bincount(place).astype(np.float64)
        clicks = np.bincount(place, clicked)
        return cls(codes // n_slots, codes % n_slots, shown, clicks, n_items, n_slots)

    def by_item(self, values: np.ndarray) -> np.ndarray:
        """Sum values by item."""
        return np.bincount(self.item, values, minlength=self.n_items)

    def by_slot(self, values: np.ndarray) -> np.ndarray:
        """Sum values by slot."""
        return np.bincount(self.slot, values, minlength=self.n_slots)
