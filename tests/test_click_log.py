"""Click log: tables, checks, order, counts and subsets of sessions."""

import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

from treerank import QueryKFold
from treerank.clicks import (
    ClickCounts,
    ClickLog,
    Items,
    make_click_log,
    parquet_columns,
    read_ubi,
    simulate_clicks,
)
from treerank.clicks import log as log_module
from treerank.clicks.features import features_of

TABLE = {
    "session": ["t", "s", "s", "u", "u", "u"],
    "query": ["q", "p", "p", "q", "q", "q"],
    "document": [7, 7, 8, 9, 7, 8],
    "position": [1, 2, 1, 3, 1, 2],
    "click": [0, 1, 0, 0, 1, 1],
}


def as_parquet(table, folder):
    pytest.importorskip("pyarrow")
    path = folder / "clicks.parquet"
    pl.DataFrame(table).write_parquet(path)
    return path


def broken(**columns):
    return {name: columns.get(name, column) for name, column in TABLE.items()}


def test_impressions_are_sorted_by_position_and_sessions_by_length():
    log = ClickLog.from_table(TABLE)
    assert log.sessions.tolist() == ["u", "s", "t"]
    assert log.n_at.tolist() == [3, 2, 1]
    assert log.position.tolist() == [1, 1, 1, 2, 2, 3]
    assert log.session.tolist() == [0, 1, 2, 0, 1, 0]
    assert log.items.document[log.item].tolist() == [7, 8, 7, 8, 7, 9]
    assert log.items.query[log.item].tolist() == ["q", "p", "q", "q", "p", "q"]
    assert log.clicked.tolist() == [True, False, False, True, True, False]
    assert log.n_clicks_of_sessions.tolist() == [2, 1, 0]


def as_arrow(table):
    return pytest.importorskip("pyarrow").table(table)


@pytest.mark.parametrize("given", [pd.DataFrame, pl.DataFrame, as_arrow, as_parquet])
def test_every_kind_of_table_makes_the_same_log(given, tmp_path):
    log = ClickLog.from_table(given(TABLE, tmp_path) if given is as_parquet else given(TABLE))
    expected = ClickLog.from_table(TABLE)
    assert repr(log) == repr(expected)
    assert (log.item == expected.item).all()
    assert (log.clicked == expected.clicked).all()
    assert list(log.items.pairs()) == list(expected.items.pairs())
    assert log.sessions.tolist() == expected.sessions.tolist()


def test_columns_may_have_other_names():
    table = {name.upper(): column for name, column in TABLE.items()}
    names = {name: name.upper() for name in TABLE}
    assert ClickLog.from_table(table, **names).n_sessions == 3


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(6)
    log = ClickLog.from_table({name: np.array(column)[order] for name, column in TABLE.items()})
    expected = ClickLog.from_table(TABLE)
    assert (log.item == expected.item).all()
    assert (log.clicked == expected.clicked).all()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (broken(position=[0, 2, 1, 3, 1, 2]), r"position must be 1, 2, .*; got \[0.0\] in session"),
        (broken(position=[1, 2, 1, 4, 1, 2]), r"got \[1.0, 2.0, 4.0\] in session 'u'"),
        (broken(position=[1, 2, 1, 2, 1, 2]), r"got \[1.0, 2.0, 2.0\] in session 'u'"),
        (broken(position=[1, 2, 1, 2.5, 1, 2]), r"got \[1.0, 2.0, 2.5\] in session 'u'"),
        (broken(click=[0, 1, 0, 2, 1, 1]), r"click must be 0 or 1; got 2.0 in row 3\."),
        (broken(click=[0, 1, 0, None, 1, 1]), r"click must be finite; got nan in row 3\."),
        (broken(document=[7, 7, 8, 7, 7, 8]), r"got 7 twice in session 'u'"),
        (broken(query=["q", "p", "p", "q", "q", "p"]), r"query must be the same"),
        (
            broken(session=["t", "s", "s", None, "u", "u"]),
            r"^session must not be missing; got None in row 3",
        ),
        (broken(click=[0, 1]), r"click must have equally many entries; got \[6, 6, 6, 6, 2\]"),
        ({"session": [1]}, r"query must name a column of the log; got 'query' and \['session'\]\."),
    ],
)
def test_bad_input_is_named(table, message):
    with pytest.raises(ValueError, match=message):
        ClickLog.from_table(table)


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="A log must be a Parquet file, a data frame or a mapping"):
        ClickLog.from_table(3)


