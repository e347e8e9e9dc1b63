"""CSV and TSV files: tables of text, which are read as Parquet files in memory.

The first line names the columns. Types are those of the cells: a column is of numbers, of truth
values or of dates if all its cells are, and of text otherwise. One of ids is of numbers if all are
plain, and else of text: 007 is not 7. A cell without text, or with ``NA``, ``NaN``, ``None``,
``null``, ``-`` or ``?`` alone, is missing. Cells of a CSV file end at commas or,
if its first line has none, at semicolons; numbers may then have decimal commas. A file is held in
memory while it is read.
"""

import io
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute, csv

from treerank.checks import quote
from treerank.files.compression import open_text

#: The character between two cells, by the suffix of a file's name.
DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
#: A column of text with a larger share of numbers is one of numbers with a wrong cell.
_MOSTLY = 0.9
#: Bytes of the first line that are looked at.
_LONGEST_LINE = 1 << 20
#: What stands in a cell without a value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "-", "?")
#: Ids that are numbers: no character of them is lost, as in 007, 1.10 or 1e5.
_PLAIN = {
    pa.int64(): r"^(0|-?[1-9]\d{0,17})$",
    pa.float64(): r"^(0|-?[1-9]\d{0,9})(\.0|\.\d{0,4}[1-9])?$",
}
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


def is_csv(path: str | Path) -> bool:
    """Tell by the name of a file whether it is a table of text."""
    return str(path).endswith(tuple(DELIMITERS))


def column_error(path: str | Path, name: str, rule: str) -> ValueError:
    """Return the error of a rule that a column of a file breaks."""
    return ValueError(f"{path}, column {quote(name)}: {rule}")


def csv_as_parquet(path: Path, ids: Collection[str] = ()) -> io.BytesIO:
    """Return a CSV or TSV file, plain or gzip, as a Parquet file in memory.

    Columns ``ids`` are of numbers only if no character is lost; they have no decimal commas.
    """
    delimiter, types = _delimiter_in(path), dict.fromkeys(ids, pa.string())
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(use_threads=False),  # so that an error tells the row
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types, null_values=MISSING, strings_can_be_null=True
        ),
    )
    if table.column_names[0] == "":  # the index of a pandas data frame
        table = table.remove_column(0)
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in ids:
            columns.append(_plain(column))
        else:
            columns.append(_pointed(column) if delimiter == ";" else column)
            _check_column(path, name, columns[-1])
    parquet = io.BytesIO()
    pq.write_table(pa.table(columns, names=table.column_names), parquet)
    return parquet


def csv_writer(path: str | Path) -> Any:
    """Return a function that makes a writer of tables as text, given a stream and a schema."""
    return partial(csv.CSVWriter, write_options=csv.WriteOptions(delimiter=_delimiter(path)))


def _delimiter(path):
    return next(char for suffix, char in DELIMITERS.items() if str(path).endswith(suffix))


def _delimiter_in(path):
    """Return what ends the cells of a file that is read."""
    with open_text(path) as text:
        first = text.stream.readline(_LONGEST_LINE)
    usual = _delimiter(path)
    return ";" if usual.encode() not in first and b";" in first else usual


def _plain(ids):
    """Return ids as numbers, if all of them are plain ones, and else as they are."""
    trimmed = compute.utf8_trim_whitespace(ids)
    for kind, plain in _PLAIN.items():
        if compute.all(compute.match_substring_regex(trimmed, plain)).as_py():
            return trimmed.cast(kind)
    return ids


def _pointed(column):
    """Return numbers with decimal commas as floats, and any other column as it is."""
    if not pa.types.is_string(column.type):
        return column
    pointed = compute.replace_substring(compute.utf8_trim_whitespace(column), ",", ".")
    is_number = compute.match_substring_regex(pointed, _NUMBER)
    return pointed.cast(pa.float64()) if compute.all(is_number).as_py() else column


def _check_column(path, name, column):
    """Refuse bytes that are no text, and text among numbers."""
    if pa.types.is_binary(column.type):
        raise column_error(path, name, "must be text in UTF-8; got other bytes.")
    if not pa.types.is_string(column.type):
        return
    is_number = compute.match_substring_regex(column, _NUMBER)
    n_values = len(column) - column.null_count
    if n_values > (compute.sum(is_number).as_py() or 0) > _MOSTLY * n_values:
        row = compute.index(is_number, False).as_py()
        found = f"{quote(column[row].as_py())} in row {row}"
        raise column_error(path, name, f"must hold numbers, as most of it does; got {found}.")
