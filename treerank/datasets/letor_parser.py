"""The LETOR parser: the rows of some whole lines of text.

All numbers of the lines are read at once, by NumPy and Arrow. Lines that this cannot read, such as
those with an error or with a number in an unusual form, are read one by one.
"""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from treerank.files.compression import TEXT_IN_UTF8

LARGEST_INDEX = 2**31 - 1
#: Bytes of a query id; an array of strings needs as much for every id as for the longest.
LONGEST_QID = 255
_SPACE, _COLON, _NEWLINE, _ZERO, _NINE = b" :\n09"
_MOST_DIGITS = 10
_COMMENT = re.compile(rb"#.*")
_LONE_RETURN = re.compile(rb"\r[^\r\n]")
_QID = re.compile(rb"qid:([^\0]{1,%d})" % LONGEST_QID)
_INDEX = re.compile(rb"[0-9]{1,%d}" % _MOST_DIGITS)
#: Only integers in Python's notation are integers, so 7 and 007 differ.
_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,17}")


class BrokenRuleError(ValueError):
    """The error of text that breaks a rule of the LETOR format.

    ``at`` is the byte where it does.
    """

    def __init__(self, rule: str, at: int):
        super().__init__(rule)
        self.at = at


class ParsedRows(NamedTuple):
    """Rows of a text.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Labels.
    qid : ndarray of shape (n_rows,)
        Query ids: integers if all are, else strings.
    comments : list of str
        What stands behind ``#`` in each row.
    n_entries : ndarray of shape (n_rows,)
        Number of features in the row's text.
    indices, values : ndarray of shape (n_entries,)
        Indices of the features, from 1, and their values, row by row.
    """

    y: np.ndarray
    qid: np.ndarray
    comments: list[str]
    n_entries: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    @property
    def row_of_entry(self) -> np.ndarray:
        """Row index of each entry of ``indices`` and ``values``."""
        return np.repeat(np.arange(len(self.y)), self.n_entries)


def parsed_rows(text: bytes, n_features: int | None) -> ParsedRows:
    """Parse whole lines of LETOR text; ``n_features=None`` allows any feature index.

    A BrokenRuleError has the first broken rule as its message and the offset of the byte as ``at``.
    """
    try:
        return _rows_at_once(text, n_features or LARGEST_INDEX)
    except ValueError:  # of Arrow, too
        return _rows_one_by_one(text, n_features)


def _rows_at_once(text: bytes, largest: int) -> ParsedRows:
    """Parse all rows of a text by array operations; indices are at most ``largest``.

    Raises a ValueError where the text is unusual or breaks a rule: then it must be parsed row by
    row.
    """
    _require(_LONE_RETURN.search(text) is None)
    bare = _COMMENT.sub(lambda match: b" " * len(match[0]), text)
    letters = np.frombuffer(bare, dtype=np.uint8)
    starts, ends = _token_spans(letters)
    line_ends = np.flatnonzero(letters == _NEWLINE)
    first = np.unique(np.append(0, np.searchsorted(starts, line_ends)))[:-1]  # token of each row
    n_entries = np.diff(first, append=len(starts)) - 2
    _require((n_entries >= 0).all())
    ids = list(_tokens(bare, starts[first + 1], ends[first + 1]))
    _require(all(map(_QID.fullmatch, ids)))
    y = _numbers(letters, starts[first], ends[first])
    _require(np.isfinite(y).all())
    is_entry = np.ones(len(starts), dtype=bool)
    is_entry[first] = is_entry[first + 1] = False
    colons = np.flatnonzero(letters == _COLON)
    colons = np.delete(colons, np.searchsorted(colons, starts[first + 1]))  # the colons after "qid"
    indices, values = _entries_at_once(letters, starts[is_entry], colons, ends[is_entry])
    last = ends[first + n_entries + 1]
    comments = _comments(_tokens(text, last, line_ends[np.searchsorted(line_ends, last)]))
    rows = ParsedRows(y, _query_ids(ids), comments, n_entries, indices, values)
    rises = np.diff((rows.row_of_entry << 32) + indices) > 0
    _require(rises.all() and ((indices > 0) & (indices <= largest)).all())
    return rows


def _token_spans(letters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(starts, ends)``: the offsets of the tokens, which spaces or line ends separate.

    ``letters`` are the bytes of the text as uint8; an end is the offset behind the last byte.
    """
    controls = letters[letters < _SPACE]
    _require(((controls >= 9) & (controls <= 13)).all())  # which are spaces, too
    edges = np.flatnonzero(np.diff(letters > _SPACE, prepend=False))
    return edges[::2], edges[1::2]


def _entries_at_once(
    letters: np.ndarray, starts: np.ndarray, colons: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(indices, values)`` of tokens ``<index>:<value>``, given where they lie in the text.

    ``starts``, ``colons`` and ``ends`` are the offsets of each token, of its colon and behind it.
    Raises a ValueError if a token does not have one colon with text on both sides.
    """
    _require(len(colons) == len(starts) and ((starts < colons) & (colons < ends)).all())
    return _whole_numbers(letters, starts, colons), _numbers(letters, colons + 1, ends)


def _require(is_usual: bool | np.bool_) -> None:
    if not is_usual:
        raise ValueError("the rows must be read one by one")


def _tokens(text: bytes, starts: np.ndarray, ends: np.ndarray) -> Iterator[bytes]:
    return (text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))


