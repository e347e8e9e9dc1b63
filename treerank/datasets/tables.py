"""Tables: documents as a data file, or as a data frame with columns for label and query.

Where ``X`` is a path, it is read. Where ``y`` or ``qid`` is text, it is the name of a column of
``X``, which is no feature.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from treerank.checks import shown
from treerank.datasets.formats import PARQUET, format_of, read_ranking_data
from treerank.inputs.columns import as_frame


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
