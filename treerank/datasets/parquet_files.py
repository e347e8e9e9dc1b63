"""Parquet files: the columns of one file, or of a folder of files with the same columns.

Names of folders may be values of columns, as in ``year=2026``. A CSV file is read as a Parquet
file in memory. Errors are ``ValueError`` with the name of the file
and, where there is one, of the column. A file that is not whole is such an error, too. Rows are
counted from 0.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute, types

from treerank.checks import quote
from treerank.datasets.csv_files import column_error, csv_as_parquet, csv_header, is_csv
from treerank.datasets.letor_parser import LONGEST_QID
from treerank.datasets.parquet_folders import Source, sources_of
from treerank.documents.columns import ID_NAMES
from treerank.documents.number_texts import MISSING_TEXTS
from treerank.documents.ranking_data import rows_at_once
from treerank.files.compression import is_regular_file
from treerank.files.object_stores import shown, text_in_store
from treerank.numerics.threads import threads_allowed
from treerank.spelling import has_spelling, spelled

#: Columns of these names are features only if ``features`` names them.
RESERVED = ("label", "query", "comment", "document")
#: Approximate size in bytes of the columns that are read at a time, besides the matrix itself.
_GROUP_BYTES = 2**25
#: Number of entries of an embedding whose type does not tell it.
_TYPICAL_ENTRIES = 512
_OTHER_NAMES = " Names of CSV files end in .csv or .tsv, names of LETOR files in .txt."
_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)
#: Types of dates and times that texts may have, as in CSV files.
_TIMES = [pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "ns")]
#: Files of an object store whose metadata are read at the same time.
_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class _Part:
    """One Parquet file of a data set; it is open only while it is read, as a folder may hold many.

    ``source`` says where it is, ``metadata`` and ``schema`` are its own, the schema with the
    columns of the folders' names. ``other_types`` maps the columns to cast to the type that they
    get in all files.
    """

    source: Source
    metadata: pq.FileMetaData
    schema: pa.Schema
    other_types: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return self.metadata.num_rows

    def in_file(self, names: Iterable[str]) -> list[str]:
        """Return the columns that are read from the file, and not from the names of its folders."""
        return [name for name in dict.fromkeys(names) if name not in self.source.folder_values]

    def completed(self, table: pa.Table, names: Iterable[str], n_rows: int) -> pa.Table:
        """Return ``names`` as a table: columns of the file, and constants of its folders' names.

        ``table`` has the columns that were read, of ``n_rows`` rows; they are cast to the types
        of the common schema.
        """
        names = [*dict.fromkeys(names)]
        if not self.source.folder_values and not self.other_types:
            return table.select(names)  # one that is missing is an error
        columns = {}
        for name in names:
            if name in self.source.folder_values:
                columns[name] = pa.repeat(self.source.folder_values[name], n_rows)
                continue
            columns[name] = table.column(name)
            if name in self.other_types:
                columns[name] = columns[name].cast(self.other_types[name])
        return pa.table(columns)


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """One or more Parquet files with the same columns, and the role of each column.

    ``files`` maps paths to files, in order; ``schema`` is their common schema. ``features`` names
    the features, and ``label``, ``query``, ``document`` and ``comment`` the column of each role,
    None where there is none to read. Dates are read as days since ``epoch`` unless that is None;
    ``date_texts`` maps columns of text that hold dates to the type of these.
    """

    files: dict[str, _Part]
    schema: pa.Schema
    features: list[str]
    label: str | None
    query: str | None
    document: str | None
    comment: str | None
    epoch: datetime | None = None
    date_texts: Mapping[str, pa.DataType] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        path: str | Path,
        label: str | None = "label",
        query: str | None = "query",
        features: Sequence[str] | None = None,
        document: str | None = None,
        drop: Sequence[str] | str = (),
        comments: bool = False,
        arguments: Mapping[str, str] | None = None,
        ids: Collection[str] | None = None,
        days_since: str | date | None = None,
        filesystem: Any = None,
        categories: Collection[str] = (),
        any_type: bool = False,
    ) -> Self:
        """Open one file, or the files ``*.parquet`` of a folder in the order of their names.

        ``arguments`` maps columns to the argument that named them, for messages. ``ids`` are the
        columns of ids, by default of queries and documents. With ``any_type``, no column must have
        the type of its role. All other parameters are as in
        :func:`~treerank.datasets.parquet.read_parquet`.
        """
        epoch = None if days_since is None else _epoch(days_since)
        chosen = [features] if isinstance(features, str) else features
        standard = {"document", "comment"}.difference(chosen or ()) | {query, document}
        id_columns = {name for name in (standard if ids is None else ids) if name is not None}
        dropped = [drop] if isinstance(drop, str) else list(drop)

        def is_used(name: str) -> bool:
            is_feature = name not in dropped and (chosen is None or name in chosen)
            return is_feature or name in (label, query, document)

        sources = sources_of(path, filesystem, id_columns)
        files = _parts(sources, id_columns, is_used, label, categories)
        first = sources[0].name
        files, schema = _in_same_types(files)
        for name in categories:
            if name not in schema.names:
                raise column_error(first, name, f"must exist; got {quote(schema.names)}.")
        if chosen is None:
            other = {*RESERVED, label, query, document, *_index_columns(schema)}
            chosen = [name for name in schema.names if name not in other]
        chosen = [name for name in chosen if name not in dropped]
        kept = comments and "comment" in schema.names and is_text(schema.field("comment").type)
        comment = "comment" if kept else None
        opened = cls(files, schema, chosen, label, query, document, comment, epoch)
        if epoch is not None:
            opened = replace(opened, date_texts=opened._find_date_texts(categories))
            opened = replace(opened, schema=opened._in_days(schema.empty_table()).schema)
        if opened.n_rows == 0:
            raise ValueError(f"{shown(path)}: a table must have rows; got none.")
        opened._check_columns(first, dropped, arguments or {}, any_type)
        if features is None:
            opened._refuse_ids(first)
        free = {*schema.names} - {label, query, *chosen}
        if comments and document is None and "document" in free:
            return replace(opened, document="document")  # of any type: no argument named it
        return opened

    @property
    def n_rows(self) -> int:
        """Number of rows of all files."""
        return sum(file.n_rows for file in self.files.values())

    def rows_at_once(self) -> int:
        """Return the number of rows of a batch of about four million numbers."""
        return rows_at_once(_numbers_per_row(self._first_metadata, self.schema, self.features))

    @property
    def _first_metadata(self) -> pq.FileMetaData:
        return next(iter(self.files.values())).metadata

    @property
    def dtype(self) -> type[np.floating]:
        """float32 where it represents all numbers exactly and a column has it, else float64."""
        kinds = [self.schema.field(name).type for name in self.features]
        numbers = [kind for kind in kinds if is_number(kind) and not types.is_null(kind)]
        exact = all(kind.bit_width <= (32 if types.is_floating(kind) else 16) for kind in numbers)
        return np.float32 if exact and any(map(types.is_floating, numbers)) else np.float64

    def columns(self, names: Sequence[str]) -> Iterator[pa.ChunkedArray]:
        """Yield each of the columns ``names`` as a whole, all files' rows one after the other.

        Several are read together, up to about ``_GROUP_BYTES`` bytes, to use all threads.
        """
        n_threads = threads_allowed()
        for group in self._column_groups(names, self.n_rows, n_threads):
            tables = [self._read(path, group, n_threads > 1) for path in self.files]
            for name in group:
                chunks = [chunk for table in tables for chunk in table.column(name).chunks]
                yield pa.chunked_array(chunks)
            del tables, chunks  # before the next group is read

    def pieces(self, names: Iterable[str]) -> Iterator[tuple[int, pa.Table]]:
        """Yield ``(first row, table)``: the columns ``names`` of all files, piece by piece.

        A piece has some of the columns, of about ``_GROUP_BYTES`` bytes, and all rows of one file;
        ``first row`` is the index of the file's first row among all. One file comes after the
        other: opening a file parses the metadata of all its columns.
        """
        n_threads, first_row = threads_allowed(), 0
        for path, file in self.files.items():
            for group in self._column_groups(names, file.n_rows, n_threads):
                yield first_row, self._read(path, group, n_threads > 1)
            first_row += file.n_rows

    def _column_groups(
        self, names: Iterable[str], n_rows: int, n_threads: int
    ) -> Iterator[list[str]]:
        """Yield lists of columns to read together: one per thread, or more up to ``_GROUP_BYTES``.

        ``n_rows`` is the number of rows to be read of each.
        """
        group, n_bytes = list[str](), 0
        for name in names:
            column_bytes = n_rows * _cell_bytes(self.schema.field(name).type)
            if len(group) >= n_threads and n_bytes + column_bytes > _GROUP_BYTES:
                yield group
                group, n_bytes = [], 0
            group.append(name)
            n_bytes += column_bytes
        if group:
            yield group

    def _read(self, path: str, names: list[str], use_threads: bool) -> pa.Table:
        """Return the columns ``names`` of one file as a checked table, with dates as days."""
        file = self.files[path]
        with naming_file(path), file.source.opened(file.metadata) as opened:
            table = opened.read(columns=file.in_file(names), use_threads=use_threads)
            n_rows = len(table) if table.num_columns else file.n_rows
            table = file.completed(table, names, n_rows)
        _check_length(path, len(table), file.n_rows)
        self._check_values(path, table)
        return self._in_days(table)

    def batches(
        self, names: Sequence[str], batch_size: int, share: tuple[int, int] = (0, 1)
    ) -> Iterator[pa.Table]:
        """Yield the columns ``names`` as tables of at most ``batch_size`` rows each.

        ``share`` is ``(number, of)``: of all row groups only ``number``, ``number + of`` and so on
        are read; ``(0, 1)`` reads all.
        """
        use_threads, (number, of), n_before = threads_allowed() > 1, share, 0
        for path, file in self.files.items():
            n_rows, n_groups = 0, file.metadata.num_row_groups
            groups = list(range((number - n_before) % of, n_groups, of))
            n_before += n_groups
            # What is read from a store is fetched whole before its first row: one group at a time.
            runs = [groups] if file.source.store is None else [[group] for group in groups]
            with naming_file(path), file.source.opened(file.metadata) as opened:
                columns = file.in_file(names)
                for batch in chain.from_iterable(
                    opened.iter_batches(batch_size, run, columns=columns, use_threads=use_threads)
                    for run in runs
                ):
                    table = pa.Table.from_batches([batch])
                    table = file.completed(table, names, batch.num_rows)
                    self._check_values(path, table, n_rows)
                    n_rows += len(table)
                    yield self._in_days(table)
            expected = sum(file.metadata.row_group(group).num_rows for group in groups)
            _check_length(path, n_rows, expected)
        pa.default_memory_pool().release_unused()  # which may be as large as a group of rows

    def _find_date_texts(self, categories: Collection[str]) -> dict[str, pa.DataType]:
        """Return the type of the dates in each feature of text that holds nothing else.

        Those among ``categories`` are left out.
        The whole columns are read for this, because all batches must have the same types.
        """
        are_text = {field.name: is_text(field.type) for field in self.schema}
        names = [name for name in self.features if name not in categories]
        kinds = {name: _TIMES for name in names if are_text.get(name)}
        with_values = set()
        for table in self.batches([*kinds], self.rows_at_once()) if kinds else ():
            for name, column in zip(table.column_names, table.columns, strict=True):
                kinds[name] = [kind for kind in kinds[name] if _are_times(column, kind)]
                if _without_missing(column).null_count < len(column):
                    with_values.add(name)
            if not any(kinds.values()):
                break
        return {name: kinds[name][0] for name in kinds if kinds[name] and name in with_values}

    def _in_days(self, table: pa.Table) -> pa.Table:
        """Return a table in which features that are dates are days since ``epoch``, if given."""
        for index, name in enumerate(table.column_names):
            column = table.column(index)
            if name in self.date_texts:
                column = _as_times(column, self.date_texts[name])
            is_date = types.is_date(column.type) or types.is_timestamp(column.type)
            if is_date and self.epoch is not None and self.role_of(name) == "feature":
                table = table.set_column(index, name, _days(column, self.epoch))
        return table

    def _check_values(self, path: str, table: pa.Table, first_row: int = 0) -> None:
        """Refuse damaged text, infinite or inexact labels, and missing ids in a table of ``path``.

        ``first_row`` is the row of the file at which the table begins, for the message.
        """
        for name, column in zip(table.column_names, table.columns, strict=True):
            role = self.role_of(name)
            with naming_file(path):
                column.validate(full=True)
            if role == "feature":
                continue
            if role == "label":  # a missing label means that the document is unjudged
                labels = as_floats(column, np.float64)
                wrong, rule = np.isinf(labels), "be finite"
                if types.is_integer(column.type):  # larger ones would be rounded
                    wrong, rule = np.abs(labels) >= 2**53, "be below 2**53 in size"
            else:
                wrong, rule = np.asarray(column.is_null(nan_is_null=True)), "not be missing"
            if wrong.any():
                row = int(np.argmax(wrong))
                cell = f"{column[row].as_py()} in row {first_row + row}"
                subject = "the label must" if role == "label" else "must"
                raise column_error(path, name, f"{subject} {rule}; got {cell}.")

    def role_of(self, name: str) -> str:
        """Return the role of a column: "label", "query", "document" or "feature"."""
        roles = {self.label: "label", self.query: "query", self.document: "document"}
        return roles.get(name, "feature")

    def _refuse_ids(self, path: str) -> None:
        """Refuse a feature that is probably an id: by its name, and as integers or text."""
        for name in self.features:
            kind = self.schema.field(name).type
            if name.lower() in ID_NAMES and (types.is_integer(kind) or is_text(kind)):
                drop = "or drop it by `treerank convert`"
                if has_spelling("drop"):
                    drop = f"{spelled('drop', name)} to leave it out, or list the features"
                raise column_error(
                    path,
                    name,
                    f"an id must not be a feature by accident. Write {spelled('document', name)} "
                    f"if it is the id of documents, {drop}.",
                )

    def _check_columns(
        self, path: str, dropped: Sequence[str], arguments: Mapping[str, str], any_type: bool
    ) -> None:
        """Refuse columns that do not exist or have a wrong type.

        ``dropped`` columns must only exist. Label, query, document and features must also have a
        type for their role, unless ``any_type``, and there must be a feature. ``arguments`` maps a
        column to the argument that named it, and ``path`` is the file, both for messages.
        """
        needed = [name for name in (self.label, self.query, self.document) if name is not None]
        names = set(self.schema.names)  # a list is made at each call
        for name in [*needed, *self.features, *dropped]:
            role = self.role_of(name)
            argument = arguments.get(name, role)
            if name not in names:
                rule = f"must exist; got {quote(self.schema.names)}."
                if argument != "feature":
                    other = "The column must have this name."
                    if has_spelling(argument):
                        other = f"Write {spelled(argument, 'NAME')} for another."
                    rule = f"the column for {argument} {rule} {other}"
                raise column_error(path, name, rule)
            if name in dropped:
                continue
            kind = self.schema.field(name).type
            if not any_type and not _is_allowed(role, kind):
                rule = _RULES.get(role, "numbers, text or dates")
                drop = "drop it" if has_spelling("drop") else "drop it by `treerank convert`"
                advice = f" Convert the column to numbers, such as days, or {drop}."
                is_date = types.is_date(kind) or types.is_timestamp(kind)
                if is_date and not arguments and has_spelling("days_since"):
                    days = spelled("days_since", "2026-01-01")
                    advice = f" Write {days} for the number of days since then, or {drop}."
                advice = advice if role == "feature" else ""
                raise column_error(path, name, f"must hold {rule}; got {kind_name(kind)}.{advice}")
        if not self.features:
            raise ValueError(f"{path}: must have a column of features; got none.")


def column_names(path: str | Path) -> list[str]:
    r"""Return the names of the columns of a table; of a CSV file, the first line alone is read.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "shop.csv"
    >>> n_bytes = path.write_text("price;label;query\n1,5;0;q1\n")
    >>> column_names(path)
    ['price', 'label', 'query']
    """
    if is_csv(path):
        return csv_header(Path(path))
    first = sources_of(path)[0]
    with naming_file(first.name), first.opened() as file:
        return [*dict.fromkeys([*file.schema_arrow.names, *first.folder_values])]


def numbers_per_row(path: str | Path, names: Sequence[str]) -> int:
    """Return about how many numbers some columns of a table have in a row.

    Each column has one, but lists have several.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "shop.parquet"
    >>> pq.write_table(pa.table({"price": [1.5, 2.0], "title": [[0.5, 1.0, 2.0], None]}), path)
    >>> numbers_per_row(path, ["price"]), numbers_per_row(path, ["price", "title"])
    (1, 3)
    """
    if is_csv(path):
        return len(names)
    first = sources_of(path)[0]
    with naming_file(first.name), first.opened() as file:
        return _numbers_per_row(file.metadata, file.schema_arrow, names)


def _numbers_per_row(metadata: pq.FileMetaData, schema: pa.Schema, names: Sequence[str]) -> int:
    """Return the same as :func:`numbers_per_row`, estimated from the first row group's metadata."""
    used = {*names}
    lists = [field.name for field in schema if field.name in used and is_embedding(field.type)]
    if not lists or not metadata.num_row_groups:
        return len(names)
    group, n_numbers = metadata.row_group(0), len(names)
    for index in range(group.num_columns):
        column = group.column(index)
        if any(column.path_in_schema.startswith(f"{name}.") for name in lists):
            n_numbers += max(column.num_values // max(group.num_rows, 1) - 1, 0)
    return n_numbers


@contextmanager
def naming_file(path: str) -> Iterator[None]:
    """Turn errors of damaged or truncated content within the block into a ValueError with ``path``.

    Errors of the operating system, and errors that name the file already, are not changed.
    """
    try:
        yield
    except _ERRORS as error:
        is_of_system = isinstance(error, OSError) and error.errno is not None and error.filename
        if is_of_system or str(error).startswith(path):
            raise
        lines = str(error).splitlines() or [type(error).__name__]
        kind, advice = ("CSV", "") if is_csv(path) else ("Parquet", _OTHER_NAMES)
        raise ValueError(
            f"{path}: a {kind} file must be whole and readable; got {quote(lines[0])}.{advice}"
        ) from error


def as_floats(column: pa.ChunkedArray | pa.Array, dtype: Any) -> np.ndarray:
    """Return an Arrow column of numbers as an array of floats of type ``dtype``.

    Missing values are NaN.
    """
    kind = pa.float32() if dtype == np.float32 else pa.float64()
    if types.is_decimal(column.type):  # which are rounded correctly only as text
        column = column.cast(pa.string())
        kind = pa.float64()
    floats = column.cast(kind, safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(floats, dtype=dtype)


def as_ids(path: str, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of ids as an array: int64 for integers, strings, or dates and floats.

    Refuses text that is longer than ``LONGEST_QID`` bytes or has NUL; ``path`` and ``name`` are for
    the message.
    """
    kind = column.type
    if is_text(kind) or types.is_dictionary(kind):
        encoded = column if types.is_dictionary(kind) else column.dictionary_encode()
        encoded = encoded.unify_dictionaries().combine_chunks()
        texts = encoded.dictionary.to_pylist()
        for text in texts:
            if isinstance(text, str) and (len(text.encode()) > LONGEST_QID or "\0" in text):
                rule = f"a query id must be text of at most {LONGEST_QID} bytes without NUL"
                raise column_error(path, name, f"{rule}; got {quote(text)}.")
        return np.asarray(texts)[np.asarray(encoded.indices)]
    values = column.to_numpy()
    return values.astype(np.int64) if values.dtype.kind in "iu" and values.itemsize < 8 else values


def kind_name(kind: Any) -> str:
    """Return the name of an Arrow type for messages, shortened where it is long."""
    return quote(str(kind)).strip("'")


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column holds text."""
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column holds numbers, or nothing at all."""
    is_real = types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind)
    return is_real or types.is_boolean(kind) or types.is_null(kind)


def is_embedding(kind: pa.DataType) -> bool:
    """Tell whether a column holds lists of numbers."""
    are_lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(is_list(kind) for is_list in are_lists) and is_number(kind.value_type)


def _cell_bytes(kind: pa.DataType) -> int:
    """Return about how many bytes of memory a value of a column takes while it is read."""
    if is_embedding(kind):
        return 8 * max(getattr(kind, "list_size", 0), _TYPICAL_ENTRIES)
    return 8 if is_number(kind) else 64


#: What a column must hold, by what it is for; ids are more than these.
_RULES = {"label": "numbers", "feature": "numbers, text or categories"}


def _epoch(days_since: str | date) -> datetime:
    """Return ``days_since``, a date, a time or ISO text of one, as a time in UTC."""
    try:
        value = days_since
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
    except (AttributeError, ValueError) as error:
        raise ValueError(
            f"{spelled('days_since')} must be a date such as '2026-01-01'; got {quote(days_since)}."
        ) from error
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def _as_times(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column of text as times of one type."""
    return compute.utf8_trim_whitespace(_without_missing(column)).cast(kind)


def _without_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of text in which texts that mean a missing value are null."""
    texts = column.cast(pa.large_string())
    is_missing = compute.is_in(texts, pa.array(MISSING_TEXTS, texts.type))
    return compute.if_else(is_missing, None, texts)


def _are_times(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether all texts of a column are times of one type."""
    try:
        _as_times(column, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _days(column: pa.ChunkedArray, epoch: datetime) -> pa.ChunkedArray:
    """Return dates and times as days since an epoch; times without a zone are read as UTC."""
    zone = column.type.tz if types.is_timestamp(column.type) else None
    times = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    start = (epoch - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    since = compute.subtract(times, pa.scalar(start, pa.int64()))
    return compute.divide(since.cast(pa.float64(), safe=False), 86_400e6)


def _is_allowed(role, kind):
    """Return whether a column of Arrow type ``kind`` may have a role.

    A label must be numbers; a feature numbers, text or lists of numbers; a query or document id
    numbers, text, dates or times.
    """
    value = kind.value_type if types.is_dictionary(kind) else kind
    if role == "label":
        return is_number(kind) and not types.is_null(kind)
    if role == "feature":
        return is_number(value) or is_text(value) or is_embedding(kind)
    is_plain = types.is_integer(kind) or types.is_floating(kind) or types.is_date(kind)
    return is_plain or types.is_timestamp(kind) or is_text(value)


def _parts(
    sources: Sequence[Source],
    ids: Collection[str],
    is_used: Callable[[str], bool],
    label: str | None,
    categories: Collection[str],
) -> dict[str, _Part]:
    """Return the opened files by name, in order; files of an object store are opened in parallel.

    ``ids``, ``is_used``, ``label`` and ``categories`` are as in
    :func:`~treerank.datasets.csv_files.csv_as_parquet`.
    """
    part = partial(_part, ids=ids, is_used=is_used, label=label, categories=categories)
    parts: Iterable[_Part]
    if sources[0].store is None:
        parts = map(part, sources)
    else:  # each takes as long as its requests
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            parts = [*pool.map(part, sources)]
    return {source.name: part for source, part in zip(sources, parts, strict=True)}


def _part(
    source: Source,
    ids: Collection[str],
    is_used: Callable[[str], bool],
    label: str | None,
    categories: Collection[str],
) -> _Part:
    """Return one file with its metadata and schema; a CSV file is converted to Parquet in memory.

    ``ids``, ``is_used``, ``label`` and ``categories`` are as in
    :func:`~treerank.datasets.csv_files.csv_as_parquet`. Refuses pipes, and CSV files in a store.
    """
    if source.store is None:
        if not is_regular_file(source.name):
            raise ValueError(f"{source.name}: must be a regular file, which can be read twice.")
        with open(source.name, "rb"):  # an error of the system names the file
            pass
    with naming_file(source.name):
        if is_csv(source.name):
            if source.store is not None:
                raise text_in_store(source.name)
            table = csv_as_parquet(Path(source.name), ids, is_used, label, categories)
            source = replace(source, location=table)
        with source.opened() as file:
            metadata, schema = file.metadata, file.schema_arrow
            groups = map(metadata.row_group, range(metadata.num_row_groups))
            _check_length(source.name, sum(group.num_rows for group in groups), metadata.num_rows)
            schema.pandas_metadata  # noqa: B018 - damaged, it is an error
            _check_names(source.name, schema, lambda name: name in ids or is_used(name))
            for name, value in source.folder_values.items():
                column = pa.field(name, value.type)
                index = schema.get_field_index(name)  # folders count, as for pyarrow and Spark
                schema = schema.append(column) if index < 0 else schema.set(index, column)
            return _Part(source, metadata, schema)


def _in_same_types(files: dict[str, _Part]) -> tuple[dict[str, _Part], pa.Schema]:
    """Return ``(files, schema)``: files that cast their columns if needed, and their schema.

    Types may differ only in the width of offsets of text, or where a column has no values in a
    file; else it is an error.
    """
    first = next(iter(files))
    schema = files[first].schema
    for name, part in files.items():
        if not part.schema.equals(schema):
            _check_same(name, part.schema, first, schema)
            schema = pa.unify_schemas([schema, part.schema], promote_options="permissive")
    types_of, same = dict(zip(schema.names, schema.types, strict=True)), dict(files)
    for name, part in files.items():
        if not part.schema.equals(schema):
            kinds = dict(zip(part.schema.names, part.schema.types, strict=True))
            differing = {c: types_of[c] for c, kind in kinds.items() if kind != types_of[c]}
            same[name] = replace(part, other_types=differing)
    return same, schema


def _check_names(path, schema, is_read):
    """Refuse a schema with two columns of one name, of which ``is_read(name)`` is true."""
    for name, count in Counter(schema.names).items():
        if count > 1 and is_read(name):
            raise column_error(path, name, "must be there once; got it twice.")


def _check_same(path, schema, first, expected):
    """Refuse a file whose columns or types are not as in the folder's first file.

    ``schema`` belongs to the file ``path``, ``expected`` to the file ``first``. Two types of text
    are alike, and a column of nothing but missing values is like any type.
    """
    kind_of = [dict(zip(s.names, s.types, strict=True)) for s in (expected, schema)]
    for name in kind_of[0] | kind_of[1]:
        kinds = [types.get(name, "no column") for types in kind_of]
        if kinds[0] != kinds[1] and not _are_like(*kinds):
            rule = f"must be as in {first}, {kind_name(kinds[0])}; got {kind_name(kinds[1])}."
            raise column_error(path, name, rule)


def _are_like(*kinds: Any) -> bool:
    """Return whether two Arrow types are both text, or one is the null type."""
    if not all(isinstance(kind, pa.DataType) for kind in kinds):
        return False
    return all(map(is_text, kinds)) or any(map(types.is_null, kinds))


def _check_length(path, n_rows, expected):
    if n_rows != expected:
        raise ValueError(f"{path}: must hold {expected} rows, as it says; got {n_rows}.")


def _index_columns(schema):
    """Return the names of the columns in which pandas stored the index of a data frame.

    [] if none.
    """
    about = schema.pandas_metadata
    columns = about.get("index_columns") if isinstance(about, dict) else None
    return [name for name in columns or () if isinstance(name, str)]
