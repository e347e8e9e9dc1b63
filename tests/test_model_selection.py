from datetime import timedelta
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank.metrics import NDCG, AveragePrecision, RankingScorer
from treerank.model_selection import QueryKFold, QueryShuffleSplit, QueryTimeSplit

SPLITTERS = [
    QueryKFold(3),
    QueryKFold(4, shuffle=True, random_state=0),
    QueryShuffleSplit(3, random_state=0),
    QueryShuffleSplit(3, test_size=2, random_state=0),
]
every_splitter = pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
rng = np.random.default_rng(0)
QID, Y = rng.permutation(np.repeat([f"query {i}" for i in range(12)], 4)), rng.integers(3, size=48)
X = np.column_stack([rng.normal(size=48), Y])
query_ids = st.lists(st.integers(0, 9), min_size=5, max_size=40).filter(lambda q: len(set(q)) >= 4)


@every_splitter
@given(qid=query_ids)
def test_every_row_is_in_one_of_the_sets_and_no_query_in_both(splitter, qid):
    qid = np.array(qid)
    splits = list(splitter.split(qid, qid=qid))
    assert len(splits) == splitter.get_n_splits(qid, qid=qid)
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(len(qid)))
        assert len(train)
        assert len(test)
        assert not set(qid[train]) & set(qid[test])


@pytest.mark.parametrize(
    "texts",
    [
        ["02/01/2026", "01/12/2026", "31/12/2026"],
        ["Nov 15 2023", "Jan 3 2024", "Feb 1 2024"],
        ["9", "10", "11"],
        pd.Categorical(["new", "old", "older"], ["older", "old", "new"], ordered=True),
        [b"9", b"10", b"11"],
    ],
)
def test_texts_whose_order_is_not_that_of_times_are_refused(texts):
    rule = r"^time must be numbers or dates, or texts like 2026-11-27 .* pd\.to_datetime\("
    with pytest.raises(ValueError, match=rule):
        list(QueryTimeSplit(texts, n_splits=2).split([1, 2, 3], qid=[1, 2, 3]))


def test_iso_texts_are_dates():
    zoned = ["2026-05-01T23:00-02:00", "2026-05-02T00:30Z", "2026-05-02T02:00Z"]
    months = ["2026-02", "2026-01", "2026-03"]
    for texts, gap in ((zoned, timedelta(minutes=30)), (months, timedelta(28))):
        splits = list(QueryTimeSplit(texts, n_splits=2, gap=gap).split([1, 2, 3], qid=[1, 2, 3]))
        assert [[part.tolist() for part in pair] for pair in splits] == [[[1], [0]], [[0, 1], [2]]]


@every_splitter
@given(qid=query_ids, seed=st.integers(0, 9))
def test_sets_of_queries_do_not_depend_on_the_order_of_rows(splitter, qid, seed):
    qid = np.array(qid)
    shuffled = np.random.default_rng(seed).permutation(qid)
    splits, again = splitter.split(qid, qid=qid), splitter.split(shuffled, qid=shuffled)
    for (_, test), (_, test_again) in zip(splits, again, strict=True):
        assert set(qid[test]) == set(shuffled[test_again])


@pytest.mark.parametrize("splitter", SPLITTERS[:2], ids=str)
@given(qid=query_ids)
def test_folds_test_every_row_once_and_are_balanced(splitter, qid):
    tests = [test for _, test in splitter.split(qid, qid=qid)]
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(qid)))
    sizes = [len(test) for test in tests]
    assert max(sizes) - min(sizes) <= np.bincount(qid).max()


def test_folds_worked_by_hand():
    qid = ["b"] * 3 + ["a"] * 5 + ["c"] * 2 + ["d"] * 4  # a; d; b and then, to the lightest, c
    tests = [set(np.array(qid)[test]) for _, test in QueryKFold(3).split(qid, qid=qid)]
    assert tests == [{"a"}, {"d"}, {"b", "c"}]


