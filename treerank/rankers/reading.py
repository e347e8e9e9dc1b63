"""Reading: documents as users pass them, which are arrays, data frames, files or batches.

All rankers, and all functions that score documents for others, read them here. Where ``X`` is a
path, it is read. Where ``y`` or ``qid`` is text, it is the name of a column of ``X``, which is no
feature. The checks of what was read are those of :mod:`treerank.inputs.documents`.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import shown
from treerank.datasets.formats import PARQUET, format_of, read_ranking_data
from treerank.datasets.ranking_data import Batches
from treerank.inputs.columns import as_frame
from treerank.inputs.documents import (
    check_batches,
    check_documents,
    feature_names_of,
    n_features_of,
    parts_of_eval_set,
)
from treerank.rankers.labels import split_labels

#: What is read besides features.
BOTH = ("y", "qid")


def take_columns(
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    needed: Collection[str] = ("y", "qid"),
    features: Sequence[str] | None = None,
    n_features: int | None = None,
) -> tuple[Any, Any, Any]:
    """Return features, labels and query ids that are a data file or columns of a data frame.

    Parameters
    ----------
    X : path, data frame or array-like
        Documents.
    y, qid : str or array-like, default=None
        Name of a column, or the values; ``None`` is the column ``label`` or ``query`` of a file.
    needed : collection of str, default=("y", "qid")
        Which of the two are read from a file.
    features : sequence of str, default=None
        Columns of a Parquet file that are features; ``None`` is all others.
    n_features : int, default=None
        Number of features of a LETOR file; ``None`` is the highest index in it.

    Returns
    -------
    X, y, qid
        ``X`` without these columns. Arguments that name nothing are returned as they are.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"price": [9.5, 7.0], "clicks": [1, 0], "user": ["a", "a"]})
    >>> X, y, qid = take_columns(frame, "clicks", "user")
    >>> X.columns, y.to_list(), qid.to_list()
    (['price'], [1, 0], ['a', 'a'])
    """
    given = {"y": y, "qid": qid}
    if isinstance(X, str | Path):
        return tuple(_read(Path(X), given, needed, features, n_features))
    X, (y, qid) = take_named(X, **given)
    return X, y, qid


def take_named(X: Any, **given: Any) -> tuple[Any, list[Any]]:
    """Return a data frame without the columns that arguments name, and the values of arguments.

    Examples
    --------
    >>> import polars as pl
    >>> X, (position,) = take_named(pl.DataFrame({"price": [9.5], "rank": [1]}), position="rank")
    >>> X.columns, position.to_list()
    (['price'], [1])
    """
    named = {name: value for name, value in given.items() if isinstance(value, str)}
    if not named:
        return X, list(given.values())
    frame: Any = as_frame(X)
    for name, column in named.items():
        if frame is None or column not in frame.columns:
            found = "an array" if frame is None else f"a data frame of {shown(frame.columns)}"
            raise ValueError(f"{name} must name a column of X; got {shown(column)} and {found}.")
    values = [frame[v].to_native() if isinstance(v, str) else v for v in given.values()]
    return frame.drop(list(named.values())).to_native(), values


def _read(path, given, needed, features, n_features):
    """Read a file; only Parquet files have names of columns."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"{name} must be the name of a column where X is a file; got {shown(value)}."
            )
    if format_of(path) is not PARQUET:
        return read_ranking_data(path, n_features=n_features, label=given["y"], query=given["qid"])
    label = given["y"] or "label" if "y" in needed else None
    query = given["qid"] or "query" if "qid" in needed else None
    return read_ranking_data(path, label=label, query=query, features=features)


def read_columns(
    estimator: Any,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    needed: Collection[str] = BOTH,
    others: Collection[str] = (),
) -> tuple[Any, Any, Any]:
    """Return features, labels and query ids for a fitted estimator, which knows its columns.

    Columns named by ``others`` stay among the features.
    """
    names = feature_names_of(estimator)
    features = None if names is None else [*names, *others]
    n_features = n_features_of(estimator)
    return take_columns(X, y, qid, needed=needed, features=features, n_features=n_features)


def read_share(estimator: Any, X: Any, y: Any, qid: Any) -> tuple[Any, np.ndarray, Any]:
    """Return checked features and labels, and query ids, of documents of one of several workers.

    Those that are read first tell the estimator its columns.
    """
    X, y, qid = take_columns(X, y, qid)
    if split_labels(y) is not None:
        raise ValueError("y must be a single label for several workers.")
    X, y = check_documents(estimator, X, y, reset=n_features_of(estimator) is None)
    return X, y, qid


def read_training_set(
    ranker: Any, X: Any, y: Any, qid: Any, position: Any, *others: Any, reset: bool
) -> tuple[Any, Any, Any, Any]:
    """Return features, labels, queries and positions for ``fit``; ``reset`` forgets the columns."""
    if isinstance(X, Batches):
        _check_reads_batches(ranker)
        refuse_arrays(y, qid, position, *others)
        return *check_batches(ranker, X, reset=reset), None
    if reset:
        X, y, qid = take_columns(X, y, qid)
    else:
        named = [position] if isinstance(position, str) else []
        X, y, qid = read_columns(ranker, X, y, qid, others=named)
    X, (position,) = take_named(X, position=position)
    return X, y, qid, position


def read_eval_set(ranker: Any, eval_set: Any) -> tuple[Any, Any, Any]:
    """Return X, y and qid of an ``eval_set``, which may be a file, batches, or name columns."""
    if isinstance(eval_set, Batches):
        _check_reads_batches(ranker)
        return check_batches(ranker, eval_set, reset=False)
    if isinstance(eval_set, str | Path):
        return read_columns(ranker, eval_set)
    parts = parts_of_eval_set(eval_set)
    return parts if len(eval_set) == 2 else read_columns(ranker, *parts)


def refuse_arrays(*arrays: Any) -> None:
    """Refuse arrays next to batches."""
    if any(array is not None for array in arrays):
        raise ValueError(
            "y, qid, weights, pairs and positions must be None where X is Batches, which hold "
            "labels and query ids."
        )


def _check_reads_batches(ranker):
    """Refuse batches if the ranker needs all rows in memory."""
    if not ranker.reads_batches:
        raise TypeError(
            f"X must be in memory for {shown(ranker)}; only rankers whose feature_part is trees of "
            "LightGBM, of XGBoost or of this package are fitted to Batches."
        )
