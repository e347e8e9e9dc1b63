"""Columns: the meaning of a table's columns, by which any data frame becomes a float matrix.

Data frames (pandas, polars and others that narwhals reads) are converted. A column of text or of
categories becomes codes: the code of a category is its place among the sorted categories of
``fit``, and a category that ``fit`` has not seen is a missing value. A column of text where ``fit``
had numbers as categories, or of numbers where it had text, is refused. Missing values are NaN.

Arrays and lists are returned unchanged; scikit-learn checks them later. A sparse matrix stays
sparse. Only its values count, not how they are stored. Columns of embeddings, which are lists or
arrays of numbers, are replaced by their entries, see :mod:`treerank.documents.embeddings`.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Real
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse

from treerank.checks import check_count, is_whole, quote, warn_user
from treerank.documents.conversions import (
    category_conversion,
    code_advice,
    conversion_of,
    first_value,
    number_advice,
    shown_type,
    text_conversion,
)
from treerank.documents.date_texts import first_date
from treerank.documents.embeddings import (
    LISTS_OF_TEXT,
    is_text_of_numbers,
    sources_of,
    with_entries,
    with_entries_of,
)
from treerank.documents.number_texts import numbers_among
from treerank.documents.queries import is_missing
from treerank.spelling import has_spelling, spelled

_CATEGORICAL = (nw.Categorical, nw.Enum, nw.String)
#: A column of text with more distinct values, which are also more than half as many as its rows,
#: holds ids or sentences rather than categories.
MOST_TEXT_CATEGORIES = 256
#: Fewer numbers with units may well be categories, such as sizes of a product.
FEW_MEASURES = 20
#: Names of columns that are ids rather than features.
ID_NAMES = frozenset(
    ["asin", "doc", "doc_id", "docid", "document", "document_id", "guid", "id", "item_id", "itemid"]
).union(
    ["product_id", "productid", "qid", "query", "query_id", "queryid", "row_id", "rowid"],
    ["search_id", "session", "session_id", "sku", "srch_id", "unnamed: 0", "url", "user_id"],
    ["userid", "uuid"],
)
#: Names whose last word is "id", as in passage_id and passageId, but not in bid.
_ENDS_IN_ID = re.compile(r"(?i:(?:^|[^a-z])id$)|[a-z]I[dD]$")
#: Names of columns that are labels.
LABEL_NAMES = frozenset(["grade", "judgement", "judgment", "label", "labels", "target"])
#: Names of columns that say what users did with a list, or where it was shown.
BEHAVIOR_NAMES = frozenset(
    ["booking_bool", "booked", "click", "click_bool", "click_count", "clicked", "clicks", "ctr"]
).union(
    ["conversions", "converted", "dwell_time", "impression", "impression_count", "impressions"],
    ["n_clicks", "n_impressions", "num_clicks", "num_impressions", "position", "purchased"],
    ["purchases"],
)
#: Types whose values float32 represents exactly.
_FITS_FLOAT32 = (nw.Float32, nw.Int8, nw.UInt8, nw.Int16, nw.UInt16, nw.Boolean)


@dataclass(frozen=True)
class Columns:
    """The names of the columns of a table, and the categories of those that hold codes.

    Parameters
    ----------
    categories : dict from int to list
        The categories of each categorical column, by its position, in the order of their codes.
    takes_codes : bool, default=False
        Whether arrays are taken, whose categories are codes.
    names : tuple of str, default=None
        Names of all columns, by which the columns of data frames are found.
    library : str, default="pandas"
        Library of the data frame, for advice in messages.

    Examples
    --------
    >>> import pandas as pd
    >>> shop = pd.DataFrame({"price": [9.5, 7.0, 8.0], "color": ["red", "blue", "red"]})
    >>> columns = Columns.of(shop)
    >>> columns.numbers(shop)
    array([[9.5, 1. ], [7. , 0. ], [8. , 1. ]])
    >>> columns.numbers(pd.DataFrame({"price": [1.0], "color": ["green"]}))
    array([[ 1., nan]])
    """

    categories: dict[int, list[Any]] = field(default_factory=dict)
    takes_codes: bool = False
    names: tuple[str, ...] | None = None
    library: str = field(default="pandas", compare=False, repr=False)

    @classmethod
    def of(cls, X: Any, earlier: Iterable["Columns"] = ()) -> Self:
        """Return the columns of a data frame; other kinds of ``X`` have no names and categories.

        ``earlier`` are columns that models were fitted to. Their categories keep their codes, even
        if no row has them, and new categories follow.
        """
        return cls.of_batches([X], earlier)

    @classmethod
    def of_batches(
        cls,
        batches: Iterable[Any],
        earlier: Iterable["Columns"] = (),
        sizes: Mapping[str, int] | None = None,
    ) -> Self:
        """Return the columns of batches of rows together, as :meth:`of` does.

        ``sizes`` are the numbers of entries of embeddings in all batches.
        """
        table = TableValues()
        for X in batches:
            frame = as_frame(with_entries(X, sizes))
            if frame is None:
                return cls()
            table.add(frame)
            if not table.by_position:
                break
        return cls.of_values(table, earlier)

    @classmethod
    def of_values(cls, table: "TableValues", earlier: Iterable["Columns"] = ()) -> Self:
        """Return the columns of a table from its distinct values.

        ``earlier`` are columns of models whose categories keep their codes, see :meth:`of`.
        """
        names = tuple(table.names) if _is_list_of(str, table.names) else None
        columns = cls(names=names, library=table.library)
        models = list(earlier)
        return replace(
            columns,
            categories={
                position: _extended(columns._levels_of(position, models), values.sorted())
                for position, values in table.by_position.items()
            },
        )

    def _levels_of(self, position: int, models: Iterable["Columns"]) -> list[Any]:
        """Return the categories of a column in the first model that has it; empty if none has.

        The column is found by its name, or by its position where the table or the model has none.
        """
        for model in models:
            index: int | None = position
            if self.names is not None and model.names is not None:
                name = self.names[position]
                index = model.names.index(name) if name in model.names else None
            if index is not None and index in model.categories:
                return model.categories[index]
        return []

    def numbers(self, X: Any) -> Any:
        """Return a data frame as a float matrix, copied only if necessary; other X unchanged."""
        frame = as_frame(X)
        if frame is None:
            refuse_records(X)
            self.refuse_arrays_for_categories()
            return X
        dtypes = {*frame.schema.values()}
        if not self.categories and len(dtypes) == 1 and dtypes <= {nw.Float32, nw.Float64}:
            matrix = matrix_below(frame.to_native())
            matrix = frame.to_numpy() if matrix is None else matrix
            if matrix.dtype.kind == "f":  # pandas' own missing values make it an object array
                return matrix
        matrix = np.empty(frame.shape, dtype=_common_dtype(dtypes))
        for index, column in enumerate(frame.iter_columns()):
            matrix[:, index] = self._column(column, index)
        return matrix

    def _column(self, column, index):
        """Return one column as numbers; ``index`` is its position.

        Categories become codes. Refuses other types than in ``fit``, unless all values are missing.
        """
        expected = "categories" if index in self.categories else "numbers"
        if expected == "categories" and column.dtype in (*_CATEGORICAL, nw.Object):
            codes = _codes(column, self.categories[index])
            # Only a column without any category of fit can be of another kind.
            if not np.isnan(codes).all() or _is_of_kind(column, self.categories[index]):
                return codes
        if expected == "numbers" and (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            return _as_doubles(column)
        if expected == "numbers" and column.dtype == nw.Object:
            return _numbers_from_objects(column)
        if all(map(is_missing, column.to_list())):
            return np.nan  # the type of a column without values means nothing
        readable = (*_CATEGORICAL, nw.Boolean, nw.Object)
        is_readable = column.dtype.is_numeric() or column.dtype in readable
        is_readable |= expected == "categories" and column.dtype == nw.Binary  # text in bytes
        rule = f"{expected}, as in fit" if is_readable else "numbers, text or categories"
        shown = shown_type(column)
        if expected == "categories" and is_readable:
            advice = _category_advice(column, self.categories[index])
            if column.dtype in _CATEGORICAL:
                shown += f" of values such as {first_value(column)!r:.80}"
        elif self.takes_codes and column.dtype in (nw.Categorical, nw.Enum):
            advice = code_advice(column)
        elif column.dtype in _CATEGORICAL:
            advice = number_advice(column)
        else:
            advice = conversion_of(column)
        raise TypeError(f"Column {quote(column.name)} of X must hold {rule}; got {shown}. {advice}")

    def refuse_arrays_for_categories(self) -> None:
        """Refuse an array where ``fit`` saw a data frame with categories."""
        if self.categories and not self.takes_codes:
            raise TypeError(
                "X must be a data frame, as in fit, since some of its columns are categories: "
                f"{quote(sorted(self.categories))}; got no column names."
            )


class TableValues:
    """Names of the columns of a table, and the distinct values of those that hold categories.

    The rows may come in batches, and each of several workers may have some of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> tables = pa.table({"color": ["red", "blue"]}), pa.table({"color": ["green"]})
    >>> shards = [TableValues(), TableValues()]
    >>> for shard, table in zip(shards, tables, strict=True):
    ...     shard.add(nw.from_native(table))
    >>> shards[1].join([shard.as_plain() for shard in shards])
    >>> Columns.of_values(shards[1]).categories
    {0: ['blue', 'green', 'red']}
    """

    def __init__(self) -> None:
        self.names: list[Any] = []
        self.library = "pandas"
        self.by_position: dict[int, _Values] = {}

    def add(self, frame: nw.DataFrame[Any], categories: Collection[str] | None = None) -> None:
        """Add rows; ``categories`` are names of categorical columns, by default found by type."""
        self.names, self.library = frame.columns, frame.implementation.value
        categories = text_columns(frame) if categories is None else categories
        for position, name in enumerate(self.names):
            if name in categories:
                values = self.by_position.setdefault(position, _Values(name))
                values.add(frame.get_column(name))

    def as_plain(self) -> list[list[Any]]:
        """Return ``[position, n_rows, is_text, values]`` of each categorical column, for JSON."""
        return [
            [position, values.n_rows, values.is_text, values.checked()]
            for position, values in self.by_position.items()
        ]

    def join(self, tables: Iterable[list[list[Any]]]) -> None:
        """Replace the values of this worker by the values of all workers, its own among them.

        ``tables`` are the results of :meth:`as_plain` of each worker.
        """
        for values in self.by_position.values():
            values.n_rows, values.is_text, values.distinct = 0, False, {}
        for position, n_rows, is_text, distinct in chain.from_iterable(tables):
            values = self.by_position[position]
            values.n_rows += n_rows
            values.is_text |= is_text
            values.distinct |= dict.fromkeys(distinct)


class _Values:
    """The distinct values of a column of categories, added batch by batch."""

    def __init__(self, name: str):
        self.name = name
        self.n_rows, self.is_text = 0, False
        self.sample: Any = None
        self.distinct: dict[Any, None] = {}

    def add(self, column: Any) -> None:
        """Add the values of some rows."""
        values = column.unique().to_list()
        self.distinct |= dict.fromkeys(value for value in values if not is_missing(value))
        self.n_rows += len(column)
        self.is_text |= column.dtype == nw.String
        self.sample = column[:0]

    def checked(self) -> list[Any]:
        """Return the values in order of appearance; refuse values that are not text or numbers."""
        if not all(isinstance(value, str | int | float) for value in self.distinct):
            wrong = next(v for v in self.distinct if not isinstance(v, str | int | float))
            name = f"X[{quote(self.name)}]"
            raise TypeError(
                f"Categories of column {quote(self.name)} of X must be text or numbers; got "
                f"{quote(wrong)}. Encode it as numbers; in pandas, {name} = "
                f"{name}.astype('string').astype('category') makes text of them."
            )
        return list(self.distinct)

    def sorted(self) -> list[Any]:
        """Return the values in an order that does not depend on the rows.

        Refuses dates, numbers and free text among text.
        """
        values = self.checked()
        if self.is_text:
            self._refuse_dates()
            self._refuse_lists()
            self._check_numbers()
            self._refuse_free_text()
        try:
            return sorted(values)
        except TypeError:  # text and numbers
            return sorted(values, key=lambda value: (str(type(value)), value))

    def _refuse_dates(self) -> None:
        """Refuse dates and times as text: as categories, they would lose their order."""
        example = first_date(sorted(self.distinct))
        if example is not None:
            raise ValueError(
                f"Column {quote(self.name)} of X must be numbers, not dates or times as text; got "
                f"{quote(example)}. Encode it as numbers, such as days since a date "
                "(pandas.to_datetime and polars' str.to_datetime read the text), leave it out, or "
                "give it a categorical dtype if its values are categories all the same."
            )

    def _refuse_lists(self) -> None:
        """Refuse embeddings as text, each of which would be a category."""
        if self.distinct and all(map(is_text_of_numbers, self.distinct)):
            raise ValueError(
                f"Column {quote(self.name)} of X must hold lists of numbers, not text of them; got "
                f"{quote(min(self.distinct))}. {LISTS_OF_TEXT} Or give it a categorical dtype if "
                "its values are categories all the same."
            )

    def _check_numbers(self) -> None:
        """Refuse text that surely is numbers, and warn of possible numbers."""
        texts = sorted(self.distinct)
        numbers = numbers_among(texts)
        if numbers is None or str(self.name).lower() in ID_NAMES:  # which are warned of as ids
            return
        conversion = text_conversion(self.sample, texts)
        n_distinct = len(texts)
        if numbers.has_unit and n_distinct > max(FEW_MEASURES, self.n_rows / 2):
            raise ValueError(
                f"Column {quote(self.name)} of X must be numbers, not numbers with units as text, "
                f"each of which would be a category; got {quote(numbers.example)} and "
                f"{quote(numbers.other)}. {conversion} If its values are categories all the same, "
                "give it a categorical dtype."
            )
        if numbers.is_sure:
            raise ValueError(
                f"Column {quote(self.name)} of X must be numbers, not numbers as text; got "
                f"{quote(numbers.example)}. {conversion} If its values are categories all the "
                "same, give it a categorical dtype."
            )
        beside = "" if numbers.other is None else f", beside {quote(numbers.other)}"
        warn_user(
            f"Column {quote(self.name)} of X becomes a category, in which numbers have no order: "
            f"it holds text such as {quote(numbers.example)}{beside}. {conversion} If its values "
            "are categories, give it a categorical dtype."
        )

    def _refuse_free_text(self) -> None:
        """Refuse text that is hardly ever repeated, such as ids, titles and addresses."""
        n_distinct = len(self.distinct)
        if n_distinct > max(MOST_TEXT_CATEGORIES, self.n_rows / 2):
            raise ValueError(
                f"Column {quote(self.name)} of X must not be text of that many values; got "
                f"{n_distinct} distinct values in {self.n_rows} rows. Drop the column before fit "
                "if it holds ids or texts; predict may still get it. Otherwise encode it as "
                "numbers, or give it a categorical dtype if its values are categories all the "
                "same."
            )


def _category_advice(column: Any, levels: Sequence[Any]) -> str:
    """Return advice for a column whose type or kind is not that of the categories of ``fit``.

    ``levels`` are the categories of ``fit``.
    """
    of_fit = f"The categories of fit are {quote([*levels])}."
    advice = category_conversion(column, levels) or of_fit
    is_arrow, are_text = column.implementation.is_pyarrow(), all(isinstance(x, str) for x in levels)
    if is_arrow and are_text and column.dtype.is_numeric() and has_spelling("categories"):
        advice += f" {spelled('categories', [column.name])} of treerank.read_csv keeps the text."
    return advice


def indicator_advice(name: str, library: str = "pandas") -> str:
    """Return how to write a column of zeros and ones for each category of the column ``name``.

    The list of categories is kept, since the rows of a later query lack some of them. ``library``
    is that of the data frame; a table of Arrow becomes a frame of pandas. In the shell, which runs
    no code, it is how to leave the column out.

    Examples
    --------
    >>> print(indicator_advice("color"))
    Keep kinds = sorted(set(X['color'].dropna())), write X['color'] = pd.Categorical(X['color'], \
kinds), then pd.get_dummies(X, columns=['color'], dtype=float): so later rows get the same columns.
    >>> print(indicator_advice("color", "polars"))
    Keep kinds = sorted(X['color'].drop_nulls().unique()), write \