@pytest.mark.parametrize(
    "make", [partial(QueryKFold, 5, shuffle=True), partial(QueryShuffleSplit, 5)]
)
def test_random_state_fixes_the_draw(make):
    qid = np.repeat(np.arange(50), 2)

    def drawn(seed):
        splits = make(random_state=seed).split(qid, qid=qid)
        return np.concatenate([test for _, test in splits]).tolist()

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize(("test_size", "expected"), [(0.2, 2), (0.21, 3), (4, 4), (0.01, 1)])
def test_size_counts_queries(test_size, expected):
    qid = np.arange(10)
    _, test = next(QueryShuffleSplit(1, test_size=test_size).split(qid, qid=qid))
    assert len(test) == expected


@pytest.mark.parametrize(
    ("splitter", "metadata", "message"),
    [
        (
            QueryKFold(2),
            {},
            r"got None\. Write sklearn\.set_config\(enable_metadata_routing=True\)",
        ),
        (QueryKFold(2), {"qid": [1]}, r"qid must have one entry per row; got 1 for 2 rows\."),
        (QueryKFold(3), {"qid": [1, 2]}, r"n_splits must be at most .* queries, 2; got 3\."),
        (QueryKFold(1), {"qid": [1, 2]}, r"n_splits must be .* at least 2; got 1\."),
        (QueryShuffleSplit(0), {"qid": [1, 2]}, r"n_splits must be .* at least 1; got 0\."),
        (QueryShuffleSplit(test_size=2), {"qid": [1, 2]}, r"test_size must be .* 2 quer.*; got 2"),
        (QueryShuffleSplit(test_size=1.5), {"qid": [1, 2]}, r"test_size must be .*; got 1\.5\."),
        (QueryShuffleSplit(test_size="a"), {"qid": [1, 2]}, r"test_size must be .*; got 'a'\."),
    ],
)
def test_bad_input_is_named(splitter, metadata, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split([[0.0], [0.0]], **metadata))


