"""Events of OpenSearch's User Behavior Insights (UBI), read as a log of clicks.

The shapes are those of opensearch-project/user-behavior-insights ``src/main/resources`` and of
opensearch-project/opensearch-devops ``sample-data/search-relevance/ubi_queries_events.ndjson``.
There, a query has an id for each visit and not for each answer: it stands again for every page,
for what is counted beside the hits, and for what was typed on the way.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import check_sequence, is_whole, quote, warn_user
from treerank.clicks.log import ClickLog
from treerank.parameters import Count, check_arguments
from treerank.search_engines.search_answers import json_of_client

#: The action of an event that says what was shown.
_SEEN = "impression"
#: A whole number, as a number or as text.
_ORDINAL = re.compile(r"\s*\d{1,9}(\.0*)?\s*", re.ASCII)
#: The name of what counts as a click, in counts of what is lost.
_CLICK = "click"


@check_arguments
def read_ubi(
    queries: Iterable[Mapping[str, Any]] | Mapping[str, Any],
    events: Iterable[Mapping[str, Any]] | Mapping[str, Any],
    *,
    n_positions: Count = 10,
    actions: Collection[str] = ("click",),
) -> ClickLog:
    """Read the documents of the indexes ``ubi_queries`` and ``ubi_events``.

    A session is a list of hits of a ``query_id``, in their order, with its pages, and its query is
    ``user_query``. If there are events named "impression", a list was shown down to the deepest
    document with one, or with a click; of queries without hits, they tell the positions, too. A
    document is clicked once in a session, however often. If anything cannot be read, a warning
    says what became of all queries and events, by their kinds and reasons.

    Parameters
    ----------
    queries, events : iterable of mapping, or mapping
        Documents of both indexes, as ``json.loads`` returns them, hits that have them as
        ``_source``, or the answer of a search, or several. Those without ``query_id``,
        ``user_query`` or ``object_id``, which UBI allows, cannot be read.
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
    lost: dict[str, Counter[str]] = {"query": Counter(), _SEEN: Counter(), _CLICK: Counter()}
    of_queries, all_events = _documents("queries", queries), _documents("events", events)
    lists = _lists(of_queries, lost["query"])
    by_action = Counter(str(_text(event, "action_name")) for event in all_events)
    n_seen, seen = by_action[_SEEN], _placed(all_events, [_SEEN], lost[_SEEN])
    clicked = _placed(all_events, actions, lost[_CLICK])
    _see(lists, seen, clicked, _counting_from_0([*seen, *clicked]), lost[_SEEN])
    for shown in (shown for of_query in lists.values() for shown in of_query if not n_seen):
        shown.depth = min(n_positions, len(shown.hits))
    clicks = Counter(click[:2] for click in clicked)
    for (query, document), n_events in clicks.items():
        shown_list = _find(lists, query, document, deepen=n_seen > 0)
        if shown_list is None:
            lost[_CLICK]["on documents that were not shown"] += n_events
        else:
            shown_list.n_clicks[document] += n_events
    log = _log(lists, lost)
    n_clicks = sum(by_action[action] for action in {*actions})
    if n_clicks == 0 or any(+reasons for reasons in lost.values()):
        n_clicked = int(log.clicked.sum())
        is_other = Counter({k: n for k, n in by_action.items() if k not in (_SEEN, *actions)})
        repeats = n_clicks - lost[_CLICK].total() - n_clicked
        lost[_CLICK]["that repeat another"] = repeats
        sentences = [
            _sentence(len(of_queries), "queries", lost["query"]),
            _sentence(n_seen, "impressions", lost[_SEEN]),
            _sentence(n_clicks, "clicks", lost[_CLICK], f"{n_clicked} count; "),
            "" if n_clicks else f"No event has one of the actions {quote([*actions])}.",
            f"Other actions: {_listed(is_other)}." if is_other else "",
        ]
        warn_user(" ".join(["Not all events and queries were read.", *filter(None, sentences)]))
    return log


def _sentence(n: int, what: str, lost: Counter[str], kept: str = "") -> str:
    """Return what became of so many documents of a kind; "" if nothing is lost."""
    return f"Of {n} {what}, {kept}left out are {_listed(lost)}." if +lost else ""


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted((+counts).items()))


@dataclass
class _List:
    """A list of hits, how many of them were shown, and which of them were clicked."""

    query: str
    hits: list[str]
    depth: int = 0
    #: Number of events by the document that is clicked.
    n_clicks: Counter[str] = field(default_factory=Counter)


def _lists(queries: list[Mapping[str, Any]], lost: Counter[str]) -> dict[str, list[_List]]:
    """Return the lists of each query id; one without hits has an empty one."""
    lists: dict[str, list[_List]] = {}
    for query in queries:
        query_id, text = _text(query, "query_id"), _text(query, "user_query")
        if query_id is None or text is None:
            lost[f"without {'query_id' if query_id is None else 'user_query'}"] += 1
            continue
        own, hits, start = lists.setdefault(query_id, []), _hits(query), _start(query)
        known = [each.hits[start : start + len(hits)] for each in own if each.query == text]
        if not own:
            own.append(_List(text, []))
        if hits in known or not hits:
            continue
        if start and own[-1].query == text and len(own[-1].hits) == start:
            own[-1].hits += hits
        elif start:
            lost["of a page without the page before"] += 1
        else:
            own.append(_List(text, hits))
    return {key: [each for each in own if each.hits] or own for key, own in lists.items()}


