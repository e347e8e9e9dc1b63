"""Click data: the impressions of a log as the arguments of ``fit``."""

from typing import Any, NamedTuple

import numpy as np

from treerank.clicks.features import features_of
from treerank.clicks.log import ClickLog
from treerank.parameters import check_arguments


class SessionData(NamedTuple):
    """Shown documents and their clicks; ``ranker.fit(**data._asdict())`` learns from them.

    Attributes
    ----------
    X : data frame or array of shape (n_impressions, n_features)
        Features of the documents.
    y : ndarray of shape (n_impressions,)
        Clicks, 0 or 1.
    qid : ndarray of shape (n_impressions,)
        Session of each document.
    position : ndarray of shape (n_impressions,)
        Position at which each document was shown, from 1.

    Examples
    --------
    >>> SessionData(np.eye(2), np.array([1.0, 0.0]), np.array([7, 7]), np.array([1, 2])).position
    array([1, 2])
    """

    X: Any
    y: np.ndarray
    qid: np.ndarray
    position: np.ndarray


@check_arguments
def session_data(
    log: ClickLog, features: Any, *, query: str = "query", document: str = "document"
) -> SessionData:
    """Return the impressions of a log as features, clicks, sessions and positions.

    Parameters
    ----------
    log : ClickLog
        Sessions and their clicks.
    features : data frame, path of a Parquet file, or tuple (X, query, document)
        Features of each document of a query that the log shows.
    query, document : str, default="query" and "document"
        Columns of a data frame that are no features.

    Returns
    -------
    SessionData

    Examples
    --------
    >>> log = ClickLog.from_columns(["s", "s"], ["q", "q"], ["a", "b"], [1, 2], [0, 1])
    >>> X, y, qid, position = session_data(log, ([[0.5], [0.7]], ["q", "q"], ["a", "b"]))
    >>> y, position
    (array([0., 1.]), array([1, 2]))
    """
    log = log.repeated()
    shown = log.items.taking(log.item)
    X = features_of(shown, features, query=query, document=document)
    return SessionData(X, log.clicked.astype(np.float64), log.session, log.position)
