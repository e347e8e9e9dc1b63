"""LETOR tables: rows of ranking data into which blocks of LETOR text are parsed.

The arrays are resized in place, so that little more memory is needed than for the result.
"""

import reprlib
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from treerank.datasets.decimals import skip_token
from treerank.datasets.letor_parser import (
    BAD_INDEX,
    BEYOND,
    LARGEST_INDEX,
    LONG_QID,
    LONGEST_QID,
    NO_QID,
    NOT_RISING,
    FeatureSlots,
    ParsedRows,
    UncertainNumbers,
    measure_chunk,
    parse_chunk,
    skip_line,
)
from treerank.datasets.ranking_data import RankingData, check_density
from treerank.files.blocks import TextBlock
from treerank.inputs.grouping import joined_ids

_RULES = {
    NO_QID: "a query id, qid:<id>, must follow the label",
    BAD_INDEX: f"a feature must be <index>:<value>, its index from 1 to {LARGEST_INDEX}",
    NOT_RISING: "feature indices must rise within a row",
    LONG_QID: f"a query id must have at most {LONGEST_QID} bytes",
    BEYOND: "feature indices must not exceed n_features={n_features}",
}


@dataclass(frozen=True)
class TextSizes:
    """How much text is worked on at a time.

    Parameters
    ----------
    block : int, default=2**22
        Bytes of text that are read at a time.
    chunk : int, default=2**18
        Bytes of text that one thread parses at a time.
    uncertain : int, default=256
        Uncertain numbers of a chunk for which there is room at first.
    """

    block: int = 2**22
    chunk: int = 2**18
    uncertain: int = 256


