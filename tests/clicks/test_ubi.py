"""Events of UBI: hits, pages, impressions and repeated ids are sessions; what is lost is said."""

import json

import numpy as np
import pytest

from treerank.clicks import read_ubi


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
    with pytest.warns(UserWarning, match="1 clicks on documents that were not shown, of 2 clicks"):
        read_ubi(QUERIES, [event("1", "c"), event("1", "a")], n_positions=2)


def test_hits_are_shown_down_to_the_deepest_impression_or_click():
    events = [event("1", "b", "impression", 2), event("2", "c")]
    assert sessions_of(read_ubi(QUERIES, events)) == {"1": ("ab", ""), "2": ("c", "c")}
    with pytest.warns(UserWarning, match="left out: 1 lists that no event shows"):
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
    with pytest.warns(UserWarning, match="What cannot be read") as caught:
        log = read_ubi([query("1", "shoes", [])], events)
    assert sessions_of(log) == {"1": ("ab", "")}
    assert str(caught[0].message) == (
        "What cannot be read is left out: 1 clicks on documents that were not shown, "
        "2 impressions after a place without one, 1 impressions at the place of another document, "
        "1 impressions that no list of their query has, of 1 clicks in all."
    )


def test_an_id_that_repeats_has_pages_and_what_was_typed_on_the_way():
    queries = [
        *(query("1", "sho", ["x", "y"]), query("1", "sho", []), query("1", "shoes", ["a", "b"])),
        *(query("1", "shoes", ["a", "b"]), query("1", "shoes", ["c", "d"], 2)),
    ]
    events = [event("1", "c", "impression", 3), event("1", "b"), event("1", "y")]
    log = read_ubi(queries, events)
    assert sessions_of(log) == {"1": ("xy", "y"), "1 (2)": ("abc", "b")}
    in_both = [query("1", "sho", ["a", "y"]), query("1", "shoes", ["a", "b"])]
    with pytest.warns(UserWarning, match="1 lists that no event shows"):
        assert sessions_of(read_ubi(in_both, seen("1", "a"))) == {"1 (2)": ("a", "")}
    with pytest.warns(UserWarning, match="1 pages without the page before"):
        read_ubi([*queries, query("1", "shoes", ["z"], 40)], events)


def test_a_list_that_shows_a_document_twice_is_left_out_and_a_missing_one_is_no_document():
    queries = [query("1", "shoes", ["a", "b"]), query("1", "shoes", np.array(["b", "c"]), 2)]
    queries += [query("2", "hats", ["d"]), query("3", "boots", np.nan)]
    with pytest.warns(UserWarning, match="1 lists that show a document twice"):
        assert sessions_of(read_ubi(queries, [event("2", "d")])) == {"2": ("d", "d")}
    with pytest.raises(TypeError, match="actions must be a sequence; got 'click'"):
        read_ubi(queries, [], actions="click")


@pytest.mark.parametrize(
    ("queries", "events", "message"),
    [
        ([{"user_query": "a"}], [], r"must have query_id; got \{'user_query': 'a'\}"),
        (QUERIES, [{"action_name": "click", "query_id": "1"}], "must have object_id"),
        ([query(np.nan, "a", ["b"])], [], "must have query_id; got"),
        (QUERIES[2:], [], "queries must have one with hits that were shown"),
        (["a"], [], "queries must be JSON objects; got 'a'"),
        (QUERIES, [7], "events must be JSON objects; got 7"),
    ],
)
def test_what_lacks_the_fields_that_matter_is_refused(queries, events, message):
    with pytest.raises(ValueError, match=message):
        read_ubi(queries, events)
