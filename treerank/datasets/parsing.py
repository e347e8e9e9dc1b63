"""The LETOR parser: kernels from a chunk of lines to its rows.

A chunk is a run of whole lines, the last byte a newline. ``measure_chunk`` finds how much a
chunk will hold, and with that every chunk knows where in the result its rows go;
``parse_chunk`` writes them there. Both let go of Python's lock, so that plain threads work on
several chunks at a time: that compiles in half the time of a ``prange`` and may be called from
any thread. Chunks never share a slot, so the result does not depend on the number of threads.
"""

from typing import NamedTuple

import numpy as np

from treerank.datasets.decimals import (
    COLON,
    HASH,
    MINUS,
    NEWLINE,
    NINE,
    ZERO,
    ends_token,
    is_space,
    read_digits,
    read_number,
    skip_token,
)
from treerank.numerics.compiling import njit

LARGEST_INDEX = 2**31 - 1

#: What ``parse_chunk`` may find wrong with a row, besides a number.
NO_QID, BAD_INDEX, NOT_RISING, BEYOND = 1, 2, 3, 4


class Rows(NamedTuple):
    """What ``parse_chunk`` fills in for each row of a block of text, besides the features.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Labels.
    qid : ndarray of shape (n_rows,)
        Query ids that are integers written as Python writes them; 0 for any other.
    is_text : ndarray of shape (n_rows,)
        Whether the query id is one of the others.
    spans : ndarray of shape (n_rows, 4)
        Where in the text the query id starts and ends, and the comment.
    n_entries : ndarray of shape (n_rows,)
        How many features the row names.
    """

    y: np.ndarray
    qid: np.ndarray
    is_text: np.ndarray
    spans: np.ndarray
    n_entries: np.ndarray

    @classmethod
    def empty(cls, n_rows):
        """Return room for ``n_rows`` rows."""
        return cls(
            y=np.empty(n_rows),
            qid=np.empty(n_rows, dtype=np.int64),
            is_text=np.empty(n_rows, dtype=np.bool_),
            spans=np.empty((n_rows, 4), dtype=np.int64),
            n_entries=np.empty(n_rows, dtype=np.int64),
        )


class Target(NamedTuple):
    """Where ``parse_chunk`` puts the features.

    Attributes
    ----------
    values : ndarray
        Dense: rows of ``n_features`` values each. Sparse: the values of the entries.
    indices : ndarray
        Sparse: the columns of the entries.
    n_features : int
        Columns of the result.
    is_limited : bool
        Whether the caller has fixed ``n_features``.
    is_sparse : bool
        Whether there is a slot for each entry only.
    """

    values: np.ndarray
    indices: np.ndarray
    n_features: int
    is_limited: bool
    is_sparse: bool


class Doubts(NamedTuple):
    """Numbers of a chunk that the kernel cannot round for certain, or that are none.

    Attributes
    ----------
    total : ndarray of shape (1,)
        How many there are; with more than there is room for, parse again with more room.
    places : ndarray of shape (room, 2)
        Where each starts in the text, and its slot of ``values``, or ``-1 - row`` for a label.
    """

    total: np.ndarray
    places: np.ndarray

    @classmethod
    def empty(cls, room):
        """Return an empty list with some room."""
        return cls(np.zeros(1, dtype=np.int64), np.empty((room, 2), dtype=np.int64))


@njit
def _ends_row(byte):
    return byte in (NEWLINE, HASH)


@njit
def _skip_spaces(text, at):
    while is_space(text[at]):
        at += 1
    return at


@njit
def _skip_line(text, at):
    while text[at] != NEWLINE:
        at += 1
    return at


@njit(nogil=True)
def measure_chunk(text, at, end):
    """Count rows and entries, and find the highest feature index, of a chunk.

    Parameters
    ----------
    text : ndarray of shape (n_bytes,)
        Whole lines, as bytes.
    at, end : int
        Where the chunk starts and ends.

    Returns
    -------
    n_rows, n_entries, width : int
        Where a line has an error, its share may be wrong, but it is never too small for what is
        parsed before the error.
    """
    n_rows, n_entries, width = 0, 0, 0
    while at < end:
        at = _skip_spaces(text, at)
        if not _ends_row(text[at]):
            n_rows += 1
            at = skip_token(text, at)  # the label
            at = skip_token(text, _skip_spaces(text, at))  # the query id
            n_before, last = n_entries, at
            while not _ends_row(text[at]):
                if text[at] == COLON:
                    n_entries += 1
                    last = at
                at += 1
            if n_entries > n_before:
                width = max(width, _index_before(text, last))
        at = _skip_line(text, at) + 1
    return n_rows, n_entries, width


