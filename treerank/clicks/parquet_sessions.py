"""Distinct sessions of Parquet files that are larger than memory.

Rows are dealt out to buckets by the hash of their session. A bucket is a file in a temporary
folder. So all rows of a session are in one bucket, wherever they were, and one bucket at a time is
in memory.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyarrow import types

from treerank.clicks.distinct_sessions import Sessions, distinct
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.clicks.parquet_ids import KnownIds, array_of, complete, finite, plain
from treerank.clicks.session_checks import check_clicks
from treerank.datasets.parquet_files import ParquetFiles

#: A row of a bucket: hash of the session, pair of query and document, position, and click.
_ROW = np.dtype([("session", "i8"), ("pair", "i8"), ("position", "f8"), ("click", "?")])
#: An odd number of 64 bits that spreads hashes that are next to each other, from the golden ratio.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def parquet_sessions(
    path: str | Path, names: Sequence[str], batch_size: int
) -> tuple[Items, Sessions]:
    """Return the items and the distinct sessions of a Parquet file, or of a folder of them.

    ``names`` are the columns of session, query, document, position and click.
    """
    files = ParquetFiles.open(path, None, None, list(names))
    ids = KnownIds.of(files.batches(names[1:3], batch_size), str(path), names[1:3])
    n_buckets = math.ceil(files.n_rows / batch_size)
    with TemporaryDirectory(prefix="treerank-") as folder:
        places = [Path(folder, f"{number}.rows") for number in range(n_buckets)]
        pairs = np.empty(0, dtype=np.int64)
        for rows in _rows(files, names, ids, batch_size):
            pairs = np.union1d(pairs, rows["pair"])
            _deal(rows, places)
        parts = []
        for number, place in enumerate(places):
            if place.exists():
                rows = np.fromfile(place, dtype=_ROW)
                try:
                    parts.append(_sessions(rows, pairs, len(ids.documents)))
                except ValueError:
                    _raise_with_ids(files, names, batch_size, (number, n_buckets))
                    raise
    return ids.items(pairs), distinct(parts)


def _rows(
    files: ParquetFiles, names: Sequence[str], ids: KnownIds, batch_size: int
) -> Iterator[np.ndarray]:
    """Yield the rows of batches."""
    session, _, _, position, click = names
    first_row = 0
    for table in files.batches(names, batch_size):
        rows = np.empty(len(table), dtype=_ROW)
        rows["session"] = _hashes(complete(ids.place, session, table.column(session)))
        rows["pair"] = ids.pairs(table)
        rows["position"] = finite("position", table.column(position), first_row)
        rows["click"] = check_clicks(finite("click", table.column(click), first_row), first_row)
        first_row += len(table)
        yield rows


def _hashes(column: pa.ChunkedArray) -> np.ndarray:
    """Return a hash of 64 bits of each id; it is the same for the same id in this process only."""
    if types.is_integer(column.type):
        return column.to_numpy().astype(np.int64)
    if types.is_floating(column.type):
        return (column.to_numpy().astype(np.float64) + 0.0).view(np.int64)
    encoded = column.combine_chunks().dictionary_encode()
    hashes = [hash(value) for value in encoded.dictionary.to_pylist()]
    return np.array(hashes, dtype=np.int64)[encoded.indices.to_numpy()]


def _bucket_of(session: np.ndarray, n_buckets: int) -> np.ndarray:
    """Return the bucket of each row."""
    return (session.view(np.uint64) * _SPREAD >> np.uint64(32)) % np.uint64(n_buckets)


def _deal(rows: np.ndarray, places: Sequence[Path]) -> None:
    """Append rows to the files of their buckets."""
    bucket = _bucket_of(rows["session"].copy(), len(places)).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=len(places)))
    for place, chosen in zip(places, np.split(order, ends[:-1]), strict=True):
        if len(chosen):
            with place.open("ab") as file:
                rows[chosen].tofile(file)


def _sessions(rows: np.ndarray, pairs: np.ndarray, n_documents: int) -> Sessions:
    """Return the distinct sessions of a bucket; refuse what is no session."""
    query, document = np.divmod(rows["pair"], n_documents)
    log = ClickLog.from_columns(rows["session"], query, document, rows["position"], rows["click"])
    number = np.searchsorted(pairs, log.items.query * n_documents + log.items.document)
    item = number.astype(np.int32)[log.item]
    return distinct([Sessions(log.n_at, item, log.clicked, log.times)])


def _raise_with_ids(
    files: ParquetFiles, names: Sequence[str], batch_size: int, bucket: tuple[int, int]
) -> None:
    """Read the sessions of a bucket again, so that what is wrong is named by ids, not by hashes."""
    found = []
    for table in files.batches(names, batch_size):
        session = _hashes(plain(table.column(names[0])))
        found.append(table.filter(_bucket_of(session, bucket[1]) == bucket[0]))
    table = pa.concat_tables(found)
    ClickLog.from_columns(*(array_of(name, name, table.column(name)) for name in names))
