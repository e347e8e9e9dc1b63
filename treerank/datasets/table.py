"""A table: rows of ranking data that grow block by block, as text is parsed into them.

The arrays are resized in place, so that memory stays near what the result needs.
"""

from concurrent.futures import Executor
from dataclasses import dataclass, field
from os import PathLike

import numpy as np
from scipy.sparse import csr_matrix

from treerank.datasets.decimals import ends_token
from treerank.datasets.parsing import (
    BAD_INDEX,
    BEYOND,
    LARGEST_INDEX,
    NO_QID,
    NOT_RISING,
    Doubts,
    Rows,
    Target,
    measure_chunk,
    parse_chunk,
)
from treerank.datasets.ranking_data import RankingData
from treerank.files.blocks import TextBlock

CHUNK_SIZE = 2**18
DOUBTFUL_ROOM = 256

_RULES = {
    NO_QID: "a query id, qid:<id>, must follow the label",
    BAD_INDEX: f"a feature must be <index>:<value>, its index from 1 to {LARGEST_INDEX}",
    NOT_RISING: "feature indices must rise within a row",
    BEYOND: "feature indices must not exceed n_features={n_features}",
}


@dataclass
class Table:
    """Rows parsed so far.

    Attributes
    ----------
    path : path-like
        Where the text comes from, for errors.
    n_features : int or None
        Columns of the result; ``None`` for as many as the highest index.
    is_sparse : bool
        Whether to keep only the entries that the text names.
    dtype : dtype
        float64 or float32.
    keeps_comments : bool
        Whether to keep comments.
    expected_size : int
        Bytes of text to come, as far as known; only a hint.
    pool : Executor
        Threads that parse.
    """

    path: str | PathLike
    n_features: int | None
    is_sparse: bool
    dtype: np.dtype
    keeps_comments: bool
    expected_size: int
    pool: Executor
    n_rows: int = field(default=0, init=False)
    n_entries: int = field(default=0, init=False)

    def __post_init__(self):
        self._width = self.n_features or 0
        self._size = 0
        self._values = np.empty(0, dtype=self.dtype)
        self._indices = np.empty(0, dtype=np.int32)
        self._y, self._qids, self._row_sizes, self._comments = [], [], [], []

    def append(self, block: TextBlock):
        """Parse some lines into the table; a ValueError names what is wrong and where."""
        text, bounds = block.text, _chunk_bounds(block.text)
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
        rows = Rows.empty(n_rows)
        self._parse(block, bounds, first_rows.tolist(), first_slots.tolist(), rows)
        self._keep(text, rows)

    def _make_room(self, n_rows, n_entries, width):
        if self.n_features is None and width > self._width:
            self._widen(width)
        n_slots = self.n_entries + n_entries
        if not self.is_sparse:
            n_slots = (self.n_rows + n_rows) * self._width
        if n_slots > len(self._values):
            # np.empty touches no memory, so a generous guess costs nothing until it is used.
            to_come = max(1.25 if len(self._values) else 1.0, self.expected_size / self._size)
            n_slots = int(n_slots * (1.02 * to_come if to_come > 1 else 1))
            self._values = _resized(self._values, n_slots)
            self._indices = _resized(self._indices, n_slots if self.is_sparse else 0)

    def _widen(self, width):
        """Move the rows apart, from the last to the first, within the array they are in."""
        old = self._width
        self._width = width
        if self.is_sparse or self.n_rows == 0:
            return
        self._values = _resized(self._values, max(len(self._values), self.n_rows * width))
        for row in range(self.n_rows - 1, -1, -1):
            moved = self._values[row * old : (row + 1) * old].copy()
            self._values[row * width : row * width + old] = moved
            self._values[row * width + old : (row + 1) * width] = 0

    def _parse(self, block, bounds, first_rows, first_slots, rows):
        is_limited = self.n_features is not None
        target = Target(self._values, self._indices, self._width, is_limited, self.is_sparse)

        def parse(chunk, row, slot):
            doubts = Doubts.empty(DOUBTFUL_ROOM)
            place = (block.text, *chunk, row, slot, rows, target)
            outcome = parse_chunk(*(*place, doubts))
            n_doubts = int(doubts.total[0])
            if n_doubts > DOUBTFUL_ROOM:
                doubts = Doubts.empty(n_doubts)
                parse_chunk(*(*place, doubts))
            return *outcome, doubts.places[:n_doubts].tolist()

        for error, at, doubts in self.pool.map(parse, bounds, first_rows, first_slots):
            self._settle(block, rows, doubts)
            if error:
                rule = _RULES[error].format(n_features=self.n_features)
                raise self._complaint(block, at, rule)

    def _settle(self, block, rows, doubts):
        """Let Python decide the doubtful numbers of a chunk, in the order of the text."""
        for at, slot in doubts:
            number = _as_number(_token(block.text, at))
            if number is None or (slot < 0 and not np.isfinite(number)):
                rule = "a value must be a number" if slot >= 0 else "a label must be finite"
                raise self._complaint(block, at, rule)
            if slot < 0:
                rows.y[-1 - slot] = number
            elif slot < len(self._values):  # if not, an error follows in the same row
                self._values[slot] = number

    def _complaint(self, block, at, rule):
        before = block.text[:at].tobytes()
        line = block.first_line + before.count(b"\n")
        start = before[before.rfind(b"\n") + 1 :]
        column = len(start.decode("utf-8", "replace")) + 1
        token = _token(block.text, at).decode("utf-8", "replace")
        found = repr(token) if token else "the end of the row"
        return ValueError(f"{self.path}, line {line}, column {column}: {rule}; got {found}.")

    def _keep(self, text, rows):
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

    def finished(self):
        """Return the rows; the table hands its arrays over and must not be used again."""
        if self.n_rows == 0:
            raise ValueError(
                f"{self.path}, line 1, column 1: a LETOR file must have rows; got none."
            )
        y = np.concatenate(self._y)
        comments = np.array(self._comments, dtype=object) if self.keeps_comments else None
        return RankingData(self._finished_X(), y, _joined_qids(self._qids), comments)

    def _finished_X(self):
        if not self.is_sparse:
            values = _resized(self._values, self.n_rows * self._width)
            return values.reshape(self.n_rows, self._width)
        values = _resized(self._values, self.n_entries)
        indices = _resized(self._indices, self.n_entries)
        indptr = np.append(0, np.cumsum(np.concatenate(self._row_sizes)))
        X = csr_matrix((values, indices, indptr), shape=(self.n_rows, self._width), copy=False)
        X.has_canonical_format = True  # the parser insists on rising indices
        return X


def _chunk_bounds(text):
    bounds, start = [], 0
    while start < len(text):
        at = min(start + CHUNK_SIZE, len(text)) - 1
        while text[at] != 10:
            at += 1
        bounds.append((start, at + 1))
        start = at + 1
    return bounds


def _resized(values, n_values):
    """Return an array of another length, without a second copy of the values."""
    if len(values) == 0:
        return np.empty(n_values, dtype=values.dtype)
    # Nobody else sees the tables' arrays, but numpy would count the caller's own name for one.
    values.resize(n_values, refcheck=False)
    return values


def _token(text, at):
    end = at
    while not ends_token(text[end]):
        end += 1
    return text[at:end].tobytes()


def _as_number(token):
    """Return ``float(token)``, or None; NULL and nan never come here, and 1_0 is no number."""
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None


def _block_qids(text, rows):
    if not rows.is_text.any():
        return rows.qid
    tokens = [text[start:end].tobytes() for start, end in rows.spans[:, :2].tolist()]
    return np.array([token.decode("utf-8", "surrogateescape") for token in tokens])


def _joined_qids(qids):
    if any(block.dtype.kind == "U" for block in qids):
        qids = [block.astype(str) for block in qids]
    return np.concatenate(qids)
