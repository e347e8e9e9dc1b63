"""Reading: documents as users pass them, which are arrays, data frames or batches.

All rankers, and all functions that score documents for others, read them here. Where ``y``,
``qid`` or ``position`` is text, it is the name of a column of ``X``, which is no feature. The
checks of what was read are those of :mod:`treerank.inputs.documents`. Files are read before, by
:mod:`treerank.datasets`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import shown
from treerank.datasets.ranking_data import Batches
from treerank.inputs.columns import as_frame
from treerank.inputs.documents import (
    check_batches,
    check_documents,
    n_features_of,
    parts_of_eval_set,
    unpacked,
)
from treerank.rankers.labels import split_labels


def take_columns(X: Any, **given: Any) -> tuple[Any, list[Any]]:
    """Return a data frame without the columns that arguments name, and the values of arguments.

    What is no text is returned as it is.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"price": [9.5, 7.0], "clicks": [1, 0], "user": ["a", "a"]})
    >>> X, (y, qid) = take_columns(frame, y="clicks", qid="user")
    >>> X.columns, y.to_list(), qid.to_list()
    (['price'], [1, 0], ['a', 'a'])
    """
    if isinstance(X, str | Path):
        raise TypeError(
            f"X must be documents in memory; got {shown(X)}. Read a file first, as in "
            "fit(*read_parquet(path))."
        )
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


def read_share(estimator: Any, X: Any, y: Any, qid: Any) -> tuple[Any, np.ndarray, Any]:
    """Return checked features and labels, and query ids, of documents of one of several workers.

    Those that are read first tell the estimator its columns.
    """
    X, (y, qid) = take_columns(X, y=y, qid=qid)
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
    X, (y, qid, position) = take_columns(X, y=y, qid=qid, position=position)
    return X, y, qid, position


def read_eval_sets(ranker: Any, eval_set: Any) -> list[tuple[Any, Any, Any]]:
    """Return X, y and qid of an ``eval_set``, or of each of a list of them."""
    is_list = isinstance(eval_set, list) and eval_set
    several = is_list and all(isinstance(unpacked(each), tuple) for each in eval_set)
    return [read_eval_set(ranker, each) for each in (eval_set if several else [eval_set])]


def read_eval_set(ranker: Any, eval_set: Any) -> tuple[Any, Any, Any]:
    """Return X, y and qid of an ``eval_set``, which may be batches, or name columns."""
    if isinstance(eval_set, Batches):
        _check_reads_batches(ranker)
        return check_batches(ranker, eval_set, reset=False)
    X, y, qid = parts_of_eval_set(eval_set)
    X, (y, qid) = take_columns(X, y=y, qid=qid)
    return X, y, qid


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
