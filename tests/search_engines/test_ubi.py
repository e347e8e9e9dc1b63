"""Events of UBI: hits, pages, impressions and repeated ids are sessions; what is lost is said."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treerank.search_engines import read_ubi


def query(key, text, hits, start=0):
    """Return a document of ubi_queries, as the plugin writes it."""
    request = json.dumps({"from": start, "size": 20, "query": {"match": {"title": text}}})
    return {"query_id": key, "user_query": text, "query": request, "query_response_hit_ids": hits}


def event(key, document, action="click", ordinal=None, **others):
    """Return a document of ubi_events, as the collector in JavaScript writes it."""
    attributes = {"object": {"object_id": document, "object_id_field": "sku"}}
    if ordinal is not None:
        attributes["position"] = {"ordinal": ordinal}
    return {"query_id": key, "action_name": action, "event_attributes": attributes} | others


def seen(key, documents, first=1, **others):
    """Return an impression of each document, from a first position on."""
    return [
        event(key, document, "impression", place, **others)
        for place, document in enumerate(documents, start=first)
    ]


def sessions_of(log):
    """Return the documents and the clicked ones of each session, by its name."""
    names, documents = log.sessions[log.session], log.items.document[log.item]
    rows = {name: names == name for name in log.sessions.tolist()}
    return {
        name: ("".join(documents[own]), "".join(documents[own & log.clicked]))
        for name, own in rows.items()
    }


QUERIES = [query("1", "shoes", ["a", "b", "c"]), query("2", "boots", "c"), query("3", "none", None)]


def test_hits_are_shown_down_to_a_position():
    events = [event("1", "b"), event("1", "b"), event("2", "c", "hover")]
    log = read_ubi(QUERIES, events, n_positions=2)
    assert sessions_of(log) == {"1": ("ab", "b"), "2": ("c", "")}
    assert set(log.items.query) == {"shoes", "boots"}
    said = "Of 2 clicks, 1 count; left out are 1 on documents that were not shown"
    with pytest.warns(UserWarning, match=said):
        read_ubi(QUERIES, [event("1", "c"), event("1", "a")], n_positions=2)


def test_hits_are_shown_down_to_the_deepest_impression_or_click():
    events = [event("1", "b", "impression", 2), event("2", "c")]
    assert sessions_of(read_ubi(QUERIES, events)) == {"1": ("ab", ""), "2": ("c", "c")}
    with pytest.warns(UserWarning, match="Of 3 queries, left out are 1 with hits that no ev"):
        assert sessions_of(read_ubi(QUERIES, events[:1])) == {"1": ("ab", "")}


@pytest.mark.parametrize("first", [0, 1])
def test_queries_without_hits_have_the_positions_of_impressions(first):
    queries = [query("1", "shoes", []), query("2", "boots", None)]
    events = seen("1", "ab", first, application="shop") + seen("2", "c", first, application="shop")
    events += [*seen("9", "xy", user_query="hats"), event("1", "b")]
    log = read_ubi(queries, events[::-1])
    assert sessions_of(log) == {"1": ("ab", "b"), "2": ("c", ""), "9": ("xy", "")}


def test_impressions_without_a_place_of_their_own_are_said():
    events = seen("1", "ab") + seen("1", "c", 2) + seen("1", "d", 7) + seen("8", "a")
    events += [event("1", "e", "impression"), event("1", "d")]
    with pytest.warns(UserWarning, match="Not all events") as caught:
        log = read_ubi([query("1", "shoes", [])], events)
    assert sessions_of(log) == {"1": ("ab", "")}
    assert str(caught[0].message) == (
        "Not all events and queries were read. Of 6 impressions, left out are "
        "1 at the position of another document, 1 behind a position without one, "
        "1 of documents that no list of their query has, 1 without ordinal. "
        "Of 1 clicks, 0 count; left out are 1 on documents that were not shown."
    )


@pytest.mark.parametrize("kind", [str, float, "{}.0".format, lambda ordinal: [ordinal]])
@pytest.mark.parametrize("first", [0, 1])
def test_fields_may_be_lists_and_ordinals_text(first, kind):
    """An index keeps a list and a value in the same field, and so do its documents."""
    queries = [query("1", "shoes", []) | {"query_id": ["1"], "user_query": ["shoes"]}]
    events = [*seen("1", "ab", first), event("1", "b", ordinal=first + 1)]
    for each in events:
        position = each["event_attributes"]["position"]
        position["ordinal"] = kind(position["ordinal"])
        each |= {"application": ["shop", "app"], "action_name": [each["action_name"]]}
    assert sessions_of(read_ubi(queries, events, actions={"click"})) == {"1": ("ab", "b")}


def test_a_click_is_at_a_position_and_tells_that_an_application_counts_from_0():
    """Of the first document, no impression was sent."""
    events = [*seen("1", "bc", 1, application="shop"), *seen("2", "ab", 1, application="other")]
    events += [event("1", "a", ordinal=0, application="shop"), event("2", "b", ordinal=2)]
    log = read_ubi([query("1", "shoes", None), query("2", "hats", None)], events)
    assert sessions_of(log) == {"1": ("abc", "a"), "2": ("ab", "b")}


def test_a_click_moves_no_document_and_is_no_impression():
    shoes = [query("1", "shoes", None)]
    events = [*seen("1", "ab"), event("1", "a", ordinal=3)]
    assert sessions_of(read_ubi(shoes, events)) == {"1": ("ab", "a")}
    with pytest.warns(UserWarning, match="Not all") as caught:
        read_ubi(shoes, [*seen("1", "ab"), event("1", "f", ordinal=6)])
    assert str(caught[0].message) == (
        "Not all events and queries were read. "
        "Of 1 clicks, 0 count; left out are 1 on documents that were not shown."
    )


class Client:
    """An answer as the client of Elasticsearch wraps it."""

    def __init__(self, body):
        self.body = body


def answer(documents, total=None):
    """Return the answer of a search that returns documents of an index."""
    hits = [{"_index": "ubi", "_id": str(i), "_source": d} for i, d in enumerate(documents)]
    return {"hits": {"total": {"value": total or len(hits), "relation": "eq"}, "hits": hits}}


EVENTS = [event("1", "b"), event("2", "c")]
ANSWERS = {
    "answer": answer,
    "client": lambda documents: Client(answer(documents)),
    "pages": lambda documents: [
        answer(documents[:1], len(documents)),
        Client(answer(documents[1:], len(documents))),
    ],
    "hits": lambda documents: answer(documents)["hits"]["hits"],
    "scan": lambda documents: iter(answer(documents)["hits"]["hits"]),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_of_searches_are_read_as_the_documents_that_they_hold(kind):
    log = read_ubi(ANSWERS[kind](QUERIES), ANSWERS[kind](EVENTS))
    assert sessions_of(log) == sessions_of(read_ubi(QUERIES, EVENTS))


def test_answers_that_lack_documents_are_told():
    with pytest.warns(
        UserWarning, match=r"events holds 2 of 87 documents .* size= .* helpers.scan"
    ):
        read_ubi(QUERIES, answer(EVENTS, 87))
    with pytest.warns(
        UserWarning, match="events holds 2 of 87 documents"
    ):  # of an index that grows
        read_ubi(QUERIES, [answer(EVENTS[:1], 87), answer(EVENTS[1:], 1)])
    for wrong, message in {
        "error": "queries must be a search response; got 'no such index'",
        "_source": "queries must be documents, or hits with _source; got {'_id': '1'",
    }.items():
        given = {"error": "no such index"} if wrong == "error" else [{"_id": "1", "_index": "a"}]
        with pytest.raises(ValueError, match=message):
            read_ubi(given, EVENTS)
    with pytest.raises(
        TypeError, match=r"queries must be a list of documents; got one: \{'query_id'"
    ):
        read_ubi(QUERIES[0], EVENTS)


def test_what_became_of_each_kind_of_event_is_said():
    """Both ids are optional in UBI: one event without them does not refuse a log."""
    queries = [*QUERIES, {"user_query": "a"}, {"query_id": "7"}]
    queries += [query("8", "hats", ["d", "d"])]
    no_document = {"action_name": "click", "query_id": "1"}
    events = [event("1", "b")] * 3 + [event("1", "a"), event("1", "z"), event("1", "z")]
    events += [no_document, event(np.nan, "a"), event(None, "a"), event("8", "d"), {}]
    events += [event("1", "a", "add_to_cart")] * 2
    with pytest.warns(UserWarning, match="Not all") as caught:
        log = read_ubi(queries, events)
    assert sessions_of(log) == {"1": ("abc", "ab"), "2": ("c", "")}
    assert str(caught[0].message) == (
        "Not all events and queries were read. Of 6 queries, left out are "
        "1 whose hits show a document twice, 1 without query_id, 1 without user_query. "
        "Of 10 clicks, 2 count; left out are 1 in lists that show a document twice, "
        "2 on documents that were not shown, 2 that repeat another, 1 without object_id, "
        "2 without query_id. Other actions: 1 None, 2 add_to_cart."
    )
    with pytest.warns(
        UserWarning, match=r"No event has one of the actions \['click'\]. Other .* 2 t"
    ):
        assert len(read_ubi(QUERIES, [event("1", "a", "tap")] * 2)) == 2
    impressions = [*seen("1", "ab"), no_document | {"action_name": "impression"}]
    with pytest.warns(UserWarning, match="Of 3 impressions, left out are 1 without object_id"):
        read_ubi(QUERIES[:1], impressions)


def test_an_id_that_repeats_has_pages_and_what_was_typed_on_the_way():
    queries = [
        *(query("1", "sho", ["x", "y"]), query("1", "sho", []), query("1", "shoes", ["a", "b"])),
        *(query("1", "shoes", ["a", "b"]), query("1", "shoes", ["c", "d"], 2)),
    ]
    events = [event("1", "c", "impression", 3), event("1", "b"), event("1", "y")]
    log = read_ubi(queries, events)
    assert sessions_of(log) == {"1": ("xy", "y"), "1 (2)": ("abc", "b")}
    in_both = [query("1", "sho", ["a", "y"]), query("1", "shoes", ["a", "b"])]
    with pytest.warns(UserWarning, match="1 with hits that no event shows"):
        assert sessions_of(read_ubi(in_both, seen("1", "a"))) == {"1 (2)": ("a", "")}
    with pytest.warns(UserWarning, match="1 of a page without the page before"):
        read_ubi([*queries, query("1", "shoes", ["z"], 40)], events)


def test_a_list_that_shows_a_document_twice_is_left_out_and_a_missing_one_is_no_document():
    queries = [query("1", "shoes", ["a", "b"]), query("1", "shoes", np.array(["b", "c"]), 2)]
    queries += [query("2", "hats", ["d"]), query("3", "boots", np.nan)]
    with pytest.warns(UserWarning, match="1 whose hits show a document twice"):
        assert sessions_of(read_ubi(queries, [event("2", "d")])) == {"2": ("d", "d")}
    with pytest.raises(TypeError, match="actions must be a sequence; got 'click'"):
        read_ubi(queries, [], actions="click")


@pytest.mark.parametrize(
    ("queries", "events", "message"),
    [
        ([query(np.nan, "a", ["b"])], [], "must have one with hits .* got 1 without query_id"),
        (QUERIES[2:], [], "queries must have one with hits that were shown; got none"),
        (["a"], [], "queries must be JSON objects; got 'a'"),
        (QUERIES, [7], "events must be JSON objects; got 7"),
    ],
)
def test_what_has_no_lists_is_refused(queries, events, message):
    with pytest.raises(ValueError, match=message):
        read_ubi(queries, events)


@pytest.mark.parametrize(
    ("frame_of", "call", "documents_of"),
    [
        (pd.DataFrame, "frame.to_dict('records')", lambda frame: frame.to_dict("records")),
        (pl.DataFrame, "frame.to_dicts()", lambda frame: frame.to_dicts()),
        (pa.Table.from_pylist, "table.to_pylist()", lambda table: table.to_pylist()),
    ],
)
def test_a_data_frame_is_refused_with_what_to_write(frame_of, call, documents_of):
    frame, events = frame_of(QUERIES[:1]), [event("1", "b")]
    with pytest.raises(TypeError, match=f"got a data frame.* {re.escape(call)}"):
        read_ubi(frame, events)
    assert sessions_of(read_ubi(documents_of(frame), events)) == {"1": ("abc", "b")}


def test_a_path_is_no_documents():
    with pytest.raises(
        TypeError, match=r"got the path 'a.ndjson'. \[json.loads\(line\) for line in op"
    ):
        read_ubi("a.ndjson", [])
