"""The LETOR parser: compiled functions that read the rows of a chunk of text.

A chunk is a part of the text with whole lines; its last byte is a newline. ``measure_chunk`` counts
the rows and entries of a chunk. From the counts of all chunks follows where in the result the rows
of each chunk are, and ``parse_chunk`` writes them there. Both release Python's lock, so that
threads parse several chunks at a time; this compiles faster than a ``prange`` and works in any
thread. Chunks never write to the same place, so the result does not depend on the number of
threads.
"""

from typing import NamedTuple, Self

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
from treerank.numerics.compiling import njit, register_jitable

LARGEST_INDEX = 2**31 - 1
#: Bytes of a query id; an array of strings needs as much for every id as for the longest.
LONGEST_QID = 255

#: Errors that ``parse_chunk`` returns; 0 is none.
NO_QID, BAD_INDEX, NOT_RISING, BEYOND, LONG_QID = 1, 2, 3, 4, 5


class ParsedRows(NamedTuple):
    """The parts of the rows of a block of text, except the features; ``parse_chunk`` fills them.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Labels.
    qid : ndarray of shape (n_rows,)
        Query ids that are integers in Python's notation; 0 for other query ids.
    is_text : ndarray of shape (n_rows,)
        Whether the query id is not such an integer.
    spans : ndarray of shape (n_rows, 4)
        Start and end of the query id in the text, start and end of the comment.
    n_entries : ndarray of shape (n_rows,)
        Number of features in the row's text.
    """

    y: np.ndarray
    qid: np.ndarray
    is_text: np.ndarray
    spans: np.ndarray
    n_entries: np.ndarray

    @classmethod
    def empty(cls, n_rows: int) -> Self:
        """Return arrays for ``n_rows`` rows."""
        return cls(
            y=np.empty(n_rows),
            qid=np.empty(n_rows, dtype=np.int64),
            is_text=np.empty(n_rows, dtype=np.bool_),
            spans=np.empty((n_rows, 4), dtype=np.int64),
            n_entries=np.empty(n_rows, dtype=np.int64),
        )


class FeatureSlots(NamedTuple):
    """The arrays into which ``parse_chunk`` writes the features; a slot is a place in ``values``.

    Attributes
    ----------
    values : ndarray
        Dense: rows of ``n_features`` values each. Sparse: the values of the entries.
    indices : ndarray
        Sparse: the columns of the entries.
    n_features : int
        Number of columns of the result.
    is_limited : bool
        Whether a feature index beyond ``n_features`` is an error.
    is_sparse : bool
        Whether only entries in the text have a slot.
    """

    values: np.ndarray
    indices: np.ndarray
    n_features: int
    is_limited: bool
    is_sparse: bool


class UncertainNumbers(NamedTuple):
    """Numbers of a chunk that the compiled code cannot round for certain, or that are no numbers.

    Attributes
    ----------
    total : ndarray of shape (1,)
        How many there are. If there are more than ``room``, the chunk must be parsed again.
    places : ndarray of shape (room, 2)
        Start of each number in the text, and its slot, which is ``-1 - row`` for a label.
    """

    total: np.ndarray
    places: np.ndarray

    @classmethod
    def empty(cls, room: int) -> Self:
        """Return an empty list with room for some numbers."""
        return cls(np.zeros(1, dtype=np.int64), np.empty((room, 2), dtype=np.int64))


@register_jitable
def _ends_row(byte):
    return byte in (NEWLINE, HASH)


@register_jitable
def _skip_spaces(text, at):
    while is_space(text[at]):
        at += 1
    return at


@njit
def skip_line(text: np.ndarray, at: int) -> int:
    """Return the end of the line that contains ``at``."""
    while text[at] != NEWLINE:
        at += 1
    return at


