"""LETOR files: rows of ``label qid:<id> <index>:<value> ... # comment``, read and written.

The format of LETOR, MSLR-WEB, Yahoo's and Istella's sets, and of SVMlight with a query column.
Feature indices count from 1 and rise within a row; a feature that a row does not name is 0;
``NULL`` and ``nan`` are missing values. Blank lines and lines of comment are skipped.
"""

import contextlib
import gzip
import itertools
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral

import numpy as np
from scipy.sparse import issparse

from treerank.datasets.cache import read_through_cache
from treerank.datasets.table import Table
from treerank.files.blocks import expected_size, replaced_file, text_blocks
from treerank.numerics.threads import threads_allowed

_ROWS_AT_ONCE = 1024


def read_letor(
    path, *, n_features=None, sparse=False, dtype=np.float64, comments=False, cache=False
):
    r"""Read a LETOR file, plain or gzip.

    Parameters
    ----------
    path : path-like
        File of rows ``label qid:<id> <index>:<value> ... # comment``. Decompressed when its
        name ends in ``.gz`` or its content is gzip's.
    n_features : int, optional
        Columns of ``X``; by default as many as the highest feature index in the file. A higher
        index is then an error.
    sparse : bool, default False
        Return ``X`` as a ``scipy.sparse.csr_matrix`` of the entries that the file names.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of ``X``. As float64 each value equals ``float(token)``; float32 is that, rounded.
    comments : bool, default False
        Keep the comment of each row, and with it document ids.
    cache : bool, default False
        Keep the result in a binary file beside ``path`` and read it from there next time,
        unless ``path`` has changed.

    Returns
    -------
    RankingData
        Unpacks as ``X, y, qid``; also has ``comments`` and ``doc_ids``.

    Raises
    ------
    ValueError
        Naming file, line and column, both from 1, of the first thing that is wrong. Nothing is
        returned then.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     n_bytes = path.write_text(
    ...         "2 qid:7 1:0.5 3:NULL # docid = GX1\n0 qid:7 2:3 # docid = GX2\n"
    ...     )
    ...     data = read_letor(path, comments=True)
    >>> X, y, qid = data
    >>> X
    array([[0.5, 0. , nan],
           [0. , 3. , 0. ]])
    >>> y, qid, data.doc_ids
    (array([2., 0.]), array([7, 7]), array(['GX1', 'GX2'], dtype=object))
    """
    _check_n_features(n_features)
    _check_dtype(dtype)
    options = {
        "n_features": n_features if n_features is None else int(n_features),
        "is_sparse": bool(sparse),
        "dtype": np.dtype(dtype),
        "keeps_comments": bool(comments),
    }
    if cache:
        return read_through_cache(path, options, _parse_file)
    return _parse_file(path, options)


def _parse_file(path, options):
    with (
        contextlib.closing(text_blocks(path)) as blocks,
        ThreadPoolExecutor(threads_allowed()) as pool,
    ):
        table = Table(path, **options, expected_size=expected_size(path), pool=pool)
        for block in blocks:
            table.append(block)
        return table.finished()


def _check_n_features(n_features):
    if n_features is None:
        return
    if not isinstance(n_features, Integral) or isinstance(n_features, bool):
        raise TypeError(f"n_features must be an int or None; got {n_features!r}.")
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1; got {n_features!r}.")


def _check_dtype(dtype):
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {dtype!r}.")


def write_letor(path, X, y, qid, *, comments=None):
    r"""Write a LETOR file; reading it gives the same numbers, bit for bit.

    The file is written beside ``path`` and put in place once it is whole: a kill in the middle
    leaves the old file or none.

    Parameters
    ----------
    path : path-like
        File to write; compressed when its name ends in ``.gz``.
    X : array-like or scipy.sparse matrix of shape (n_documents, n_features)
        Features. A dense row is written in full, zeros too; of a sparse one only what is stored.
        Reading back a sparse ``X`` whose last columns are empty needs ``n_features``.
    y : array-like of shape (n_documents,)
        Relevance; finite.
    qid : array-like of shape (n_documents,)
        Query ids: integers, or strings without spaces and ``#``.
    comments : array-like of str of shape (n_documents,), optional
        What to write after ``#``; ``""`` for nothing. Spaces around a comment are lost.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     write_letor(path, [[0.5, 3.0]], [2], ["q7"], comments=["docid = GX1"])
    ...     path.read_text()
    '2 qid:q7 1:0.5 2:3 # docid = GX1\n'
    """
    X = _as_sorted(X.tocsr()) if issparse(X) else _as_matrix(X)
    y = _checked_labels(y, X.shape[0])
    qid = _checked_tokens(qid, X.shape[0])
    comments = [""] * X.shape[0] if comments is None else _checked_comments(comments, X.shape[0])
    feature_texts = _sparse_texts if issparse(X) else _dense_texts
    with replaced_file(path) as file, _compressed(file, path) as stream:
        for start in range(0, X.shape[0], _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            rows = zip(y[part], qid[part], feature_texts(X[part]), comments[part], strict=True)
            stream.write("".join(map(_row_text, rows)).encode("utf-8", "surrogateescape"))


def _compressed(file, path):
    if not str(path).endswith(".gz"):
        return contextlib.nullcontext(file)
    return gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)


def _row_text(row):
    label, query, features, comment = row
    tail = f" # {comment}\n" if comment else "\n"
    return f"{label} qid:{query}{features}{tail}"


def _dense_texts(X):
    template = "".join(f" {j}:%r" for j in range(1, X.shape[1] + 1))
    return [_without_point_zero(template % tuple(row)) for row in X.tolist()]


def _sparse_texts(X):
    indices, values = (X.indices + 1).tolist(), X.data.astype(np.float64).tolist()
    entries = [f" {j}:{value!r}" for j, value in zip(indices, values, strict=True)]
    ends = X.indptr.tolist()
    return [
        _without_point_zero("".join(entries[start:end])) for start, end in itertools.pairwise(ends)
    ]


def _without_point_zero(text):
    """Write whole numbers as LETOR files do, 3 for 3.0."""
    return f"{text} ".replace(".0 ", " ")[:-1]


def _as_sorted(X):
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _as_matrix(X):
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional; got shape {X.shape}.")
    return X.astype(np.float64, copy=False)


def _checked_length(name, values, n_rows):
    if len(values) != n_rows:
        raise ValueError(
            f"{name} must have one entry per row of X; got {len(values)} for {n_rows} rows."
        )
    return values


def _checked_labels(y, n_rows):
    y = _checked_length("y", np.asarray(y, dtype=np.float64), n_rows)
    if not np.isfinite(y).all():
        raise ValueError(f"y must be finite; got {float(y[~np.isfinite(y)][0])!r}.")
    return [_without_point_zero(repr(label)) for label in y.tolist()]


def _checked_tokens(qid, n_rows):
    tokens = [str(token) for token in _checked_length("qid", np.asarray(qid), n_rows).tolist()]
    for token in set(tokens):
        if (
            not token
            or "#" in token
            or token.encode("utf-8", "surrogateescape").split()
            != [token.encode("utf-8", "surrogateescape")]
        ):
            raise ValueError(f"qid must be a word without spaces and '#'; got {token!r}.")
    return tokens


def _checked_comments(comments, n_rows):
    comments = [str(comment) for comment in _checked_length("comments", comments, n_rows)]
    for comment in comments:
        if "\n" in comment:
            raise ValueError(f"comments must be of one line; got {comment!r}.")
    return comments
