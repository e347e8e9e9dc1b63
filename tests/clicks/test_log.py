import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from random_logs import random_log

from treerank import LightGBMTrees, TreeDirectRanker, clicks
from treerank.clicks import ClickCounts, ClickLog

TABLE = {
    "session": ["t", "s", "s", "u", "u", "u"],
    "query": ["q", "p", "p", "q", "q", "q"],
    "document": [7, 7, 8, 9, 7, 8],
    "position": [1, 2, 1, 3, 1, 2],
    "click": [0, 1, 0, 0, 1, 1],
}


def as_parquet(table, folder):
    path = folder / "clicks.parquet"
    pl.DataFrame(table).write_parquet(path)
    return path


def broken(**columns):
    return {name: columns.get(name, column) for name, column in TABLE.items()}


def test_impressions_are_sorted_by_position_and_sessions_by_length():
    log = ClickLog.from_table(TABLE)
    assert log.sessions.tolist() == ["u", "s", "t"]
    assert log.position.tolist() == [1, 1, 1, 2, 2, 3]
    assert log.session.tolist() == [0, 1, 2, 0, 1, 0]
    assert log.items.document[log.item].tolist() == [7, 8, 7, 8, 7, 9]
    assert log.items.query[log.item].tolist() == ["q", "p", "q", "q", "p", "q"]
    assert log.clicked.tolist() == [True, False, False, True, True, False]
    assert "n_clicks=3)" in repr(log)


def test_ranks_from_0_and_ids_of_sessions_by_query_are_read():
    table = {
        "user": [1, 1, 1, 1, 2],
        "query": ["p", "p", "p", "q", "q"],
        "document": [8, 7, 9, 7, 7],
        "position": [1, 2, 0, 0, 0],
        "click": [1, 0, 0, 1, 0],
    }
    names = {"session": ("user", "query"), "first_position": 0}
    log = ClickLog.from_table(table, extra=["position"], **names)
    position = np.array(table["position"]) + 1
    columns = table["query"], table["document"], position, table["click"]
    expected = ClickLog.from_columns([0, 0, 0, 1, 2], *columns)
    for name in ("n_at", "item", "clicked"):
        np.testing.assert_array_equal(getattr(log, name), getattr(expected, name))
    assert log.extra["position"].tolist() == [0, 0, 0, 1, 2]
    remedies = r"session=\('query', 'session'\)", "first_position=0 counts"
    for name, remedy in zip(names, remedies, strict=True):
        others = {key: value for key, value in names.items() if key != name}
        with pytest.raises(ValueError, match=remedy):
            ClickLog.from_table(table, **{"session": "user"} | others)


@pytest.mark.parametrize("given", [dict, pd.DataFrame, pl.DataFrame, pa.table, as_parquet])
def test_every_kind_of_table_makes_the_same_log(given, tmp_path):
    order = np.random.default_rng(0).permutation(6)  # that of rows does not matter, nor do names
    table = TABLE | {"seconds": [np.nan, 40.0, np.nan, np.nan, 5.0, 6.0], "device": [*"tssuuu"]}
    table = {name.upper(): np.array(column)[order].tolist() for name, column in table.items()}
    table = given(table, tmp_path) if given is as_parquet else given(table)
    names = {name: name.upper() for name in TABLE}
    assert ClickLog.from_table(table, **names).extra == {}
    log = ClickLog.from_table(table, extra=["SECONDS", "DEVICE"], **names)
    expected = ClickLog.from_table(TABLE)
    assert repr(log) == repr(expected)
    assert (log.item == expected.item).all()
    assert (log.clicked == expected.clicked).all()
    assert list(log.items.pairs()) == list(expected.items.pairs())
    assert log.sessions.tolist() == expected.sessions.tolist()
    assert log.extra["SECONDS"][log.clicked].tolist() == [5.0, 6.0, 40.0]
    assert log.with_clicks(log.extra["SECONDS"] > 30).extra is log.extra
    for each in (log, log.taking(np.array([1, 2, 1]))):
        assert each.extra["DEVICE"].tolist() == each.sessions[each.session].tolist()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            broken(position=[0, 2, 1, 3, 1, 2]),
            r"to 1000; got 0.0 in row 0. first_position=0 counts",
        ),
        (broken(position=[1, 2, 1, 2.5, 1, 2]), r"position must be a whole .* got 2.5 in row 3\."),
        (broken(position=[1, 2, 1, 1001, 1, 2]), r"whole number from 1 to 1000; got 1001.0 in row"),
        (broken(position=[1, 2, 1, 2, 1, 2]), r"got 2 twice in session 'u'. .*'session', 'page'"),
        (broken(click=[0, 1, 0, 2, 1, 1]), r"click must be 0 or 1; got 2.0 in row 3\."),
        (broken(document=[7, 7, 8, 7, 7, 8]), r"got 7 twice in session 'u'"),
        (broken(query=["q", "p", "p", "q", "q", "p"]), r"query must be the same"),
        (broken(session=["t", "s", "s", None, "u", "u"]), r"^session must not be missing; got N"),
        (broken(click=[0, 1]), r"click must have equally many entries; got \[6, 6, 6, 6, 2\]"),
        ({"session": [1]}, r"query must name .* got 'query' and \['session'\]\. Write query='N"),
    ],
)
def test_bad_input_is_named(table, message):
    with pytest.raises(ValueError, match=message):
        ClickLog.from_table(table)


