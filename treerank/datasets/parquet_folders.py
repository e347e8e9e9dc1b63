"""Parquet folders: which files of a path are read, where they are, and what their folders say.

A path is a file, or a folder with files ``*.parquet``, on this machine or in an object store. A
folder may hold folders as Hive names them, ``year=2026/month=01``: their names are values of
columns, by :mod:`pyarrow.dataset`. Files whose names begin with ``.`` or ``_`` are not read, as
``_SUCCESS``, and neither are folders of any other name.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute

from treerank.datasets.csv_files import column_error, plain_ids
from treerank.documents.number_texts import NUMBER
from treerank.files.object_stores import Store, shown

#: Bytes of a column that are buffered while a file of this machine is read in batches.
_BUFFER_SIZE = 2**18
#: Types of values in names of folders, the first that holds all of them.
_NUMBERS = (pa.int16(), pa.int32(), pa.int64(), pa.float64())
_OTHERS = (pa.date32(), pa.bool_())
_SUFFIX, _HIDDEN = ".parquet", "._"


@dataclass(frozen=True, eq=False)
class Source:
    """Where a Parquet file is.

    Attributes
    ----------
    name : str
        Its name in messages.
    location : str or stream
        Path of the file in its store, or the file itself in memory.
    store : Store or None
        ``None`` is this machine.
    folder_values : dict of str to pyarrow.Scalar
        Values of the columns that its folders name.
    """

    name: str
    location: Any
    store: Store | None = None
    folder_values: Mapping[str, pa.Scalar] = field(default_factory=dict)

    @contextmanager
    def opened(self, metadata: pq.FileMetaData | None = None) -> Iterator[pq.ParquetFile]:
        """Open the file for the block; ``metadata``, if given, are not read again."""
        if self.store is None:
            settings = {"pre_buffer": False, "buffer_size": _BUFFER_SIZE}
            with pq.ParquetFile(self.location, metadata=metadata, **settings) as file:
                yield file
            return
        with self.store.filesystem.open_input_file(self.location) as stream:
            # Each request takes long, so pieces of the file are fetched together.
            yield pq.ParquetFile(stream, metadata=metadata, pre_buffer=True)


def sources_of(path: str | Path, filesystem: Any = None, ids: Collection[str] = ()) -> list[Source]:
    """Return the file of a path, or the Parquet files of a folder in the order of their names.

    ``filesystem`` is as in :func:`~treerank.datasets.parquet.read_parquet`. Columns ``ids`` that
    the names of folders hold are ids: 007 stays text.
    """
    store = Store.of(path, filesystem)
    if store is None:
        folder = Path(path)
        if not folder.is_dir():
            return [Source(str(folder), str(folder))]
        names = sorted(_files_below(folder), key=_parts)
        sources = [Source(str(folder / name), str(folder / name)) for name in names]
    else:
        if not store.is_folder():
            return [Source(store.name_of(store.path), store.path, store)]
        names = sorted(filter(_is_read, store.files()), key=_parts)
        paths = [f"{store.path}/{name}" for name in names]
        sources = [Source(store.name_of(inner), inner, store) for inner in paths]
    if not sources:
        raise ValueError(
            f"{shown(path)}: a folder of Parquet files must hold *.parquet, or folders such as "
            "year=2026 that do; got none."
        )
    values = _folder_values(dict(zip(names, sources, strict=True)), ids)
    return [replace(source, folder_values=row) for source, row in zip(sources, values, strict=True)]


def has_parquet(folder: str | Path) -> bool:
    """Tell whether a folder of this machine has files that are read."""
    return next(_files_below(Path(folder)), None) is not None


def _files_below(folder: Path) -> Iterator[str]:
    """Yield the paths, relative to a folder, of the Parquet files to read in it and its subfolders.

    Only subfolders named as in Hive, such as ``year=2026``, are entered.
    """
    for parent, folders, files in os.walk(folder, followlinks=True):
        folders[:] = filter(_is_of_hive, folders)  # others are not entered
        start = Path(parent).relative_to(folder)
        yield from ((start / name).as_posix() for name in files if _is_read(name))


def _parts(path: str) -> list[str]:
    return path.split("/")


def _is_of_hive(folder: str) -> bool:
    """Return whether a folder is named as in Hive, ``column=value``, and is not hidden."""
    return "=" in folder[1:] and folder[0] not in _HIDDEN


def _is_read(path: str) -> bool:
    """Return whether a file is read: its name ends in .parquet and nothing in it is hidden.

    ``path`` is relative to the data set's folder; all folders in it must be named as in Hive.
    """
    *folders, name = _parts(path)
    return name.endswith(_SUFFIX) and name[0] not in _HIDDEN and all(map(_is_of_hive, folders))


def _folder_values(
    sources: Mapping[str, Source], ids: Collection[str]
) -> list[dict[str, pa.Scalar]]:
    """Return a dict for each file, in order: the values of the columns in the names of its folders.

    Refuses a column that only some of the files have. Columns ``ids`` are ids.
    """
    folders = [folder for path in sources for folder in _parts(path)[:-1]]
    names = [*dict.fromkeys(folder.partition("=")[0] for folder in folders)]
    if not names:
        return [{} for _ in sources]
    from pyarrow import dataset

    texts = pa.schema([(name, pa.string()) for name in names])  # ids are texts: 007 is not 7
    hive = dataset.partitioning(texts, flavor="hive")
    rows = [dataset.get_partition_keys(hive.parse(path)) for path in sources]
    first = next(iter(sources.values())).name
    for source, row in zip(sources.values(), rows, strict=True):
        for name in names:
            if (name in row) != (name in rows[0]):
                rule = f"must be in the names of all folders or of none, as in {first}"
                got = f"{name}={row[name]}" if name in row else "no such folder"
                raise column_error(source.name, name, f"{rule}; got {got}.")
    columns = {
        name: _typed(pa.array([row[name] for row in rows], pa.string()), name in ids)
        for name in names
    }
    return [{name: column[i] for name, column in columns.items()} for i in range(len(rows))]


def _typed(texts: pa.Array, is_id: bool) -> pa.Array:
    """Return the values in folders' names as numbers, dates or booleans if all are, else as text.

    Ids (``is_id``) become numbers only if no character is lost.
    """
    if is_id:
        return plain_ids(texts)
    are_numbers = compute.all(compute.match_substring_regex(texts, NUMBER)).as_py()
    for kind in _NUMBERS if are_numbers else _OTHERS:  # 0x1F and nan are text
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return texts
