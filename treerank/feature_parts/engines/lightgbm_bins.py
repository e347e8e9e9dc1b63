"""Bins for LightGBM: the file that LightGBM would write for rows, with bins that a kernel finds.

LightGBM looks up the bin of one value after the other, which takes a fifth of a default fit. The
kernel is six times faster. LightGBM still finds the bounds of the bins. It saves them with a few
rows to a file, the *template*; and we write the file that it would save for all rows.

Nobody promises that the format stays. So we write the few rows, too, and compare all bytes with the
template. :class:`UnknownFormat` says that they differ, or that there is something that we do not
write. Then LightGBM has to read the values.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from treerank.feature_parts.engines.lightgbm_format import (
    MOST_BOUNDS,
    Feature,
    Group,
    Store,
    UnknownFormat,
    filled_up,
    read_file,
    words,
)
from treerank.feature_parts.rows import Rows
from treerank.numerics.compiling import njit
from treerank.numerics.threads import in_parts

_BATCH = 4096  # rows of which the bins stay in the cache until they are stored
_CHUNK = 128  # rows of which the values stay in the cache while feature by feature is read


@dataclass(frozen=True)
class Template:
    """How LightGBM stores rows.

    Parameters
    ----------
    header : tuple of bytes
        What is before and after the number of rows, up to the labels.
    groups : list of Group
        All features.
    """

    header: tuple[bytes, bytes]
    groups: list[Group]

    @classmethod
    def read(cls, content: bytes, values: np.ndarray) -> "Template":
        """Return the template, if LightGBM's file of some rows is what we write for them."""
        try:
            template = cls(*read_file(content, values.shape))
            written = template._write(Rows(values), lambda size: np.zeros(size, dtype=np.uint8))
        except (LookupError, StopIteration, ValueError) as error:
            raise UnknownFormat from error
        if written.tobytes() != content:
            raise UnknownFormat
        return template

    @contextmanager
    def file_of(self, rows: Rows) -> Iterator[str]:
        """Write the file of all rows, to memory, and return its path."""
        with open(os.memfd_create("treerank-bins"), "wb+") as file:
            self._write(rows, lambda n: np.asarray(np.memmap(file, np.uint8, "w+", shape=(n,))))
            yield f"/proc/self/fd/{file.fileno()}"

    def _write(self, rows: Rows, allocate: Callable[[int], np.ndarray]) -> np.ndarray:
        """Return the file of some rows as an array of bytes."""
        parts = self._parts(rows)
        sizes = [_size(part, len(rows)) for part in parts]
        ends = np.cumsum(sizes)
        file = allocate(int(ends[-1]))
        dense = []
        for part, size, end in zip(parts, sizes, ends, strict=True):
            place = file[end - size : end]
            if isinstance(part, Store):
                dense.append((part, place[: part.size(len(rows))]))
            else:
                place[:] = np.frombuffer(part, dtype=np.uint8)
        for start, numbers in _numbers(rows, [store for store, _ in dense]):
            for (store, place), own in zip(dense, numbers, strict=True):
                store.write(start, own, place)
        return file

    def _parts(self, rows: Rows) -> list[bytes | Store]:
        """Return the parts of the file: bytes, or a dense store whose numbers are not yet known."""
        labels = filled_up(bytes(4 * len(rows)))
        before, after = self.header
        parts: list[bytes | Store] = [before, words(len(rows)), after]
        parts += [words(3 * 8 + len(labels), len(rows), 0, 0), labels]
        stores = [store for group in self.groups for store in group.stores if store.is_sparse]
        sparse = iter(_sparse_bytes(rows, stores))
        for group in self.groups:
            found = [next(sparse) if store.is_sparse else store for store in group.stores]
            size = len(group.bins) + sum(_size(part, len(rows)) for part in found)
            parts += [words(size), group.bins, *found]
        return parts


def _size(part: bytes | Store, n_rows: int) -> int:
    """Return the number of bytes that a part takes in the file."""
    return -(-part.size(n_rows) // 8) * 8 if isinstance(part, Store) else len(part)


def _sparse_bytes(rows: Rows, stores: list[Store]) -> list[bytes]:
    """Return the bytes of sparse stores, which have one feature each."""
    found: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in stores]
    for start, numbers in _numbers(rows, stores):
        for (own,), each in zip(numbers, found, strict=True):
            places = np.flatnonzero(own)
            each.append(((places + start).astype(np.int32), own[places]))
    columns = [map(np.concatenate, zip(*each, strict=True)) for each in found]
    return [store.sparse_bytes(*each) for store, each in zip(stores, columns, strict=True)]


def _numbers(rows: Rows, stores: list[Store]) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield where some rows start, and the numbers of all features of each store in these rows."""
    features = [feature for store in stores for feature in store.features]
    ends = np.cumsum([len(store.features) for store in stores])[:-1]
    columns = np.array([feature.column for feature in features], dtype=np.int64)
    bounds, table = _tables(features, rows.dtype)
    for start in range(0, len(rows) if features else 0, _BATCH):
        values = np.ascontiguousarray(rows.batch(start, start + _BATCH))
        numbers = np.empty((len(features), len(values)), dtype=np.uint16)
        in_parts(_find, -(-len(values) // _CHUNK), values, columns, bounds, table, numbers)
        yield start, np.split(numbers, ends)


def _tables(features: list[Feature], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds, padded with infinity, and numbers, the last one that of missing values.

    A bound that single precision does not have is rounded down, which tells the same numbers apart.
    """
    bounds = np.full((len(features), MOST_BOUNDS), np.inf)
    numbers = np.zeros((len(features), MOST_BOUNDS + 2), dtype=np.uint16)
    for f, feature in enumerate(features):
        bounds[f, : len(feature.bounds)] = feature.bounds
        numbers[f, : len(feature.numbers)] = feature.numbers
        numbers[f, -1] = feature.missing
    with np.errstate(over="ignore"):
        rounded = bounds.astype(dtype)
        below = np.nextafter(rounded, dtype.type(-np.inf))
    return np.where(rounded > bounds, below, rounded), numbers


@njit(nogil=True)
def _find(first, last, X, columns, bounds, table, numbers):
    """Write the numbers of features in some chunks of rows."""
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
                numbers[f, i] = table[f, below if value == value else np.uint64(MOST_BOUNDS + 1)]