X.with_columns((pl.col('color') == kind).fill_null(False).cast(pl.Float64).alias(f'color_{kind}') \
for kind in kinds).drop('color'): so later rows get the same columns.
    """
    if not has_spelling("X"):
        return f"To leave the column out, write {spelled('drop', name)}."
    column = quote(name)
    if library == "polars":
        indicator = f"(pl.col({column}) == kind).fill_null(False).cast(pl.Float64)"
        alias = quote(f"{name}_{{kind}}")
        return (
            f"Keep kinds = sorted(X[{column}].drop_nulls().unique()), write X.with_columns("
            f"{indicator}.alias(f{alias}) for kind in kinds).drop({column}): so later rows get the "
            "same columns."
        )
    to_pandas = "Write X = X.to_pandas(). " if library == "pyarrow" else ""
    return (
        f"{to_pandas}Keep kinds = sorted(set(X[{column}].dropna())), write X[{column}] = "
        f"pd.Categorical(X[{column}], kinds), then pd.get_dummies(X, columns=[{column}], "
        "dtype=float): so later rows get the same columns."
    )


def _extended(levels: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return levels, followed by the values that are not among them."""
    return [*dict.fromkeys([*levels, *values])]


def check_columns(names: Any, categories: Any, n_features: int) -> None:
    """Refuse names and categories of columns that are not of ``n_features`` columns.

    ``names`` must be None or a list of texts, and ``categories`` a dict from column indices to
    lists.

    Examples
    --------
    >>> check_columns(["price", "color"], {1: ["blue", "red"]}, 2)
    """
    if names is not None and not (_is_list_of(str, names) and len(names) == n_features):
        raise ValueError(f"feature_names must be None or a list of {n_features} texts.")
    if not isinstance(categories, dict):
        raise ValueError("categories must be a dict.")
    for column, values in categories.items():
        check_count("A column of categories", column, at_least=0, at_most=n_features - 1)
        if not _is_list_of(str | int | float, values):
            raise ValueError(f"The categories of column {column} must be a list of plain values.")


