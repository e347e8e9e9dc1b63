"""The LETOR parser: compiled functions that read the rows of a chunk of text.

A chunk is a part of the text with whole lines; its last byte is a newline. ``parse_chunk`` releases
Python's lock, so that threads parse several chunks at a time; this compiles faster than a
``prange`` and works in any thread. A chunk has its own arrays, so the result does not depend on
the number of threads.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from treerank.datasets.decimals import (
    COLON,
    HASH,
    MINUS,
    NEWLINE,
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
#: What stands for a query id that is no integer; integers have at most 18 digits.
TEXT = -(2**63)

#: Errors that ``parse_chunk`` returns; 0 is none.
NO_QID, BAD_INDEX, NOT_RISING, BEYOND, BAD_QID = range(1, 6)
#: What each of them says.
RULES = (
    "",
    "a query id, qid:<id>, must follow the label",
    f"a feature must be <index>:<value>, its index from 1 to {LARGEST_INDEX}",
    "feature indices must rise within a row",
    "feature indices must not exceed n_features={n_features}",
    f"a query id must have at most {LONGEST_QID} bytes and no NUL",
)


class ParsedRows(NamedTuple):
    """The rows of a chunk of text, with room for as many as there may be.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Labels.
    qid : ndarray of shape (n_rows,)
        Query ids that are integers in Python's notation; ``TEXT`` for other query ids.
    spans : ndarray of shape (n_rows, 4)
        Start and end of the query id in the text, start and end of the comment.
    n_entries : ndarray of shape (n_rows,)
        Number of features in the row's text.
    values, indices : ndarray of shape (n_entries,)
        Values and columns of the features, row by row.
    uncertain : ndarray of shape (n_rows + n_entries, 2)
        Numbers that the compiled code cannot round for certain, or that are no numbers: the start
        of each in the text, and its place in ``values``, which is ``-1 - row`` for a label.
    sizes : ndarray of shape (3,)
        Number of rows, entries and uncertain numbers that are parsed.
    """

    y: np.ndarray
    qid: np.ndarray
    spans: np.ndarray
    n_entries: np.ndarray
    values: np.ndarray
    indices: np.ndarray
    uncertain: np.ndarray
    sizes: np.ndarray

    @classmethod
    def empty(cls, text: np.ndarray, dtype: DTypeLike) -> Self:
        """Return arrays for a chunk: each row has a newline, and each entry has a colon."""
        n_rows, n_entries = (int(np.count_nonzero(text == byte)) for byte in (NEWLINE, COLON))
        return cls(
            y=np.empty(n_rows),
            qid=np.empty(n_rows, dtype=np.int64),
            spans=np.empty((n_rows, 4), dtype=np.int64),
            n_entries=np.empty(n_rows, dtype=np.int64),
            values=np.empty(n_entries, dtype=dtype),
            indices=np.empty(n_entries, dtype=np.int32),
            uncertain=np.empty((n_rows + n_entries, 2), dtype=np.int64),
            sizes=np.zeros(3, dtype=np.int64),
        )

    def parsed(self) -> Self:
        """Return the parts of the arrays that are filled."""
        n_rows, n_entries, n_uncertain = self.sizes.tolist()
        filled = [n_rows] * 4 + [n_entries] * 2 + [n_uncertain, 3]
        return type(self)(*(array[:n] for array, n in zip(self, filled, strict=True)))


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
def spread(values: np.ndarray, indices: np.ndarray, n_entries: np.ndarray, X: np.ndarray) -> None:
    """Write the entries of some rows into a dense matrix."""
    entry = 0
    for row in range(len(n_entries)):
        X[row] = 0
        for _ in range(n_entries[row]):
            X[row, indices[entry]] = values[entry]
            entry += 1


@njit(nogil=True)
def parse_chunk(
    text: np.ndarray, at: int, end: int, largest: int, rows: ParsedRows
) -> tuple[int, int]:
    """Parse a chunk up to its end or its first error; return the error and its place.

    The chunk is ``text[at:end]``, and ``rows`` are filled. A feature index above ``largest`` is an
    error.
    """
    while at < end:
        at = _skip_spaces(text, at)
        if not _ends_row(text[at]):
            error, at = _parse_row(text, at, rows.sizes[0], largest, rows)
            if error != 0:
                return error, at
            rows.sizes[0] += 1
        at = skip_line(text, at) + 1
    return 0, at


@register_jitable
def _parse_row(text, at, row, largest, rows):
    value, end, is_certain = read_number(text, at)
    rows.y[row] = value
    if not is_certain or not np.isfinite(value):
        _add_uncertain(rows, at, -1 - row)
    at = _skip_spaces(text, end)
    if not _starts_qid(text, at):
        return NO_QID, at
    start = at + 4
    at = _parse_qid(text, start, row, rows)
    has_nul = rows.qid[row] == TEXT and text[start:at].min() == 0  # which texts of NumPy may lose
    if at - start > LONGEST_QID or has_nul:
        return BAD_QID, start
    error, at = _parse_features(text, at, row, largest, rows)
    rows.spans[row, 2] = at + (text[at] == HASH)
    at = skip_line(text, at) if error == 0 else at
    rows.spans[row, 3] = at
    return error, at


@register_jitable
def _add_uncertain(rows, at, place):
    """Store where a number is that Python has to read."""
    rows.uncertain[rows.sizes[2], 0] = at
    rows.uncertain[rows.sizes[2], 1] = place
    rows.sizes[2] += 1


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
    if is_canonical and ends_token(text[end]):
        rows.qid[row] = -number if is_negative else number
    else:
        rows.qid[row] = TEXT
    end = skip_token(text, end)
    rows.spans[row, 0] = start
    rows.spans[row, 1] = end
    return end


@register_jitable
def _parse_features(text, at, row, largest, rows):
    # Unpacked here, because every access to an array in a tuple counts references atomically.
    values, indices = rows.values, rows.indices
    first = rows.sizes[1]
    entry, previous = first, 0
    at = _skip_spaces(text, at)
    while not _ends_row(text[at]):
        index, end = read_digits(text, at, 0)
        if index <= previous or end - at > 10 or index > LARGEST_INDEX or text[end] != COLON:
            is_index = 0 < index <= LARGEST_INDEX and end - at <= 10 and text[end] == COLON
            return (NOT_RISING if is_index else BAD_INDEX), at
        if index > largest:
            return BEYOND, at
        value, next_at, is_certain = read_number(text, end + 1)
        values[entry] = value
        indices[entry] = index - 1
        if not is_certain:
            _add_uncertain(rows, end + 1, entry)
        entry += 1
        previous = index
        at = _skip_spaces(text, next_at)
    rows.n_entries[row] = entry - first
    rows.sizes[1] = entry
    return 0, at
