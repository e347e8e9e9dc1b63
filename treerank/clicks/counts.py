"""Click counts: impressions and clicks of each item at each position."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from treerank.checks import quote
from treerank.clicks.items import Items
from treerank.clicks.session_checks import check_impressions
from treerank.clicks.tables import named_columns
from treerank.display.results import Shown
from treerank.display.tables import Table, column_table, counted
from treerank.documents.canonical_order import canonical_order, group_hashes, row_hashes
from treerank.documents.ids import joinable_ids
from treerank.documents.positions import check_whole_positions
from treerank.documents.queries import QueryGroups
from treerank.parameters import check_arguments


@dataclass(frozen=True, eq=False, repr=False)
class ClickCounts(Shown):
    """Impressions and clicks by item and slot; made by :meth:`from_table`.

    A slot is a position, counted from 0.

    Attributes
    ----------
    item : ndarray of int32 of shape (n_counts,)
        Number of the item, ascending.
    slot : ndarray of int32 of shape (n_counts,)
        Slot, ascending within an item.
    shown, clicked : ndarray of int32, int64 or float64 of shape (n_counts,)
        Numbers of impressions and of clicks, or sums of their weights.
    items : Items
        Query and document of each item.
    n_slots : int
        Number of slots.

    Examples
    --------
    >>> items = Items(np.array(["q", "q"]), np.array(["a", "b"]))
    >>> impressions = np.array([0, 1, 0]), np.array([0, 1, 0]), np.array([1, 0, 0])
    >>> counts = ClickCounts.of_impressions(*impressions, items, n_slots=2)
    >>> [column.tolist() for column in (counts.item, counts.slot, counts.shown, counts.clicked)]
    [[0, 1], [0, 1], [2, 1], [1, 0]]
    """

    item: np.ndarray
    slot: np.ndarray
    shown: np.ndarray
    clicked: np.ndarray
    items: Items
    n_slots: int

    def _shown(self) -> Table:
        numbers = [self.by_slot(column) for column in (self.shown, self.clicked)]
        rate = np.divide(
            numbers[1], numbers[0], out=np.full(self.n_slots, np.nan), where=numbers[0] > 0
        )
        columns = {"position": np.arange(1, self.n_slots + 1), "shown": numbers[0]}
        columns |= {"clicked": numbers[1], "click rate": rate}
        items = f"{counted(len(self.items), 'item')} at {counted(self.n_slots, 'position')}"
        return column_table(f"Impressions and clicks of {items}.", columns)

    @classmethod
    @check_arguments
    def from_table(
        cls,
        table: Any,
        *,
        query: str = "query",
        document: str = "document",
        position: str = "position",
        shown: str = "shown",
        clicked: str = "clicked",
    ) -> Self:
        """Read counts from a table with a row for each query, document and position.

        Let your database aggregate a log of any size::

            SELECT query, document, position, COUNT(*) AS shown, SUM(click) AS clicked
            FROM impressions
            WHERE day >= DATE '2026-01-01'
            GROUP BY query, document, position

        Parameters
        ----------
        table : path, data frame or mapping from names to columns
            A Parquet file, or a folder of them; or a data frame of pandas, polars or Arrow. Rows
            of the same query, document and position are summed.
        query, document, position, shown, clicked : str
            Names of the columns. Positions count from 1.

        Returns
        -------
        ClickCounts
            The same as :meth:`ClickLog.counts <treerank.clicks.log.ClickLog.counts>` of the log.

        Examples
        --------
        >>> table = {"query": ["shoes"] * 2, "document": ["a", "b"], "position": [1, 2]}
        >>> counts = ClickCounts.from_table(table | {"shown": [90, 90], "clicked": [9, 3]})
        >>> counts.items.document[counts.item], counts.slot, counts.clicked
        (array(['a', 'b'], dtype='<U1'), array([0, 1], dtype=int32), array([9, 3]))
        """
        names = {"query": query, "document": document, "position": position}
        names |= {"shown": shown, "clicked": clicked}
        columns = named_columns(table, names, [query, document])
        ids = joinable_ids("query", columns[0]), joinable_ids("document", columns[1])
        lengths = list(map(len, (*ids, *columns[2:])))
        if min(lengths) < max(lengths):
            raise ValueError(
                f"{', '.join(names)} must have equally many entries; got {quote(lengths)}."
            )
        slot = check_whole_positions(columns[2]) - 1
        numbers = check_impressions(*columns[3:])
        items, item = Items.of_rows(*ids)
        n_slots = int(slot.max()) + 1
        key, row = np.unique(item * n_slots + slot, return_inverse=True)
        impressions, clicks = (np.bincount(row, x).astype(np.int64) for x in numbers)
        return cls.of_keys(key, impressions, clicks, items, n_slots)

    @classmethod
    def of_keys(
        cls,
        key: np.ndarray,
        impressions: np.ndarray,
        clicks: np.ndarray,
        items: Items,
        n_slots: int,
    ) -> Self:
        """Make counts from ascending, distinct keys ``item * n_slots + slot``, one entry per key.

        ``impressions`` and ``clicks`` are numbers of both by key; a slot is a position from 0.
        """
        item, slot = (key // n_slots).astype(np.int32), (key % n_slots).astype(np.int32)
        return cls(item, slot, impressions, clicks, items, n_slots)

    @classmethod
    def of_impressions(
        cls, item: np.ndarray, slot: np.ndarray, clicked: np.ndarray, items: Items, n_slots: int
    ) -> Self:
        """Count impressions and clicks, from one entry per impression.

        ``item``, ``slot`` and ``clicked`` are the item's number, the position from 0 and whether it
        was clicked.
        """
        ordered = np.sort(2 * (item.astype(np.int64) * n_slots + slot) + clicked)  # click: last bit
        starts = np.flatnonzero(np.diff(ordered >> 1, prepend=-1))
        impressions = np.diff(starts, append=len(ordered)).astype(np.int32)
        clicks = np.add.reduceat(ordered & 1, starts).astype(np.int32)
        return cls.of_keys(ordered[starts] >> 1, impressions, clicks, items, n_slots)

    def counts(self) -> Self:
        """Return these counts, as :meth:`ClickLog.counts` does for a log."""
        return self

    def of_items(self, items: np.ndarray) -> Self:
        """Return the counts of the given items only; item ``items[i]`` gets the number ``i``."""
        new_number = np.full(len(self.items), -1, dtype=np.int32)
        new_number[items] = np.arange(len(items), dtype=np.int32)
        kept = np.flatnonzero(new_number[self.item] >= 0)
        rows = kept[np.lexsort((self.slot[kept], new_number[self.item[kept]]))]
        item = new_number[self.item[rows]]
        numbers = self.slot[rows], self.shown[rows], self.clicked[rows]
        return type(self)(item, *numbers, self.items.taking(items), self.n_slots)

    def without_gaps(self) -> tuple[Self, np.ndarray]:
        """Return ``(counts, slots)``: counts with slots renumbered, and their old slots.

        Slots that were never shown are left out.
        """
        slots, slot = np.unique(self.slot, return_inverse=True)
        return replace(self, slot=slot.astype(np.int32), n_slots=len(slots)), slots

    def canonical_order(self, X: Any) -> QueryGroups:
        """Return the items grouped by query, in an order that depends on features and counts alone.

        ``X`` are the features of the items.
        """
        by_item = QueryGroups(None, np.append(0, np.cumsum(np.bincount(self.item))))
        numbers = np.column_stack([self.slot, self.shown, self.clicked]).astype(np.float64)
        counted = group_hashes(row_hashes(numbers), by_item)
        queries = QueryGroups.from_qid(self.items.query)
        return canonical_order(X, queries, self.by_item(self.clicked), counted)[0]

    def by_item(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of ``values``, one per count, for each item."""
        return np.bincount(self.item, values, minlength=len(self.items))

    def by_slot(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of ``values``, one per count, for each slot."""
        return np.bincount(self.slot, values, minlength=self.n_slots)


def spread(values: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Return an array by slot, up to the last of ``slots``: ``values`` there, and NaN elsewhere.

    ``slots`` are the ascending slots at which documents were shown.
    """
    by_slot = np.full(slots[-1] + 1, np.nan)
    by_slot[slots] = values
    return by_slot


def shown_documents(
    features: np.ndarray,
    groups: QueryGroups,
    position: np.ndarray,
    clicked: np.ndarray,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, ClickCounts]:
    """Return ``(rows, counts)``: the first row of each document, and the click counts.

    Rows of one query with equal features are the same document, since no ranker can distinguish
    them.

    Parameters
    ----------
    features : ndarray of shape (n_rows,)
        The :func:`~treerank.documents.canonical_order.row_hashes` of the rows.
    groups : QueryGroups
        Queries of the rows.
    position : ndarray of shape (n_rows,)
        Position at which each row was shown, from 1.
    clicked : ndarray of shape (n_rows,)
        Clicks, 0 or 1.
    weight : ndarray of shape (n_rows,), default=None
        Number of impressions that each row stands for; None is 1.
    """
    query = groups.codes
    order = np.lexsort((features, query))
    changes = (np.diff(query[order]) != 0) | (np.diff(features[order]) != 0)
    is_first = np.append(True, changes)
    item = np.empty(len(order), dtype=np.int64)
    item[order] = np.cumsum(is_first) - 1
    first = order[is_first]
    items, n_slots = Items(query[first], np.arange(len(first))), int(position.max())
    key, count = np.unique(item * n_slots + position - 1, return_inverse=True)
    times = np.ones(len(item)) if weight is None else weight
    impressions, clicks = (np.bincount(count, weights) for weights in (times, times * clicked))
    return first, ClickCounts.of_keys(key, impressions, clicks, items, n_slots)
