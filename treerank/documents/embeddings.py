"""Embeddings: columns of lists or of arrays of numbers, whose entries become features.

The entries of a column ``title`` are the features ``title_0``, ``title_1`` and so on, in its place.
A fitted model knows these names alone. So it scores data frames with the embedding and those with
a column of each entry alike, and so does everything else that knows features by their names.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from treerank.checks import is_whole, quote
from treerank.documents.queries import is_missing

#: What to do with text of lists.
LISTS_OF_TEXT = (
    "Make lists of them, such as by X[...].map(json.loads). Dask makes text of lists, unless its "
    "setting dataframe.convert-string is False."
)
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan"
_LIST_OF_NUMBERS = re.compile(rf"\s*[\[(]\s*({_NUMBER})((\s*,\s*|\s+)({_NUMBER}))*\s*[\])]\s*")
#: Whole numbers from this on need not be doubles.
_LARGEST = 2**53
#: Types of columns that may hold embeddings.
_MAY_BE_EMBEDDINGS = (nw.List, nw.Array, nw.Object, nw.Unknown, nw.String)
#: Entries of these types fit into float32, which then is the type of a column with missing ones.
_FITS_FLOAT32 = ("b1", "i1", "u1", "i2", "u2", "f2", "f4")


def with_entries(X: Any, sizes: Mapping[str, int] | None = None) -> Any:
    """Return a data frame in which each entry of an embedding is a column of its own.

    ``sizes`` are the numbers of entries by column, by default from :func:`embedding_sizes`. A
    missing embedding has missing entries. Other objects, and frames without embeddings, are
    returned unchanged.

    Examples
    --------
    >>> import pandas as pd
    >>> shop = pd.DataFrame({"title": [[0.5, 0.25], None], "price": [9.5, 7.0]})
    >>> with_entries(shop)
       title_0  title_1  price
    0      0.5     0.25    9.5
    1      NaN      NaN    7.0
    """
    frame: Any = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    chosen = embedding_sizes([X]) if sizes is None else sizes
    return _expanded(frame, chosen).to_native() if chosen else X


def embedding_sizes(frames: Iterable[Any]) -> dict[str, int]:
    """Return the number of entries of each column of embeddings, of batches of rows together.

    Batches are read until each column of lists has a value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batches = [pa.table({"title": [None]}), pa.table({"title": [[0.5, 0.25]]})]
    >>> embedding_sizes(batches)
    {'title': 2}
    """
    sizes: dict[str, int] = {}
    undecided: dict[Any, Any] | None = None
    for X in frames:
        frame: Any = nw.from_native(X, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return {}
        missing = dict[Any, Any]()
        for name, dtype in frame.schema.items():  # of all columns at once, which is much faster
            is_candidate = dtype in _MAY_BE_EMBEDDINGS and (undecided is None or name in undecided)
            column = frame.get_column(name) if is_candidate else None
            if column is None or not _may_be_embedding(column):
                continue
            first = _first(column)
            if first is None:
                missing[column.name] = column
            elif _is_vector(first):
                sizes[column.name] = _checked_size(column, first)
        undecided = missing
        if not undecided:
            break
    for column in (undecided or {}).values():
        if _is_of_lists(column):
            raise ValueError(
                f"Column {quote(column.name)} of X must have a list of numbers in some row; all "
                "are missing. Leave it out."
            )
    return sizes


def sources_of(names: Iterable[str], columns: Iterable[Any]) -> list[str]:
    """Return the columns of a data frame that hold the features of these names.

    ``columns`` are the names of its columns. A feature ``title_0`` that is no column comes from a
    column ``title``. A feature without any is returned as it is, for a message that names it.

    Examples
    --------
    >>> sources_of(["price", "title_0", "title_1"], ["title", "id", "price"])
    ['price', 'title']
    """
    fitted_names = {*columns}
    return [
        *dict.fromkeys(
            name if name in fitted_names else _base_of(name, fitted_names) for name in names
        )
    ]


def features_of(name: str, names: Sequence[str]) -> list[str]:
    """Return the features of ``names`` that a name stands for: itself, or an embedding's entries.

    Examples
    --------
    >>> features_of("title", ["price", "title_0", "title_1"]), features_of("price", ["price"])
    (['title_0', 'title_1'], ['price'])
    """
    entries = [feature for feature in names if _is_entry(feature, name)]
    if name in names:
        return [name]
    if not entries or entries != [f"{name}_{index}" for index in range(len(entries))]:
        raise ValueError(f"feature must be one of {quote([*names])}; got {quote(name)}.")
    return entries


def with_entries_of(frame: nw.DataFrame[Any], names: Iterable[str]) -> nw.DataFrame[Any]:
    """Return a frame in which embeddings are replaced by their entries, if ``names`` has these.

    ``names`` are the features of ``fit``. The frame is returned unchanged if it lacks a column.
    """
    names = list(names)
    sources = sources_of(names, frame.columns)
    bases = {*sources} - {*names}
    if not bases or not {*sources} <= {*frame.columns}:
        return frame
    sizes: dict[str, int] = {}
    for base in bases:
        first, n_entries = _first(frame[base]), sum(_is_entry(name, base) for name in names)
        is_whole = all(f"{base}_{index}" in names for index in range(n_entries))
        if is_whole and is_text_of_numbers(first):
            raise ValueError(
                f"Column {quote(base)} of X must hold lists of {n_entries} numbers, as in fit, not "
                f"text of them; got {quote(first)}. {LISTS_OF_TEXT}"
            )
        if is_whole and (first is None or _is_vector(first)):
            sizes[base] = n_entries
    return _expanded(frame.select(sources), sizes, are_fitted=True)


def is_text_of_numbers(value: Any) -> bool:
    """Tell whether a value is text of a list of numbers, as CSV files have them.

    Examples
    --------
    >>> [is_text_of_numbers(text) for text in ("[0.5, 2]", "[0.5 -1e-3 2.]", "[no]", "[]", 5)]
    [True, True, False, False, False]
    """
    return isinstance(value, str) and _LIST_OF_NUMBERS.fullmatch(value) is not None


def _base_of(name: Any, columns: Collection[Any]) -> Any:
    """Return the column of which a feature is an entry by its name, or the feature itself.

    ``title`` is the column of ``title_0``, if it is among ``columns``.
    """
    base = str(name).rpartition("_")[0]
    return base if base in columns and _is_entry(name, base) else name


def _is_entry(name: Any, base: str) -> bool:
    """Tell whether a name is an entry of the column ``base``, such as ``base_0``."""
    if not isinstance(name, str) or not isinstance(base, str) or not name.startswith(f"{base}_"):
        return False
    number = name[len(base) + 1 :]
    return number.isdecimal() and number.isascii() and str(int(number)) == number


def _is_of_lists(column: Any) -> bool:
    """Tell whether the type of a column says that it holds lists."""
    return bool(column.dtype == nw.List or column.dtype == nw.Array)


def _may_be_embedding(column: Any) -> bool:
    """Tell whether a column of a type in ``_MAY_BE_EMBEDDINGS`` may hold embeddings."""
    is_text = column.dtype == nw.String  # which objects are, too, that are all missing
    return not is_text or all(map(is_missing, column[:1].to_list()))


def _is_vector(value: Any) -> bool:
    """Tell whether a value is a list or an array rather than a number."""
    return isinstance(value, list | tuple) or (hasattr(value, "__array__") and np.ndim(value) > 0)


def _first(column: Any) -> Any:
    """Return the first value of a column that is not missing; None if there is none."""
    if _is_of_lists(column):
        has_value = ~column.is_null().to_numpy().astype(bool)
        row = int(np.argmax(has_value)) if has_value.any() else None
        return None if row is None else column[row : row + 1].to_list()[0]
    return next((value for value in column.to_list() if not is_missing(value)), None)


def _checked_size(column: Any, first: Any) -> int:
    """Return the number of entries of ``first``, the first embedding of a column.

    Refuses an empty one, and a column whose name is no text.
    """
    if not isinstance(column.name, str):
        name = column.name.item() if isinstance(column.name, np.generic) else column.name
        raise TypeError(
            f"Column {quote(name)} of X must have text as its name, since its lists become "
            "columns that are named by it. X.columns.astype(str) is text."
        )
    size = len(first)
    if not size:
        raise ValueError(
            f"Column {quote(column.name)} of X must have numbers in its lists; got []."
        )
    return size


def _expanded(
    frame: nw.DataFrame[Any], sizes: Mapping[str, int], *, are_fitted: bool = False
) -> nw.DataFrame[Any]:
    """Return a frame in which the columns of ``sizes`` are replaced by their entries.

    ``are_fitted`` lets messages say that ``fit`` saw these sizes.
    """
    if not sizes:
        return frame
    order, entries = list[Any](), list[Any]()
    for name in frame.columns:
        if name not in sizes:
            order.append(name)
            continue
        _refuse_clash(name, frame.columns)
        matrix = _matrix_of(frame[name], sizes[name], are_fitted)
        for index, values in enumerate(matrix.T):
            order.append(f"{name}_{index}")
            numbers = np.ascontiguousarray(values)
            entries.append(nw.new_series(order[-1], numbers, backend=frame.implementation))
    return frame.with_columns(*entries).select(order)


def _refuse_clash(name: str, columns: Iterable[Any]) -> None:
    """Refuse a column of the frame that has the name of an entry of the embedding ``name``."""
    other = next((column for column in columns if _is_entry(column, name)), None)
    if other is not None:
        raise ValueError(
            f"Column {quote(other)} of X must have another name, since the entries of the lists in "
            f"column {quote(name)} are {name}_0, {name}_1 and so on. Rename one of both."
        )


def _matrix_of(column: Any, size: int, are_fitted: bool) -> np.ndarray:
    """Return embeddings as a matrix of ``size`` columns; missing ones are rows of NaN.

    Refuses rows of other sizes. ``are_fitted``: the message says that ``size`` comes from ``fit``.
    """
    read = _of_lists if _is_of_lists(column) else _of_objects
    numbers, has_none, sizes = read(column)
    wrong = ~has_none & (sizes != size)
    if wrong.any():
        row = int(np.argmax(wrong))
        rule, other = "equally many numbers in each row", f", not {size}"
        if are_fitted:
            rule, other = f"{size} numbers in each row, as in fit", ""
        raise ValueError(
            f"Column {quote(column.name)} of X must have {rule}; got {sizes[row]} in row "
            f"{row}{other}."
        )
    rows = numbers.reshape(-1, size)
    if not has_none.any():
        return rows
    dtype = np.float32 if rows.dtype.str[1:] in _FITS_FLOAT32 else np.float64
    matrix = np.full((len(column), size), np.nan, dtype)
    matrix[~has_none] = rows
    return matrix


def _of_lists(column: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(numbers, missing, sizes)`` of a column of lists.

    They are all numbers one after the other, a mask of the rows that are missing, and the number of
    entries of each row, 0 for missing ones.
    """
    import pyarrow as pa
    from pyarrow import compute

    array = column.to_native() if column.implementation.is_pyarrow() else column.to_arrow()
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    kind = array.type.value_type
    is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind)
    other_kinds = (pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    if not (is_number or any(is_other(kind) for is_other in other_kinds)):
        has_none = column.is_null().to_numpy().astype(bool)
        _refuse_entries(column.name, _first(column), int(np.argmin(has_none)))
    parts = [(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64))]
    if chunks:
        try:
            parts = [
                (
                    _numbers_of(chunk.flatten(), kind),
                    np.asarray(chunk.is_null().to_numpy(zero_copy_only=False), dtype=bool),
                    compute.list_value_length(chunk).fill_null(0).to_numpy(zero_copy_only=False),
                )
                for chunk in chunks
            ]
        except OverflowError:
            _of_objects(column)  # which names the row
            raise
    numbers, missing, sizes = map(np.concatenate, zip(*parts, strict=True))
    return numbers, missing, sizes