class OneFeature(BaseEstimator):
    """Ranks by one feature and insists on whole queries of four documents."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def __init__(self, feature=0):
        self.feature = feature

    def fit(self, X, y, qid=None):
        assert (np.unique(qid, return_counts=True)[1] == 4).all()
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X[:, self.feature]

    # Without sample_weight, scikit-learn's Pipeline.score cannot be called under routing.
    def score(self, X, y, qid=None, sample_weight=None):
        return NDCG(k=10)(y, self.predict(X), qid)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scoring", [None, RankingScorer("map")], ids=str)
@pytest.mark.parametrize("piped", [False, True])
def test_grid_search_routes_qid_everywhere_by_default(scoring, piped):
    ranker = make_pipeline(StandardScaler(), OneFeature()) if piped else OneFeature()
    name = "onefeature__feature" if piped else "feature"
    search = GridSearchCV(ranker, {name: [0, 1]}, scoring=scoring, cv=QueryKFold(3))
    search.fit(X, Y, qid=QID)
    assert search.best_params_ == {name: 1}
    assert search.best_score_ == 1.0
    metric = NDCG(k=10) if scoring is None else AveragePrecision()
    expected = [metric(Y[t], X[t, 0], QID[t]) for _, t in QueryKFold(3).split(X, Y, QID)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], np.mean(expected))


def test_splitters_show_their_parameters_make_fresh_splits_and_ask_for_qid():
    assert repr(QueryKFold(3)) == "QueryKFold(n_splits=3, random_state=None, shuffle=False)"
    assert clone(SPLITTERS[0], safe=False) is not SPLITTERS[0]
    with pytest.raises(ValueError, match="qid must be given; got None"):
        cross_validate(OneFeature(), X, Y, groups=QID, cv=QueryKFold(3))


@given(qid=query_ids, seed=st.integers(0, 9), gap=st.sampled_from([None, 0, 1, 2]))
def test_a_test_set_of_time_is_later_than_its_training_set(qid, seed, gap):
    qid = np.array(qid)
    time = (np.random.default_rng(seed).permutation(len(qid)) + 10.0).astype("fO"[seed % 2])
    latest = np.array([time[qid == query].max() for query in qid])
    time[latest.argmin()] = latest.min()
    first = latest == latest.min()
    latest[first] = time[first] = 0.0  # so that no gap leaves nothing
    for train, test in QueryTimeSplit(time, n_splits=2, gap=gap).split(qid, qid=qid):
        begin = latest[test].min()
        np.testing.assert_array_equal(train, np.flatnonzero(latest <= begin - max(gap or 0, 1)))
        assert not set(qid[train]) & set(qid[test])
    assert latest[test].max() == latest.max()


def test_time_may_be_dates_and_texts():
    qid, day = ["a", "b", "c"], np.array(["2026-01-02", "2026-01-01", "2026-01-05"])
    splits = [
        list(QueryTimeSplit(time, n_splits=2).split(qid, qid=qid))
        for time in (day, day.astype("datetime64[D]"))
    ]
    assert [[part.tolist() for part in pair] for pair in splits[0]] == [[[1], [0]], [[0, 1], [2]]]
    np.testing.assert_equal(splits[0], splits[1])
    week = QueryTimeSplit(day.astype("datetime64[D]"), n_splits=2, gap=np.timedelta64(7, "D"))
    for wrong, message in {
        week: "time must leave queries before .* with gap=",
        QueryTimeSplit([1, 2]): "time must have one entry per row; got 2 for 3",
        QueryTimeSplit([1, np.nan, 2]): "time must not be missing; got nan in row 1",
        QueryTimeSplit(day): "n_splits must be below the number of queries, 3; got 5",
        QueryTimeSplit([1, 2, 3], n_splits=2, gap=-1): "gap must be .* at least 0; got -1",
        QueryTimeSplit([1, 2, 3], n_splits=2, gap=True): "gap must be .* number .*; got True",
        QueryTimeSplit(
            week.time, n_splits=2, gap=timedelta(-1)
        ): "gap must be .* at least 0; got -1",
    }.items():
        with pytest.raises(ValueError, match=message):
            list(wrong.split(qid, qid=qid))
    for time, gap in ((day.astype("datetime64[ns]"), 7), ([1, 2, 3], timedelta(7)), (day, 7)):
        with pytest.raises(TypeError, match="gap must be a timedelta where time is dates"):
            list(QueryTimeSplit(time, n_splits=2, gap=gap).split(qid, qid=qid))
    with pytest.raises(ValueError, match="groups must not be missing; got None in row 2"):
        list(QueryKFold(2).split(qid, qid=qid, groups=["u", "v", None]))


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_times_queries_and_groups_may_be_names_of_columns(frame_of):
    day, user = [3, 1, 1, 2, 4], ["a", "b", "b", "c", "a"]
    frame = frame_of({"price": [1.0] * 5, "day": day, "user": user})
    query = [*zip(user, day, strict=True)]
    for by_value, by_name in (
        (QueryTimeSplit(day, n_splits=2), QueryTimeSplit("day", n_splits=2)),
        (QueryKFold(2), QueryKFold(2)),
    ):
        for groups, named in ((None, None), (user, "user")):
            expected = list(by_value.split(frame, qid=query, groups=groups))
            found = list(by_name.split(frame, qid=("user", "day"), groups=named))
            np.testing.assert_equal(found, expected)
    assert by_name.get_n_splits() == len(found) == 2
    with pytest.raises(ValueError, match="time must name a column of X; got 'dya' and a data"):
        list(QueryTimeSplit("dya").split(frame, qid=query))
    with pytest.raises(ValueError, match="time must name a column of X; got 'day' and an array"):
        list(QueryTimeSplit("day").split(np.eye(5), qid=query))


@every_splitter
@given(qid=query_ids, seed=st.integers(0, 9))
def test_neither_a_query_nor_a_user_is_in_both_sets(splitter, qid, seed):
    qid = np.array(qid)
    user = np.where(qid < 4, qid // 2, qid)  # queries 0 and 1 have one user, and so have 2 and 3
    user[np.random.default_rng(seed).integers(len(qid))] = 9  # and one query another one, too
    try:
        splits = list(splitter.split(qid, qid=qid, groups=user))
    except ValueError:  # too few are left
        return
    for train, test in splits:
        assert not set(qid[train]) & set(qid[test])
        assert not set(user[train]) & set(user[test])