@njit
def _index_before(text, colon):
    """Return the feature index that ends at a colon: the highest of its row, for they rise."""
    index, unit, at = 0, 1, colon - 1
    while ZERO <= text[at] <= NINE and unit <= 10**10:
        index += unit * (int(text[at]) - ZERO)
        unit *= 10
        at -= 1
    return index if index <= LARGEST_INDEX else 0  # the parser will refuse the others


@njit(nogil=True)
def parse_chunk(text, at, end, row, slot, rows, target, doubts):
    """Parse a chunk up to its end or its first error.

    Parameters
    ----------
    text, at, end
        As in ``measure_chunk``.
    row, slot : int
        Where in ``rows`` and ``target.values`` the chunk begins.
    rows, target, doubts : Rows, Target, Doubts
        Filled in.

    Returns
    -------
    error, at : int
        What is wrong, 0 for nothing, and where.
    """
    while at < end:
        at = _skip_spaces(text, at)
        if not _ends_row(text[at]):
            error, at = _parse_row(text, at, row, slot, rows, target, doubts)
            if error != 0:
                return error, at
            slot += rows.n_entries[row] if target.is_sparse else target.n_features
            row += 1
        at = _skip_line(text, at) + 1
    return 0, at


@njit
def _parse_row(text, at, row, slot, rows, target, doubts):
    value, end, is_certain = read_number(text, at)
    rows.y[row] = value
    if not is_certain or not np.isfinite(value):
        _doubt(doubts, at, -1 - row)
    at = _skip_spaces(text, end)
    if not _starts_qid(text, at):
        return NO_QID, at
    at = _parse_qid(text, at + 4, row, rows)
    error, at = _parse_features(text, at, row, slot, rows, target, doubts)
    rows.spans[row, 2] = at + (text[at] == HASH)
    at = _skip_line(text, at) if error == 0 else at
    rows.spans[row, 3] = at
    return error, at


@njit
def _doubt(doubts, at, slot):
    if doubts.total[0] < len(doubts.places):
        doubts.places[doubts.total[0], 0] = at
        doubts.places[doubts.total[0], 1] = slot
    doubts.total[0] += 1


@njit
def _starts_qid(text, at):
    word = b"qid:"
    for i in range(4):
        if text[at + i] != word[i]:  # a newline differs too, so this never runs off the text
            return False
    return not ends_token(text[at + 4])


@njit
def _parse_qid(text, start, row, rows):
    """Note a query id; an integer is one only as Python writes it, so 7 and 007 differ."""
    is_negative = text[start] == MINUS
    first = start + is_negative
    number, end = read_digits(text, first, 0)
    is_canonical = 0 < end - first <= 18 and (
        text[first] != ZERO or (end == first + 1 and not is_negative)
    )
    rows.is_text[row] = not is_canonical or not ends_token(text[end])
    rows.qid[row] = 0 if rows.is_text[row] else (-number if is_negative else number)
    end = skip_token(text, end)
    rows.spans[row, 0] = start
    rows.spans[row, 1] = end
    return end


@njit
def _parse_features(text, at, row, first_slot, rows, target, doubts):
    # Unpacked once: each look into a tuple of arrays would count references, atomically.
    values, indices, n_features, is_limited, is_sparse = target
    n_entries, previous = 0, 0
    if not is_sparse:
        values[first_slot : first_slot + n_features] = 0
    at = _skip_spaces(text, at)
    while not _ends_row(text[at]):
        index, end = read_digits(text, at, 0)
        if index <= previous or end - at > 10 or index > LARGEST_INDEX or text[end] != COLON:
            is_index = 0 < index <= LARGEST_INDEX and end - at <= 10 and text[end] == COLON
            return (NOT_RISING if is_index else BAD_INDEX), at
        if is_limited and index > n_features:
            return BEYOND, at
        value, next_at, is_certain = read_number(text, end + 1)
        # An index beyond an unlimited width can only stand before an error in the same row.
        is_within = is_sparse or index <= n_features
        slot = first_slot + (n_entries if is_sparse else index - 1) if is_within else len(values)
        if is_within:
            values[slot] = value
        if is_sparse:
            indices[slot] = index - 1
        if not is_certain:
            _doubt(doubts, end + 1, slot)
        n_entries += 1
        previous = index
        at = _skip_spaces(text, next_at)
    rows.n_entries[row] = n_entries
    return 0, at
