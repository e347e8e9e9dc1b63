"""Events of OpenSearch's User Behavior Insights (UBI), read as a log of clicks.

The shapes are those of opensearch-project/user-behavior-insights ``src/main/resources`` and of
opensearch-project/opensearch-devops ``sample-data/search-relevance/ubi_queries_events.ndjson``.
There, a query has an id for each visit and not for each answer: it stands again for every page,
for what is counted beside the hits, and for what was typed on the way.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treerank.checks import check_sequence, is_whole, quote, warn_user
from treerank.clicks.log import ClickLog
from treerank.parameters import Count, check_arguments

#: The action of an event that says what was shown.
_SEEN = "impression"


@check_arguments
def read_ubi(
    queries: Iterable[Mapping[str, Any]],
    events: Iterable[Mapping[str, Any]],
    *,
    n_positions: Count = 10,
    actions: Collection[str] = ("click",),
) -> ClickLog:
    """Read the documents of the indexes ``ubi_queries`` and ``ubi_events``.

    A session is a list of hits of a ``query_id``, in their order, with its pages, and its query is
    ``user_query``. If there are events named "impression", a list was shown down to the deepest
    document with one, or with a click; of queries without hits, they tell the positions, too. What
    cannot be read is counted by reason in a warning.

    Parameters
    ----------
    queries, events : iterable of mapping
        Documents of both indexes, as ``json.loads`` returns them.
    n_positions : int, default=10
        Hits of a query that users were shown, if no event is an impression.
    actions : collection of str, default=("click",)
        Names of the actions that count as clicks.

    Returns
    -------
    ClickLog
        Queries without hits and impressions are no sessions.

    Examples
    --------
    >>> queries = [
    ...     {"query_id": "1", "user_query": "shoes", "query_response_hit_ids": ["a", "b"]},
    ...     {"query_id": "2", "user_query": "shoes", "query_response_hit_ids": ["b", "a"]},
    ... ]
    >>> clicked = {"object": {"object_id": "b"}, "position": {"ordinal": 2}}
    >>> events = [{"query_id": "1", "action_name": "click", "event_attributes": clicked}]
    >>> read_ubi(queries, events)
    ClickLog(n_sessions=2, n_items=2, n_positions=2, n_clicks=1)
    """
    check_sequence("actions", actions)
    lost: Counter[str] = Counter()
    lists = _lists(_documents("queries", queries), lost)
    wanted = [e for e in _documents("events", events) if e.get("action_name") in (_SEEN, *actions)]
    seen = [event for event in wanted if event["action_name"] == _SEEN]
    _see(lists, seen, lost)
    for each in (each for own in lists.values() for each in own if not seen):
        each.depth = min(n_positions, len(each.hits))
    clicks = {_place(event) for event in wanted if event["action_name"] in actions}
    for click in clicks:
        found = _find(lists, *click, deepen=bool(seen))
        if found is None:
            lost["clicks on documents that were not shown"] += 1
        else:
            found.clicked.add(click[1])
    log = _log(lists, lost)
    if +lost:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted((+lost).items()))
        warn_user(f"What cannot be read is left out: {reasons}, of {len(clicks)} clicks in all.")
    return log


@dataclass
class _List:
    """A list of hits, how many of them were shown, and which of them were clicked."""

    query: str
    hits: list[str]
    depth: int = 0
    clicked: set[str] = field(default_factory=set)


def _lists(queries: list[Mapping[str, Any]], lost: Counter[str]) -> dict[str, list[_List]]:
    """Return the lists of each query id; one without hits has an empty one."""
    lists: dict[str, list[_List]] = {}
    for query in queries:
        own = lists.setdefault(_field(query, "query_id"), [])
        text, hits, start = _field(query, "user_query"), _hits(query), _start(query)
        known = [each.hits[start : start + len(hits)] for each in own if each.query == text]
        if not own:
            own.append(_List(text, []))
        if hits in known or not hits:
            continue
        if start and own[-1].query == text and len(own[-1].hits) == start:
            own[-1].hits += hits
        elif start:
            lost["pages without the page before"] += 1
        else:
            own.append(_List(text, hits))
    return {key: [each for each in own if each.hits] or own for key, own in lists.items()}


def _see(lists: dict[str, list[_List]], seen: list[Mapping[str, Any]], lost: Counter[str]) -> None:
    """Find the depth of each list, and of queries without hits the list itself."""
    counted_from_0 = {event.get("application") for event in seen if _ordinal(event) == 0}
    found: dict[str, dict[int, str]] = {}
    for event in seen:
        query, document = _place(event)
        if query not in lists and event.get("user_query"):
            lists[query] = [_List(str(event["user_query"]), [])]
        place = _ordinal(event) + (event.get("application") in counted_from_0)
        if query not in lists or lists[query][0].hits:
            if _find(lists, query, document, deepen=True) is None:
                lost["impressions that no list of their query has"] += 1
        elif found.setdefault(query, {}).setdefault(place, document) != document:
            lost["impressions at the place of another document"] += 1
    for query, places in found.items():
        hits = lists[query][0].hits
        while len(hits) + 1 in places:
            hits.append(places[len(hits) + 1])
        lists[query][0].depth = len(hits)
        lost["impressions after a place without one"] += len(places) - len(hits)


def _find(
    lists: dict[str, list[_List]], query: str, document: str, *, deepen: bool
) -> _List | None:
    """Return the last list of a query that shows a document, or would if it was shown further."""
    for each in reversed(lists.get(query, [])):
        if document in each.hits:
            place = each.hits.index(document) + 1
            each.depth = max(each.depth, place * deepen)
            return each if place <= each.depth else None
    return None


def _log(lists: dict[str, list[_List]], lost: Counter[str]) -> ClickLog:
    """Return the lists as sessions; the second one of a query id is named after its number."""
    rows: list[tuple[Any, ...]] = []
    for query, own in lists.items():
        for number, each in enumerate(own, start=1):
            session = query if number == 1 else f"{query} ({number})"
            lost["lists that no event shows"] += bool(each.hits) and not each.depth
            seen = each.hits[: each.depth]
            if len({*seen}) < len(seen):
                lost["lists that show a document twice"] += 1
                continue
            for position, document in enumerate(seen, start=1):
                clicked = document in each.clicked
                rows.append((session, each.query, document, position, clicked))
    if not rows:
        raise ValueError("queries must have one with hits that were shown; got none.")
    return ClickLog.from_columns(*map(np.asarray, zip(*rows, strict=True)))


def _documents(name: str, documents: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return documents as a list; refuse what is no JSON object."""
    found = list(documents)
    for document in found:
        if not isinstance(document, Mapping):
            raise ValueError(f"{name} must be JSON objects; got {quote(document)}.")
    return found


