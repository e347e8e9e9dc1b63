"""LightGBM's binary format: a file of rows whose values are in bins.

LightGBM writes and reads such files, but does not document them. Every item takes a multiple of
eight bytes, if nothing else is said. The file consists of

- a token, a header and the labels of the rows;
- *groups* of features. A group says how each of its features is binned, and has *stores*.

A store has a number for each row. The number tells one feature of the store and its bin; 0 is the
most frequent bin of all features of the store. A *dense* store has 4, 8 or 16 bits for each row. A
*sparse* store has the numbers that are not 0, and the distances between their rows.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

#: Largest number of bounds between the bins of a feature that we take.
MOST_BOUNDS = 255
_TOKEN = 40  # bytes before the header
_HEADER = 11  # numbers at its start, from its size to whether there are values besides bins
_HAS_BIN = 2  # kind of features with a bin for missing values
_SPARSE = 0.7  # share of the most frequent bin from which on a store is sparse
_MOST_NUMBERS = 2**16

#: How the bins of a feature begin. Bounds of bins follow, or codes of categories in four bytes.
_BINS = np.dtype(
    {
        "names": ["n_bins", "missing", "sparse_rate", "is_category", "most_frequent"],
        "formats": ["<i4", "<i4", "<f8", "<i4", "<u4"],
        "offsets": [0, 8, 24, 32, 64],
        "itemsize": 72,
    }
)


class UnknownFormat(Exception):
    """The file has something that we do not know, or do not write."""


class Feature(NamedTuple):
    """The number of a value is ``numbers[b]`` if it is above ``b`` of the bounds."""

    column: int
    bounds: np.ndarray
    numbers: np.ndarray
    missing: int


class Store(NamedTuple):
    """A store of numbers below ``n_numbers``, which tell the bins of one or more features."""

    features: list[Feature]
    n_numbers: int
    is_sparse: bool

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return np.dtype(np.uint8 if self.n_numbers <= 256 else np.uint16)

    @property
    def is_halved(self) -> bool:
        """Whether two numbers of a dense store share a byte."""
        return self.n_numbers <= 16

    def size(self, n_rows: int) -> int:
        """Return the bytes of a dense store, but those that fill up the last eight."""
        return -(-n_rows // 2) if self.is_halved else n_rows * self.dtype.itemsize

    def write(self, start: int, numbers: np.ndarray, place: np.ndarray) -> None:
        """Write the numbers that the features have in some rows to the place of a dense store."""
        merged = numbers[0]
        for each in numbers[1:]:  # LightGBM, too, writes one feature over the other
            merged = np.where(each, each, merged)
        if self.is_halved:
            pairs = np.append(merged, np.zeros(len(merged) % 2, merged.dtype)).reshape(-1, 2)
            place[start // 2 :][: len(pairs)] = pairs[:, 0] | pairs[:, 1] << 4
        else:
            place.view(self.dtype)[start : start + len(merged)] = merged

    def sparse_bytes(self, places: np.ndarray, numbers: np.ndarray) -> bytes:
        """Return the bytes of a sparse store; steps of more than 255 rows are divided."""
        steps = np.diff(places, prepend=0)
        n_more = np.maximum(steps - 1, 0) // 255
        at = np.cumsum(n_more + 1) - 1
        n_steps = int((n_more + 1).sum())
        divided = np.full(n_steps + 1, 255, dtype=np.uint8)
        divided[at], divided[-1] = steps - 255 * n_more, 0
        stored = np.zeros(n_steps, dtype=self.dtype)
        stored[at] = numbers
        return words(n_steps) + filled_up(divided.tobytes()) + filled_up(stored.tobytes())


class Group(NamedTuple):
    """Bytes that say how the features of a group are binned, and its stores."""

    bins: bytes
    stores: list[Store]


def words(*numbers: int) -> bytes:
    """Return numbers in eight bytes each."""
    return struct.pack(f"<{len(numbers)}q", *numbers)


def filled_up(content: bytes) -> bytes:
    """Return the content with zeros up to a multiple of eight bytes.

    Examples
    --------
    >>> len(filled_up(b"12345678")), len(filled_up(b"123456789"))
    (8, 16)
    """
    return content + bytes(-len(content) % 8)


def read_file(content: bytes, shape: tuple[int, ...]) -> tuple[tuple[bytes, bytes], list[Group]]:
    """Return what is before and after the number of rows up to the labels, and the groups.

    Parameters
    ----------
    content : bytes
        The file.
    shape : tuple of int
        Numbers of rows and columns that it must have.
    """
    reader = _Reader(content, _TOKEN)
    n_bytes, n_rows, n_features, n_columns, *_, has_values = reader.words(_HEADER)
    if (n_rows, n_columns) != shape or has_values:
        raise UnknownFormat
    reader.array("<i4", n_columns)
    (n_groups,) = reader.words(1)
    columns = reader.array("<i4", n_features).tolist()
    if not set(columns) <= set(range(n_columns)):
        raise UnknownFormat
    end = reader.at = _TOKEN + 8 + n_bytes
    (n_bytes,) = reader.words(1)
    reader.at += n_bytes
    left = iter(columns)
    groups = [_read_group(reader, left) for _ in range(n_groups)]
    return (content[: _TOKEN + 8], content[_TOKEN + 16 : end]), groups


class _Reader:
    """Reads one item after the other."""

    def __init__(self, content: bytes, at: int):
        self.content, self.at = content, at

    def words(self, n: int) -> tuple[int, ...]:
        """Return numbers of eight bytes each."""
        return tuple(self.array("<i8", n).tolist())

    def array(self, dtype: DTypeLike, n: int, *, fills_up: bool = True) -> np.ndarray:
        """Return ``n`` items, which fill up eight bytes or not."""
        found = np.frombuffer(self.content, dtype, n, self.at)
        self.at += found.nbytes + (-found.nbytes % 8 if fills_up else 0)
        return found


def _read_group(reader: _Reader, columns: Iterator[int]) -> Group:
    """Return the next group, whose features are those of the next columns."""
    (n_bytes,) = reader.words(1)
    start = reader.at
    has_stores, _, is_sparse, n_features = reader.words(4)
    if is_sparse:
        raise UnknownFormat
    found = [_read_bins(reader) for _ in range(n_features)]
    bins = reader.content[start : reader.at]
    reader.at = start + n_bytes
    if has_stores:
        return Group(bins, [_store([each], columns, sparse=True) for each in found])
    return Group(bins, [_store(found, columns, sparse=False)])


def _read_bins(reader: _Reader) -> tuple[Any, np.ndarray]:
    """Return the beginning of a feature's bins, and bounds or categories."""
    (bins,) = reader.array(_BINS, 1)
    dtype = "<i4" if bins["is_category"] else "<f8"
    return bins, reader.array(dtype, int(bins["n_bins"]), fills_up=False)


