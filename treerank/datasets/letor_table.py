"""LETOR tables: rows of ranking data into which blocks of LETOR text are parsed."""

import re
import reprlib
from concurrent.futures import Executor

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix

from treerank.datasets.letor_parser import BrokenRuleError, ParsedRows, parsed_rows
from treerank.documents.queries import joined_ids
from treerank.documents.ranking_data import RankingData
from treerank.files.compression import TextBlock

#: Bytes of text that one thread parses at a time.
CHUNK_SIZE = 2**18
#: What stands at the beginning of a text: a carriage return within a line, or a word.
_TOKEN = re.compile(rb"^(?:\r(?!\r*\n)|[^\s#]*)")
#: Largest dense matrix: this many entries, or this many for each number in its file.
_FREE_SIZE, _LARGEST_RATIO = 2**24, 100


class LetorTable:
    """The rows that are parsed so far, by the threads of ``pool``.

    ``name`` is the name of the text for messages, and ``expected_size`` its approximate number of
    bytes, to reserve memory; 0 if it is not known. The others are arguments of ``read_letor``.
    """

    def __init__(
        self,
        name: str,
        n_features: int | None,
        sparse: bool,
        dtype: DTypeLike,
        comments: bool,
        expected_size: int,
        pool: Executor,
    ):
        self._name, self._n_features, self._is_sparse = name, n_features, sparse
        self._dtype, self._expected_size, self._pool = dtype, expected_size, pool
        self.n_rows, self._width, self._size, self._n_entries = 0, int(n_features or 0), 0, 0
        self._X = np.empty((0, self._width), dtype=dtype)  # with spare capacity below the rows
        self._y: list[np.ndarray] = []
        self._qids: list[np.ndarray] = []
        self._entries: list[tuple[np.ndarray, ...]] = []
        self._comments: list[str] | None = [] if comments else None

    def append(self, block: TextBlock) -> None:
        """Parse a block of whole lines, in parallel, and add its rows.

        A ValueError names the first broken rule with its file, line and column.
        """
        chunks = list(self._pool.map(lambda ends: self._parsed(block, *ends), _bounds(block.text)))
        self._size += len(block.text)
        self._add(chunks)

    def _parsed(self, block: TextBlock, start: int, end: int) -> ParsedRows:
        try:
            return parsed_rows(block.text[start:end], self._n_features)
        except BrokenRuleError as broken:
            raise self._error(block, start + broken.at, str(broken)) from None

    def _error(self, block: TextBlock, at: int, rule: str) -> ValueError:
        """Return the ValueError of a rule broken at byte ``at`` of a block: file, line, column."""
        before, (token,) = block.text[:at], _TOKEN.findall(block.text[at:])
        line = block.first_line + before.count(b"\n")
        start = before[before.rfind(b"\n") + 1 :]
        column = len(start.decode("utf-8", "replace")) + 1
        quoted = reprlib.repr(token.decode("utf-8", "replace")) if token else "the end of the row"
        example = " A row of a LETOR file is like '2 qid:7 1:0.5'." if line == 1 else ""
        location = f"{self._name}, line {line}, column {column}"
        return ValueError(f"{location}: {rule}; got {quoted}.{example}")

    def _add(self, chunks: list[ParsedRows]) -> None:
        """Add the parsed rows of a block, given in consecutive chunks."""
        first = self.n_rows
        for rows in chunks:
            self.n_rows += len(rows.y)
            self._n_entries += len(rows.values)
            if self._n_features is None:
                self._width = max(self._width, int(rows.indices.max(initial=0)))
            self._y.append(rows.y)
            self._qids.append(rows.qid)
            if self._comments is not None:
                self._comments += rows.comments
        if self._is_sparse:
            self._entries += [self._entry_arrays(rows) for rows in chunks]
            return
        if self._n_features is None:
            check_density(self._name, self.n_rows, self._width, self._n_entries)
        if self._X.shape[1] < self._width or len(self._X) < self.n_rows:
            self._X = self._enlarged(first)
        ends = np.cumsum([len(rows.y) for rows in chunks])
        list(self._pool.map(_fill, np.split(self._X[first : self.n_rows], ends[:-1]), chunks))

    def _entry_arrays(self, rows: ParsedRows) -> tuple[np.ndarray, ...]:
        with np.errstate(over="ignore"):  # 1e39 is infinite as float32
            values = rows.values.astype(self._dtype)
        return values, (rows.indices - 1).astype(np.int32), rows.n_entries

    def _enlarged(self, n_kept: int) -> np.ndarray:
        """Return a larger matrix, with the first ``n_kept`` rows of the current one.

        It has as many columns as are known so far, and as many rows as the whole text may have,
        estimated from the bytes read so far. New columns are 0 in the rows kept.
        """
        # Reserved memory costs nothing until it is used, so the guess may be too high.
        to_come = max(1.5 if n_kept else 1.0, self._expected_size / self._size)
        n_rows = int(self.n_rows * (1.02 * to_come if to_come > 1 else 1))
        wide = np.empty((n_rows, self._width), dtype=self._dtype)
        wide[:n_kept, : self._X.shape[1]] = self._X[:n_kept]
        wide[:n_kept, self._X.shape[1] :] = 0
        return wide

    def finished(self) -> RankingData:
        """Return all rows as ``RankingData``, without copying the matrix.

        Refuse a text without rows. The table must not be used afterwards.
        """
        if self.n_rows == 0:
            raise ValueError(
                f"{self._name}, line 1, column 1: a LETOR file must have rows; got none."
            )
        y = np.concatenate(self._y)
        comments = None if self._comments is None else np.array(self._comments, dtype=object)
        X = self._sparse() if self._is_sparse else self._X[: self.n_rows]
        return RankingData(X, y, joined_ids(self._qids), comments)

    def _sparse(self) -> csr_matrix:
        """Return the entries of all rows as a CSR matrix."""
        values, indices, sizes = map(np.concatenate, zip(*self._entries, strict=True))
        indptr = np.append(0, np.cumsum(sizes))
        X = csr_matrix((values, indices, indptr), shape=(self.n_rows, self._width), copy=False)
        X.has_canonical_format = True  # the parser refuses indices that do not rise
        return X


def _bounds(text: bytes) -> list[tuple[int, int]]:
    """Return ``(start, end)`` of consecutive chunks of whole lines, about ``CHUNK_SIZE`` bytes."""
    bounds, start = [], 0
    while start < len(text):
        end = text.find(b"\n", min(start + CHUNK_SIZE, len(text)) - 1) + 1
        bounds.append((start, end))
        start = end
    return bounds


def _fill(X: np.ndarray, rows: ParsedRows) -> None:
    """Write parsed rows into the dense matrix ``X``, one row each; features not named are 0."""
    X[:] = 0
    with np.errstate(over="ignore"):  # 1e39 is infinite as float32
        X[rows.row_of_entry, rows.indices - 1] = rows.values


def check_density(name: str, n_rows: int, n_features: int, n_entries: int) -> None:
    """Refuse a dense matrix for data so sparse that a single high index would fill the memory.

    The matrix has ``n_rows * n_features`` cells; ``n_entries`` are the values that the file
    ``name`` has. Small matrices are always allowed.
    """
    if n_rows * n_features > max(_FREE_SIZE, _LARGEST_RATIO * n_entries):
        raise ValueError(
            f"sparse must be True, or n_features set, to read {name}; got {n_rows} rows and "
            f"{n_features} columns, but only {n_entries} values."
        )