def _placed(
    events: list[Mapping[str, Any]], actions: Collection[str], lost: Counter[str]
) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return query id, document and event of the events of some actions."""
    placed = []
    for event in events:
        if _text(event, "action_name") in actions:
            query, document = _text(event, "query_id"), _text(_part(event, "object"), "object_id")
            if query is not None and document is not None:
                placed.append((query, document, event))
            else:
                lost[f"without {'query_id' if query is None else 'object_id'}"] += 1
    return placed


def _see(
    lists: dict[str, list[_List]],
    seen: list[tuple[str, str, Mapping[str, Any]]],
    clicked: list[tuple[str, str, Mapping[str, Any]]],
    counted_from_0: set[str | None],
    lost: Counter[str],
) -> None:
    """Find the depth of each list, and of queries without hits the list itself."""
    found: dict[str, dict[int, str]] = {}
    for query, document, event in seen:
        text, ordinal = _text(event, "user_query"), _ordinal(event)
        if query not in lists and text:
            lists[query] = [_List(text, [])]
        if query not in lists or lists[query][0].hits:
            if _find(lists, query, document, deepen=True) is None:
                lost["of documents that no list of their query has"] += 1
            continue
        if ordinal is None:
            lost["without ordinal"] += 1
            continue
        place = ordinal + (_text(event, "application") in counted_from_0)
        if found.setdefault(query, {}).setdefault(place, document) != document:
            lost["at the position of another document"] += 1
    of_impressions = {query: [*places] for query, places in found.items()}
    for query, document, event in clicked:  # which was shown, too
        ordinal = _ordinal(event)
        if query in found and ordinal is not None and document not in found[query].values():
            place = ordinal + (_text(event, "application") in counted_from_0)
            found[query].setdefault(place, document)
    for query, places in found.items():
        hits = lists[query][0].hits
        while len(hits) + 1 in places:
            hits.append(places[len(hits) + 1])
        lists[query][0].depth = len(hits)
        n_behind = sum(place > len(hits) for place in of_impressions[query])
        lost["behind a position without one"] += n_behind


def _counting_from_0(placed: list[tuple[str, str, Mapping[str, Any]]]) -> set[str | None]:
    """Return the applications whose first document has ordinal 0, as some event of theirs tells."""
    return {_text(event, "application") for *_, event in placed if _ordinal(event) == 0}


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


def _log(lists: dict[str, list[_List]], lost: dict[str, Counter[str]]) -> ClickLog:
    """Return the lists as sessions; the second one of a query id is named after its number."""
    rows: list[tuple[Any, ...]] = []
    for query, own in lists.items():
        for number, each in enumerate(own, start=1):
            session = query if number == 1 else f"{query} ({number})"
            lost["query"]["with hits that no event shows"] += bool(each.hits) and not each.depth
            seen = each.hits[: each.depth]
            if len({*seen}) < len(seen):
                lost["query"]["whose hits show a document twice"] += 1
                lost[_CLICK]["in lists that show a document twice"] += each.n_clicks.total()
                continue
            for position, document in enumerate(seen, start=1):
                clicked = document in each.n_clicks
                rows.append((session, each.query, document, position, clicked))
    if not rows:
        reasons = _listed(sum(lost.values(), Counter())) or "none"
        rule = "queries must have one with hits that were shown"
        raise ValueError(f"{rule}; got {reasons}.")
    return ClickLog.from_columns(*map(np.asarray, zip(*rows, strict=True)))


def _documents(name: str, documents: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return documents as a list; refuse what is no JSON object."""
    if isinstance(documents, str | Path):
        advice = f"[json.loads(line) for line in open({str(documents)!r})] reads lines of JSON"
        raise TypeError(f"{name} must be documents; got the path {documents}. {advice}.")
    whole = json_of_client(documents)
    if isinstance(whole, Mapping) and "hits" not in whole:
        if "error" in whole:
            raise ValueError(f"{name} must be that of a search; got {quote(whole['error'])}.")
        raise TypeError(f"{name} must be a list of documents; got one: {quote(whole)}.")
    found, n_in_all = list[Mapping[str, Any]](), 0
    for document in [whole] if isinstance(whole, Mapping) else map(json_of_client, documents):
        if not isinstance(document, Mapping):
            raise ValueError(f"{name} must be JSON objects; got {quote(document)}.")
        answer = document.get("hits")
        if isinstance(answer, Mapping) and isinstance(answer.get("hits"), list):
            found += [_source(name, hit) for hit in answer["hits"]]
            total: Any = answer.get("total")
            total = total.get("value") if isinstance(total, Mapping) else total
            n_in_all = max(n_in_all, int(total) if is_whole(total) else 0)
        else:
            found.append(_source(name, document))
    if len(found) < n_in_all:
        warn_user(
            f"{name} holds {len(found)} of {n_in_all} documents that were found: a search returns "
            "10 unless size= says more. helpers.scan of the client returns all of an index."
        )
    return found


def _source(name: str, hit: Any) -> Mapping[str, Any]:
    """Return the document of a hit of a search; what is a document stays as it is."""
    document = hit.get("_source", hit) if isinstance(hit, Mapping) else hit
    if not isinstance(document, Mapping) or ("_index" in document and "_id" in document):
        raise ValueError(f"{name} must be documents, or hits with _source; got {quote(hit)}.")
    return document


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


def _ordinal(event: Mapping[str, Any]) -> int | None:
    """Return the ordinal of an event's document, as a number or as text; None if there is none."""
    text = _text(_part(event, "position"), "ordinal")
    return int(text.partition(".")[0]) if text and _ORDINAL.fullmatch(text) else None


def _part(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of an event's attributes, empty if there is none."""
    attributes = event.get("event_attributes")
    part = attributes.get(name) if isinstance(attributes, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _text(document: Mapping[str, Any], name: str) -> str | None:
    """Return a field as text, or None where there is none; one value may stand in a list."""
    value = document.get(name)
    if isinstance(value, list | tuple) and len(value) == 1:  # as every field of an index may
        value = value[0]
    return None if value is None or value != value else str(value)
