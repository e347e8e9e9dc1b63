"""Files of binned rows: LightGBM reads the bins of all rows from us, and does not look them up.

LightGBM looks up the bin of one value after the other and writes it to the array of its feature,
which takes a fifth of a default fit. A kernel is much faster. So LightGBM finds the bounds of the
bins and saves them, with a few rows, to a file in its own format, the *template*; and we write the
file that it would save for all rows.

LightGBM does not document the format. So we write the few rows, too, and compare all bytes with the
template. :class:`UnknownFormat` says that they differ, or that the file has what we cannot write.
Then LightGBM has to read the values.

A file consists of a token, a header, the labels, and groups of features. A group has definitions
of bins, and *stores*. A store has a number for each row, which tells a feature of the store and its
bin; 0 is the most frequent bin of all features of the store. A *dense* store has 4, 8 or 16 bits
for each row. A *sparse* store has the numbers that are not 0, and the distances of their rows.
"""

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treerank.feature_parts.rows import Rows
from treerank.numerics.compiling import njit
from treerank.numerics.threads import in_parts

#: How LightGBM defines the bins of a feature. Bounds of bins, or codes of categories, follow.
_DEFINITION = np.dtype(
    {
        "names": ["n_bins", "missing", "sparse_rate", "is_category", "most_frequent"],
        "formats": ["<i4", "<i4", "<f8", "<i4", "<u4"],
        "offsets": [0, 8, 24, 32, 64],
        "itemsize": 72,
    }
)
_TOKEN = 40  # bytes before the header
_HAS_BIN = 2  # kind of features with a bin for missing values
_SPARSE = 0.7  # share of the most frequent bin from which on LightGBM stores a feature sparsely
_MOST_BOUNDS = 255  # what a search of eight steps can tell apart
_BATCH = 4096  # rows of which the bins stay in the cache until they are stored
_CHUNK = 128  # rows of which the values stay in the cache while feature by feature is read


class UnknownFormat(Exception):
    """The file is not of the format that we write."""


class Feature(NamedTuple):
    """Number of a value: ``numbers[b]`` if it is above ``b`` of the bounds, or ``missing``."""

    column: int
    bounds: np.ndarray
    numbers: np.ndarray
    missing: int


