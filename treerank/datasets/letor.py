"""LETOR files: text files with rows of ``label qid:<id> <index>:<value> ... # comment``.

LETOR, MSLR-WEB, and the data sets of Yahoo and Istella have this format, and so has SVMlight with
query ids. Feature indices count from 1 and rise within a row. A feature that a row does not name is
0; ``NULL`` and ``nan`` are missing values. Blank lines and lines with only a comment are skipped.
"""

import itertools
import math
import reprlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse import issparse

from treerank.checks import (
    check_choice,
    check_count,
    quote,
    refuse_complex,
    refuse_masked,
    refuse_where,
)
from treerank.datasets.letor_parser import LARGEST_INDEX, LONGEST_QID
from treerank.datasets.letor_table import LetorTable, check_density
from treerank.documents.columns import Columns, as_frame
from treerank.documents.embeddings import with_entries
from treerank.documents.ids import text_ids
from treerank.documents.labels import check_labels
from treerank.documents.ranking_data import (
    Batches,
    RankingData,
    checked_comments,
    rows_at_once,
)
from treerank.files.compression import compressed, is_regular_file, open_text, text_blocks
from treerank.files.replaced import replaced_file
from treerank.numerics.threads import threads_allowed
from treerank.parameters import check_arguments
from treerank.spelling import spelled

#: Bytes of text that are read at a time.
BLOCK_SIZE = 2**22
#: Rows that become text at a time, and about how many of their numbers.
_ROWS_AT_ONCE, _CELLS_AT_ONCE = 1024, 2**18


@check_arguments
def read_letor(
    path: str | Path,
    *,
    n_features: int | None = None,
    sparse: bool = False,
    dtype: DTypeLike = np.float64,
    comments: bool = False,
) -> RankingData:
    r"""Read a LETOR file, plain or gzip; a Parquet file made from it is read faster.

    Parameters
    ----------
    path : str or path
        File with rows of ``label qid:<id> <index>:<value> ... # comment``; ``-`` is standard
        input. It is decompressed if its name ends in ``.gz`` or its content is gzip's.
    n_features : int, default=None
        Number of columns of ``X``; a higher feature index is an error. ``None`` takes the highest
        index of the file.
    sparse : bool, default=False
        Whether to return ``X`` as a ``scipy.sparse.csr_matrix`` of the entries in the file.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of ``X``. As float64, each value is ``float(text)``; as float32, this is rounded.
    comments : bool, default=False
        Whether to keep the comment of each row, from which document ids come.

    Returns
    -------
    RankingData
        Unpacks as ``X, y, qid``; also has ``comments`` and ``doc_ids``.

    Raises
    ------
    ValueError
        If the file is not a LETOR file; names the file and the line and column of the first
        error, both from 1. Also if a dense ``X`` would be very large for what the file holds, as
        with a single index of 2,000,000,000, and ``n_features`` does not say that it is meant.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.txt"
    >>> text = "2 qid:7 1:0.5 3:NULL # docid = GX1\n0 qid:7 2:3 # docid = GX2\n"
    >>> n_bytes = path.write_text(text)
    >>> data = read_letor(path, comments=True)
    >>> X, y, qid = data
    >>> X
    array([[0.5, 0. , nan],
           [0. , 3. , 0. ]])
    >>> y, qid, data.doc_ids
    (array([2., 0.]), array([7, 7]), array(['GX1', 'GX2'], dtype=object))
    """
    _check_dtype(dtype)
    _check_width(n_features)
    (data,) = _parts(path, math.inf, n_features, comments, sparse, dtype)
    return data


def _check_width(n_features):
    if n_features is not None:
        check_count("n_features", n_features, at_most=LARGEST_INDEX)


