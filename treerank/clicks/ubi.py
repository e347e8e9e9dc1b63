"""Events of OpenSearch's User Behavior Insights (UBI), read as a log of clicks."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from treerank.checks import shown, warn_user
from treerank.clicks.log import ClickLog
from treerank.parameters import Count, check_arguments


@check_arguments
def read_ubi(
    queries: Iterable[Mapping[str, Any]],
    events: Iterable[Mapping[str, Any]],
    *,
    n_positions: Count = 10,
    actions: Collection[str] = ("click",),
) -> ClickLog:
    """Read the documents of the indexes ``ubi_queries`` and ``ubi_events``.

    A session is a ``query_id``; its documents are those of ``query_response_hit_ids`` in their
    order, and its query is ``user_query``. An event is a click if its ``action_name`` says so.

    Parameters
    ----------
    queries, events : iterable of mapping
        Documents of both indexes, as ``json.loads`` returns them.
    n_positions : int, default=10
        Hits of a query that users were shown.
    actions : collection of str, default=("click",)
        Names of the actions that count as clicks.

    Returns
    -------
    ClickLog
        Queries without hits are no sessions.

    Examples
    --------
    >>> queries = [
    ...     {"query_id": "1", "user_query": "shoes", "query_response_hit_ids": ["a", "b"]},
    ...     {"query_id": "2", "user_query": "shoes", "query_response_hit_ids": ["b", "a"]},
    ... ]
    >>> clicked = {"object": {"object_id": "b"}, "position": {"ordinal": 2}}
    >>> events = [{"query_id": "1", "action_name": "click", "event_attributes": clicked}]
    >>> read_ubi(queries, events)
    ClickLog(n_sessions=2, n_items=2, n_positions=2, n_clicks=1, n_sessions_without_click=1)
    """
    clicks = {_clicked(event) for event in events if event.get("action_name") in actions}
    rows: list[tuple[Any, ...]] = []
    seen = set()
    for query in queries:
        session, text = _field(query, "query_id"), _field(query, "user_query")
        if session in seen:
            raise ValueError(f"queries must have each query_id once; got {shown(session)} twice.")
        seen.add(session)
        for position, document in enumerate(_hits(query)[:n_positions], start=1):
            rows.append((session, text, document, position, (session, document) in clicks))
    if not rows:
        raise ValueError("queries must have one with hits; got none.")
    log = ClickLog.from_columns(*map(np.asarray, zip(*rows, strict=True)))
    lost = len(clicks) - int(log.clicked.sum())
    if lost:
        warn_user(
            f"{lost} of {len(clicks)} clicks are on documents that are not among the first "
            f"{n_positions} hits of a query that is known; they are left out."
        )
    return log


def _hits(query: Mapping[str, Any]) -> list[str]:
    """Return the documents of a query in their order; a single one may stand without a list."""
    hits = query.get("query_response_hit_ids") or []
    return [str(hit) for hit in ([hits] if isinstance(hits, str) else hits)]


def _clicked(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return the session and the document of a click."""
    attributes = event.get("event_attributes") or {}
    return _field(event, "query_id"), _field(attributes.get("object") or {}, "object_id")


def _field(document: Mapping[str, Any], name: str) -> str:
    """Return a field as text; refuse a document that lacks it."""
    if document.get(name) is None:
        raise ValueError(f"Each document must have {name}; got {shown(dict(document))}.")
    return str(document[name])
