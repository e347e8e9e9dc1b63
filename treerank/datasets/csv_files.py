r"""CSV and TSV files: tables of text, which are read as Parquet files in memory.

The first line that is not empty names the columns. Types follow from the cells: a column is of
numbers, of truth values or of dates if all its cells are, and of text otherwise. One of ids is of
numbers if all are plain, and else of text: 007 is not 7. A cell without text, or with ``NA``,
``NaN``, ``None``, ``null``, ``\N``, ``#DIV/0!``, ``-``, ``--`` or ``?`` alone, is missing. A column
of numbers with separators of thousands, ``%`` or hexadecimal digits is refused: as text, it would
be a category. One that becomes a category though half of its cells are numbers is warned of. Cells
of a CSV file end at commas or, if its first line has none, at semicolons, tabs or bars; where they
end at semicolons, numbers may have decimal commas. A file is held in memory while it is read.
"""

import csv as python_csv
import io
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute, csv

from treerank.checks import quote, warn_user
from treerank.documents.number_texts import (
    FEW,
    HEXADECIMAL,
    MISSING_TEXTS,
    MOSTLY,
    NUMBER,
    WRITTEN,
    numbers_among,
)
from treerank.files.compression import open_text
from treerank.spelling import has_spelling, spelled

#: The character between two cells, by the suffix of a file's name.
DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
#: Others, of files whose first line does not have the usual one.
OTHER_DELIMITERS = (";", "\t", "|")
#: Bytes of a file in which its first line is looked for, and that are read at a time.
_LONGEST_LINE = 1 << 20
#: A line up to its end, as Arrow finds it: a cell in quotes may have line ends.
_LINE = re.compile(rb'(?:(?<![^,;\t|])"(?:[^"]|"")*+"|[^\r\n])*+')
#: Bytes that are parsed at a time; a row that is longer needs more.
_BLOCK_SIZES = (2**20, 2**25, 2**31 - 1)
#: Ids that are numbers: no character of them is lost, as in 007, 1.10 or 1e5.
_PLAIN = {
    pa.int64(): r"^(0|-?[1-9]\d{0,17})$",
    pa.float64(): r"^(0|-?[1-9]\d{0,9})(\.0|\.\d{0,4}[1-9])$",
}
#: What is said of a column of other bytes.
_UTF8 = "must be text in UTF-8; got other bytes."


def is_csv(path: str | Path) -> bool:
    """Tell by the name of a file whether it is a table of text."""
    return str(path).lower().endswith(tuple(DELIMITERS))


def column_error(path: str | Path, name: str, rule: str) -> ValueError:
    """Return the ValueError "<path>, column '<name>': <rule>"; ``rule`` begins "must ..."."""
    return ValueError(f"{path}, column {quote(name)}: {rule}")


def csv_as_parquet(
    path: Path,
    ids: Collection[str] = (),
    is_used: Callable[[str], bool] = lambda name: True,
    label: str | None = None,
    categories: Collection[str] = (),
) -> io.BytesIO:
    """Return a CSV or TSV file, plain or gzip, as a Parquet file in memory.

    The columns ``ids`` become integers or floats only where no character of an id would be lost, as
    of 007, and text otherwise; a comma in them is never read as a decimal point.
    ``is_used(name)`` tells whether a column will be read: the others are not checked. Every value
    of the column ``label`` must be a number; ``None`` means that the file has no labels. The
    columns ``categories`` stay text, whatever they contain.
    """
    delimiter = _delimiter_in(path)
    table = _table(path, delimiter, dict.fromkeys([*ids, *categories], pa.string()))
    _refuse_open_quote(path, table, delimiter)
    _refuse_rows_in_cells(path, table, delimiter)
    if table.column_names[0] == "":  # the index of a pandas data frame
        table = table.remove_column(0)
    columns, misread = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in ids:
            column = plain_ids(column)
        elif is_used(name) and name not in categories:
            column = _pointed(path, delimiter, name, column) if delimiter == ";" else column
            _check_column(path, delimiter, name, column, is_label=name == label)
            if pa.types.is_integer(column.type) or _has_infinity(column):
                misread.append(name)
        columns.append(column)
    _refuse_misread(path, delimiter, misread, table, label)
    table = pa.table(columns, names=table.column_names)  # texts that became numbers go
    del columns
    parquet = io.BytesIO()
    pq.write_table(table, parquet)
    return parquet