def test_columns_have_one_order_of_rows():
    columns = {name: pd.Series(column) for name, column in TABLE.items()}
    seconds = pd.Series(range(6))
    assert len(ClickLog.from_columns(**columns, extra={"seconds": seconds})) == 3
    by_value = columns["click"].sort_values()
    with pytest.raises(ValueError, match="click must have the rows of session in their order"):
        ClickLog.from_columns(**columns | {"click": by_value})
    rule = r"extra\['seconds'\] must have the rows of session in their order"
    with pytest.raises(ValueError, match=rule):
        ClickLog.from_columns(**columns, extra={"seconds": seconds[::-1]})
    with pytest.raises(ValueError, match="clicked must have the rows of query in their order"):
        ClickCounts.from_table(columns | {"shown": 1 + columns["click"], "clicked": by_value})
    table = columns | {"user": by_value}
    with pytest.raises(ValueError, match="user must have the rows of session in their order"):
        ClickLog.from_table(table, session=("session", "user"))


def test_further_columns_and_other_clicks_are_checked():
    log = ClickLog.from_table(TABLE)
    with pytest.raises(TypeError, match="table must be a Parquet or CSV file"):
        ClickLog.from_table(3)
    with pytest.raises(TypeError, match=r"table must be in memory; got .*LazyFrame"):
        ClickLog.from_table(pl.LazyFrame(TABLE))
    with pytest.raises(ValueError, match=r"extra\[0\] must name a column of the table; got 'dw"):
        ClickLog.from_table(TABLE, extra=["dwell"])
    with pytest.raises(ValueError, match=r"click, dwell must have equally many .*6, 1\]\."):
        ClickLog.from_columns(*TABLE.values(), extra={"dwell": [1]})
    masked = np.ma.array(np.ones(6), mask=np.arange(6) == 1)
    with pytest.raises(ValueError, match="propensity must have no masked entries; got 1 of 6"):
        ClickLog.from_columns(*TABLE.values(), extra={"propensity": masked})
    with pytest.raises(ValueError, match="click must have one entry per document; got 3 for 6"):
        log.with_clicks(np.zeros(3))


def test_text_that_a_parquet_file_lacks_is_named_or_kept_as_missing(tmp_path):
    missing = ["a", None, "b", "a", "b", "c"]
    path = as_parquet(broken(document=missing), tmp_path)
    with pytest.raises(ValueError, match=r"^document must not be missing; got None in row 1\."):
        ClickLog.from_table(path)
    log = ClickLog.from_table(as_parquet(TABLE | {"device": missing}, tmp_path), extra=["device"])
    assert set(log.extra["device"]) == {"a", "b", "c", None}
    with pytest.raises(ValueError, match=r"'document'"):
        ClickLog.from_table(as_parquet({"session": [1], "query": [1]}, tmp_path))


