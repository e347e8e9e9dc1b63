"""Parquet, CSV and TSV files: a column for the label, one for the query, one for each feature.

A path is a file or a folder of Parquet files with the same columns, on this machine or in an object
store; folders in it may be named by columns, as ``year=2026``. Numbers become floats, and missing
values become NaN. Columns of text and of categories stay what they are, and so do lists of numbers,
which are embeddings. A column
``document`` holds ids of documents, and ``comment`` comments as in LETOR files. The index of
a pandas data frame is no feature, and neither are other columns named ``label`` or ``query``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike
from pyarrow import compute
from scipy.sparse import issparse

from treerank.checks import quote, refuse_complex, refuse_masked
from treerank.datasets.csv_files import TextCheck, column_error, csv_writer, is_csv
from treerank.datasets.parquet_files import (
    ParquetFiles,
    as_floats,
    as_ids,
    is_embedding,
    is_number,
    is_text,
)
from treerank.documents.columns import as_frame
from treerank.documents.embeddings import embedding_sizes, with_entries
from treerank.documents.ids import text_ids
from treerank.documents.labels import check_labels
from treerank.documents.ranking_data import Batches, RankingData, checked_comments
from treerank.files.compression import compressed
from treerank.files.object_stores import shown
from treerank.files.replaced import replaced_file
from treerank.parameters import check_arguments, shows_options
from treerank.spelling import spelled


@check_arguments
def read_parquet(
    path: str | Path,
    *,
    label: str | None = "label",
    query: str | None = "query",
    features: str | Sequence[str] | None = None,
    document: str | None = None,
    drop: Sequence[str] | str = (),
    comments: bool = False,
    days_since: str | date | None = None,
    filesystem: Any = None,
    categories: str | Sequence[str] = (),
) -> RankingData:
    """Read a Parquet, CSV or TSV file, or a folder of Parquet files.

    Parameters
    ----------
    path : str or path
        File, or folder with files ``*.parquet``, which are read in the order of their names. CSV
        and TSV files end in ``.csv``, ``.tsv``, ``.csv.gz`` or ``.tsv.gz``. Folders within it that
        are named as in Hive, ``year=2026/month=01``, are read, too: their names become columns of
        numbers, dates or text. Parquet files may be in an object store, as
        ``"s3://bucket/train/"``.
    label : str or None, default="label"
        Column with the relevance, as numbers. Missing values become NaN, the label of unjudged
        documents; with ``None``, all labels are NaN.
    query : str or None, default="query"
        Column of the query ids, of numbers, text or dates; with ``None`` all rows are one query.
        Ids of several columns are for ``fit``, which takes names of columns of a data frame.
    features : str or sequence of str, default=None
        Columns of the features. ``None`` is all columns but label, query and document, those
        named ``label``, ``query``, ``document`` and ``comment``, and the index of a pandas data
        frame. Integers and text named ``id``, ``doc_id``, ``sku`` or the like are then refused.
    document : str, default=None
        Column of the ids of documents, of numbers, text or dates.
    drop : str or sequence of str, default=()
        Columns to ignore.
    comments : bool, default=False
        Whether to keep the columns ``comment`` and ``document``, if they are there.
    days_since : str or date, default=None
        Turns columns of dates and times into features: the days since this date, with fractions;
        missing dates are NaN. Times without a zone are read as UTC. Columns of text are converted,
        too, if all their values are ISO dates, or times that all have a zone or all have none; they
        are read twice for this. ``None`` refuses columns of dates, and leaves texts as they are.
    filesystem : file system of pyarrow or of fsspec, default=None
        File system that holds ``path``. ``None`` is the one that its URL names, or this machine.
    categories : str or sequence of str, default=()
        Columns of a CSV or TSV file that stay text, and so categories, even if all their cells are
        numbers or dates, as of a file of new rows where a column has the sizes 38 and 39, but in
        training also M. Parquet files tell the types of their columns.

    Returns
    -------
    RankingData
        Unpacks as ``X, y, qid``. ``X`` is a table of pyarrow with the names of the features, of
        which ``X.take(rows)`` are the rows of a split. Its numbers are float32 where this
        represents all of them exactly, else float64, in one matrix, which rankers read without a
        copy. A column of lists of numbers is an embedding: each of its entries is a feature.

    Raises
    ------
    ValueError
        If a column is missing or has the wrong type, if a file of a folder has other columns, or if
        a file is damaged or has no rows. The error names the file and the column.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.parquet"
    >>> write_parquet(path, [[0.5, 3.0], [1.0, np.nan]], [2, 0], ["q7", "q7"])
    >>> X, y, qid = read_parquet(path)
    >>> X.column_names, y, qid
    (['feature_1', 'feature_2'], array([2., 0.]), array(['q7', 'q7'], dtype='<U2'))
    """
    columns = label, query, features, document, drop
    files = _opened(path, *columns, comments, days_since, filesystem, categories)
    return _data(files, comments, files.n_rows, files.pieces(_names_read(files)))


@check_arguments
@shows_options(read_parquet)
def read_csv(path: str | Path, **options: Any) -> RankingData:
    r"""Read a CSV or TSV file, plain or gzip, with the parameters of :func:`read_parquet`.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.csv"
    >>> path.write_text("session,sku,clicks,price\n7,a,1,2.5\n7,b,0,3\n") > 0
    True
    >>> data = read_csv(path, label="clicks", query="session", document="sku")
    >>> data.X.column_names, data.y, data.doc_ids
    (['price'], array([1., 0.]), array(['a', 'b'], dtype='<U1'))
    """
    return read_parquet(path, **options)


def parquet_batches(
    path: str | Path,
    *,
    label: str | None = "label",
    query: str | None = "query",
    features: str | Sequence[str] | None = None,
    document: str | None = None,
    drop: Sequence[str] | str = (),
    comments: bool = False,
    days_since: str | date | None = None,
    filesystem: Any = None,
    categories: str | Sequence[str] = (),
    batch_size: int | None = None,
    share: tuple[int, int] = (0, 1),
) -> Batches:
    """Return the rows of Parquet files in batches, with the parameters of :func:`read_parquet`.

    ``batch_size`` is a number of rows; ``None`` is as many as have about four million numbers. A
    share ``(number, of)`` is every ``of``-th row group from ``number`` on.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.parquet"
    >>> write_parquet(path, [[0.5], [1.0], [2.0]], [2, 0, 1], ["q7", "q7", "q8"])
    >>> [batch.y for batch in parquet_batches(path, batch_size=2)]
    [array([2., 0.]), array([1.])]
    """
    columns = label, query, features, document, drop
    files = _opened(path, *columns, comments, days_since, filesystem, categories)
    return Batches(partial(_batches, files, comments, batch_size, share), shown(path))


def _opened(
    path, label, query, features, document, drop, comments, days_since, filesystem, categories
):
    """Open the Parquet or CSV files of :func:`read_parquet`'s arguments, after checking these.

    Refuses a column with two roles, a label among the features, and a feature listed twice.
    """
    roles = {"label": label, "query": query, "document": document}
    for role, name in roles.items():
        if name is not None and not isinstance(name, str):
            raise _name_error(path, role, name, label)
    features = None if features is None else _names("features", features)
    for (role, name), (other, other_name) in combinations(roles.items(), 2):
        if name is not None and name == other_name:
            raise ValueError(
                f"{spelled(role)} and {spelled(other)} must be different columns; got "
                f"{quote(name)} twice."
            )
    for name, count in Counter(features).items():
        if name == label:
            rule = "features must not name the label, which a ranker would only repeat"
            raise ValueError(f"{rule}; got {quote(name)}.")
        if count > 1:
            raise ValueError(f"features must name a column once; got {quote(name)} {count} times.")
    settings = {"comments": comments, "days_since": days_since, "filesystem": filesystem}
    settings["categories"] = _names("categories", categories)
    dropped = _names("drop", drop)
    return ParquetFiles.open(path, label, query, features, document, dropped, **settings)


def _names(argument: str, names: Any) -> list[str]:
    """Return the names of one or several columns as a list; refuse other values."""
    listed = [names] if isinstance(names, str) or not np.iterable(names) else [*names]
    for name in listed:
        if not isinstance(name, str):
            raise TypeError(
                f"{spelled(argument)} must be the name of a column, or a sequence of names; got "
                f"{quote(name)}. Write {argument}=['NAME', ...]."
            )
    return listed


def _name_error(path, role, name, label):
    """Return the TypeError of a column that is not named by a text, but by ``name``."""
    advice = f"Write {spelled(role, 'NAME')}."
    if role == "query" and isinstance(name, list | tuple):
        read = "pandas.read_csv" if is_csv(path) else "pandas.read_parquet"
        fit = f"ranker.fit(frame, {quote(label)}, {quote(tuple(name))})"
        advice = f"Of several columns, write frame = {read}(path), and {fit}."
    return TypeError(
        f"{spelled(role)} must be the name of one column, or None; got {quote(name)}. {advice}"
    )


def _batches(files, comments, batch_size, share):
    """Yield ``RankingData`` of up to ``batch_size`` rows, from one share of the row groups.

    ``comments`` says whether to keep comments; ``share`` is ``(number, of)``.
    """
    names = _names_read(files)
    for table in files.batches(names, batch_size or files.rows_at_once(), share):
        yield _data(files, comments, len(table), [(0, table)])


def _names_read(files: ParquetFiles) -> list[str]:
    """Return the columns to read, once each: label, query, document, comment, then features."""
    special = [files.label, files.query, files.document, files.comment]
    return [*dict.fromkeys(name for name in [*special, *files.features] if name is not None)]


def _data(
    files: ParquetFiles, comments: bool, n_rows: int, pieces: Iterable[tuple[int, pa.Table]]
) -> RankingData:
    """Return ``RankingData`` of ``n_rows`` rows from pieces ``(first row, table of some columns)``.

    Without a label column labels are NaN; without a query column all rows are query 0. ``comments``
    says whether the result has comments.
    """
    X, columns = _features_and_columns(files, n_rows, pieces)
    first, notes = next(iter(files.files)), None
    y, qid, ids = np.full(n_rows, np.nan), np.zeros(n_rows, dtype=np.int64), None
    if files.label is not None:
        y = as_floats(columns[files.label], np.float64)
    if files.query is not None:
        qid = as_ids(first, files.query, columns[files.query])
    if files.document is not None:
        ids = as_ids(first, files.document, columns[files.document])
    if comments:
        texts = columns[files.comment].to_pylist() if files.comment else [""] * n_rows
        notes = np.array([text or "" for text in texts], dtype=object)
    return RankingData(X, y, qid, notes, ids)


@check_arguments
def write_parquet(
    path: str | Path,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike,
    *,
    comments: ArrayLike | None = None,
    label: str = "label",
    query: str = "query",
) -> None:
    """Write a Parquet, CSV or TSV file; reading it gives the same numbers, bit for bit.

    The file is written beside ``path`` and renamed once it is complete.

    Parameters
    ----------
    path, y, qid
        As in :func:`~treerank.datasets.letor.write_letor`.
    X : array-like, data frame or sparse matrix of shape (n_documents, n_features)
        Features. Columns without names are ``feature_1``, ``feature_2`` and so on. Of embeddings,
        a CSV or TSV file has a column of each entry.
    comments : array-like of str of shape (n_documents,), default=None
        Texts of a column ``comment``.
    label, query : str, default="label" and "query"
        Names of the columns of ``y`` and ``qid``.

    Raises
    ------
    ValueError
        If the file would be read with other values: categories of anything but text, and in a CSV
        or TSV file text such as "NA", which stands for a missing value, and categories that are
        all numbers or truth values.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.parquet"
    >>> write_parquet(path, [[0.5], [1.0]], [2, 0], [7, 7], label="clicks")
    >>> read_parquet(path, label="clicks").y
    array([2., 0.])
    """
    refuse_masked("X", X)
    X = X if issparse(X) or as_frame(X) is not None else np.asarray(X)
    if hasattr(X, "dtype"):
        refuse_complex(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must be two-dimensional; got shape {X.shape}.")
    n_rows = X.shape[0]
    labels, queries = check_labels(y, n_rows), text_ids("qid", qid, n_rows)
    data = RankingData(X, labels, queries, checked_comments(comments, n_rows))
    write_parquet_batches(path, [data], label=label, query=query)


def write_parquet_batches(
    path: str | Path,
    batches: Iterable[RankingData],
    *,
    label: str = "label",
    query: str = "query",
    document: str = "document",
) -> None:
    """Write batches of ``RankingData`` to one Parquet, CSV or TSV file, as :func:`write_parquet`.

    ``label``, ``query`` and ``document`` are the names of these columns.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.parquet"
    >>> half = RankingData(np.ones((2, 1)), np.zeros(2), np.array([7, 7]))
    >>> write_parquet_batches(path, [half, half])
    >>> len(read_parquet(path))
    4
    """
    writer, schema = None, None
    texts = TextCheck(path, ids=(query, document, "comment"))
    sizes: dict[str, int] | None = None
    with replaced_file(path) as replaced, compressed(replaced, path) as file:
        try:
            for batch in batches:
                if is_csv(path):  # which has no lists
                    sizes = embedding_sizes([batch.X]) if sizes is None else sizes
                    batch = replace(batch, X=with_entries(batch.X, sizes))
                table = _written(batch, label, query, document)
                _refuse_other_categories(path, table)
                if is_csv(path):
                    texts.add(table)
                    table = _in_double_precision(table)
                schema = schema or table.schema
                if writer is None:
                    new = csv_writer(path) if is_csv(path) else pq.ParquetWriter
                    writer = new(file, schema)
                writer.write_table(table.cast(schema))
            if writer is None:
                raise ValueError("batches must have rows; got no batch.")
            texts.finish()
        finally:
            if writer is not None:
                writer.close()


def _features_and_columns(
    files: ParquetFiles, n_rows: int, pieces: Iterable[tuple[int, pa.Table]]
) -> tuple[pa.Table, dict[str, pa.ChunkedArray]]:
    """Return ``(features, columns)`` of ``n_rows`` rows, read from ``(first row, table)`` pieces.

    ``features`` is an Arrow table whose numeric columns are views of one matrix. ``columns`` maps
    the label, query, document and comment columns, and the features that are not numbers, to Arrow
    columns.
    """
    numbers = [name for name in files.features if is_number(files.schema.field(name).type)]
    column_of = {name: number for number, name in enumerate(numbers)}
    special = {files.label, files.query, files.document, files.comment}
    matrix: Any = None
    chunks: dict[str, list[pa.Array]] = {}
    for first_row, table in pieces:
        if matrix is None:  # a column has been read: the file has as many rows as it says
            matrix = np.empty((n_rows, len(numbers)), dtype=files.dtype, order="F")
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in column_of:
                _fill(matrix[first_row : first_row + len(column), column_of[name]], column)
            if name in special or name not in column_of:
                is_feature = name not in special and is_text(column.type)
                column = column.cast(pa.large_string()) if is_feature else column
                chunks.setdefault(name, []).extend(column.chunks)
        del table, column  # before the next piece is read
    columns = {name: pa.chunked_array(arrays) for name, arrays in chunks.items()}
    by_name = {}
    for name in files.features:
        if name in column_of:
            by_name[name] = pa.array(matrix[:, column_of[name]])  # a view
            continue
        column = columns[name]
        if is_text(column.type):
            column = column.cast(pa.large_string())
        elif not is_embedding(column.type):
            column = column.unify_dictionaries()
        by_name[name] = column
    return pa.table(by_name), columns


def _fill(values, column):
    """Write an Arrow column into the array ``values``, chunk by chunk to save memory."""
    start = 0
    for chunk in column.chunks:
        values[start : start + len(chunk)] = as_floats(chunk, values.dtype)
        start += len(chunk)


def _refuse_other_categories(path: str | Path, table: pa.Table) -> None:
    """Refuse categories of anything but text, of which a file keeps only the values."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
            values = compute.drop_null(column)
            if len(values):
                frame = f"X[{quote(name)}]"
                raise column_error(
                    path,
                    name,
                    "must hold categories of text, since a file does not mark others as such; got "
                    f"{quote(values[0].as_py())}. In pandas, {frame} = "
                    f"{frame}.cat.rename_categories(str) makes text of them; a Parquet file keeps "
                    "it.",
                )


