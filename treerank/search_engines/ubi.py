"""Events of OpenSearch's User Behavior Insights (UBI), read as a click log.

The formats are defined in opensearch-project/user-behavior-insights ``src/main/resources`` and
opensearch-project/opensearch-devops ``sample-data/search-relevance/ubi_queries_events.ndjson``.
There, a query id stands for a visit and not for a response: it repeats for every page, for
aggregations beside the hits, and for queries typed on the way.
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

#: The action of an event that reports a shown document.
_IMPRESSION = "impression"
#: A whole number, as a number or as text.
_ORDINAL = re.compile(r"\s*\d{1,9}(\.0*)?\s*", re.ASCII)
#: Key of clicks in the counts of skipped events.
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

    A session is the list of hits of a ``query_id``, over all its pages, and its query is
    ``user_query``. If there are events named "impression", a list counts as shown down to the
    deepest document with an impression or a click; for queries without hits, impressions also give
    the positions. Several clicks on a document in a session count once. If anything is skipped, a
    warning counts all queries and events by reason.

    Parameters
    ----------
    queries, events : iterable of mapping, or mapping
        Documents of both indexes, as ``json.loads`` returns them, hits that have them as
        ``_source``, or one or several search responses. Documents without ``query_id``,
        ``user_query`` or ``object_id``, which UBI allows, are skipped.
    n_positions : int, default=10
        Number of hits of a query that users saw, if there are no impressions.
    actions : collection of str, default=("click",)
        Names of the actions that count as clicks.

    Returns
    -------
    ClickLog
        Queries without hits and impressions are skipped.

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
    skipped: dict[str, Counter[str]] = {
        "query": Counter(),
        _IMPRESSION: Counter(),
        _CLICK: Counter(),
    }
    query_documents, all_events = _documents("queries", queries), _documents("events", events)
    lists = _lists(query_documents, skipped["query"])
    by_action = Counter(str(_text(event, "action_name")) for event in all_events)
    n_impressions = by_action[_IMPRESSION]
    impressions = _placed(all_events, [_IMPRESSION], skipped[_IMPRESSION])
    clicked = _placed(all_events, actions, skipped[_CLICK])
    from_0 = _counting_from_0([*impressions, *clicked])
    _apply_impressions(lists, impressions, clicked, from_0, skipped[_IMPRESSION])
    for hit_list in (
        hit_list for of_query in lists.values() for hit_list in of_query if not n_impressions
    ):
        hit_list.depth = min(n_positions, len(hit_list.hits))
    clicks = Counter(click[:2] for click in clicked)
    for (query, document), n_events in clicks.items():
        shown_list = _find(lists, query, document, deepen=n_impressions > 0)
        if shown_list is None:
            skipped[_CLICK]["on documents that were not shown"] += n_events
        else:
            shown_list.n_clicks[document] += n_events
    log = _log(lists, skipped)
    n_clicks = sum(by_action[action] for action in {*actions})
    if n_clicks == 0 or any(+reasons for reasons in skipped.values()):
        n_clicked = int(log.clicked.sum())
        is_other = Counter({k: n for k, n in by_action.items() if k not in (_IMPRESSION, *actions)})
        repeats = n_clicks - skipped[_CLICK].total() - n_clicked
        skipped[_CLICK]["that repeat another"] = repeats
        sentences = [
            _sentence(len(query_documents), "queries", skipped["query"]),
            _sentence(n_impressions, "impressions", skipped[_IMPRESSION]),
            _sentence(n_clicks, "clicks", skipped[_CLICK], f"{n_clicked} count; "),
            "" if n_clicks else f"No event has one of the actions {quote([*actions])}.",
            f"Other actions: {_listed(is_other)}." if is_other else "",
        ]
        warn_user(" ".join(["Not all events and queries were read.", *filter(None, sentences)]))
    return log


def _sentence(n: int, noun: str, skipped: Counter[str], kept: str = "") -> str:
    """Return a sentence on how many of ``n`` documents are left out, by reason; "" if none is.

    ``noun`` names the documents, ``kept`` is inserted before the counts, and ``skipped`` are the
    counts.
    """
    return f"Of {n} {noun}, {kept}left out are {_listed(skipped)}." if +skipped else ""


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted((+counts).items()))


@dataclass
class _List:
    """A list of hits of a query, as shown to a user.

    Attributes
    ----------
    query : str
        The query.
    hits : list of str
        Documents in their order.
    depth : int
        Number of hits that were shown.
    n_clicks : Counter
        Number of clicks by document.
    """

    query: str
    hits: list[str]
    depth: int = 0
    #: Number of events by the document that is clicked.
    n_clicks: Counter[str] = field(default_factory=Counter)


def _lists(queries: list[Mapping[str, Any]], skipped: Counter[str]) -> dict[str, list[_List]]:
    """Return the lists of hits by query id; an id without hits has one empty list.

    Pages of a query are joined. Queries that cannot be used are counted in ``skipped`` by reason.
    """
    lists: dict[str, list[_List]] = {}
    for query in queries:
        query_id, text = _text(query, "query_id"), _text(query, "user_query")
        if query_id is None or text is None:
            skipped[f"without {'query_id' if query_id is None else 'user_query'}"] += 1
            continue
        query_lists, hits, start = lists.setdefault(query_id, []), _hits(query), _start(query)
        pages = [item.hits[start : start + len(hits)] for item in query_lists if item.query == text]
        if not query_lists:
            query_lists.append(_List(text, []))
        if hits in pages or not hits:
            continue
        if start and query_lists[-1].query == text and len(query_lists[-1].hits) == start:
            query_lists[-1].hits += hits
        elif start:
            skipped["of a page without the page before"] += 1
        else:
            query_lists.append(_List(text, hits))
    return {
        key: [item for item in query_lists if item.hits] or query_lists
        for key, query_lists in lists.items()
    }


def _placed(
    events: list[Mapping[str, Any]], actions: Collection[str], skipped: Counter[str]
) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return (query id, document, event) of the events whose action is among ``actions``.

    Events without query or document are counted in ``skipped`` by reason.
    """
    placed = []
    for event in events:
        if _text(event, "action_name") in actions:
            query, document = _text(event, "query_id"), _text(_part(event, "object"), "object_id")
            if query is not None and document is not None:
                placed.append((query, document, event))
            else:
                skipped[f"without {'query_id' if query is None else 'object_id'}"] += 1
    return placed


