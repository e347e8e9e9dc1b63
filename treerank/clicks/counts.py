"""Counts: how often each item was shown and clicked in each slot, such as a position."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from treerank.clicks.items import Items
from treerank.inputs.canonical import canonical_order, group_hashes, row_hashes
from treerank.inputs.grouping import QueryGroups
from treerank.lazy import load_object
from treerank.parameters import Count, check_arguments

#: Item, slot and click of impressions, and how often each was seen.
Impressions = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
#: Keys, ascending and each once, and the impressions and clicks of each.
Sums = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class ClickCounts:
    """Impressions and clicks, summed by item and slot.

    Attributes
    ----------
    item : ndarray of int32 of shape (n_counts,)
        Number of the item, ascending.
    slot : ndarray of int32 of shape (n_counts,)
        Slot: for most purposes the position, counted from 0.
    shown, clicked : ndarray of int32 or float64 of shape (n_counts,)
        Number of impressions and of clicks, or the sums of their weights.
    items : Items
        Query and document of each item.
    n_slots : int
        Number of slots.

    Examples
    --------
    >>> items = Items(np.array(["q", "q"]), np.array(["a", "b"]))
    >>> impressions = np.array([0, 1, 0]), np.array([0, 1, 0]), np.array([1, 0, 0])
    >>> counts = ClickCounts.summed([(*impressions, np.ones(3, dtype=int))], items, n_slots=2)
    >>> [column.tolist() for column in (counts.item, counts.slot, counts.shown, counts.clicked)]
    [[0, 1], [0, 1], [2, 1], [1, 0]]
    """

    item: np.ndarray
    slot: np.ndarray
    shown: np.ndarray
    clicked: np.ndarray
    items: Items
    n_slots: int

    @classmethod
    def summed(cls, parts: Iterable[Impressions], items: Items, n_slots: int) -> Self:
        """Sum parts of a log, each given as the items, slots, clicks and times of impressions."""
        total: Sums | None = None
        for item, slot, clicked, times in parts:
            more = summed(item.astype(np.int64) * n_slots + slot, clicked, times)
            total = more if total is None else merged(total, more)
        assert total is not None
        key, shown, clicks = total
        return cls(_narrow(key // n_slots), _narrow(key % n_slots), shown, clicks, items, n_slots)

    @classmethod
    @check_arguments
    def from_parquet(
        cls,
        path: str | Path,
        *,
        query: str = "query",
        document: str = "document",
        position: str = "position",
        click: str = "click",
        batch_size: Count = 2**22,
    ) -> Self:
        """Sum the impressions of a Parquet file, or of a folder of them, batch by batch.

        Sessions are not looked at. What is in memory grows with the number of different items and
        positions, not with the number of impressions. The file is read twice: first its ids, then
        the clicks.

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
        ids, n_slots, (key, shown, clicks) = read(
            path, [query, document, position], click, batch_size
        )
        pair, slot = key // n_slots, _narrow(key % n_slots)
        is_new = np.diff(pair, prepend=-1) > 0
        items = ids.items(pair[is_new])
        return cls(_narrow(np.cumsum(is_new)) - 1, slot, shown, clicks, items, n_slots)

    def of_items(self, items: np.ndarray) -> Self:
        """Return the counts of some items alone, by their numbers; they are numbered anew."""
        place = np.full(len(self.items), -1, dtype=np.int32)
        place[items] = np.arange(len(items), dtype=np.int32)
        kept = np.flatnonzero(place[self.item] >= 0)
        rows = kept[np.lexsort((self.slot[kept], place[self.item[kept]]))]
        numbers = self.slot[rows], self.shown[rows], self.clicked[rows]
        return type(self)(place[self.item[rows]], *numbers, self.items.taking(items), self.n_slots)

    def without_gaps(self) -> tuple[Self, np.ndarray]:
        """Return the counts with the slots that were shown counted anew, and these slots."""
        slots, slot = np.unique(self.slot, return_inverse=True)
        return replace(self, slot=_narrow(slot), n_slots=len(slots)), slots

    def canonical_order(self, X: Any) -> QueryGroups:
        """Sort items, all of them shown, by their features ``X`` and their counts alone."""
        of_item = QueryGroups(None, np.append(0, np.cumsum(np.bincount(self.item))))
        numbers = np.column_stack([self.slot, self.shown, self.clicked]).astype(np.float64)
        counted = group_hashes(row_hashes(numbers), of_item)
        queries = QueryGroups.from_qid(self.items.query)
        return canonical_order(X, queries, self.by_item(self.clicked), counted)

    def by_item(self, values: np.ndarray) -> np.ndarray:
        """Sum values by item."""
        return np.bincount(self.item, values, minlength=len(self.items))

    def by_slot(self, values: np.ndarray) -> np.ndarray:
        """Sum values by slot."""
        return np.bincount(self.slot, values, minlength=self.n_slots)


def spread(values: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Return values of ascending slots at their places, and NaN at slots that were not shown.

    Examples
    --------
    >>> spread(np.array([1.0, 0.5]), np.array([0, 2]))
    array([1. , nan, 0.5])
    """
    found = np.full(slots[-1] + 1, np.nan)
    found[slots] = values
    return found


def summed(key: np.ndarray, clicked: np.ndarray, times: np.ndarray | None = None) -> Sums:
    """Sum impressions by key; each was seen several ``times``, or once.

    Examples
    --------
    >>> summed(np.array([7, 3, 7]), np.array([1, 0, 0]))
    (array([3, 7]), array([1, 2], dtype=int32), array([0, 1], dtype=int32))
    >>> summed(np.array([7, 3, 7]), np.array([1, 0, 0]), np.array([5, 1, 1]))
    (array([3, 7]), array([1, 6], dtype=int32), array([0, 5], dtype=int32))
    """
    ordered = 2 * key + clicked  # the last bit is the click
    if times is None or (times == 1).all():
        ordered, seen = np.sort(ordered), np.ones_like(ordered)  # which takes less than the order
    else:
        order = np.argsort(ordered)
        ordered, seen = ordered[order], times[order]
    starts = np.flatnonzero(np.diff(ordered >> 1, prepend=-1))
    shown, clicks = (np.add.reduceat(each, starts) for each in (seen, seen * (ordered & 1)))
    return ordered[starts] >> 1, _narrow(shown), _narrow(clicks)


def merged(total: Sums, more: Sums) -> Sums:
    """Add sums to others, in place where the key is known.

    Examples
    --------
    >>> one = summed(np.array([3, 7]), np.array([1, 1]))
    >>> two = summed(np.array([5, 7]), np.array([0, 0]))
    >>> [column.tolist() for column in merged(one, two)]
    [[3, 5, 7], [1, 1, 2], [1, 0, 1]]
    """
    place = np.searchsorted(total[0], more[0])
    is_known = total[0][np.minimum(place, len(total[0]) - 1)] == more[0]
    for column, added in zip(total[1:], more[1:], strict=True):
        column[place[is_known]] += added[is_known]
    new = place[~is_known]
    key, shown, clicks = (
        np.insert(column, new, added[~is_known]) for column, added in zip(total, more, strict=True)
    )
    return key, shown, clicks


def _narrow(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers in half the memory."""
    return numbers.astype(np.int32)