def csv_header(path: Path) -> list[str]:
    """Return the names of the columns, which are in the first line that is not empty."""
    first = _first_line(path).decode("utf-8", errors="replace")
    return next(python_csv.reader([first], delimiter=_delimiter_in(path)), [])


def _table(path: Path, delimiter: str, types: dict[str, Any], names: Iterable[str] = ()) -> Any:
    """Return a CSV file as an Arrow table: the columns ``names``, or all if it is empty.

    ``types`` maps names of columns to Arrow types; the types of the others are inferred. Blocks
    grow where a row does not fit into one.
    """
    with open(path, "rb") as file:
        compression = "gzip" if file.read(2) == b"\x1f\x8b" else None
    for block_size in _BLOCK_SIZES:
        try:
            with pa.input_stream(str(path), compression=compression) as stream:
                return csv.read_csv(
                    stream,  # one thread, so that an error tells the row
                    read_options=csv.ReadOptions(use_threads=False, block_size=block_size),
                    parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                    convert_options=csv.ConvertOptions(
                        column_types=types,
                        null_values=MISSING_TEXTS,
                        strings_can_be_null=True,
                        include_columns=[*names],
                    ),
                )
        except pa.ArrowInvalid as error:
            # A column of inferred type becomes binary instead, which _check_column refuses.
            if no_text := re.match(r"In CSV column #(\d+): .*invalid UTF8", str(error)):
                raise column_error(path, csv_header(path)[int(no_text[1])], _UTF8) from error
            if "straddling" not in str(error):
                raise
    raise ValueError("a row of more than 2 GiB")


def csv_writer(path: str | Path) -> Any:
    """Return a function ``(stream, schema)`` that makes an Arrow writer of CSV text.

    The suffix of ``path`` decides on the delimiter: a tab for TSV, else a comma.
    """
    return partial(csv.CSVWriter, write_options=csv.WriteOptions(delimiter=_delimiter(path)))