@dataclass
class LetorTable:
    """The rows that are parsed so far.

    Parameters
    ----------
    name : str
        Name of the text, for error messages.
    n_features : int or None
        Number of columns of the result; ``None`` takes the highest feature index.
    is_sparse : bool
        Whether to store only the entries in the text.
    dtype : dtype
        float64 or float32.
    keeps_comments : bool
        Whether to keep comments.
    expected_size : int
        Approximate number of bytes of the whole text, to reserve memory; 0 if it is
        not known.
    pool : Executor
        Threads that parse.
    sizes : TextSizes, default=TextSizes()
        How much they parse at a time.
    """

    name: str
    n_features: int | None
    is_sparse: bool
    dtype: np.dtype[np.floating]
    keeps_comments: bool
    expected_size: int
    pool: Executor
    sizes: TextSizes = TextSizes()
    n_rows: int = field(default=0, init=False)
    n_entries: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._width = self.n_features or 0
        self._size = 0
        self._values = np.empty(0, dtype=self.dtype)
        self._indices = np.empty(0, dtype=np.int32)
        self._y: list[np.ndarray] = []
        self._qids: list[np.ndarray] = []
        self._row_sizes: list[np.ndarray] = []
        self._comments: list[str] = []

    def append(self, block: TextBlock) -> None:
        """Parse lines into the table; a ValueError names the first error and its place."""
        text, bounds = block.text, _chunk_bounds(block.text, self.sizes.chunk)
        counts = np.array(list(self.pool.map(lambda chunk: measure_chunk(text, *chunk), bounds)))
        ends = np.cumsum(counts, axis=0)
        n_rows, n_entries, _ = ends[-1].tolist()
        self._size += len(text)
        self._make_room(n_rows, n_entries, int(counts[:, 2].max()))
        first_rows = ends[:, 0] - counts[:, 0]
        first_slots = (
            self.n_entries + ends[:, 1] - counts[:, 1]
            if self.is_sparse
            else (self.n_rows + first_rows) * self._width
        )
        rows = ParsedRows.empty(n_rows)
        self._parse(block, bounds, first_rows.tolist(), first_slots.tolist(), rows)
        self._add(text, rows)

    def _make_room(self, n_rows, n_entries, width):
        """Enlarge the arrays for more rows and entries, and for a higher feature index."""
        if self.n_features is None:
            self._widen(n_rows, n_entries, max(self._width, width))
        n_slots = self.n_entries + n_entries
        if not self.is_sparse:
            n_slots = (self.n_rows + n_rows) * self._width
        if n_slots > len(self._values):
            # Reserved memory costs nothing until it is used, so the guess may be too high.
            to_come = max(1.25 if len(self._values) else 1.0, self.expected_size / self._size)
            n_slots = int(n_slots * (1.02 * to_come if to_come > 1 else 1))
            self._values = _resized(self._values, n_slots)
            self._indices = _resized(self._indices, n_slots if self.is_sparse else 0)

    def _widen(self, n_rows, n_entries, width):
        """Insert columns of zeros at the right, in place: the last rows are moved first."""
        if not self.is_sparse:
            check_density(self.name, self.n_rows + n_rows, width, self.n_entries + n_entries)
        old, end = self._width, self.n_rows
        self._width = width
        if self.is_sparse or width == old or self.n_rows == 0:
            return
        self._values = _resized(self._values, max(len(self._values), self.n_rows * width))
        while end > 0:
            # As many rows as are certain not to be overwritten before they are read.
            start = min(-(-end * old // width), end - 1)
            moved = self._values[start * old : end * old].reshape(end - start, old)
            wide = self._values[start * width : end * width].reshape(end - start, width)
            wide[:, :old] = moved
            wide[:, old:] = 0
            end = start

    def _parse(self, block, bounds, first_rows, first_slots, rows):
        """Parse the chunks of a block in parallel; raise the first error in the text."""
        is_limited = self.n_features is not None
        slots = FeatureSlots(self._values, self._indices, self._width, is_limited, self.is_sparse)

        def parse(chunk, row, slot):
            uncertain = UncertainNumbers.empty(self.sizes.uncertain)
            arguments = (block.text, *chunk, row, slot, rows, slots)
            outcome = parse_chunk(*arguments, uncertain)
            n_uncertain = int(uncertain.total[0])
            if n_uncertain > self.sizes.uncertain:
                uncertain = UncertainNumbers.empty(n_uncertain)
                parse_chunk(*arguments, uncertain)
            return *outcome, uncertain.places[:n_uncertain].tolist()

        for error, at, uncertain in self.pool.map(parse, bounds, first_rows, first_slots):
            self._read_uncertain(block, rows, uncertain)
            if error:
                rule = _RULES[error].format(n_features=self.n_features)
                raise self._error(block, at, rule)

    def _read_uncertain(self, block, rows, uncertain):
        """Read the uncertain numbers of a chunk by Python's ``float``, in the order of the text."""
        for at, slot in uncertain:
            number = _as_number(_token(block.text, at))
            if number is None or (slot < 0 and not np.isfinite(number)):
                rule = "a value must be a number" if slot >= 0 else "a label must be finite"
                raise self._error(block, at, rule)
            if slot < 0:
                rows.y[-1 - slot] = number
            elif slot < len(self._values):  # if not, an error follows in the same row
                with np.errstate(over="ignore"):  # 1e39 is infinite as float32
                    self._values[slot] = number

    def _error(self, block, at, rule):
        """Return the error for a broken rule, with file, line and column."""
        before = block.text[:at].tobytes()
        line = block.first_line + before.count(b"\n")
        start = before[before.rfind(b"\n") + 1 :]
        column = len(start.decode("utf-8", "replace")) + 1
        token = _token(block.text, at).decode("utf-8", "replace")
        found = reprlib.repr(token) if token else "the end of the row"
        example = " A row of a LETOR file is like '2 qid:7 1:0.5'." if line == 1 else ""
        place = f"{self.name}, line {line}, column {column}"
        return ValueError(f"{place}: {rule}; got {found}.{example}")

    def _add(self, text, rows):
        """Add the parsed rows of a block."""
        self.n_rows += len(rows.y)
        self.n_entries += int(rows.n_entries.sum())
        self._y.append(rows.y)
        self._qids.append(_block_qids(text, rows))
        self._row_sizes.append(rows.n_entries)
        if self.keeps_comments:
            self._comments += [
                text[start:end].tobytes().strip().decode("utf-8", "surrogateescape")
                for start, end in rows.spans[:, 2:].tolist()
            ]

    def finished(self) -> RankingData:
        """Return the rows without a copy; the table must not be used afterwards."""
        if self.n_rows == 0:
            raise ValueError(
                f"{self.name}, line 1, column 1: a LETOR file must have rows; got none."
            )
        y = np.concatenate(self._y)
        comments = np.array(self._comments, dtype=object) if self.keeps_comments else None
        return RankingData(self._finished_X(), y, joined_ids(self._qids), comments)

    def _finished_X(self):
        """Return the features as a matrix."""
        if not self.is_sparse:
            values = _resized(self._values, self.n_rows * self._width)
            return values.reshape(self.n_rows, self._width)
        values = _resized(self._values, self.n_entries)
        indices = _resized(self._indices, self.n_entries)
        indptr = np.append(0, np.cumsum(np.concatenate(self._row_sizes)))
        X = csr_matrix((values, indices, indptr), shape=(self.n_rows, self._width), copy=False)
        X.has_canonical_format = True  # the parser refuses indices that do not rise
        return X


def _chunk_bounds(text, size):
    """Return the start and end of chunks of whole lines."""
    bounds, start = [], 0
    while start < len(text):
        at = skip_line(text, min(start + size, len(text)) - 1)
        bounds.append((start, at + 1))
        start = at + 1
    return bounds


def _resized(values, n_values):
    """Return an array of another length, without a second copy of the values."""
    if len(values) == 0:
        return np.empty(n_values, dtype=values.dtype)
    # numpy would refuse because of the caller's reference; there is no other.
    values.resize(n_values, refcheck=False)
    return values


def _token(text, at):
    """Return the token that starts at ``at``."""
    return text[at : skip_token(text, at)].tobytes()


def _as_number(token):
    """Return ``float(token)``, or None if it is no number in a LETOR file, as 1_0."""
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None


def _block_qids(text, rows):
    """Return the query ids of a block: integers if all are, else strings."""
    if not rows.is_text.any():
        return rows.qid
    tokens = [text[start:end].tobytes() for start, end in rows.spans[:, :2].tolist()]
    return np.array([token.decode("utf-8", "surrogateescape") for token in tokens])