def _apply_impressions(
    lists: dict[str, list[_List]],
    impressions: list[tuple[str, str, Mapping[str, Any]]],
    clicked: list[tuple[str, str, Mapping[str, Any]]],
    counted_from_0: set[str | None],
    skipped: Counter[str],
) -> None:
    """Set the depths of ``lists`` by impressions, in place.

    For queries without hits, they also make the list. ``impressions`` and ``clicked`` are tuples
    (query id, document, event). ``counted_from_0`` are the applications whose first position is 0.
    Impressions that cannot be used are counted in ``skipped`` by reason.
    """
    shown_at: dict[str, dict[int, str]] = {}
    for query, document, event in impressions:
        text, ordinal = _text(event, "user_query"), _ordinal(event)
        if query not in lists and text:
            lists[query] = [_List(text, [])]
        if query not in lists or lists[query][0].hits:
            if _find(lists, query, document, deepen=True) is None:
                skipped["of documents that no list of their query has"] += 1
            continue
        if ordinal is None:
            skipped["without ordinal"] += 1
            continue
        position = ordinal + (_text(event, "application") in counted_from_0)
        if shown_at.setdefault(query, {}).setdefault(position, document) != document:
            skipped["at the position of another document"] += 1
    impression_positions = {query: [*positions] for query, positions in shown_at.items()}
    for query, document, event in clicked:  # which was shown, too
        ordinal = _ordinal(event)
        if query in shown_at and ordinal is not None and document not in shown_at[query].values():
            position = ordinal + (_text(event, "application") in counted_from_0)
            shown_at[query].setdefault(position, document)
    for query, positions in shown_at.items():
        hits = lists[query][0].hits
        while len(hits) + 1 in positions:
            hits.append(positions[len(hits) + 1])
        lists[query][0].depth = len(hits)
        n_behind = sum(position > len(hits) for position in impression_positions[query])
        skipped["behind a position without one"] += n_behind


def _counting_from_0(placed: list[tuple[str, str, Mapping[str, Any]]]) -> set[str | None]:
    """Return the applications of which some event has a document at position 0.

    ``placed`` are tuples (query id, document, event).
    """
    return {_text(event, "application") for *_, event in placed if _ordinal(event) == 0}


def _find(
    lists: dict[str, list[_List]], query: str, document: str, *, deepen: bool
) -> _List | None:
    """Return the last list of a query that shows a document, or None.

    With ``deepen``, a list that holds the document is taken to be shown down to it.
    """
    for hit_list in reversed(lists.get(query, [])):
        if document in hit_list.hits:
            position = hit_list.hits.index(document) + 1
            hit_list.depth = max(hit_list.depth, position * deepen)
            return hit_list if position <= hit_list.depth else None
    return None