def letor_batches(
    path: str | Path,
    *,
    n_features: int | None = None,
    comments: bool = False,
    batch_size: int | None = None,
) -> Batches:
    r"""Return the rows of a LETOR file in batches; without ``n_features`` it is read once more.

    A batch has at least ``batch_size`` rows, except for the last one; ``None`` is as many as have
    about four million numbers. The query ids of a batch are text if any id in it is;
    without ``n_features``, if any id of the file is.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.txt"
    >>> n_bytes = path.write_text("2 qid:7 1:0.5\n0 qid:7 2:3\n")
    >>> [batch.X.shape for batch in letor_batches(path)]
    [(2, 2)]
    """
    _check_width(n_features)
    if n_features is None and not is_regular_file(path):
        rule = f"{spelled('n_features')} must be set for what is read once"
        raise ValueError(f"{rule}; got {quote(str(path))}.")
    width, has_text = _measured(path) if n_features is None else (n_features, False)
    size, was_read = batch_size or rows_at_once(width), False

    def parts() -> Iterator[RankingData]:
        nonlocal was_read
        if was_read and not is_regular_file(path):
            raise ValueError(f"{path}: must be a file, to be read again.")
        was_read = True
        for part in _parts(path, size, width, comments):
            yield replace(part, qid=part.qid.astype(str)) if has_text else part

    return Batches(parts, path)


def _measured(path):
    """Return ``(highest feature index, whether any query id is text)`` of a LETOR file."""
    width, has_text = 0, False
    for part in _parts(path, 1, None, comments=False, sparse=True):
        width, has_text = max(width, part.X.shape[1]), has_text or part.qid.dtype.kind == "U"
        check_density(str(path), len(part), width, part.X.nnz)
    return width, has_text


def _check_dtype(dtype: Any) -> None:
    """Refuse what is not one of NumPy's types of single and double precision."""
    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError):  # NumPy's errors show all of it
        name = dtype
    check_choice("dtype", name, ("float32", "float64"))


def _parts(path, batch_size, n_features, comments, sparse=False, dtype=np.float64):
    """Yield ``RankingData`` of at least ``batch_size`` rows each, except for the last one.

    ``batch_size=math.inf`` reads the whole file at once. The other arguments are as in
    :func:`read_letor`. A file without rows is an error.
    """
    with open_text(path) as text, ThreadPoolExecutor(threads_allowed()) as pool:
        size = text.expected_size if batch_size == math.inf else 0
        settings = text.name, n_features, sparse, dtype, comments, size, pool
        table, n_rows = LetorTable(*settings), 0
        for block in text_blocks(text, BLOCK_SIZE):
            table.append(block)
            if table.n_rows >= batch_size:
                n_rows += table.n_rows
                yield table.finished()
                table = LetorTable(*settings)
        if table.n_rows or not n_rows:  # without any rows it is an error
            yield table.finished()


@check_arguments
def write_letor(
    path: str | Path, X: Any, y: ArrayLike, qid: ArrayLike, *, comments: ArrayLike | None = None
) -> None:
    r"""Write a LETOR file; reading it gives the same numbers, bit for bit.

    The file is written beside ``path`` and renamed once it is complete, so if the process is
    killed, the old file remains, or none.

    Parameters
    ----------
    path : str or path
        File to write; compressed if its name ends in ``.gz``.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Features. All values of a dense matrix are written, of a sparse one only those stored.
        If the last columns of a sparse matrix are empty, read the file with ``n_features``.
    y : array-like of shape (n_documents,)
        Relevance; finite.
    qid : array-like of shape (n_documents,)
        Query ids: integers, or strings without spaces and ``#``.
    comments : array-like of str of shape (n_documents,), default=None
        Texts after ``#``; ``""`` for none. Spaces around a comment are lost.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.txt"
    >>> write_letor(path, [[0.5, 3.0]], [2], ["q7"], comments=["docid = GX1"])
    >>> path.read_text()
    '2 qid:q7 1:0.5 2:3 # docid = GX1\n'
    """
    notes = None if comments is None else np.asarray(comments, dtype=object)
    write_letor_batches(path, [RankingData(X, np.asarray(y), text_ids("qid", qid), notes)])


def write_letor_batches(path: str | Path, batches: Iterable[RankingData]) -> None:
    """Write ``RankingData`` batch by batch to one LETOR file, as :func:`write_letor` does."""
    with replaced_file(path) as file, compressed(file, path) as stream:
        for batch in batches:
            try:
                for text in _row_texts(batch):
                    stream.write(text.encode("utf-8", "surrogateescape"))
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error


