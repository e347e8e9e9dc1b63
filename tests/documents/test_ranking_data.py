"""Documents of files as one value: some of them, and parts of whole queries."""

from datetime import UTC

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from treerank import TreeDirectRanker, make_web_search, read_csv
from treerank.datasets import Batches, RankingData
from treerank.documents.labels import split_labels
from treerank.feature_parts import HistogramTrees

X, Y, QID = make_web_search(40, documents_per_query=10, n_features=5, random_state=0)
NAMES = [f"f{i}" for i in range(5)]
DAY = np.datetime64("2026-01-01") + (QID * 7 % 40)
TABLES = {
    "array": X,
    "sparse": csr_matrix(X),
    "pandas": pd.DataFrame(X, columns=NAMES),
    "polars": pl.DataFrame(X, schema=NAMES),
    "Arrow": pa.table(dict(zip(NAMES, X.T, strict=True))),
}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def data_of(table=X):
    ids = np.array([f"d{i}" for i in range(len(Y))])
    return RankingData(table, Y, QID, comments=np.char.add("# ", ids), documents=ids)


def dense(table):
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


@every_table
def test_take_returns_the_same_rows_of_all_columns(table):
    data, mask = data_of(table), QID % 3 == 1
    for rows in (mask, np.flatnonzero(mask), np.flatnonzero(mask).tolist()):
        taken = data.take(rows)
        assert type(taken.X) is type(table)
        found = dense(taken.X) if not isinstance(table, pa.Table) else taken.X.to_pandas()
        np.testing.assert_array_equal(found, X[mask])
        np.testing.assert_array_equal(taken.y, Y[mask])
        np.testing.assert_array_equal(taken.qid, QID[mask])
        assert taken.documents.tolist() == [f"d{i}" for i in np.flatnonzero(mask)]
        assert taken.comments.tolist() == [f"# d{i}" for i in np.flatnonzero(mask)]
    assert len(data.take([])) == 0
    assert data.take([-1]).documents.tolist() == [f"d{len(Y) - 1}"]
    assert data.take([0]).take([-1]).documents.tolist() == ["d0"]


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([0.5], TypeError, "rows must be whole numbers or a mask"),
        ("train", TypeError, "rows must be whole numbers or a mask"),
        ([[1, 2]], TypeError, "rows must be whole numbers or a mask"),
        ([True, False], ValueError, "one entry per document; got 2 entries for"),
        ([len(Y)], ValueError, f"rows must be row numbers below {len(Y)}; got"),
    ],
)
def test_what_are_no_rows_is_refused(rows, error, words):
    with pytest.raises(error, match=words):
        data_of().take(rows)


@every_table
def test_a_split_has_whole_queries_and_all_documents_once(table):
    parts = data_of(table).split(valid=0.25, test=4)
    assert [len(np.unique(part.qid)) for part in parts] == [26, 10, 4]
    everything = np.concatenate([part.documents for part in parts])
    assert sorted(everything) == sorted(data_of().documents)
    assert not set(parts[0].qid) & set(parts[1].qid) | set(parts[1].qid) & set(parts[2].qid)


def test_a_split_depends_on_the_seed_and_not_on_the_order_of_rows():
    shuffled = np.random.default_rng(0).permutation(len(Y))
    train, test = data_of().split(test=0.2)
    assert set(data_of().take(shuffled).split(test=0.2)[1].qid) == set(test.qid)
    assert set(data_of().split(test=0.2, random_state=1)[1].qid) != set(test.qid)
    (only, valid) = data_of().split(valid=0.2)
    assert set(valid.qid) == set(test.qid)
    assert len(only) == len(train)


@pytest.mark.parametrize("kind", ["dates", "numbers", "text", "column"])
def test_a_split_by_time_tests_on_the_latest_queries(kind):
    times = {
        "dates": DAY,
        "numbers": DAY.astype(int),
        "text": DAY.astype(str).tolist(),
        "column": "day",
    }
    frame = pd.DataFrame(X, columns=NAMES).assign(day=DAY)
    data = RankingData(frame if kind == "column" else X, Y, QID)
    day = dict(zip(QID, DAY, strict=True))
    parts = data.split(valid=0.1, test=0.2, by_time=times[kind])
    assert [len(np.unique(part.qid)) for part in parts] == [28, 4, 8]
    first, last = ([f(day[q] for q in part.qid) for part in parts] for f in (min, max))
    assert last[0] < first[1] <= last[1] < first[2]
    assert parts[0].X.shape[1] == 5