class TextCheck:
    """Refuses text that a CSV file cannot hold, because it is read as something else.

    Parameters
    ----------
    path : str or path
        The file, for messages.
    ids : collection of str
        Columns of ids and comments, which may be numbers.
    """

    def __init__(self, path: str | Path, ids: Collection[str]):
        self.path, self.ids = path, ids
        self._read_as: dict[str, list[Any]] = {}  # types that all texts of a column have so far
        self._examples: dict[str, str] = {}

    def add(self, table: pa.Table) -> None:
        """Check rows to write; refuse texts that mean a missing value."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            is_category = pa.types.is_dictionary(column.type)
            if not _is_text(column.type.value_type if is_category else column.type):
                continue
            texts = compute.drop_null(compute.unique(column.cast(pa.large_string())))
            is_missing = compute.is_in(texts, pa.array(MISSING_TEXTS, texts.type))
            if name != "comment" and _count(is_missing):
                text = texts[compute.index(is_missing, True).as_py()].as_py()
                raise self._error(name, "no text that means a missing value in a CSV file", text)
            if name not in self.ids and len(texts):
                kinds = self._read_as.get(name, [pa.int64(), pa.bool_(), pa.float64()])
                self._read_as[name] = [kind for kind in kinds if _are_all(texts, kind)]
                self._examples.setdefault(name, texts[0].as_py())

    def finish(self) -> None:
        """Refuse columns of text of which all rows are read as numbers or truth values."""
        for name, kinds in self._read_as.items():
            if kinds:
                rule = (
                    "other text than numbers or truth values, which a CSV file does not mark as "
                    "text"
                )
                raise self._error(name, rule, self._examples[name])

    def _error(self, name: str, rule: str, value: Any) -> ValueError:
        advice = "Write a Parquet file, which keeps it."
        return column_error(self.path, name, f"must hold {rule}; got {quote(value)}. {advice}")


def _is_text(kind):
    types = pa.types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _are_all(texts, kind):
    """Return whether Arrow reads all texts as values of a type."""
    try:
        compute.utf8_trim_whitespace(texts).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _delimiter(path):
    name = str(path).lower()
    return next(char for suffix, char in DELIMITERS.items() if name.endswith(suffix))


def _first_line(path):
    """Return the first line that is not empty, without its end: a newline, a return, or both."""
    with open_text(path) as text:
        start = text.stream.read(_LONGEST_LINE).removeprefix(BOM_UTF8).lstrip(b"\r\n")
    return next(_LINE.finditer(start))[0]


def _delimiter_in(path):
    """Return the delimiter of a file that is read.

    It is the usual one for the file's suffix if the first line has it, else the first of
    ``OTHER_DELIMITERS`` in that line.
    """
    first = _first_line(path)
    usual = _delimiter(path)
    alternatives = (sign for sign in OTHER_DELIMITERS if sign.encode() in first)
    return usual if usual.encode() in first else next(alternatives, usual)


def plain_ids(ids: Any) -> Any:
    """Return ids as int64 or float64 if all are written as these numbers are; otherwise unchanged.

    ``ids`` is an Arrow column of text. Leading zeros or exponents, as in 007 or 1e5, leave them
    text.
    """
    trimmed = compute.utf8_trim_whitespace(ids)
    for kind, plain in _PLAIN.items():
        if compute.all(compute.match_substring_regex(trimmed, plain)).as_py():
            return trimmed.cast(kind)
    return ids


def _pointed(path, delimiter, name, column):
    """Return a column of numbers with decimal commas as floats, and any other column as it is.

    Refuses a column of numbers of which some have commas and some have points. ``path``,
    ``delimiter`` and ``name`` are for the message.
    """
    if not pa.types.is_string(column.type):
        return column
    pointed = compute.replace_substring(compute.utf8_trim_whitespace(column), ",", ".")
    is_number = compute.match_substring_regex(pointed, NUMBER)
    if not compute.all(is_number).as_py():
        return column
    with_point = compute.match_substring(column, ".")
    if compute.any(with_point).as_py():  # 1.000 is one, or a thousand
        cell = _first(path, delimiter, column, with_point)
        rule = f"must have decimal commas or decimal points, not both; got {cell}."
        raise column_error(path, name, rule)
    return pointed.cast(pa.float64())


def _with_points(delimiter, column):
    """Return a text column with decimal points for the decimal commas that a file may have."""
    return compute.replace_substring(column, ",", ".") if delimiter == ";" else column


def _check_column(path, delimiter, name, column, *, is_label):
    """Refuse a column with bytes that are not UTF-8, or with text among mostly numbers.

    Of a label (``is_label``), any text is refused. A warning tells of a text column that may be
    meant as numbers. ``path``, ``delimiter`` and ``name`` are for messages.
    """
    if pa.types.is_binary(column.type):
        raise column_error(path, name, _UTF8)
    if not pa.types.is_string(column.type):
        return
    n_values = len(column) - column.null_count
    is_number = compute.match_substring_regex(_with_points(delimiter, column), NUMBER)
    is_written = compute.or_(
        compute.match_substring_regex(column, HEXADECIMAL),
        compute.match_substring_regex(column, WRITTEN),
    )
    is_either, n_numbers = compute.or_(is_number, is_written), _count(is_number)
    if is_label or n_values > n_numbers > MOSTLY * n_values:
        is_wrong = compute.invert(is_number)
        if n_numbers < n_values and _count(is_either) == n_values:
            raise _other_notation(path, delimiter, name, column, is_wrong, is_label)
        if n_numbers < n_values:
            cell = _first(path, delimiter, column, is_wrong)
            rule = (
                "the label must hold numbers"
                if is_label
                else "must hold numbers, as most of it does"
            )
            raise column_error(
                path, name, f"{rule}; got {cell}. {_missing_advice(column, is_wrong)}"
            )
        return
    if n_numbers < n_values and _count(is_either) > MOSTLY * n_values:
        is_wrong = compute.and_(is_written, compute.invert(is_number))
        raise _other_notation(path, delimiter, name, column, is_wrong, is_label)
    _warn_of_numbers(path, delimiter, name, column, is_either)


def _warn_of_numbers(path, delimiter, name, column, is_number):
    """Warn of a text column, which becomes categorical, though its values may be meant as numbers.

    ``is_number`` tells for each cell whether it is a number; the other arguments are for the
    message.
    """
    n_values, n_numbers = len(column) - column.null_count, _count(is_number)
    has_codes = _count(compute.match_substring_regex(column, r"^\s*0\d")) > 0
    is_mixed = 2 * n_numbers >= n_values and n_numbers >= FEW and not has_codes
    texts = sorted(compute.unique(column).drop_null().to_pylist())
    if n_numbers == n_values or not (is_mixed or numbers_among(texts)):
        return
    is_wrong, advice = compute.invert(is_number), "Write the numbers alone, without units."
    if _count(is_number):
        advice = _missing_advice(column, is_wrong)
    warn_user(
        f"{path}, column {quote(name)}: is read as text, so it becomes a category, in which "
        f"numbers have no order; got {_first(path, delimiter, column, is_wrong)}. {advice}"
    )


def _missing_advice(column, is_wrong):
    """Return the advice to leave missing cells empty, with the first wrong cell quoted."""
    text = column[compute.index(is_wrong, True).as_py()].as_py()
    return (
        "Write a number, or leave the cell empty if the value is missing; pandas.read_csv(..., "
        f"na_values=[{quote(text)}]) reads the text as missing."
    )


def _other_notation(path, delimiter, name, column, is_wrong, is_label):
    """Return the error of a column with numbers in a notation that is not read, such as 1,234.

    ``is_wrong`` tells where such numbers are; ``is_label`` omits the advice to drop the column.
    """
    can_drop = not is_label and has_spelling("drop")
    drop = f", or write {spelled('drop', name)} to leave the column out" if can_drop else ""
    examples = "-1234.5 or -1234,5" if delimiter == ";" else "-1234.5"
    return column_error(
        path,
        name,
        f"must hold numbers in digits, such as {examples}; got "
        f"{_first(path, delimiter, column, is_wrong)}. Write them without separators of thousands, "
        f"signs and units{drop}.",
    )


def _refuse_misread(path, delimiter, names, table, label):
    """Refuse hexadecimal numbers, and numbers too large for a float, in columns read as numbers.

    ``names`` are the columns to check, each of which the table has as numbers; they are read again
    as text. Columns of a name that occurs twice are skipped. ``label`` is the label's column.
    """
    counts = Counter(table.column_names)
    names = [name for name in names if counts[name] == 1]
    if names and not _has_hexadecimal(path):
        names = [n for n in names if not pa.types.is_integer(table.schema.field(n).type)]
    if not names:
        return
    texts = _table(path, delimiter, dict.fromkeys(names, pa.string()), names)
    for name in names:
        text = texts.column(name)
        is_hexadecimal = compute.match_substring_regex(text, HEXADECIMAL)
        if _count(is_hexadecimal):
            raise _other_notation(path, delimiter, name, text, is_hexadecimal, name == label)
        digits = _with_points(delimiter, text)
        is_number = compute.match_substring_regex(digits, NUMBER)
        values = compute.if_else(is_number, compute.utf8_trim_whitespace(digits), "0")
        is_infinite = compute.is_inf(values.cast(pa.float64()))
        if _count(is_infinite):
            cell = _first(path, delimiter, text, is_infinite)
            raise column_error(path, name, f"must hold numbers below 1.8e308; got {cell}.")


def _has_hexadecimal(path):
    """Return whether the bytes of a file contain a hexadecimal number such as 0x1F anywhere."""
    with open_text(path) as text:
        end = b""
        while piece := text.stream.read(_LONGEST_LINE):
            if re.search(rb"0[xX][0-9a-fA-F]", end + piece):
                return True
            end = piece[-2:]
    return False


def _has_infinity(column):
    return pa.types.is_floating(column.type) and _count(compute.is_inf(column)) > 0


def _refuse_open_quote(path, table, delimiter):
    """Refuse a file with a quote that is never closed: one cell would hold all rows behind it.

    It is seen by the last cell of a text column, which then has lines with as many delimiters as
    rows have, in a file with an odd number of quotes.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        cell = column[-1].as_py() if len(column) and pa.types.is_string(column.type) else None
        rows = (cell or "").split("\n")[1:]
        if any(row.count(delimiter) == table.num_columns - 1 > 0 for row in rows):
            with open_text(path) as text:
                n_quotes = sum(line.count(b'"') for line in text.stream)
            if n_quotes % 2:
                rule = f"a quote must be closed; got {quote(cell)} in row {len(column) - 1}."
                raise column_error(path, name, rule)


