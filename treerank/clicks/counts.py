"""Counts: how often each item was shown and clicked in each slot, such as a position."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from treerank.checks import shown
from treerank.clicks.items import Items
from treerank.lazy import load_object


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
    items : Items
        Query and document of each item.
    n_slots : int
        Number of slots.

    Examples
    --------
    >>> items = Items(np.array(["q", "q"]), np.array(["a", "b"]))
    >>> impressions = np.array([0, 1, 0]), np.array([0, 1, 0]), np.array([1, 0, 0])
    >>> counts = ClickCounts.of(*impressions, items)
    >>> counts.item, counts.slot, counts.shown, counts.clicked
    (array([0, 1]), array([0, 1]), array([2., 1.]), array([1., 0.]))
    """

    item: np.ndarray
    slot: np.ndarray
    shown: np.ndarray
    clicked: np.ndarray
    items: Items
    n_slots: int

    @classmethod
    def of(cls, item: np.ndarray, slot: np.ndarray, clicked: np.ndarray, items: Items) -> Self:
        """Sum impressions."""
        n_slots = int(slot.max()) + 1
        codes, place = np.unique(item * n_slots + slot, return_inverse=True)
        times = np.bincount(place).astype(np.float64)
        clicks = np.bincount(place, clicked)
        return cls(codes // n_slots, codes % n_slots, times, clicks, items, n_slots)

    @classmethod
    def from_parquet(
        cls,
        path: str | Path,
        *,
        query: str = "query",
        document: str = "document",
        position: str = "position",
        click: str = "click",
        batch_size: int = 2**22,
    ) -> Self:
        """Sum the impressions of a Parquet file, or of a folder of them, batch by batch.

        Sessions are not looked at. What is in memory grows with the number of different items and
        positions, not with the number of impressions.

        Parameters
        ----------
        path : str or path
            File or folder.
        query, document, position, click : str
            Names of the columns.
        batch_size : int, default=4194304
            Rows that are read at once.
        """
        read = load_object("treerank.clicks.parquet_columns:parquet_counts")
        ids, place, times, clicks = read(path, [query, document, position], click, batch_size)
        if (place < 1).any() or (place != np.floor(place)).any():
            wrong = place[(place < 1) | (place != np.floor(place))][0].item()
            raise ValueError(f"position must be 1, 2, ...; got {shown(wrong)}.")
        items, item = Items.of_rows(*ids)
        slot = place.astype(np.int64) - 1
        order = np.lexsort((slot, item))
        item, slot, times, clicks = (column[order] for column in (item, slot, times, clicks))
        return cls(item, slot, times, clicks, items, int(slot.max()) + 1)

    def by_item(self, values: np.ndarray) -> np.ndarray:
        """Sum values by item."""
        return np.bincount(self.item, values, minlength=len(self.items))

    def by_slot(self, values: np.ndarray) -> np.ndarray:
        """Sum values by slot."""
        return np.bincount(self.slot, values, minlength=self.n_slots)