def _is_list_of(kinds, values):
    return isinstance(values, list) and all(isinstance(value, kinds) for value in values)


def as_csr(X: Any) -> csr_matrix:
    """Return a CSR matrix with sorted, unique entries and no stored zeros; ``X`` is not changed.

    Examples
    --------
    >>> stored_twice = csr_matrix(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    >>> as_csr(stored_twice).nnz, as_csr(stored_twice).toarray().tolist()
    (1, [[0.0, 3.0], [0.0, 0.0]])
    """
    by_rows = csr_matrix(X)
    if not by_rows.has_canonical_format or not by_rows.data.all():
        by_rows = by_rows.copy()
        by_rows.sum_duplicates()
        by_rows.eliminate_zeros()
    return by_rows


def matrix_below(table: Any) -> np.ndarray | None:
    """Return the matrix of which the columns of a data frame are views, or None if there is none.

    narwhals finds it for the other libraries of data frames; this function does for pyarrow.

    Examples
    --------
    >>> import pyarrow as pa
    >>> X = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    >>> matrix = matrix_below(pa.table({"a": X[:, 0], "b": X[:, 1]}))
    >>> np.shares_memory(matrix, X)
    True
    """
    if type(table).__module__.partition(".")[0] != "pyarrow" or len(table) == 0:
        return None
    if any(column.num_chunks != 1 or column.null_count for column in table.columns):
        return None
    columns = [column.chunk(0) for column in table.columns]
    # Buffers hold all rows of a column, also where the table is a slice of them.
    buffers = [column.buffers()[1] for column in columns]
    size, offset, first = buffers[0].size, columns[0].offset, columns[0].to_numpy()
    # One behind the other: two that are anywhere else would make strides that numpy cannot follow.
    if any(buffer.address != buffers[0].address + i * size for i, buffer in enumerate(buffers)):
        return None
    shapes = {(b.size, c.offset) for b, c in zip(buffers, columns, strict=True)}
    if shapes != {(size, offset)}:
        return None
    import pyarrow as pa

    memory = pa.foreign_buffer(buffers[0].address, size * len(buffers), base=table)
    shape, strides = (len(table), len(columns)), (first.itemsize, size)
    return np.ndarray(shape, first.dtype, memory, offset * first.itemsize, strides)