def test_text_that_a_parquet_file_lacks_is_named_or_kept_as_missing(tmp_path):
    missing = ["a", None, "b", "a", "b", "c"]
    path = as_parquet(broken(document=missing), tmp_path)
    with pytest.raises(ValueError, match=r"^document must not be missing; got None in row 1\."):
        ClickLog.from_table(path)
    log = ClickLog.from_table(as_parquet(TABLE | {"device": missing}, tmp_path), extra=["device"])
    assert set(log.extra["device"]) == {"a", "b", "c", None}


def test_a_parquet_file_without_a_column_is_refused(tmp_path):
    path = as_parquet({"session": [1], "query": [1]}, tmp_path)
    with pytest.raises(ValueError, match=r"'document'"):
        ClickLog.from_table(path)


def test_counts_sum_impressions_and_clicks():
    log = make_click_log(500, random_state=0)
    counts = log.counts()
    assert counts.shown.sum() == len(log.item)
    assert counts.clicked.sum() == log.clicked.sum()
    assert (counts.by_slot(counts.shown) == log.n_at).all()
    assert (counts.by_item(counts.clicked) == np.bincount(log.item, log.clicked)).all()
    i = 7
    at = (log.item == counts.item[i]) & (log.position == counts.slot[i] + 1)
    assert (counts.shown[i], counts.clicked[i]) == (at.sum(), log.clicked[at].sum())


@pytest.mark.parametrize("batch_size", [7, 2**22])
def test_counts_of_a_parquet_file_are_those_of_the_log(tmp_path, batch_size):
    log = make_click_log(500, random_state=0)
    table = {"query": log.items.query[log.item], "document": log.items.document[log.item]}
    table |= {"position": log.position, "click": log.clicked.astype(int)}
    if batch_size > 7:
        table["query"] = table["query"].astype(str)
    counts = ClickCounts.from_parquet(as_parquet(table, tmp_path), batch_size=batch_size)
    expected = log.counts()
    for name in ("item", "slot", "shown", "clicked"):
        assert (getattr(counts, name) == getattr(expected, name)).all()
    assert counts.items.document.tolist() == log.items.document.tolist()
    assert counts.items.query.astype(int).tolist() == log.items.query.tolist()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"position": [1, 0]}, r"position must be 1, 2, ...; got 0.0 in row 1"),
        ({"position": [1, None]}, "position must be finite; got nan in row 1"),
        ({"position": ["1", "2"]}, "position must be numbers; got (large_)?string"),
        ({"click": ["0", "1"]}, "click must be numbers; got (large_)?string"),
        ({"position": [1.5, 2]}, r"position must be 1, 2, ...; got 1.5"),
        ({"position": [1, 10**12]}, "position must be at most 1000000; got 1e\\+12"),
        ({"click": [0, 2]}, "click must be 0 or 1; got 2.0 in row 1"),
        ({"document": [None, 2]}, "'document': must not be missing"),
        ({"query": [float("nan"), 2]}, "'query': must not be missing"),
    ],
)
def test_bad_input_of_counts_is_named(tmp_path, columns, message):
    table = {"query": [1, 1], "document": [1, 2], "position": [1, 2], "click": [0, 1]} | columns
    with pytest.raises((TypeError, ValueError), match=message):
        ClickCounts.from_parquet(as_parquet(table, tmp_path))


def test_more_keys_than_numbers_have_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_columns, "_MOST_KEYS", 3)
    table = {"query": [1, 1], "document": [1, 2], "position": [1, 2], "click": [0, 1]}
    with pytest.raises(ValueError, match="times positions must be at most 3; got 4"):
        ClickCounts.from_parquet(as_parquet(table, tmp_path))