def _hits(query: Mapping[str, Any]) -> list[str]:
    """Return the documents of a query in their order; a single one may stand without a list."""
    hits = query.get("query_response_hit_ids")
    if isinstance(hits, list | tuple | np.ndarray):
        return [str(hit) for hit in hits]
    return [str(hits)] if hits and hits == hits else []  # NaN is none, in a data frame


def _start(query: Mapping[str, Any]) -> int:
    """Return how many hits stand on the pages before, as the request of the search says."""
    try:
        start = json.loads(query["query"])["from"]
    except (KeyError, RecursionError, TypeError, ValueError):  # a request in another language
        return 0
    return start if is_whole(start) and start > 0 else 0


def _place(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return the query id and the document of an event."""
    return _field(event, "query_id"), _field(_part(event, "object"), "object_id")


def _ordinal(event: Mapping[str, Any]) -> int:
    """Return the place of an event's document; -1 if it is not known."""
    ordinal: Any = _part(event, "position").get("ordinal")
    return int(ordinal) if is_whole(ordinal) else -1


def _part(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of an event's attributes, empty if there is none."""
    attributes = event.get("event_attributes")
    part = attributes.get(name) if isinstance(attributes, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _field(document: Mapping[str, Any], name: str) -> str:
    """Return a field as text; refuse a document that lacks it."""
    if (value := document.get(name)) is None or value != value:
        raise ValueError(f"Each document must have {name}; got {quote(dict(document))}.")
    return str(value)