def _numbers_of(array: Any, kind: Any) -> np.ndarray:
    """Return an array of Arrow as NumPy's; missing numbers are NaN.

    ``kind`` is its type. Raises an OverflowError for whole numbers that would be rounded.
    """
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        array = array.cast(pa.string())  # which alone rounds them correctly
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        array = array.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif pa.types.is_float16(kind):
        array = array.cast(pa.float32())
    if pa.types.is_integer(array.type) and _are_rounded(array.drop_null().to_numpy()):
        raise OverflowError
    if array.null_count and pa.types.is_integer(array.type):
        array = array.cast(pa.float32() if array.type.bit_width <= 16 else pa.float64(), safe=False)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _of_objects(column: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(numbers, missing, sizes)`` of a column of objects, as :func:`_of_lists` does."""
    values = column.to_list()
    rows, has_none = list[np.ndarray](), np.zeros(len(values), dtype=bool)
    sizes = np.zeros(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if is_missing(value):
            has_none[row] = True
            continue
        numbers = _numbers_in(value)
        if numbers is not None and _are_rounded(numbers):
            raise ValueError(
                f"Column {quote(column.name)} of X must hold numbers below 2**53 in size in its "
                f"lists, since larger whole numbers would be rounded; got {quote(value)} in row "
                f"{row}."
            )
        if numbers is None:
            _refuse_entries(column.name, value, row)
            continue
        rows.append(numbers)
        sizes[row] = len(numbers)
    return (np.concatenate(rows) if rows else np.zeros(0)), has_none, sizes


def _numbers_in(value: Any) -> np.ndarray | None:
    """Return one embedding as an array of numbers; None if it is no list of numbers."""
    if not _is_vector(value):
        return None
    try:
        numbers = np.asarray(value)
        is_mixed = isinstance(value, list | tuple) and numbers.dtype == np.float64
        if is_mixed and (np.abs(numbers) >= _LARGEST).any():  # maybe of integers
            numbers = np.asarray(value, dtype=object)
        if numbers.dtype.kind == "O" and numbers.ndim == 1:
            if any(isinstance(number, str | bytes) for number in numbers):
                return None
            integers = np.array([number for number in numbers if is_whole(number)], dtype=object)
            if _are_rounded(integers):
                return integers
            numbers = np.array([np.nan if is_missing(n) else n for n in numbers], np.float64)
    except (OverflowError, TypeError, ValueError):  # of lists of several sizes within it
        return None
    if numbers.ndim != 1 or numbers.dtype.kind not in "biuf" or numbers.dtype.itemsize > 8:
        return None
    return numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers


def _are_rounded(numbers: np.ndarray) -> bool:
    """Tell whether some are whole numbers of at least 2**53 in size, which doubles may round."""
    if numbers.dtype.kind not in "iuO" or numbers.dtype.itemsize < 8:
        return False
    return bool(((numbers >= _LARGEST) | (numbers <= -_LARGEST)).any())


def _refuse_entries(name: str, value: Any, row: int) -> None:
    """Raise an error for the value of a row that is no list of numbers."""
    raise TypeError(
        f"Column {quote(name)} of X must hold numbers alone in its lists; got {quote(value)} in "
        f"row {row}. Leave it out, or make one list of numbers of each."
    )
