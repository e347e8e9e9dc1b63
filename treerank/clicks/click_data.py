"""Click data: the impressions of a log as the arguments of ``fit``."""

from typing import Any, NamedTuple

import numpy as np

from treerank.clicks.counts import ClickCounts
from treerank.clicks.features import features_of
from treerank.clicks.log import ClickLog
from treerank.parameters import check_arguments


class ClickData(NamedTuple):
    """Shown documents and their clicks; ``ranker.fit(**data._asdict())`` learns from them.

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
    >>> sorted(data._asdict())
    ['X', 'position', 'qid', 'sample_weight', 'y']
    """

    X: Any
    y: np.ndarray
    qid: np.ndarray
    position: np.ndarray
    sample_weight: np.ndarray | None = None


@check_arguments
def count_data(
    log: ClickLog | ClickCounts, features: Any, *, query: str = "query", document: str = "document"
) -> ClickData:
    """Return how often documents were clicked, and how often not, at each position.

    There are at most two rows for each document and position, however many sessions there are.

    Parameters
    ----------
    log : ClickLog or ClickCounts
        Sessions and their clicks, or their sums.
    features : data frame, path of a Parquet file, or tuple (X, query, document)
        Features of each document of a query that the log shows.
    query, document : str, default="query" and "document"
        Columns of a data frame that are no features.

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
    counts = log.counts() if isinstance(log, ClickLog) else log
    times = np.concatenate([counts.clicked, counts.shown - counts.clicked])
    some = np.flatnonzero(times)
    y, row = some < len(counts.item), some % len(counts.item)
    shown = counts.items.taking(counts.item[row])
    X = features_of(shown, features, query=query, document=document)
    return ClickData(X, y.astype(float), shown.query, counts.slot[row] + 1, times[some])
