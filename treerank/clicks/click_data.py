"""Click data: the impressions of a log joined with features, as the arguments of ``fit``."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from treerank.checks import naming, quote, refuse_other_order
from treerank.clicks.counts import ClickCounts
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.display.results import html_of, text_of
from treerank.display.tables import counted
from treerank.documents.columns import as_frame
from treerank.documents.ids import joinable_ids
from treerank.lazy import load_object
from treerank.parameters import check_arguments


def features_of(items: Items, features: Any, *, query: str, document: str) -> Any:
    """Return the rows of a table of features that belong to items, in their order.

    ``features``, ``query`` and ``document`` are as in :func:`count_data`. Refuses items without a
    row, and a table with duplicate items.
    """
    X, table_items = _features_and_items(features, query, document)
    rows = table_items.rows_of(items)
    if (rows < 0).any():
        first = items.quote(int(np.argmin(rows)))
        example = (
            "" if (rows >= 0).any() else f" The table has items such as {table_items.quote(0)}."
        )
        raise ValueError(
            f"features must have a row for each document of the log; got none for {first}, and "
            f"{(rows < 0).sum()} are missing in all.{example}"
        )
    frame = as_frame(X)
    return X[rows] if frame is None else frame[rows.tolist()].to_native()


def _features_and_items(features: Any, query: str, document: str) -> tuple[Any, Items]:
    """Return ``(X, items)``: the features of a table, and query and document of each row."""
    if isinstance(features, tuple) and len(features) == 3:
        X, *ids = features
        with naming("features"):
            refuse_other_order({"X": X, "query": ids[0], "document": ids[1]})
        X = X.tocsr() if issparse(X) else X
        X = X if as_frame(X) is not None or hasattr(X, "shape") else np.asarray(X)
        ids = _read_ids(*ids)
        lengths = [X.shape[0], *map(len, ids)]
        if min(lengths) < max(lengths):
            raise ValueError(
                f"features must have equally many rows of X, query and document; got {lengths}."
            )
        return X, _unique_items(*ids)
    if isinstance(features, str | Path):
        read = load_object("treerank.datasets.parquet:read_parquet")
        data = read(features, label=None, query=query, document=document)
        return as_frame(data.X), _unique_items(*_read_ids(data.qid, data.documents))
    frame, needed = as_frame(features, "features"), [query, document]
    if frame is None or not set(needed) <= set(frame.columns):
        got = "no data frame" if frame is None else quote(frame.columns)
        raise ValueError(
            f"features must have the columns {quote(needed)}; got {got}. "
            "Write query='NAME' and document='NAME' for others."
        )
    ids = _read_ids(*(frame[name].to_numpy() for name in needed))
    return frame.drop(needed), _unique_items(*ids)


def _read_ids(query: Any, document: Any) -> list[np.ndarray]:
    """Return query and document of each row of a table as they are in a log."""
    with naming("features"):
        return [joinable_ids("query", query), joinable_ids("document", document)]


def _unique_items(query: np.ndarray, document: np.ndarray) -> Items:
    """Return the items of the rows of a table; refuse duplicates."""
    items = Items(query, document)
    seen: set[Any] = set()
    for row, pair in enumerate(items.pairs()):
        if pair in seen:
            rule = "features must have one row for each document of a query"
            raise ValueError(f"{rule}; got {items.quote(row)} twice.")
        seen.add(pair)
    return items


class ClickData(NamedTuple):
    """Shown documents and their clicks; ``ranker.fit(data)`` learns from them.

    Attributes
    ----------
    X : data frame or array of shape (n_rows, n_features)
        Features of the documents.
    y : ndarray of shape (n_rows,)
        Clicks, 0 or 1.
    qid : ndarray of shape (n_rows,)
        Query of each document.
    position : ndarray of shape (n_rows,)
        Position at which each document was shown, from 1.
    sample_weight : ndarray of shape (n_rows,) or None
        Number of impressions that each row stands for; None is 1.

    Examples
    --------
    >>> data = ClickData(np.eye(2), np.array([1.0, 0.0]), np.array([7, 7]), np.array([1, 2]))
    >>> data.position
    array([1, 2])
    """

    X: Any
    y: np.ndarray
    qid: np.ndarray
    position: np.ndarray
    sample_weight: np.ndarray | None = None

    def _shown(self) -> str:
        rows, clicks = counted(len(self.y), "row"), counted(int(np.sum(self.y)), "click")
        queries = counted(len(np.unique(self.qid)), "query", "queries")
        return f"ClickData({rows}, {queries}, {clicks})"

    def __repr__(self) -> str:
        return text_of(self._shown())

    def _repr_html_(self) -> str:
        return html_of(self._shown())


@check_arguments
def count_data(
    log: ClickLog | ClickCounts, features: Any, *, query: str = "query", document: str = "document"
) -> ClickData:
    """Return the impressions of a log as training data, aggregated by document and position.

    There are at most two rows for each document and position, clicked and not clicked, with their
    number of impressions as ``sample_weight``.

    Parameters
    ----------
    log, features, query, document
        As in :meth:`ClickRelevance.fit <treerank.clicks.relevance.ClickRelevance.fit>`.

    Returns
    -------
    ClickData
        ``qid`` is the query.

    Examples
    --------
    >>> shown = {"session": [1, 1, 2, 2], "query": ["q"] * 4, "document": ["a", "b"] * 2}
    >>> log = ClickLog.from_columns(**shown, position=[1, 2] * 2, click=[0, 1, 0, 0])
    >>> data = count_data(log, ([[0.5], [0.7]], ["q", "q"], ["a", "b"]))
    >>> [column.tolist() for column in (data.y, data.position, data.sample_weight)]
    [[1.0, 0.0, 0.0], [2, 1, 2], [1, 2, 1]]
    """
    counts = log.counts()
    weight = np.concatenate([counts.clicked, counts.shown - counts.clicked])
    nonzero = np.flatnonzero(weight)
    y, row = nonzero < len(counts.item), nonzero % len(counts.item)
    items = counts.items.taking(counts.item[row])
    X = features_of(items, features, query=query, document=document)
    return ClickData(X, y.astype(float), items.query, counts.slot[row] + 1, weight[nonzero])