def refuse_records(X: Any) -> None:
    """Refuse a list of dicts, which data frames are made of.

    Examples
    --------
    >>> refuse_records([{"price": 9.5}])
    Traceback (most recent call last):
    ...
    TypeError: X must be an array or a data frame; got a list of dicts. \
pyarrow.Table.from_pylist(X) is a data frame of them.
    """
    if isinstance(X, Mapping) and not issparse(X):  # the keys of some sparse matrices are cells
        kind, to_frame = "a dict", "pyarrow.table(X) is a data frame of its columns"
    elif are_records(X):
        kind, to_frame = "a list of dicts", "pyarrow.Table.from_pylist(X) is a data frame of them"
    else:
        return
    raise TypeError(f"X must be an array or a data frame; got {kind}. {to_frame}.")


def are_records(X: Any) -> bool:
    """Tell whether ``X`` is a list of dicts, by its first entry.

    Examples
    --------
    >>> are_records([{"price": 9.5}]), are_records([[9.5]]), are_records([])
    (True, False, False)
    """
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)


def frame_of_records(records: Sequence[Mapping[str, Any]], names: Iterable[str]) -> Any:
    """Return dicts as a data frame with the columns of ``fit``, whose features are ``names``.

    Refuses a dict without one of them.

    Examples
    --------
    >>> frame_of_records([{"price": 9.5, "id": "a"}, {"price": None}], ["price"]).to_pydict()
    {'price': [9.5, None]}
    """
    import pyarrow as pa

    columns = dict[str, Any]()
    for name in sources_of(names, records[0]):
        for row, record in enumerate(records):
            if name not in record:
                raise ValueError(
                    f"X must have every feature in each dict, None if missing; {quote(name)} is "
                    f"missing in row {row}."
                )
        values = [None if is_missing(record[name]) else record[name] for record in records]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TypeError(
                f"Column {quote(name)} of X must hold numbers, text or lists of numbers, all of "
                f"one kind; got {quote(values)}."
            ) from error
    return pa.table(columns)


