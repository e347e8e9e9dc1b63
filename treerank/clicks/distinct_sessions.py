"""Distinct sessions: those that show the same documents and have the same clicks, counted once.

They stand in an order that depends on nothing but what they show and what was clicked. So whatever
is summed over them has the same bits, in whatever order and in however many parts a log came.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

#: Multipliers of splitmix64's last step, which spreads each bit over all others.
_MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


class Sessions(NamedTuple):
    """Sessions sorted by their length, longest first, and impressions sorted by position.

    Attributes
    ----------
    n_at : ndarray of shape (n_positions,)
        Number of entries that show a document at each position.
    item, clicked : ndarray of shape (n_impressions,)
        Item of each impression, and whether it was clicked.
    times : ndarray of shape (n_entries,)
        Number of sessions that each entry stands for.

    Examples
    --------
    >>> one = Sessions(np.array([1]), np.array([7]), np.array([True]), np.array([1]))
    >>> distinct([one, one]).times
    array([2])
    """

    n_at: np.ndarray
    item: np.ndarray
    clicked: np.ndarray
    times: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Number of documents that each entry shows."""
        return np.searchsorted(-self.n_at, -np.arange(len(self.times)), side="left")


def distinct(parts: Sequence[Sessions]) -> Sessions:
    """Return the distinct sessions of some parts of a log."""
    fingerprint = np.concatenate([_fingerprints(part) for part in parts])
    lengths = np.concatenate([part.lengths for part in parts])
    order = np.lexsort((fingerprint, -lengths))
    del fingerprint  # such columns are as large as all items at two positions
    is_new = np.diff(lengths[order], prepend=-1) != 0
    for columns in _positions(parts, order, lengths[order]):
        for column in columns:
            is_new[1 : len(column)] |= column[1:] != column[:-1]
    starts = np.flatnonzero(is_new)
    times = np.concatenate([part.times for part in parts])[order]
    chosen = order[starts]
    return _stacked(parts, chosen, lengths[chosen], np.add.reduceat(times, starts))


def _stacked(
    parts: Sequence[Sessions], entries: np.ndarray, lengths: np.ndarray, times: np.ndarray
) -> Sessions:
    """Return entries of some parts, longest first."""
    n_at = np.searchsorted(-lengths, -np.arange(1, lengths[0] + 1), side="right")
    item, clicked = np.empty(n_at.sum(), dtype=np.int32), np.empty(n_at.sum(), dtype=bool)
    ends = np.cumsum(n_at)
    columns = _positions(parts, entries, lengths)
    for start, end, column in zip(ends - n_at, ends, columns, strict=True):
        item[start:end], clicked[start:end] = column
    return Sessions(n_at, item, clicked, times)


def _positions(
    parts: Sequence[Sessions], entries: np.ndarray, lengths: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the items and clicks at each position of entries, longest first.

    Entries are numbered through all parts.
    """
    sizes = [len(part.times) for part in parts]
    of_part = np.repeat(np.arange(len(parts), dtype=np.int32), sizes)
    first_entry = np.cumsum([0, *sizes[:-1]])
    ends = [np.cumsum(part.n_at) for part in parts]
    for place in range(lengths[0]):
        chosen = entries[: np.searchsorted(-lengths, -place, side="left")]
        rows = [
            slice(end[place] - part.n_at[place], end[place]) if place < len(end) else slice(0, 0)
            for part, end in zip(parts, ends, strict=True)
        ]
        first_here = np.cumsum([0, *(each.stop - each.start for each in rows[:-1])])
        chosen = chosen + (first_here - first_entry)[of_part[chosen]]
        items, clicks = (
            np.concatenate([column[each] for column, each in zip(columns, rows, strict=True)])
            for columns in ([part.item for part in parts], [part.clicked for part in parts])
        )
        yield items[chosen], clicks[chosen]


def _fingerprints(sessions: Sessions) -> np.ndarray:
    """Return a hash of the items and clicks of each entry."""
    found, end = np.zeros(len(sessions.times), dtype=np.uint64), 0
    for n in sessions.n_at:
        rows, end = slice(end, end + n), end + n
        known = found[:n]
        known += (2 * sessions.item[rows].astype(np.int64) + sessions.clicked[rows] + 1).view(
            np.uint64
        )
        for shift, factor in _MIXERS:
            known ^= known >> np.uint64(shift)
            known *= np.uint64(factor)
    return found