def _store(found: list[tuple[Any, np.ndarray]], columns: Iterator[int], *, sparse: bool) -> Store:
    """Return the store of some features, which is sparse if it may be and saves memory."""
    features, n_numbers = [], 1
    for bins, bounds in found:
        features.append(_feature(next(columns), bins, bounds, n_numbers))
        n_numbers += int(bins["n_bins"]) - (bins["most_frequent"] == 0)
    if n_numbers > _MOST_NUMBERS:
        raise UnknownFormat
    features.sort(key=lambda feature: feature.column)
    return Store(features, n_numbers, sparse and found[0][0]["sparse_rate"] >= _SPARSE)


def _feature(column: int, bins: Any, bounds: np.ndarray, first: int) -> Feature:
    """Return a feature whose bins have numbers from ``first`` on, but the most frequent one 0."""
    n_bins, most_frequent = int(bins["n_bins"]), int(bins["most_frequent"])
    numbers = np.arange(first, first + n_bins) - (most_frequent == 0)
    numbers[most_frequent] = 0
    if bins["is_category"]:
        bounds, kept = _bounds_of_categories(bounds)
        missing = 0
    else:
        n_values = n_bins - (bins["missing"] == _HAS_BIN)
        bounds, kept = bounds[: n_values - 1], np.arange(n_values)
        missing = n_values if n_values < n_bins else int(np.searchsorted(bounds, 0.0))
    if len(bounds) > MOST_BOUNDS:
        raise UnknownFormat
    return Feature(column, bounds, numbers[kept], int(numbers[missing]))


def _bounds_of_categories(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds and the bins between them; LightGBM takes -0.9 for 0, and 1.9 for 1."""
    bins = {code: b for b, code in enumerate(codes.tolist()) if code >= 0}
    starts = {np.nextafter(float(code), -1) if code else -1.0 for code in bins}
    ends = {np.nextafter(float(code + 1), 0) for code in bins}
    bounds = sorted(starts | ends)
    return np.array(bounds), np.array([*(bins.get(int(bound), 0) for bound in bounds), 0])