class Store(NamedTuple):
    """The numbers, which are below ``n_numbers``, of all rows for one or more features."""

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
        """Return the number of bytes of a dense store."""
        return -(-n_rows // 2) if self.is_halved else n_rows * self.dtype.itemsize

    def write(self, start: int, numbers: np.ndarray, place: np.ndarray) -> None:
        """Write the numbers of each feature for some rows to the bytes of a dense store."""
        merged = numbers[0]
        for each in numbers[1:]:  # LightGBM writes features one after the other
            merged = np.where(each, each, merged)
        if self.is_halved:
            pairs = np.append(merged, np.zeros(len(merged) % 2, merged.dtype)).reshape(-1, 2)
            place[start // 2 :][: len(pairs)] = pairs[:, 0] | pairs[:, 1] << 4
        else:
            place.view(self.dtype)[start : start + len(merged)] = merged


class Group(NamedTuple):
    """Features whose stores are neighbors, and LightGBM's definition of their bins."""

    definition: bytes
    stores: list[Store]


@dataclass(frozen=True)
class Template:
    """LightGBM's file of a few rows, and what it says about features.

    Parameters
    ----------
    header : bytes
        Everything before the labels, but the number of rows.
    groups : list of Group
        All features.
    """

    header: tuple[bytes, bytes]
    groups: list[Group]

    @classmethod
    def read(cls, content: bytes, values: np.ndarray) -> "Template":
        """Return the template; refuse a file that is not what we write for the same rows."""
        try:
            template = cls(*_read(content, values.shape))
            written = template._write(Rows(values), lambda size: np.zeros(size, np.uint8))
        except (LookupError, StopIteration, ValueError) as error:
            raise UnknownFormat from error
        if written.tobytes() != content:
            raise UnknownFormat
        return template

    @contextmanager
    def file_of(self, rows: Rows) -> Iterator[str]:
        """Write the file of all rows, which is in memory, and return its path."""
        with open(os.memfd_create("treerank-bins"), "wb+") as file:
            self._write(rows, lambda n: np.asarray(np.memmap(file, np.uint8, "w+", shape=(n,))))
            yield f"/proc/self/fd/{file.fileno()}"

    def _write(self, rows: Rows, allocate: Callable[[int], np.ndarray]) -> np.ndarray:
        """Return the file of some rows as an array of bytes."""
        parts = self._parts(rows)
        sizes = [_size(part, len(rows)) for part in parts]
        ends = np.cumsum(sizes)
        file = allocate(int(ends[-1]))
        places = [file[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        dense = []
        for part, place in zip(parts, places, strict=True):
            if isinstance(part, Store):
                dense.append((part, place[: part.size(len(rows))]))
            else:
                place[: len(part)] = np.frombuffer(part, np.uint8)
        for start, lines in _numbers(rows, [store for store, _ in dense]):
            for (store, place), numbers in zip(dense, lines, strict=True):
                store.write(start, numbers, place)
        return file

    def _parts(self, rows: Rows) -> list[bytes | Store]:
        """Return the parts of the file, the dense stores still without numbers."""
        n_rows = len(rows)
        before, after = self.header
        labels = bytes(_padded(4 * n_rows))
        parts: list[bytes | Store] = [before, _words(n_rows), after]
        parts += [_words(3 * 8 + len(labels), n_rows, 0, 0), labels]
        stores = [store for group in self.groups for store in group.stores if store.is_sparse]
        sparse = iter(_sparse_bytes(rows, stores))
        for group in self.groups:
            found = [next(sparse) if store.is_sparse else store for store in group.stores]
            size = len(group.definition) + sum(_size(part, n_rows) for part in found)
            parts += [_words(size), group.definition, *found]
        return parts


class _Reader:
    """Reads one item of LightGBM's file after the other."""

    def __init__(self, content: bytes, at: int):
        self.content, self.at = content, at

    def words(self, n: int) -> tuple[int, ...]:
        """Return numbers, each in eight bytes."""
        return tuple(self.items("<i8", n).tolist())

    def items(self, dtype: np.typing.DTypeLike, n: int) -> np.ndarray:
        """Return an array of ``n`` items."""
        found = np.frombuffer(self.content, dtype, n, self.at)
        self.at += found.nbytes
        return found

    def padded(self, dtype: np.typing.DTypeLike, n: int) -> np.ndarray:
        """Return an array of ``n`` items that ends at a multiple of eight bytes from its start."""
        found = self.items(dtype, n)
        self.at += _padded(found.nbytes) - found.nbytes
        return found


def _read(content: bytes, shape: tuple[int, ...]) -> tuple[tuple[bytes, bytes], list[Group]]:
    """Return the header, divided at the number of rows, and the groups."""
    reader = _Reader(content, _TOKEN)
    n_bytes, n_rows, n_features, n_columns, *_, has_values = reader.words(11)
    end = _TOKEN + 8 + n_bytes
    if (n_rows, n_columns) != shape or has_values:
        raise UnknownFormat
    reader.padded("<i4", n_columns)
    (n_groups,) = reader.words(1)
    columns = reader.padded("<i4", n_features).tolist()
    if not set(columns) <= set(range(n_columns)):
        raise UnknownFormat
    reader.at = end
    (n_bytes,) = reader.words(1)
    reader.at += n_bytes
    header = content[: _TOKEN + 8], content[_TOKEN + 16 : end]
    left = iter(columns)
    return header, [_read_group(reader, left) for _ in range(n_groups)]


def _read_group(reader, columns):
    """Return the next group of features."""
    (n_bytes,) = reader.words(1)
    start = reader.at
    has_stores, _, is_sparse, n_features = reader.words(4)
    if is_sparse:
        raise UnknownFormat
    found = [_read_definition(reader) for _ in range(n_features)]
    definition = reader.content[start : reader.at]
    reader.at = start + n_bytes
    alone = [[each] for each in found] if has_stores else [found]
    return Group(definition, [_store(each, columns, bool(has_stores)) for each in alone])


def _read_definition(reader):
    """Return the definition of the bins of a feature, and their bounds or categories."""
    (definition,) = reader.items(_DEFINITION, 1)
    dtype = "<i4" if definition["is_category"] else "<f8"
    return definition, reader.items(dtype, int(definition["n_bins"]))


def _store(found, columns, may_be_sparse):
    """Return the store of one or more features."""
    features, first = [], 1
    for definition, bounds in found:
        features.append(_feature(next(columns), definition, bounds, first))
        first += int(definition["n_bins"]) - (definition["most_frequent"] == 0)
    is_sparse = may_be_sparse and found[0][0]["sparse_rate"] >= _SPARSE
    features.sort()
    return Store(features, first, is_sparse)


def _feature(column, definition, bounds, first):
    """Return a feature whose bins, but the most frequent one, have numbers from ``first`` on."""
    n_bins, most_frequent = int(definition["n_bins"]), int(definition["most_frequent"])
    numbers = np.arange(first, first + n_bins) - (most_frequent == 0)
    numbers[most_frequent] = 0
    if definition["is_category"]:
        bounds, bins = _bounds_of_categories(bounds)
        missing = 0
    else:
        n_values = n_bins - (definition["missing"] == _HAS_BIN)
        bounds, bins = bounds[: n_values - 1], np.arange(n_values)
        missing = n_values if n_values < n_bins else int(np.searchsorted(bounds, 0.0))
    if len(bounds) > _MOST_BOUNDS or numbers.max() > np.iinfo(np.uint16).max:
        raise UnknownFormat
    return Feature(column, bounds, numbers[bins], numbers[missing])


def _bounds_of_categories(codes):
    """Return bounds and bins for codes of categories; LightGBM takes -0.9 for 0, and 1.9 for 1."""
    bins = {code: b for b, code in enumerate(codes.tolist()) if code >= 0}
    ends = {np.nextafter(float(code + 1), 0) for code in bins}
    starts = {np.nextafter(float(code), -1) if code else -1.0 for code in bins}
    bounds = sorted(starts | ends)
    return np.array(bounds), np.array([*(bins.get(int(bound), 0) for bound in bounds), 0])


def _numbers(rows: Rows, stores: list[Store]) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield for some rows at a time where they start, and the numbers of the features of stores."""
    features = [feature for store in stores for feature in store.features]
    ends = np.cumsum([len(store.features) for store in stores])[:-1]
    dtype = np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)
    columns = np.array([feature.column for feature in features], dtype=np.int64)
    tables = _tables(features, dtype)
    for start in range(0, len(rows) if features else 0, _BATCH):
        values = np.ascontiguousarray(rows.batch(start, start + _BATCH), dtype=dtype)
        found = np.empty((len(features), len(values)), dtype=np.uint16)
        in_parts(_find, -(-len(values) // _CHUNK), values, columns, *tables, found)
        yield start, np.split(found, ends)


def _tables(features, dtype):
    """Return the bounds of features, padded with infinity, and their numbers, the last is missing.

    The largest number up to a bound that single precision has tells the same of its values.
    """
    bounds = np.full((len(features), _MOST_BOUNDS), np.inf)
    numbers = np.zeros((len(features), _MOST_BOUNDS + 2), dtype=np.uint16)
    for f, feature in enumerate(features):
        bounds[f, : len(feature.bounds)] = feature.bounds
        numbers[f, : len(feature.numbers)] = feature.numbers
        numbers[f, -1] = feature.missing
    with np.errstate(over="ignore"):
        rounded = bounds.astype(dtype)
        down = np.nextafter(rounded, dtype.type(-np.inf))
    return np.where(rounded > bounds, down, rounded), numbers


@njit(nogil=True)
def _find(first, last, X, columns, bounds, numbers, found):
    """Write the numbers of the values of each feature for some chunks of rows."""
    for chunk in range(first, last):
        begin = chunk * _CHUNK
        end = min(begin + _CHUNK, len(X))
        for f in range(len(columns)):
            for i in range(begin, end):
                value = X[i, columns[f]]
                below = np.uint64(0)
                for bit in range(7, -1, -1):  # bits instead of branches: the compiler uses vectors
                    step = np.uint64(1) << np.uint64(bit)
                    above = bounds[f, below + step - np.uint64(1)] < value
                    below |= np.uint64(above) << np.uint64(bit)
                found[f, i] = numbers[f, below if value == value else np.uint64(_MOST_BOUNDS + 1)]


def _sparse_bytes(rows: Rows, stores: list[Store]) -> list[bytes]:
    """Return the bytes of sparse stores."""
    found: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in stores]
    for start, lines in _numbers(rows, stores):
        for (numbers,), store, each in zip(lines, stores, found, strict=True):
            places = np.flatnonzero(numbers)
            each.append((places + start, numbers[places].astype(store.dtype)))
    return [_encoded(*map(np.concatenate, zip(*each, strict=True))) for each in found]


def _encoded(places, numbers):
    """Return a sparse store: distances of up to 255 rows, of which long ones are divided."""
    distances = np.diff(places, prepend=0)
    n_more = np.maximum(distances - 1, 0) // 255
    at = np.cumsum(n_more + 1) - 1
    n = int((n_more + 1).sum())
    steps, values = np.full(n + 1, 255, dtype=np.uint8), np.zeros(n, dtype=numbers.dtype)
    steps[at], steps[-1] = distances - 255 * n_more, 0
    values[at] = numbers
    return b"".join(_padded_bytes(part) for part in (_words(n), steps.tobytes(), values.tobytes()))


def _size(part: bytes | Store, n_rows: int) -> int:
    """Return the number of bytes in the file of a part."""
    return _padded(part.size(n_rows)) if isinstance(part, Store) else len(part)


def _words(*numbers: int) -> bytes:
    """Return numbers, each in eight bytes."""
    return struct.pack(f"<{len(numbers)}q", *numbers)


def _padded(size: int) -> int:
    """Return the next multiple of eight."""
    return -(-size // 8) * 8


def _padded_bytes(part: bytes) -> bytes:
    return part.ljust(_padded(len(part)), b"\0")