def counted(table):
    """Return what a database returns of a log."""
    keys = ["query", "document", "position"]
    sums = pl.DataFrame(table).group_by(keys).agg(shown=pl.len(), clicked=pl.col("click").sum())
    return sums.sample(fraction=1.0, shuffle=True, seed=0)


@pytest.mark.parametrize("ids", [int, str])
def test_counts_of_a_table_are_those_of_the_log(ids):
    table = as_table(random_log(500))
    table |= {name: table[name].astype(ids) for name in ("query", "document")}
    found = ClickCounts.from_table(counted(table))
    expected = ClickLog.from_table(table).counts()
    for name in ("item", "slot", "shown", "clicked"):
        assert (getattr(found, name) == getattr(expected, name)).all()
    assert found.shown.sum() == len(table["click"])
    assert list(found.items.pairs()) == list(expected.items.pairs())


DAYS = pd.Series(
    pd.to_datetime(["2026-01-02" if query == "q" else "2026-01-01" for query in TABLE["query"]])
)
#: The same dates in the types of tables.
DATES = {
    "pandas": DAYS.astype("datetime64[ns]"),
    "pandas, in seconds": DAYS.astype("datetime64[s]"),
    "pandas, in Berlin": DAYS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
    "Polars, in Berlin": pl.Series(DAYS.to_list())
    .dt.replace_time_zone("UTC")
    .dt.convert_time_zone("Europe/Berlin"),
    "Arrow, days": pa.array(DAYS.dt.date),
    "Python": DAYS.dt.date.tolist(),
    "NumPy": DAYS.to_numpy("datetime64[D]"),
}


@pytest.mark.parametrize("of_log", DATES)
def test_documents_are_found_by_dates_of_every_type(of_log, tmp_path):
    table = TABLE | {"query": DATES[of_log]}
    counts = ClickCounts.from_table(table | {"shown": [1] * 6, "clicked": TABLE["click"]})
    logs = ClickLog.from_columns(**table), ClickLog.from_table(table), counts
    x, document = pd.DataFrame({"x": np.arange(5.0)}), TABLE["document"][1:]  # each item once
    expected = clicks.count_data(ClickLog.from_table(TABLE), (x, TABLE["query"][1:], document))
    options = {"propensities": [1, 0.5, 0.3], "random_state": 0}
    for dates in DATES.values():
        frame = pl.DataFrame({"x": x["x"], "query": dates[1:], "document": document})
        ids = dates[1:], document
        for features in ((x, *ids), frame, frame.to_pandas(), as_parquet(frame, tmp_path)):
            for log in logs:
                found = clicks.count_data(log, features)
                assert np.asarray(found.X).tolist() == expected.X.to_numpy().tolist()
        options["candidates"] = clicks.Items(*ids)
        assert clicks.evaluate_from_log(logs[0], [*x["x"]], **options).overlap == 1


@pytest.mark.parametrize("of_log", DATES)
def test_ids_of_a_file_may_be_dates_as_those_of_a_frame(of_log, tmp_path):
    table = pl.DataFrame(TABLE | {"query": DATES[of_log], "session": DATES[of_log]})
    table = table.with_columns(position=pl.int_range(1, 7))  # all documents of a day
    table = table.unique(["query", "document"], maintain_order=True)
    sums = table.with_columns(shown=pl.lit(1), clicked="click")
    for cls, columns in ((ClickLog, table), (ClickCounts, sums)):
        items = cls.from_table(columns).items
        of_file = cls.from_table(as_parquet(columns, tmp_path)).items
        assert of_file.query.dtype == items.query.dtype
        assert list(of_file.pairs()) == list(items.pairs())