def _refuse_rows_in_cells(path, table, delimiter):
    """Refuse a cell that holds the rows up to the next quote, because it begins with a quote.

    As in ``" loose`` and, some rows later, ``" end"``. Each line of such a cell would be a row, so
    it has delimiters and, in columns of numbers, numbers; other cells of several lines are text.
    """
    n_delimiters = table.num_columns - 1
    if n_delimiters == 0:
        return
    numbers = [k for k, kind in enumerate(table.schema.types) if _is_of_numbers(kind)]
    for index, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if not pa.types.is_string(column.type):
            continue
        has_lines = compute.match_substring(column, "\n")
        if not compute.any(has_lines).as_py():
            continue
        n_ends = compute.multiply(compute.count_substring(column, "\n"), n_delimiters)
        has_rows = compute.equal(compute.count_substring(column, delimiter), n_ends)
        rows = compute.indices_nonzero(compute.and_(has_lines, has_rows))
        for row in rows.to_pylist():
            cell = column[row].as_py()
            lines = [line.removesuffix("\r").split(delimiter) for line in cell.split("\n")]
            sizes = [n_delimiters - index, *[n_delimiters] * (len(lines) - 2), index]
            if [len(line) - 1 for line in lines] != sizes:
                continue
            # The first line begins in this column; its first cell and the last one are not whole.
            of_columns = [dict(enumerate(lines[0], index)), *map(dict, map(enumerate, lines[1:]))]
            of_columns[0].pop(index)
            of_columns[-1].pop(index)
            if all(
                cells[k] in MISSING_TEXTS or re.match(NUMBER, cells[k])
                for cells in of_columns
                for k in numbers
                if k in cells
            ):
                rule = f"a cell must not hold rows of the file; got {quote(cell)} in row {row}"
                advice = "Double the quotes within a cell, and write one more at both of its ends."
                raise column_error(path, name, f"{rule}. {advice}")


def _is_of_numbers(kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _count(is_so):
    return compute.sum(is_so).as_py() or 0


def _first(path, delimiter, column, is_so):
    """Return "'<text>' in row <i> (line <n>)" of the first cell where ``is_so`` is true.

    ``column`` and ``is_so`` are Arrow columns of equal length; rows count from 0, without the
    header.
    """
    row = compute.index(is_so, True).as_py()
    return f"{quote(column[row].as_py())} in row {row} (line {_line_of(path, delimiter, row)})"


def _line_of(path, delimiter, row):
    """Return the number of the line, from 1, on which row ``row`` of a CSV file ends.

    Rows count from 0, without the header. A quoted cell may span several lines.
    """
    with open_text(path) as text:
        lines = io.TextIOWrapper(text.stream, encoding="utf-8", errors="replace", newline="")
        reader = python_csv.reader(lines, delimiter=delimiter)
        rows = (reader.line_num for cells in reader if cells)  # Arrow skips empty lines, too
        line = next(islice(rows, row + 1, None), None)
        lines.detach()
    return line