def _row_texts(data):
    """Check ``RankingData``, then yield its rows as LETOR text, many lines at a time."""
    if issparse(data.X):
        refuse_complex(data.X)
    X = _as_sorted(data.X.tocsr()) if issparse(data.X) else _as_matrix(data.X)
    n_rows = X.shape[0]
    labels = check_labels(data.y, n_rows)
    advice = " Leave documents out that are not judged, or write a CSV or Parquet file."
    refuse_where(np.isnan(labels), labels, "y must be finite in a LETOR file", advice)
    queries = _checked_queries(data.qid, n_rows)
    notes = _comment_texts(data.comments, n_rows)
    feature_texts = _sparse_texts if issparse(X) else _dense_texts
    n_at_once = min(_ROWS_AT_ONCE, 1 + _CELLS_AT_ONCE // max(1, X.shape[1]))
    for start in range(0, n_rows, n_at_once):
        part = slice(start, start + n_at_once)
        numbers, names = labels[part].tolist(), queries[part].tolist()
        rows = zip(numbers, names, feature_texts(X[part]), notes[part], strict=True)
        yield "".join(_row_text(*row) for row in rows)


def _row_text(label, query, features, comment):
    """Return one LETOR line, with its newline; an empty ``comment`` is left out.

    ``features`` is text such as `` 1:0.5 2:3``, with a space in front.
    """
    tail = f" # {comment}\n" if comment else "\n"
    return f"{_without_point_zero(repr(label))} qid:{query}{features}{tail}"


def _dense_texts(X):
    """Return a list with the text of the features of each row, such as `` 1:0.5 2:3``."""
    template = "".join(f" {j}:%r" for j in range(1, X.shape[1] + 1))
    rows = X.astype(np.float64, copy=False).tolist()
    return [_without_point_zero(template % tuple(row)) for row in rows]


def _sparse_texts(X):
    """Return a list with the text of the stored entries of each row of a CSR matrix."""
    indices, values = (X.indices + 1).tolist(), X.data.astype(np.float64).tolist()
    entries = [f" {j}:{value!r}" for j, value in zip(indices, values, strict=True)]
    ends = X.indptr.tolist()
    return [
        _without_point_zero("".join(entries[start:end])) for start, end in itertools.pairwise(ends)
    ]


def _without_point_zero(text):
    """Return the text of a row with whole numbers as LETOR files have them: 3 for 3.0."""
    return f"{text} ".replace(".0 ", " ")[:-1]


def _as_sorted(X):
    """Return a CSR matrix with sorted, unique entries; ``X`` itself stays as it is."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _as_matrix(X):
    """Return features as a two-dimensional NumPy array of floats; lists of numbers become columns.

    Refuses categorical columns, masked arrays and complex numbers, which LETOR files do not hold.
    """
    X = with_entries(X)
    categories = Columns.of(X).categories
    if categories:
        frame: Any = as_frame(X)
        names = [frame.columns[number] for number in categories]
        rule = f"X must hold numbers only in a LETOR file; got text in {quote(names)}"
        raise ValueError(f"{rule}. Leave it out, or write a CSV or Parquet file.")
    refuse_masked("X", X)
    X = np.asarray(Columns().numbers(X))
    refuse_complex(X)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional; got shape {X.shape}.")
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _checked_queries(qid, n_rows):
    """Return the query ids as an array; refuse those that a LETOR file cannot hold.

    An id must be one word of UTF-8 text without ``#``, of at most ``LONGEST_QID`` bytes.
    """
    queries = text_ids("qid", qid, n_rows)
    for token in set(map(str, queries.tolist())):
        encoded = token.encode("utf-8", "replace")
        if encoded.decode("utf-8") != token:
            raise ValueError(f"qid must be text in UTF-8; got {reprlib.repr(token)}.")
        if "#" in token or encoded.split() != [encoded] or len(encoded) > LONGEST_QID:
            rule = f"qid must be a word of at most {LONGEST_QID} bytes without spaces and '#'"
            raise ValueError(f"{rule}; got {reprlib.repr(token)}.")
    return queries


def _comment_texts(comments, n_rows):
    """Return a list with the comment of each row as text, "" where there is none.

    Refuses a comment with a line end.
    """
    notes = checked_comments(comments, n_rows)
    texts = [""] * n_rows if notes is None else [str(note) for note in notes]
    for text in texts:
        if "\n" in text or "\r" in text:
            raise ValueError(f"comments must be of one line; got {reprlib.repr(text)}.")
    return texts