def test_a_subset_of_sessions_keeps_their_impressions_and_may_repeat_them():
    log = ClickLog.from_table(TABLE)
    some = log.taking(np.array([2, 1, 1]))
    assert some.sessions.tolist() == ["s", "s", "t"]
    assert some.n_at.tolist() == [3, 2]
    assert some.items is log.items
    assert some.items.document[some.item].tolist() == [8, 8, 7, 7, 7]
    assert some.clicked.tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("given", [dict, pd.DataFrame, pl.DataFrame, as_parquet])
def test_further_columns_follow_their_impressions(given, tmp_path):
    table = TABLE | {"seconds": [np.nan, 40.0, np.nan, np.nan, 5.0, 6.0], "device": [*"tssuuu"]}
    table = given(table, tmp_path) if given is as_parquet else given(table)
    log = ClickLog.from_table(table, extra=["seconds", "device"])
    assert log.extra["device"].tolist() == log.sessions[log.session].tolist()
    assert log.extra["seconds"][log.clicked].tolist() == [5.0, 6.0, 40.0]
    some = log.taking(np.array([1, 2, 1]))
    assert some.extra["device"].tolist() == some.sessions[some.session].tolist()
    assert log.with_clicks(log.extra["seconds"] > 30).extra is log.extra
    assert ClickLog.from_table(table).extra == {}


def test_a_further_column_that_is_not_there_or_too_short_is_named():
    with pytest.raises(ValueError, match=r"extra\[0\] must name a column of the log; got 'dwell'"):
        ClickLog.from_table(TABLE, extra=["dwell"])
    with pytest.raises(ValueError, match=r"click, dwell must have equally many .*6, 1\]\."):
        ClickLog.from_columns(*TABLE.values(), extra={"dwell": [1]})


@pytest.mark.parametrize(
    ("clicked", "message"),
    [
        (np.zeros(3), "one entry per impression; got 3 for 6"),
        ([0, 1, 2, 0, 0, 0], "0 or 1; got 2.0"),
    ],
)
def test_other_clicks_are_checked(clicked, message):
    with pytest.raises(ValueError, match=f"click must (be|have) {message}"):
        ClickLog.from_table(TABLE).with_clicks(clicked)


def test_features_that_do_not_fit_are_named():
    items, X = Items(np.array([1, 1]), np.array([7, 8])), [[0.5], [0.7]]
    with pytest.raises(ValueError, match=r"got none for \(1, 7\).* are like \('1', '7'\)\."):
        features_of(items, (X, ["1", "1"], ["7", "8"]), query="", document="")
    with pytest.raises(ValueError, match=r"equally many rows of X, query .* got \[2, 1, 2\]"):
        features_of(items, (X, [1], [7, 8]), query="", document="")


def test_sessions_are_split_by_query():
    log = make_click_log(500, random_state=0)
    train, test = next(QueryKFold(5).split(log.sessions, None, log.query))
    assert len(train) + len(test) == log.n_sessions
    assert not set(log.taking(train).query) & set(log.taking(test).query)


def test_items_are_found_by_query_and_document():
    items = Items(np.array(["a", "a", "b"]), np.array([1, 2, 1]))
    others = Items(np.array(["b", "b", "a"]), np.array([1, 2, 2]))
    assert items.rows_of(others).tolist() == [2, -1, 1]


def test_simulated_users_examine_by_position_and_click_by_label():
    y, qid = np.array([0, 4, 0, 4]), [1, 1, 2, 2]
    log = simulate_clicks(y, qid, [2, 1, 1, 2], n_sessions=20_000, exploration=0.0, random_state=0)
    rates = log.counts().clicked / log.counts().shown
    assert rates == pytest.approx([0.1, 0.5, 0.05, 1.0], abs=0.02)
    assert log.counts().slot.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("label", "message"), [(-1, "not be negative .*; got -1"), (2000, "at most 1000")]
)
def test_labels_without_a_gain_simulate_no_clicks(label, message):
    with pytest.raises(ValueError, match=f"y must .*{message}"):
        simulate_clicks([0, label], [1, 1], [0.5, 0.1])


UBI_QUERIES = [
    {"query_id": "1", "user_query": "shoes", "query_response_hit_ids": ["a", "b", "c"]},
    {"query_id": "2", "user_query": "boots", "query_response_hit_ids": "c"},
    {"query_id": "3", "user_query": "nothing", "query_response_hit_ids": None},
]