def _in_double_precision(table: pa.Table) -> pa.Table:
    """Return a table with all floats as float64, whose text is read again bit for bit."""
    fields = [
        field.with_type(pa.float64()) if pa.types.is_floating(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _written(data: RankingData, label: str, query: str, document: str) -> pa.Table:
    """Return the Arrow table to write of ``data``: query, label, document, comment, features.

    Document and comment columns are left out where the data have none. Refuses names of ``label``,
    ``query`` and ``document`` that another column has.
    """
    special, roles = [(query, _ids(data.qid)), (label, pa.array(data.y))], [label, query]
    if data.documents is not None:
        special.append((document, _ids(data.documents)))
        roles.append(document)
    if data.comments is not None:
        special.append(("comment", pa.array(data.comments, pa.string())))
    columns = [*special, *_named_columns(data.X).items()]
    if len(dict(columns)) < len(columns):
        named = "label and query" if data.documents is None else "label, query and document"
        rule = f"{named} must be names that no other column has"
        raise ValueError(f"{rule}; got {' and '.join(map(quote, roles))}.")
    return pa.table(dict(columns))


def _ids(qid):
    """Return query or document ids as an Arrow array.

    Refuse what is neither number, text nor date.
    """
    ids = qid.astype(object) if qid.dtype.kind == "U" else qid  # keeps zero characters
    try:
        array = pa.array(ids)
        if pa.types.is_nested(array.type):  # as of tuples of numbers, which no reader takes
            raise pa.ArrowTypeError("ids of several parts")
        return array
    except (pa.ArrowException, OverflowError) as error:
        raise TypeError(
            f"qid must be numbers, text or dates; got {quote(qid)}. Write each id as one text, "
            "such as 'ann, week 7'."
        ) from error


def _with_plain_lists(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return lists of a fixed size as lists of any size, of which a missing one takes no room.

    Many versions of Arrow write no others.
    """
    if not pa.types.is_fixed_size_list(column.type):
        return column
    lists = column.cast(pa.list_(column.type.value_type))
    return lists.take(np.arange(len(lists))) if lists.null_count else lists


def _named_columns(X):
    """Return columns by name: those of a data frame, or ``feature_1``, ... of a matrix."""
    frame = as_frame(X)
    if frame is not None:
        table = frame.to_arrow()  # with the index of a pandas data frame behind the columns
        return {name: _with_plain_lists(table.column(name)) for name in frame.columns}
    matrix = X.toarray() if issparse(X) else X
    return {
        f"feature_{j}": pa.array(np.ascontiguousarray(column, column.dtype.newbyteorder("=")))
        for j, column in enumerate(matrix.T, start=1)
    }