def _log(lists: dict[str, list[_List]], skipped: dict[str, Counter[str]]) -> ClickLog:
    """Return the lists as sessions of a click log; the second list of a query id is "ID (2)".

    Lists that show a document twice are skipped, and counted in ``skipped`` by reason.
    """
    rows: list[tuple[Any, ...]] = []
    for query, query_lists in lists.items():
        for number, hit_list in enumerate(query_lists, start=1):
            session = query if number == 1 else f"{query} ({number})"
            skipped["query"]["with hits that no event shows"] += (
                bool(hit_list.hits) and not hit_list.depth
            )
            shown_documents = hit_list.hits[: hit_list.depth]
            if len({*shown_documents}) < len(shown_documents):
                skipped["query"]["whose hits show a document twice"] += 1
                skipped[_CLICK]["in lists that show a document twice"] += hit_list.n_clicks.total()
                continue
            for position, document in enumerate(shown_documents, start=1):
                clicked = document in hit_list.n_clicks
                rows.append((session, hit_list.query, document, position, clicked))
    if not rows:
        reasons = _listed(sum(skipped.values(), Counter())) or "none"
        rule = "queries must have one with hits that were shown"
        raise ValueError(f"{rule}; got {reasons}.")
    return ClickLog.from_columns(*map(np.asarray, zip(*rows, strict=True)))


def _documents(name: str, documents: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return documents of an index as a list; refuse values that are no JSON objects.

    ``documents`` are documents, hits, or search responses. Warns if a response holds only some of
    the documents that were found.
    """
    if isinstance(documents, str | Path):
        advice = f"[json.loads(line) for line in open({quote(str(documents))})] reads lines of JSON"
        raise TypeError(f"{name} must be documents; got the path {quote(documents)}. {advice}.")
    if hasattr(documents, "columns"):
        raise TypeError(
            f"{name} must be a list of documents; got a data frame. Write "
            "frame.to_dict('records') in pandas, frame.to_dicts() in polars, or "
            "table.to_pylist() in Arrow."
        )
    response = json_of_client(documents)
    if isinstance(response, Mapping) and "hits" not in response:
        if "error" in response:
            raise ValueError(f"{name} must be a search response; got {quote(response['error'])}.")
        raise TypeError(f"{name} must be a list of documents; got one: {quote(response)}.")
    rows, n_in_all = list[Mapping[str, Any]](), 0
    for document in [response] if isinstance(response, Mapping) else map(json_of_client, documents):
        if not isinstance(document, Mapping):
            raise ValueError(f"{name} must be JSON objects; got {quote(document)}.")
        answer = document.get("hits")
        if isinstance(answer, Mapping) and isinstance(answer.get("hits"), list):
            rows += [_source(name, hit) for hit in answer["hits"]]
            total: Any = answer.get("total")
            total = total.get("value") if isinstance(total, Mapping) else total
            n_in_all = max(n_in_all, int(total) if is_whole(total) else 0)
        else:
            rows.append(_source(name, document))
    if len(rows) < n_in_all:
        warn_user(
            f"{name} holds {len(rows)} of {n_in_all} documents that were found: a search returns "
            "10 unless size= says more. helpers.scan of the client returns all of an index."
        )
    return rows


def _source(name: str, hit: Any) -> Mapping[str, Any]:
    """Return the ``_source`` of a hit of a search; a document is returned unchanged."""
    document = hit.get("_source", hit) if isinstance(hit, Mapping) else hit
    if not isinstance(document, Mapping) or ("_index" in document and "_id" in document):
        raise ValueError(f"{name} must be documents, or hits with _source; got {quote(hit)}.")
    return document


def _hits(query: Mapping[str, Any]) -> list[str]:
    """Return the ids of the documents of a query in their order; empty if there are none."""
    hits = query.get("query_response_hit_ids")
    if isinstance(hits, list | tuple | np.ndarray):
        return [str(hit) for hit in hits]
    return [str(hits)] if hits and hits == hits else []  # NaN is none, in a data frame


def _start(query: Mapping[str, Any]) -> int:
    """Return the number of hits on earlier pages, by "from" in the request of the search; or 0."""
    try:
        start = json.loads(query["query"])["from"]
    except (KeyError, RecursionError, TypeError, ValueError):  # a request in another language
        return 0
    return start if is_whole(start) and start > 0 else 0


def _ordinal(event: Mapping[str, Any]) -> int | None:
    """Return the position ("ordinal") of an event's document; None if it has none."""
    text = _text(_part(event, "position"), "ordinal")
    return int(text.partition(".")[0]) if text and _ORDINAL.fullmatch(text) else None


def _part(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the mapping ``name`` in an event's attributes, empty if there is none."""
    attributes = event.get("event_attributes")
    part = attributes.get(name) if isinstance(attributes, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _text(document: Mapping[str, Any], name: str) -> str | None:
    """Return the field ``name`` as text, or None without one; a list of one value is its value."""
    value = document.get(name)
    if isinstance(value, list | tuple) and len(value) == 1:  # as every field of an index may
        value = value[0]
    return None if value is None or value != value else str(value)