@pytest.mark.filterwarnings("ignore:The scores order the held-out pairs no better than chance")
@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame, pa.table])
def test_labels_and_queries_may_be_names_of_columns(frame_of):
    user, week = QID % 10, QID // 10
    columns = dict(zip(NAMES, X.T, strict=True)) | {"grade": Y, "user": user, "week": week}
    data = RankingData(frame_of(columns), "grade", ("user", "week"))
    by_value = RankingData(X, Y, [*zip(user.tolist(), week.tolist(), strict=True)])
    expected = f"RankingData({len(Y):,} documents, 40 queries, 5 features)"
    assert repr(data) == repr(by_value) == expected
    assert repr(RankingData(data.X, "grade", ["user", "week"])) == expected
    assert len(data) == len(Y)
    for name, values in ((None, None), ("week", week)):
        train, test = data.split(test=0.25, by_time=name)
        parts = by_value.split(test=0.25, by_time=values)
        for part, other in zip((train, test), parts, strict=True):
            assert (part.y, part.qid) == ("grade", ("user", "week"))
            assert len(part) == len(other) == len(other.qid)
            assert repr(part) == repr(other)
            np.testing.assert_array_equal(np.asarray(part.X["f0"]), other.X[:, 0])
        fitted, again = (
            TreeDirectRanker(HistogramTrees(5, n_jobs=1), random_state=0).fit(*a, eval_set=b)
            for a, b in ((train, test), parts)
        )
        np.testing.assert_array_equal(fitted.predict(test.X), again.predict(parts[1].X))
        assert fitted.score(*test) == again.score(*parts[1])
    assert {week for _, week in parts[1].qid} == {3}
    gaps = frame_of(columns | {"grade": np.where(week == 1, np.nan, Y)})
    gaps = RankingData(gaps, "grade", ("user", "week"))
    assert len(gaps.judged()) == np.sum(week != 1)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table, pd.Series])
def test_several_labels_are_a_dict_or_a_data_frame(kind):
    sold = np.where(np.arange(len(Y)) % 4 == 1, np.nan, Y > 2)
    clicked = np.where(np.arange(len(Y)) % 4 <= 1, np.nan, Y > 1)
    columns = {"click": clicked, "sale": sold}
    columns = {name: pd.Series(c) for name, c in columns.items()} if kind is pd.Series else columns
    data = RankingData(X, columns if kind is pd.Series else kind(columns), QID)
    assert repr(data) == f"RankingData({len(Y):,} documents, 40 queries, 5 features)"
    assert len(data) == len(Y)
    rows = np.flatnonzero(QID % 3 == 1)[::-1]
    labels = split_labels(data.take(rows).y)
    assert [*labels] == [*columns]
    for name, column in labels.items():
        np.testing.assert_array_equal(column, np.asarray(columns[name])[rows])
    assert len(data.judged()) == len(Y) * 3 // 4  # those with either label
    train, test = data.split(test=0.5)
    assert len(train) + len(test) == len(Y)
    ranker = TreeDirectRanker("linear", random_state=0).fit(*train)
    expected = TreeDirectRanker("linear", random_state=0)
    expected.fit(train.X, dict(split_labels(train.y)), train.qid)
    np.testing.assert_array_equal(ranker.predict(test.X), expected.predict(test.X))


def test_one_document_is_no_plural():
    assert repr(RankingData([[1.0]], [1], [7])) == "RankingData(1 document, 1 query, 1 feature)"


def test_a_column_that_is_none_is_named():
    frame = pd.DataFrame(X, columns=NAMES).assign(grade=Y, user=QID)
    for y, qid, message in (
        ("grades", "user", "y must name a column of X; got 'grades'"),
        ("grade", ("user", "week"), "qid must name columns of X; got 'week'"),
    ):
        with pytest.raises(ValueError, match=message):
            RankingData(frame, y, qid).split(test=0.2)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%b %d %Y"])
def test_a_split_by_texts_that_do_not_sort_by_time_is_refused(form):
    days = pd.Series(pd.to_datetime(DAY))
    frame = pd.DataFrame(X, columns=NAMES).assign(day=days.dt.strftime(form))
    rule = r"^by_time must be numbers or dates, or texts like .*; got '.* pd\.to_datetime\("
    for texts in (frame["day"], frame["day"].astype("category"), "day"):
        with pytest.raises(ValueError, match=rule):
            RankingData(frame, Y, QID).split(test=0.2, by_time=texts)
    numbers = (DAY - DAY.min()).astype(int).astype(str)
    with pytest.raises(ValueError, match=rule):
        RankingData(X, Y, QID).split(test=0.2, by_time=numbers)


def test_a_split_by_times_of_which_some_have_a_zone_is_refused():
    times = pd.DatetimeIndex(DAY).to_pydatetime().tolist()
    zoned = [time.replace(tzinfo=UTC) for time in times]
    mixed = [*times[:-1], zoned[-1]]
    for by_time in (mixed, pd.Series(mixed, dtype=object), mixed[::-1]):
        with pytest.raises(ValueError, match="by_time must all have a zone, or none; got both"):
            RankingData(X, Y, QID).split(test=0.2, by_time=by_time)
    expected = RankingData(X, Y, QID).split(test=0.2, by_time=times)[1]
    found = RankingData(X, Y, QID).split(test=0.2, by_time=zoned)[1]
    np.testing.assert_array_equal(found.qid, expected.qid)