def text_columns(frame: nw.DataFrame[Any]) -> list[Any]:
    """Return the names of the columns of text and of categories.

    Examples
    --------
    >>> import pyarrow as pa
    >>> text_columns(nw.from_native(pa.table({"price": [9.5], "color": ["red"]})))
    ['color']
    """
    schema = frame.schema
    texts = {dtype for dtype in {*schema.values()} if dtype in _CATEGORICAL}  # each type once
    return [name for name, dtype in schema.items() if dtype in texts]


def as_frame(X: Any, name: str = "X") -> nw.DataFrame[Any] | None:
    """Return a narwhals data frame for a data frame in memory, ``None`` for other objects."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:  # pandas and Arrow can hold such columns
        names = Counter(X.columns if hasattr(X, "iloc") else X.column_names)
        column, n = names.most_common(1)[0]
        raise ValueError(
            f"{name} must have a different name for each column; got {n} columns named "
            f"{quote(column)}. Rename or drop all but one."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        advice = "Collect its rows first."
        if type(X).__module__.partition(".")[0] in ("dask", "dask_expr", "pyspark"):
            advice = (
                "treerank.distributed.fit(ranker, frame, label, query) fits to a frame of Dask or "
                "Spark, in which two columns are the label and the query, and "
                "treerank.distributed.predict(ranker, frame) scores one."
            )
        raise TypeError(f"{name} must be in memory; got {type(X)}. {advice}")
    return frame if isinstance(frame, nw.DataFrame) else None


def fitted_columns(X: Any, names: Iterable[str] | None, *, of_other_program: bool = False) -> Any:
    """Return the columns of a data frame that have these names, in their order.

    None takes all columns, by :func:`default_names` if these are their names, or by position.
    Entries of embeddings count as such columns. Refuses a data frame that lacks a column;
    ``of_other_program`` says that the names are of trees that another program has written.

    Examples
    --------
    >>> import pandas as pd
    >>> fitted_columns(pd.DataFrame({"b": [1], "id": [7], "a": [2]}), ["a", "b"]).columns.tolist()
    ['a', 'b']
    """
    frame: Any = as_frame(X)
    if names is None:
        refuse_unordered_numbers(X)
        names = default_names(frame.columns, len(frame.columns)) or frame.columns
    names = list(names)
    if frame.columns == names:
        return X
    frame = with_entries_of(frame, names)
    columns = set(frame.columns)
    missing = [name for name in names if name not in columns]
    if missing:
        # Of entries of an embedding that is there, another column that is missing is the cause.
        missing = [name for name in sources_of(names, columns) if name not in columns] or missing
        advice = ""
        spaced = name_with_spaces(missing[0], frame.columns)
        if of_other_program and spaced is not None:
            advice = (
                f" LightGBM writes {quote(spaced)} so: read_forest(model, feature_names="
                "[*X.columns]) keeps the names, if X has the columns of training."
            )
        raise ValueError(
            f"X must have the columns of fit; {quote(missing[0])} is missing from "
            f"{quote(frame.columns)}.{advice}"
        )
    return frame.select(names).to_native()


def name_with_spaces(name: str, names: Iterable[Any]) -> str | None:
    """Return the only one of some names for which LightGBM writes ``name``, or None.

    Its models have underscores in place of spaces.

    Examples
    --------
    >>> name_with_spaces("bm_25", ["bm 25", "price"]), name_with_spaces("age", ["price"])
    ('bm 25', None)
    """
    found = [other for other in names if str(other).replace(" ", "_") == name]
    return found[0] if len(found) == 1 else None


def default_names(columns: Collection[Any], n_features: int) -> list[str] | None:
    """Return the default names of features without names, if all of them are among ``columns``.

    These are f0, f1, ...; LightGBM's Column_0, Column_1, ...; or feature_1, feature_2, ..., which
    :func:`~treerank.datasets.parquet.write_parquet` gives to columns without names.

    Examples
    --------
    >>> default_names(["f1", "f0", "price"], 2)
    ['f0', 'f1']
    """
    if n_features > len(columns):
        return None
    for stem, first in (("f", 0), ("Column_", 0), ("feature_", 1)):
        names = [f"{stem}{j}" for j in range(first, first + n_features)]
        if {*names} <= {*columns}:
            return names
    return None


def refuse_unordered_numbers(X: Any) -> None:
    """Refuse columns whose names are numbers in another order: they are found by position.

    Examples
    --------
    >>> import pandas as pd
    >>> refuse_unordered_numbers(pd.DataFrame({1: [0.5], 0: [2.0]}))
    Traceback (most recent call last):
    ...
    ValueError: X must have columns in ascending order where their names are numbers, since only \