def _numbers(letters: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Parse the tokens between ``starts`` and ``ends`` as float64; ``NULL`` is NaN."""
    steps = np.zeros(len(letters), dtype=np.int8)
    steps[starts] = 1
    steps[ends] -= 1
    joined = letters[np.cumsum(steps, dtype=np.int8) > 0]
    _require(not (joined == ord("(")).any())  # Arrow takes nan(1) as a number
    _require(len(joined) < 2**31)  # which Arrow counts in 32 bits
    offsets = np.append(0, np.cumsum(ends - starts)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(joined)]
    texts = pa.Array.from_buffers(pa.string(), len(starts), buffers)
    if b"NULL" in joined.tobytes():
        texts = compute.if_else(compute.equal(texts, "NULL"), "nan", texts)
    return np.asarray(texts.cast(pa.float64()))


def _whole_numbers(letters: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Parse the tokens between ``starts`` and ``ends`` as int64.

    A token that has other characters than digits, or too many of them, is a ValueError.
    """
    sizes, numbers = ends - starts, np.zeros(len(starts), dtype=np.int64)
    most = int(sizes.max(initial=1))
    _require(most <= _MOST_DIGITS)
    for digit in range(most):
        longer = np.flatnonzero(sizes > digit)
        digits = letters[starts[longer] + digit]
        _require(((digits >= _ZERO) & (digits <= _NINE)).all())
        numbers[longer] = 10 * numbers[longer] + (digits - _ZERO)
    return numbers


def _query_ids(tokens: list[bytes]) -> np.ndarray:
    """Return the ids that tokens such as ``qid:7`` name: integers if all are, else strings."""
    ids = [token[4:] for token in tokens]
    if all(map(_INTEGER.fullmatch, ids)):
        return np.array(list(map(int, ids)), dtype=np.int64)
    return np.array([text.decode("utf-8") for text in ids])


def _comments(ends_of_rows: Iterator[bytes]) -> list[str]:
    parts = (end.partition(b"#")[2].strip() for end in ends_of_rows)
    return [part.decode("utf-8", "surrogateescape") for part in parts]


def _rows_one_by_one(text: bytes, n_features: int | None) -> ParsedRows:
    y, ids, sizes, ends = list[float](), list[bytes](), list[int](), list[bytes]()
    entries, start = list[tuple[int, float]](), 0
    for line in text.split(b"\n"):
        if (at := line.rstrip().find(b"\r")) >= 0:  # a comment would hide the rows behind it
            rule = r"a line must end in '\n' or '\r\n', as `tr '\r' '\n'` makes it"
            raise BrokenRuleError(rule, start + at)
        content = line.partition(b"#")[0]
        tokens = [(match[0], start + match.start()) for match in re.finditer(rb"\S+", content)]
        if tokens:
            y.append(_label(*tokens[0]))
            ids.append(_query(*(tokens[1] if len(tokens) > 1 else (b"", start + len(content)))))
            row_entries = list(_entries(tokens[2:], n_features))
            sizes.append(len(row_entries))
            entries += row_entries
            ends.append(line)
        start += len(line) + 1
    indices, values = zip(*entries, strict=True) if entries else ((), ())
    return ParsedRows(
        np.array(y),
        _query_ids(ids),
        _comments(iter(ends)),
        np.array(sizes, dtype=np.int64),
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def _label(token: bytes, at: int) -> float:
    number = _number(token)
    if number is None or not math.isfinite(number):
        raise BrokenRuleError("a label must be finite", at)
    return number


def _query(token: bytes, at: int) -> bytes:
    if not token.startswith(b"qid:") or token == b"qid:":
        raise BrokenRuleError("a query id, qid:<id>, must follow the label", at)
    if not _QID.fullmatch(token):
        rule = f"a query id must have at most {LONGEST_QID} bytes and no NUL"
        raise BrokenRuleError(rule, at + 4)
    try:
        token.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenRuleError(f"a query id must be {TEXT_IN_UTF8}", at + 4) from error
    return token


def _entries(
    tokens: list[tuple[bytes, int]], n_features: int | None
) -> Iterator[tuple[int, float]]:
    """Yield ``(index, value)`` of each feature of a row; a BrokenRuleError says what is wrong.

    ``tokens`` has ``(text, offset)`` of each ``<index>:<value>``. Indices must rise, and be at most
    ``n_features`` unless it is None.
    """
    previous = 0
    for token, at in tokens:
        name, colon, text = token.partition(b":")
        index = int(name) if colon and _INDEX.fullmatch(name) else 0
        if not 1 <= index <= LARGEST_INDEX:
            rule = f"a feature must be <index>:<value>, its index from 1 to {LARGEST_INDEX}"
            raise BrokenRuleError(rule, at)
        if index <= previous:
            raise BrokenRuleError("feature indices must rise within a row", at)
        if n_features is not None and index > n_features:
            raise BrokenRuleError(f"feature indices must not exceed n_features={n_features}", at)
        previous, value = index, _number(text)
        if value is None:
            raise BrokenRuleError("a value must be a number", at + len(name) + 1)
        yield index, value


def _number(token: bytes) -> float | None:
    """Return a token as a float, NaN for ``NULL``; None if it is not a number of the LETOR format.

    Python would read ``1_0`` as 10; it is not one here.
    """
    if token.lower() == b"null":
        return math.nan
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None