def test_a_table_with_a_column_of_dates_is_split_by_it(tmp_path):
    path = tmp_path / "train.csv"
    frame = pd.DataFrame(X, columns=NAMES).assign(label=Y, query=QID, day=DAY.astype(str))
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"column .day.: must hold numbers.* or drop it"):
        read_csv(path)
    days = pd.read_csv(path)["day"]
    train, test = read_csv(path, drop="day").split(test=0.2, by_time=days)
    expected = RankingData(X, Y, QID).split(test=0.2, by_time=DAY)
    assert [part.qid.tolist() for part in (train, test)] == [part.qid.tolist() for part in expected]
    frame.assign(day=DAY.astype(int)).to_csv(path, index=False)
    by_name = read_csv(path).split(test=0.2, by_time="day")
    assert by_name[1].qid.tolist() == test.qid.tolist()
    assert by_name[1].X.column_names == NAMES


def test_queries_of_one_time_stay_together():
    week = QID // 10
    train, test = RankingData(X, Y, QID).split(test=0.2, by_time=week)
    assert set(test.qid) == set(range(30, 40))
    assert set(train.qid) == set(range(30))
    with pytest.raises(ValueError, match="equal times that leave part 0 of 2 without a query"):
        RankingData(X, Y, QID).split(test=0.2, by_time=np.zeros(len(Y)))


@pytest.mark.parametrize("size", [0, 1.0, 1.5, 0.0, -0.2, np.nan, True, "0.2", 0.01, 40, 41, -1])
@pytest.mark.parametrize("name", ["valid", "test"])
def test_sizes_that_are_none_are_refused_by_name(name, size):
    with pytest.raises(ValueError, match=rf"^{name} must"):
        data_of().split(**{name: size})


def test_other_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"valid or test must be a share .* got None"):
        data_of().split()
    with pytest.raises(ValueError, match=r"valid and test must leave a query to train on"):
        data_of().split(valid=0.5, test=0.5)
    with pytest.raises(ValueError, match="by_time must name a column of X; got 'day' and an array"):
        data_of().split(test=0.2, by_time="day")
    with pytest.raises(ValueError, match="by_time must have one entry per row"):
        data_of().split(test=0.2, by_time=[1, 2])
    with pytest.raises(ValueError, match="by_time must not be missing"):
        data_of().split(test=0.2, by_time=np.full(len(Y), np.nan))
    with pytest.raises(ValueError, match="random_state must be"):
        data_of().split(test=0.2, random_state="a")


def test_parts_of_a_file_are_fitted_and_measured(tmp_path):
    frame = pd.DataFrame(X, columns=NAMES).assign(
        label=Y, query=QID, brand=np.where(X[:, 0] > 0, "Acme", "Bolt")
    )
    frame.to_csv(tmp_path / "shop.csv", index=False)
    train, valid, test = read_csv(tmp_path / "shop.csv").split(valid=0.2, test=0.2)
    ranker = TreeDirectRanker(HistogramTrees(5, n_jobs=1), random_state=0)
    assert 0 < ranker.fit(*train, eval_set=valid).score(*test) < 1


@every_table
def test_a_printed_value_is_a_line(table):
    expected = f"RankingData({len(Y):,} documents, 40 queries, 5 features)"
    assert repr(data_of(table)) == str(data_of(table)) == expected


def test_rows_that_are_taken_keep_the_types_of_their_ids():
    data = RankingData(np.eye(4), np.arange(4.0), ["a", 7, 7, "b"])
    assert data.take([1, 3]).qid.tolist() == [7, "b"]
    parts = data.split(valid=1, test=1, random_state=0)
    assert sorted((qid for part in parts for qid in part.qid.tolist()), key=str) == [7, 7, "a", "b"]


def test_batches_may_name_columns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y, user, week = rng.integers(0, 3, 60), np.repeat([1, 2, 3], 20), np.arange(60) // 10
    named = table.assign(sold=y, user=user, week=week)
    halves = [named[:30], named[30:]]
    for batches in (
        Batches([(half, "sold", ("user", "week")) for half in halves]),
        Batches([RankingData(half, "sold", ("user", "week")) for half in halves]),
    ):
        ranker = TreeDirectRanker(HistogramTrees(2, min_child_samples=1), random_state=0)
        ranker.fit(batches)
        qid = list(zip(user, week, strict=True))
        expected = TreeDirectRanker(HistogramTrees(2, min_child_samples=1), random_state=0)
        expected.fit(table, y, qid)
        assert (ranker.predict(table) == expected.predict(table)).all()
        assert (ranker.predict(batches) == expected.predict(table)).all()
        assert ranker.score(batches) == expected.score(table, y, qid)