text names are kept; got [1, 0]. Write X[sorted(X)], or X.set_axis(X.columns.astype(str), axis=1).
    """
    frame: Any = as_frame(X)
    names = frame.columns
    if all(is_whole(name) for name in names) and names != sorted(names):
        raise ValueError(
            "X must have columns in ascending order where their names are numbers, since only text "
            f"names are kept; got {quote([*names])}. Write X[sorted(X)], or "
            "X.set_axis(X.columns.astype(str), axis=1)."
        )


def warn_of_names(X: Any) -> None:
    """Warn of columns of a data frame whose names are usual for ids, labels and clicks."""
    frame: Any = as_frame(X)
    for column_name, dtype in frame.schema.items():
        name = str(column_name).lower()
        if name in BEHAVIOR_NAMES:
            warn_user(
                f"Column {quote(column_name)} of X is a feature, though its name suggests that it "
                "is known only after a list was shown. Leave it out, or name it by the time that "
                "it counts, as in clicks_last_month."
            )
        is_id, is_label = _is_id(frame, column_name, dtype), name in LABEL_NAMES
        if is_id or is_label:
            kind = "an id" if is_id else "a label"
            warn_user(
                f"Column {quote(column_name)} of X is a feature, though its name suggests that it "
                f"is {kind}. Leave it out, as in {call_without(frame, column_name)}; predict may "
                "still get it."
            )


def call_without(frame: nw.DataFrame[Any], columns: Any) -> str:
    """Return how the program of a data frame ``X`` leaves columns out, for a message.

    Examples
    --------
    >>> import polars as pl
    >>> frame = as_frame(pl.DataFrame({"price": [9.5], "id": [7]}))
    >>> call_without(frame, "id")
    "X.drop('id')"
    """
    if frame.implementation.is_pyarrow():
        return f"X.drop_columns({quote(columns)})"
    return f"X.drop({'' if frame.implementation.is_polars() else 'columns='}{quote(columns)})"


def _is_id(frame: Any, column: Any, dtype: Any) -> bool:
    """Tell whether a column is an id by its name, such as ``doc_id``, its type and its values.

    Other names that end in "id" are of ids where most rows have a whole number of their own: few
    values, as of ``brand_id``, may be what a model is to learn from.
    """
    name = str(column)
    if (dtype.is_integer() or dtype == nw.String) and name.lower() in ID_NAMES:
        return True
    if not _ENDS_IN_ID.search(name) or not dtype.is_numeric():
        return False
    values = _as_doubles(frame.get_column(column).drop_nulls())
    values = values[~np.isnan(values)]
    n_distinct = len(np.unique(values))
    is_of_rows = n_distinct > max(FEW_MEASURES, len(values) / 2)
    return bool(is_of_rows and (values == np.floor(values)).all())


def warn_of_new_categories(columns: Columns, X: Any) -> None:
    """Warn of new categories in a data frame from which a fitted model continues to learn.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = Columns({0: ["blue", "red"]}, names=("color",))
    >>> warn_of_new_categories(columns, pd.DataFrame({"color": ["red", "green", None]}))
    Traceback (most recent call last):
    ...
    UserWarning: Column 'color' of X has 1 new categories, such as 'green', which are missing \