def test_further_columns_of_a_file_may_be_of_any_type_as_those_of_a_frame(tmp_path):
    further = {
        "at": DAYS.dt.to_pydatetime().tolist(),
        "day": [None, *DAYS.dt.date[1:]],
        "filters": [["red"], [], None, ["red", "new"], [], []],
        "title": ["x" * 10_000] * 6,
    }
    table = pl.DataFrame(TABLE | further)
    names = {"session": ("session", "at"), "extra": [*further]}
    log = ClickLog.from_table(table, **names)
    of_file = ClickLog.from_table(as_parquet(table, tmp_path), **names)
    for name in further:
        assert str(of_file.extra[name].tolist()) == str(log.extra[name].tolist())


def test_counts_teach_what_their_log_does():
    log = random_log(2000)
    table = as_table(log)
    days = [{name: column[day::2] for name, column in table.items()} for day in (0, 1)]
    counts = ClickCounts.from_table(pl.concat(map(counted, days)))  # rows are added up
    features = np.arange(160.0).reshape(80, 2), log.items.query, log.items.document
    assert (clicks.estimate_propensities(counts) == clicks.estimate_propensities(log)).all()
    both = (clicks.count_data(each, features) for each in (counts, log))
    assert all((found == expected).all() for found, expected in zip(*both, strict=True))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"position": [1, 0]}, r"position must be a whole number from 1 .*; got 0.0 in row 1"),
        ({"position": [1, 10**12]}, "position must be .* to 1000; got 1000000000000.0 in row 1"),
        ({"shown": [5, 2.5]}, r"shown must be a whole number of at least 1; got 2\.5 in row 1"),
        ({"clicked": [0, 6]}, r"clicked must be a .* from 0 to shown; got 6\.0 in row 1"),
        ({"clicked": [-1, 0]}, r"clicked must be a .* from 0 to shown; got -1\.0 in row 0"),
        ({"clicked": [1]}, r"must have equally many entries; got \[2, 2, 2, 2, 1\]"),
        ({"document": [None, "a"]}, r"document must not be missing; got None in row 0"),
    ],
)
def test_what_are_no_counts_is_refused(columns, message):
    table = {"query": [1, 1], "document": [1, 2], "position": [1, 2], "shown": [5, 5]}
    with pytest.raises((TypeError, ValueError), match=message):
        ClickCounts.from_table(table | {"clicked": [0, 1]} | columns)


def test_a_subset_of_sessions_keeps_their_impressions_and_may_repeat_them():
    log = ClickLog.from_table(TABLE)
    some = log.taking(np.array([2, 1, 1]))
    assert some.sessions.tolist() == ["s", "s", "t"]
    assert some.n_at.tolist() == [3, 2]
    assert some.items is log.items
    assert some.items.document[some.item].tolist() == [8, 8, 7, 7, 7]
    assert some.clicked.tolist() == [False, False, False, True, True]


def test_sessions_are_chosen_by_a_mask_or_by_numbers_that_the_log_has():
    log = ClickLog.from_table(TABLE)
    of_query = log.taking(log.query == "q")
    assert of_query.sessions.tolist() == ["u", "t"]
    assert log.taking([-1, 0]).sessions.tolist() == of_query.sessions.tolist()
    wrong = {
        r"sessions must be a mask with one entry per session; got 2 entries for 3": [True, False],
        r"sessions must be session numbers below 3; got 3\.0 in row 1": [0, 3],
        r"sessions must be session numbers below 3; got -4\.0 in row 0": [-4],
        r"sessions must be whole numbers or a mask; got \[0\.5\]": [0.5],
        r"sessions must choose a session of the log; got none": [],
        r"must choose a session": log.query == "none of these",
    }
    for message, sessions in wrong.items():
        with pytest.raises((TypeError, ValueError), match=message):
            log.taking(sessions)


def test_a_file_without_a_column_says_which_argument_names_another(tmp_path):
    pd.DataFrame(TABLE).rename(columns={"document": "sku"}).to_csv(tmp_path / "log.csv")
    message = r"csv, column 'document': the column for document must exist; .*'sku'.* Write doc"
    with pytest.raises(ValueError, match=message + "ument='NAME'"):
        ClickLog.from_table(tmp_path / "log.csv")
    assert ClickLog.from_table(tmp_path / "log.csv", document="sku").n_positions == 3