def ubi_event(session, document, action="click"):
    attributes = {"object": {"object_id": document}}
    return {"query_id": session, "action_name": action, "event_attributes": attributes}


def test_events_of_ubi_are_a_log():
    events = [ubi_event("1", "b"), ubi_event("1", "b"), ubi_event("2", "c", "hover")]
    log = read_ubi(UBI_QUERIES, events, n_positions=2)
    assert log.sessions.tolist() == ["1", "2"]
    assert log.items.document[log.item].tolist() == ["a", "c", "b"]
    assert log.items.query[log.item].tolist() == ["shoes", "boots", "shoes"]
    assert log.clicked.tolist() == [False, False, True]


def test_clicks_of_ubi_on_what_was_not_shown_are_a_warning():
    with pytest.warns(UserWarning, match="1 of 2 clicks are on documents that are not among"):
        read_ubi(UBI_QUERIES, [ubi_event("1", "c"), ubi_event("1", "a")], n_positions=2)


@pytest.mark.parametrize(
    ("queries", "events", "message"),
    [
        (UBI_QUERIES[:1] * 2, [], "queries must have each query_id once; got '1' twice"),
        ([{"user_query": "a"}], [], r"must have query_id; got \{'user_query': 'a'\}"),
        (UBI_QUERIES, [{"action_name": "click", "query_id": "1"}], "must have object_id"),
        (UBI_QUERIES[2:], [], "queries must have one with hits"),
    ],
)
def test_ubi_without_the_fields_that_matter_is_refused(queries, events, message):
    with pytest.raises(ValueError, match=message):
        read_ubi(queries, events)


def shuffled(table, seed):
    order = np.random.default_rng(seed).permutation(len(table["session"]))
    return {name: np.asarray(column)[order] for name, column in table.items()}


def as_table(log):
    """Return a log as columns, with an entry for each session."""
    log = log.repeated()
    return {
        "session": log.session,
        "query": log.items.query[log.item],
        "document": log.items.document[log.item],
        "position": log.position,
        "click": log.clicked.astype(int),
    }


def same(log, other):
    columns = ("n_at", "item", "clicked", "times")
    assert all((getattr(log, name) == getattr(other, name)).all() for name in columns)
    assert list(log.items.pairs()) == list(other.items.pairs())


def repeating_log():
    """A log of sessions of several lengths, of which many are alike."""
    log = make_click_log(600, n_queries=2, n_documents=3, n_positions=3, random_state=0)
    short = make_click_log(300, n_queries=2, n_documents=3, n_positions=2, random_state=1)
    tables = [as_table(log), as_table(short)]
    tables[1]["session"] = tables[1]["session"] + 600
    return {name: np.concatenate([table[name] for table in tables]) for name in TABLE}


def test_distinct_sessions_are_those_of_a_dictionary():
    log = ClickLog.from_table(repeating_log())
    seen = {}
    for number in range(len(log)):
        rows = np.flatnonzero(log.session == number)
        shown = tuple(zip(log.item[rows].tolist(), log.clicked[rows].tolist(), strict=True))
        seen[shown] = seen.get(shown, 0) + 1
    found = log.distinct()
    assert len(found) == len(seen) < len(log) / 3
    for number in range(len(found)):
        rows = np.flatnonzero(found.session == number)
        shown = tuple(zip(found.item[rows].tolist(), found.clicked[rows].tolist(), strict=True))
        assert seen[shown] == found.times[number]


def test_distinct_sessions_are_the_same_for_any_order_of_rows_and_any_ids():
    table = repeating_log()
    expected = ClickLog.from_table(table).distinct()
    renamed = table | {"session": 1000 - table["session"]}
    same(ClickLog.from_table(shuffled(renamed, 0)).distinct(), expected)
    same(expected.distinct(), expected)
    same(expected.repeated().distinct(), expected)


