"""Distinct sessions: those that show the same documents and have the same clicks, counted once.

They stand in an order that depends on nothing but what they show and what was clicked. So whatever
is summed over them has the same bits, in whatever order and in however many parts a log came.
"""

from collections.abc import Sequence
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

    def taking(self, entries: np.ndarray, times: np.ndarray) -> "Sessions":
        """Return entries, longest first, with the times they are to count."""
        return stacked([self], entries, times)


def distinct(parts: Sequence[Sessions]) -> Sessions:
    """Return the distinct sessions of some parts of a log."""
    fingerprint = np.concatenate([_fingerprints(part) for part in parts])
    order = np.lexsort((fingerprint, -np.concatenate([part.lengths for part in parts])))
    times = np.concatenate([part.times for part in parts])[order]
    whole = stacked(parts, order, times)
    starts = np.flatnonzero(_differs_from_the_one_before(whole))
    if len(starts) == len(times):
        return whole
    return whole.taking(starts, np.add.reduceat(times, starts))


def stacked(parts: Sequence[Sessions], entries: np.ndarray, times: np.ndarray) -> Sessions:
    """Return entries of some parts, longest first; they are numbered through all parts."""
    sizes = [len(part.times) for part in parts]
    of_part = np.repeat(np.arange(len(parts), dtype=np.int32), sizes)[entries]
    lengths = np.concatenate([part.lengths for part in parts])[entries]
    n_positions = int(lengths[0]) if len(lengths) else 0
    n_at = np.searchsorted(-lengths, -np.arange(1, n_positions + 1), side="right")
    item = np.empty(n_at.sum(), dtype=parts[0].item.dtype)
    clicked = np.empty(len(item), dtype=bool)
    first_entry, end = np.cumsum([0, *sizes[:-1]]), 0
    first_row = [np.append(0, np.cumsum(part.n_at)) for part in parts]
    for place, n in enumerate(n_at):
        rows = [
            slice(*first[place : place + 2]) if place < len(first) - 1 else slice(0)
            for first in first_row
        ]
        first_here = np.cumsum([0, *(each.stop - (each.start or 0) for each in rows[:-1])])
        chosen = entries[:n] + (first_here - first_entry)[of_part[:n]]
        here = slice(end, end + n)
        item[here] = _joined([p.item[each] for p, each in zip(parts, rows, strict=True)])[chosen]
        clicked[here] = _joined([p.clicked[each] for p, each in zip(parts, rows, strict=True)])[
            chosen
        ]
        end += n
    return Sessions(n_at, item, clicked, times)


def _joined(columns: list[np.ndarray]) -> np.ndarray:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


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


def _differs_from_the_one_before(sessions: Sessions) -> np.ndarray:
    """Tell which entries are another session than the one before."""
    is_new, end = np.diff(sessions.lengths, prepend=-1) != 0, 0
    for n in sessions.n_at:
        rows, end = slice(end, end + n), end + n
        for column in (sessions.item[rows], sessions.clicked[rows]):
            is_new[1:n] |= column[1:] != column[:-1]
    return is_new