def test_simulated_users_examine_by_position_and_click_by_label():
    y, qid = np.array([0, 4, 0, 4]), [1, 1, 2, 2]
    options = {"n_sessions": 20_000, "exploration": 0.0, "random_state": 0}
    log = clicks.simulate_clicks(y, qid, [2, 1, 1, 2], **options)
    rates = log.counts().clicked / log.counts().shown
    assert rates == pytest.approx([0.1, 0.5, 0.05, 1.0], abs=0.02)
    assert log.counts().slot.tolist() == [0, 1, 1, 0]
    with pytest.raises(ValueError, match=r"y must not be negative; got .* Add a number to all lab"):
        clicks.simulate_clicks(y - 1, qid, [2, 1, 1, 2])


def test_a_session_may_leave_positions_out_for_ads_other_pages_and_what_was_not_seen():
    """As in fit(position=), which has always taken such rows."""
    table = {
        "session": ["page 2", "page 2", "ad", "ad", "ad", "seen", "seen"],
        "query": ["q"] * 7,
        "document": [*"de", *"abd", *"ba"],
        "position": [11, 12, 1, 2, 4, 1, 2],
        "click": [0, 1, 1, 0, 0, 0, 1],
    }
    log = ClickLog.from_table(pd.DataFrame(table).sample(frac=1, random_state=0))
    assert log.sessions.tolist()[0] == "ad"
    assert (len(log), log.n_positions) == (3, 12)
    assert log.n_at.tolist() == [2, 2, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1]
    rows = log.sessions[log.session], log.items.document[log.item], log.position, log.clicked
    told = zip(*(column.tolist() for column in rows), strict=True)
    assert sorted(told) == sorted(
        zip(*(table[name] for name in ("session", "document", "position", "click")), strict=True)
    )
    assert log.query.tolist() == ["q"] * 3
    assert log.counts().slot.tolist() == [0, 1, 0, 1, 3, 10, 11]


def test_some_sessions_with_gaps_keep_their_positions():
    table = {"session": [0, 0, 1, 1, 1], "query": [*"ppqqq"], "document": [*"abcde"]}
    log = ClickLog.from_table(table | {"position": [2, 7, 1, 3, 9], "click": [0, 1, 1, 0, 0]})
    some = log.taking(np.array([1, 1, 0]))
    assert some.sessions.tolist() == [1, 0, 0]
    assert some.position.tolist() == [1, 2, 2, 3, 7, 7, 9]
    assert some.session.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert "".join(some.items.document[some.item]) == "caadbbe"
    assert some.clicked.tolist() == [True, False, False, False, True, True, False]
    assert some.query.tolist() == ["q", "p", "p"]
    only = log.taking(np.array([0]))
    assert only.n_positions == 9
    assert only.n_at.tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 1]


def test_propensities_beside_a_gap_are_those_of_fit_and_those_without_it():
    """An ad that always stands at position 2 moves the documents, and changes nothing else."""
    table = as_table(random_log(2000))
    moved = table | {"position": table["position"] + (table["position"] > 1)}
    whole, gap = (ClickLog.from_table(each) for each in (table, moved))
    found = clicks.estimate_propensities(gap)
    assert np.isnan(found[1])
    np.testing.assert_array_equal(np.delete(found, 1), clicks.estimate_propensities(whole))
    X = np.arange(len(gap.items))[:, None].astype(float)
    data = clicks.count_data(gap, (X, gap.items.query, gap.items.document))
    part = LightGBMTrees(3, n_jobs=1)
    fitted = TreeDirectRanker(part, clicks=clicks.ClickRelevance(part), random_state=0).fit(data)
    np.testing.assert_allclose(fitted.propensities_, found, rtol=1e-6)


def as_table(log):
    """Return a log as columns."""
    return {
        "session": log.session,
        "query": log.items.query[log.item],
        "document": log.items.document[log.item],
        "position": log.position,
        "click": log.clicked.astype(int),
    }