def test_a_log_of_distinct_sessions_counts_all_of_them():
    log = ClickLog.from_table(repeating_log())
    found = log.distinct()
    assert repr(found) == repr(log)
    assert (found.n_sessions, log.n_sessions) == (900, 900)
    assert (found.n_shown_at == log.n_at).all()
    for name in ("item", "slot", "shown", "clicked"):
        assert (getattr(found.counts(), name) == getattr(log.counts(), name)).all()


def test_counts_do_not_depend_on_how_many_impressions_are_summed_at_once(monkeypatch):
    log = make_click_log(500, random_state=0).distinct()
    expected = log.counts()
    monkeypatch.setattr(log_module, "_SUMMED_AT_ONCE", 100)
    for name in ("item", "slot", "shown", "clicked"):
        assert (getattr(log.counts(), name) == getattr(expected, name)).all()


@pytest.mark.parametrize("batch_size", [7, 500, 2**20])
@pytest.mark.parametrize("ids", [int, str, float])
def test_sessions_of_a_parquet_file_are_the_distinct_ones_of_the_log(tmp_path, batch_size, ids):
    table = repeating_log()
    table |= {name: table[name].astype(ids) for name in ("session", "query")}
    for seed in (0, 1):
        path = as_parquet(shuffled(table, seed), tmp_path)
        found = ClickLog.from_parquet(path, batch_size=batch_size)
        same(found, ClickLog.from_table(table).distinct())


def test_a_session_may_be_cut_between_files(tmp_path):
    table = pl.DataFrame(repeating_log())
    (tmp_path / "days").mkdir()
    for day in range(2):
        table[day::2].write_parquet(tmp_path / "days" / f"{day}.parquet")
    same(ClickLog.from_parquet(tmp_path / "days"), ClickLog.from_table(table).distinct())


@pytest.mark.parametrize("batch_size", [1, 2**20])
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            broken(position=[0, 2, 1, 3, 1, 2]),
            r"position must be 1, 2, .*; got \[0.0?\] in session",
        ),
        (broken(position=[1, 2, 1, 4, 1, 2]), r"got \[1.0, 2.0, 4.0\] in session 'u'"),
        (broken(position=[1.0, 2.0, 1.0, 2.5, 1.0, 2.0]), r"got \[1.0, 2.0, 2.5\] in session 'u'"),
        (broken(position=[1, 2, 1, None, 1, 2]), "position must be finite; got nan in row 3"),
        (broken(click=[0, 1, 0, 2, 1, 1]), r"click must be 0 or 1; got 2.0 in row 3\."),
        (broken(click=[0, 1, 0, None, 1, 1]), r"click must be finite; got nan in row 3\."),
        (broken(document=[7, 7, 8, 7, 7, 8]), r"got 7 twice in session 'u'"),
        (broken(query=["q", "p", "p", "q", "q", "p"]), r"query must be the same .* session 'u'"),
        (broken(session=["t", "s", "s", None, "u", "u"]), "'session': must not be missing"),
        (broken(query=["q", "p", "p", None, "q", "q"]), "'query': must not be missing"),
    ],
)
def test_bad_sessions_of_a_parquet_file_are_named(
    tmp_path, monkeypatch, table, message, batch_size
):
    path, temporary = as_parquet(table, tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with pytest.raises(ValueError, match=message):
        ClickLog.from_parquet(path, batch_size=batch_size)
    assert list(temporary.iterdir()) == []


def test_a_wrong_click_is_named_by_its_row_whatever_the_size_of_batches(tmp_path):
    path = as_parquet(broken(click=[0, 1, 0, 2, 1, 1]), tmp_path)
    with pytest.raises(ValueError, match=r"click must be 0 or 1; got 2.0 in row 3\."):
        ClickCounts.from_parquet(path, batch_size=2)


def test_resampled_sessions_are_as_many_and_in_proportion():
    log = ClickLog.from_table(repeating_log()).distinct()
    rng = np.random.RandomState(0)
    drawn = np.array([log.resampled_times(rng) for _ in range(400)])
    assert (drawn.sum(axis=1) == 900).all()
    assert np.abs(drawn.mean(axis=0) / log.times - 1).max() < 0.5
    some = log.with_times(drawn[0])
    assert some.n_sessions == 900
    assert (some.times > 0).all()