@njit(nogil=True)
def measure_chunk(text: np.ndarray, at: int, end: int) -> tuple[int, int, int]:
    """Count the rows and entries of a chunk and find its highest feature index.

    Parameters
    ----------
    text : ndarray of shape (n_bytes,)
        Whole lines, as bytes.
    at, end : int
        Start and end of the chunk.

    Returns
    -------
    n_rows, n_entries, width : int
        Number of rows, of entries, and highest index. If a line has an error, they may be wrong,
        but they are not too small for the text before the error.
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
        at = skip_line(text, at) + 1
    return n_rows, n_entries, width


@register_jitable
def _index_before(text, colon):
    """Return the feature index before a colon."""
    index, unit, at = 0, 1, colon - 1
    while ZERO <= text[at] <= NINE and unit <= 10**10:
        index += unit * (int(text[at]) - ZERO)
        unit *= 10
        at -= 1
    return index if index <= LARGEST_INDEX else 0  # parse_chunk refuses higher ones


@njit(nogil=True)
def parse_chunk(
    text: np.ndarray,
    at: int,
    end: int,
    row: int,
    slot: int,
    rows: ParsedRows,
    slots: FeatureSlots,
    uncertain: UncertainNumbers,
) -> tuple[int, int]:
    """Parse a chunk up to its end or its first error.

    Parameters
    ----------
    text : ndarray of shape (n_bytes,)
        Whole lines, as bytes.
    at, end : int
        Start and end of the chunk.
    row, slot : int
        First row and slot of the chunk.
    rows, slots, uncertain : ParsedRows, FeatureSlots, UncertainNumbers
        Results; the arrays are filled.

    Returns
    -------
    error, at : int
        Number of the error, 0 for none, and its place in the text.
    """
    while at < end:
        at = _skip_spaces(text, at)
        if not _ends_row(text[at]):
            error, at = _parse_row(text, at, row, slot, rows, slots, uncertain)
            if error != 0:
                return error, at
            slot += rows.n_entries[row] if slots.is_sparse else slots.n_features
            row += 1
        at = skip_line(text, at) + 1
    return 0, at


@register_jitable
def _parse_row(text, at, row, slot, rows, slots, uncertain):
    value, end, is_certain = read_number(text, at)
    rows.y[row] = value
    if not is_certain or not np.isfinite(value):
        _add_uncertain(uncertain, at, -1 - row)
    at = _skip_spaces(text, end)
    if not _starts_qid(text, at):
        return NO_QID, at
    start = at + 4
    at = _parse_qid(text, start, row, rows)
    if at - start > LONGEST_QID:
        return LONG_QID, start
    error, at = _parse_features(text, at, row, slot, rows, slots, uncertain)
    rows.spans[row, 2] = at + (text[at] == HASH)
    at = skip_line(text, at) if error == 0 else at
    rows.spans[row, 3] = at
    return error, at


@register_jitable
def _add_uncertain(uncertain, at, slot):
    """Count a number that Python has to read; store its place if there is room."""
    if uncertain.total[0] < len(uncertain.places):
        uncertain.places[uncertain.total[0], 0] = at
        uncertain.places[uncertain.total[0], 1] = slot
    uncertain.total[0] += 1


@register_jitable
def _starts_qid(text, at):
    word = b"qid:"
    for i in range(4):
        if text[at + i] != word[i]:  # stops at a newline at the latest
            return False
    return not ends_token(text[at + 4])


@register_jitable
def _parse_qid(text, start, row, rows):
    """Store a query id; only integers in Python's notation are integers, so 7 and 007 differ."""
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


@register_jitable
def _parse_features(text, at, row, first_slot, rows, slots, uncertain):
    # Unpacked here, because every access to an array in a tuple counts references atomically.
    values, indices, n_features, is_limited, is_sparse = slots
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
        # If n_features is not limited, a higher index means that an error follows in the row.
        is_within = is_sparse or index <= n_features
        slot = first_slot + (n_entries if is_sparse else index - 1) if is_within else len(values)
        if is_within:
            values[slot] = value
        if is_sparse:
            indices[slot] = index - 1
        if not is_certain:
            _add_uncertain(uncertain, end + 1, slot)
        n_entries += 1
        previous = index
        at = _skip_spaces(text, next_at)
    rows.n_entries[row] = n_entries
    return 0, at