values to a fit that goes on from an earlier one. A fit from the start learns them.
    """
    frame: Any = as_frame(X)
    if frame is None:
        return
    names = frame.columns if columns.names is None else columns.names
    for position, levels in columns.categories.items():
        if names[position] not in frame.columns:
            continue
        values = (value for value in frame[names[position]].unique().to_list())
        new = {value for value in values if not is_missing(value)}.difference(levels)
        if new:
            warn_user(
                f"Column {quote(names[position])} of X has {len(new)} new categories, such as "
                f"{quote(min(new, key=str))}, which are missing values to a fit that goes on from "
                "an earlier one. A fit from the start learns them."
            )


def taken_rows(X: Any, rows: ArrayLike) -> Any:
    """Return some rows of a matrix, of a data frame, of a column of one or of a list, by number.

    Examples
    --------
    >>> taken_rows([[1.0], [2.0], [3.0]], [2, 0])
    [[3.0], [1.0]]
    >>> import pandas as pd
    >>> taken_rows(pd.Series(["a", "b"], index=[1, 0]), [0]).tolist()
    ['a']
    """
    rows = np.asarray(rows)
    if isinstance(X, list | tuple):
        return [X[row] for row in rows.tolist()]
    # A series of pandas would look rows up in its index, and a column of Arrow takes no array.
    table: Any = nw.from_native(X, allow_series=True, pass_through=True)
    is_table = isinstance(table, nw.DataFrame | nw.Series)
    return table[rows].to_native() if is_table else X[rows]


def _codes(column, categories):
    """Return the code of each value: its index among the categories, or NaN for other values."""
    code_of = {category: float(code) for code, category in enumerate(categories)}
    values = column.to_list()
    return np.fromiter((code_of.get(value, np.nan) for value in values), float, len(values))


def _is_of_kind(column, categories):
    """Tell whether a value is text, or a number, as a category is; true without any of either."""
    values = {value for value in column.to_list() if not is_missing(value)}
    found, fitted = (
        {kind for kind in (str, Real) if any(isinstance(value, kind) for value in some)}
        for some in (values, categories)
    )
    return not values or not categories or found == fitted or not found.isdisjoint(fitted)


def _as_doubles(column: nw.Series[Any]) -> np.ndarray:
    """Return a column of numbers or flags as doubles; missing values are NaN."""
    if column.dtype not in (nw.Int64, nw.UInt64):
        return column.cast(nw.Float64).to_numpy()
    # Arrow casts no whole number that a double would round, such as a time in nanoseconds.
    numbers = column.fill_null(0).to_numpy().astype(np.float64)
    numbers[column.is_null().to_numpy()] = np.nan
    return numbers


def _numbers_from_objects(column):
    """Return a column of Python objects as numbers, NaN if missing; refuse dates and text."""
    values = [np.nan if is_missing(value) else value for value in column.to_list()]
    try:
        if any(isinstance(value, np.datetime64 | np.timedelta64) for value in values):
            raise TypeError("a date is no number, though NumPy makes one of it")
        return np.fromiter(values, np.float64, len(values))
    except (OverflowError, TypeError, ValueError) as error:
        raise TypeError(
            f"Column {quote(column.name)} of X must hold numbers, text or categories; got "
            f"{shown_type(column)}. {conversion_of(column)}"
        ) from error


def _common_dtype(dtypes):
    """Return the type of a matrix for columns of these types: float32 or float64.

    float32 if it represents all columns exactly and one of them has it.
    """
    narrow = all(dtype in (*_FITS_FLOAT32, *_CATEGORICAL) for dtype in dtypes)
    return np.float32 if narrow and nw.Float32 in dtypes else np.float64
