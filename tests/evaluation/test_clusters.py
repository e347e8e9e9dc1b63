"""Comparisons of queries that are not independent, such as those of one user."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeRegressor

from treerank import QueryKFold, QueryShuffleSplit, QueryTimeSplit, compare, compare_scores
from treerank.datasets.folds import Split
from treerank.documents.ranking_data import RankingData
from treerank.rankers import ColumnRanker
from treerank.statistics.clusters import standard_error
from treerank.statistics.randomization import randomization_interval, randomization_test

QUERY = ("user", "week")


@pytest.fixture(scope="module")
def table():
    """Three weeks of 40 users, to whom prices matter more or less."""
    rng, n = np.random.default_rng(0), 40 * 3 * 6
    frame = pd.DataFrame(
        {
            "user": np.repeat([f"user {i}" for i in range(40)], 18),
            "week": np.tile(np.repeat([1, 2, 3], 6), 40),
            "price": rng.normal(size=n),
            "sales": rng.normal(size=n),
        }
    )
    weight = np.repeat(rng.normal(1, 1, size=40), 18)
    frame["bought"] = (weight * frame.price + frame.sales + rng.gumbel(size=n) > 1.5).astype(float)
    return frame


def rankers():
    return {"linear": LinearRegression(), "stump": DecisionTreeRegressor(max_depth=1)}


def users_of(comparison):
    return np.array([user for user, _ in comparison.values["query"].tolist()])


def test_fitted_rankers_are_tested_over_whole_clusters(table):
    fitted = {name: ColumnRanker(name).fit(table, "bought", QUERY) for name in ("price", "sales")}
    comparison = compare(fitted, (table, "bought", QUERY), metrics="map", clusters="user")
    a, b = comparison.by_query("map").T
    users = np.array([user for user, _ in np.unique(comparison.values["query"])])
    assert len(users) == len(a) == 120
    expected = randomization_test(a, b, clusters=users)
    assert comparison.test("map", "price", "sales") == expected
    difference = comparison.difference("map", "price", "sales")
    assert difference.interval == randomization_interval(a, b, clusters=users)
    n_users = len(np.unique(users[~np.isnan(a)]))
    assert difference.n_clusters == n_users < 41
    assert f"over {difference.n_queries} queries of {n_users} clusters" in str(difference)
    alone = compare(fitted, (table, "bought", QUERY), metrics="map").difference(
        "map", "price", "sales"
    )
    assert alone.n_clusters is None
    width, width_alone = (np.ptp(each.interval.ends) for each in (difference, alone))
    assert width > 1.2 * width_alone
    (errors,) = re.findall(r"price +\S+ ± (\S+)", str(comparison))
    measured = ~np.isnan(a)
    codes = np.unique(users[measured], return_inverse=True)[1]
    assert float(errors) == pytest.approx(standard_error(a[measured], codes), abs=1e-4)
    assert "One test set, 120 queries of 40 clusters" in str(comparison)
    assert "± is the standard error over clusters of queries." in str(comparison)
    assert "(paired randomization test by cluster, adjusted" in str(comparison)


def test_the_queries_needed_are_told_as_clusters(table):
    scores = {
        "a": table.price,
        "b": table.price + 0.02 * table.sales - 0.02 * table.week * table.price**2,
    }
    comparison = compare_scores(
        scores,
        table.bought,
        [*zip(table.user, table.week, strict=True)],
        metrics="map",
        clusters=table.user,
    )
    difference = comparison.difference("map", "a", "b")
    n = round(difference.queries_needed * difference.n_clusters / difference.n_queries)
    expected = rf"not significant; about ({n - 1:,}|{n:,}|{n + 1:,}) clusters of as many queries"
    assert re.search(expected, str(difference))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_split_by_time_takes_the_name_of_a_column_which_is_then_no_feature(kind, table):
    frame = table.assign(day=table.week * 7)
    frame = pl.from_pandas(frame) if kind == "polars" else frame
    features, query = table[["price", "sales"]], [*zip(table.user, table.week, strict=True)]
    by_value = compare(
        rankers(),
        (features, table.bought, query),
        metrics="map",
        cv=QueryTimeSplit(table.week, n_splits=2),
    )
    by_day, by_week = (
        compare(
            rankers(),
            (frame[columns], "bought", QUERY),
            metrics="map",
            cv=QueryTimeSplit(name, n_splits=2),
            clusters="user",
        )
        for name, columns in (("day", [*table.columns, "day"]), ("week", [*table.columns]))
    )
    for found in (by_day, by_week):
        np.testing.assert_array_equal(found.by_query("map"), by_value.by_query("map"))
    with pytest.raises(ValueError, match="time must name a column of X; got 'weak' and a data"):
        compare(rankers(), (frame, "bought", QUERY), cv=QueryTimeSplit("weak"))


@pytest.mark.parametrize("cv", [None, 2])
def test_a_column_that_the_data_lack_is_refused_before_any_fit(cv, table):
    class Never(DecisionTreeRegressor):
        def fit(self, *args, **kwargs):
            raise AssertionError("fitted")

    wrong = r"^rankers\['shop'\]: column must be one of \['price', 'sales'\]; got 'sale'\. Did you"
    data = table, "bought", QUERY
    for others in ({}, {"tree": Never()}, {"price": ColumnRanker("price")}):
        with pytest.raises(ValueError, match=wrong):
            compare(others | {"shop": ColumnRanker("sale")}, data, cv=cv)
    fitted = ColumnRanker("sale").fit(table.rename(columns={"sales": "sale"}), "bought", QUERY)
    with pytest.raises(ValueError, match=wrong):
        compare({"shop": fitted}, data, cv=cv)


@pytest.mark.parametrize(
    "cv",
    [
        None,
        4,
        QueryKFold(3, shuffle=True, random_state=1),
        QueryShuffleSplit(4, random_state=0),
        GroupKFold(3),
    ],
)
def test_folds_keep_clusters_whole(cv, table):
    comparison = compare(rankers(), (table, "bought", QUERY), metrics="map", cv=cv, clusters="user")
    for split in comparison.splits:
        users = {user for user, _ in comparison.outcomes["linear", split].queries.tolist()}
        assert len(comparison.outcomes["linear", split].queries) == 3 * len(users)
    assert not comparison.has_cut_clusters
    assert comparison.test("map", "linear", "stump").test == "corrected resampled t-test"
    over_queries = comparison.test("map", "linear", "stump", test="randomization")
    assert over_queries.test == "paired randomization test by cluster"


def test_folds_of_some_judged_queries_keep_clusters_whole(table):
    some = table.assign(bought=table.bought.where(table.week != 2))
    some.loc[some.user == "user 7", "bought"] = np.nan
    comparison = compare(rankers(), (some, "bought", QUERY), metrics="map", clusters="user")
    assert not comparison.has_cut_clusters
    sizes = [len(comparison.outcomes["linear", split].queries) for split in comparison.splits]
    assert sum(sizes) == 120
    n_judged = [
        np.count_nonzero(~np.isnan(comparison.outcomes["linear", split].values["map"]))
        for split in comparison.splits
    ]
    assert max(n_judged) - min(n_judged) <= 4


def test_splits_that_cut_clusters_are_tested_over_clusters(table):
    time = QueryTimeSplit(table.week, n_splits=2)
    comparison = compare(
        rankers(), (table, "bought", QUERY), metrics="map", cv=time, clusters="user"
    )
    assert comparison.has_cut_clusters
    assert len(comparison.splits) == 2
    result = comparison.test("map", "linear", "stump")
    assert result.test == "paired randomization test by cluster"
    assert "splits are not independent" in str(comparison)
    means = [comparison.summary().cells[name, "map"].mean for name in comparison.rankers]
    np.testing.assert_allclose(means, np.nanmean(comparison.by_query("map"), axis=0))
    with pytest.raises(ValueError, match="clusters are in both a training set and its test set"):
        comparison.test("map", "linear", "stump", test="corrected_t")
    whole = compare(rankers(), (table, "bought", QUERY), metrics="map", cv=time)
    assert whole.clusters is None
    assert whole.test("map", "linear", "stump").test == "corrected resampled t-test"


def test_a_column_is_no_feature_and_the_same_as_its_values(table):
    by_name = compare(rankers(), (table, "bought", QUERY), metrics="map", clusters="user")
    X = table[["price", "sales"]]
    qid = [*zip(table.user, table.week, strict=True)]
    by_row = compare(rankers(), (X, table.bought, qid), metrics="map", clusters=table.user)
    np.testing.assert_array_equal(by_name.by_query("map"), by_row.by_query("map"))
    np.testing.assert_array_equal(by_name.clusters, by_row.clusters)
    visits = table.assign(query=table.groupby([*QUERY]).ngroup()).drop(columns="week")
    by_column = compare(rankers(), (visits, "bought", "query"), metrics="map", clusters="user")
    assert len(np.unique(by_column.clusters)) == 40


def test_the_order_of_rows_changes_nothing(table):
    shuffled = table.sample(frac=1, random_state=0).reset_index(drop=True)
    results = [
        compare(rankers(), (each, "bought", QUERY), metrics="map", clusters="user")
        for each in (table, shuffled)
    ]
    first, second = (r.test("map", "linear", "stump", test="randomization") for r in results)
    assert first.p_value == second.p_value
    np.testing.assert_array_equal(results[0].clusters, results[1].clusters)


def test_scores_are_compared_by_a_level_of_the_queries(table):
    qid = pd.MultiIndex.from_frame(table[["user", "week"]])
    scores = {"price": table.price, "sales": table.sales}
    by_level = compare_scores(scores, table.bought, qid, metrics="map", clusters="user")
    by_row = compare_scores(scores, table.bought, qid, metrics="map", clusters=table.user)
    assert by_level.test("map", "price", "sales") == by_row.test("map", "price", "sales")
    assert by_level.test("map", "price", "sales").n_clusters <= 40
    X = table[["price", "sales"]]
    compared = compare(rankers(), (X, table.bought, qid), metrics="map", clusters="user")
    assert len(np.unique(compared.clusters)) == 40


def test_wrong_clusters_are_refused_before_any_fit(table):
    data, scores = (table, "bought", QUERY), {"price": table.price}
    train = RankingData(table[["price"]], table.bought.to_numpy(), table.week.to_numpy())
    people = table.bought.where(table.week > 1)
    for call, error, message in (
        (lambda: compare(rankers(), data, clusters="usr"), ValueError, "must name a column of X"),
        (lambda: compare(rankers(), data, clusters=["user"]), TypeError, "Write clusters='user'"),
        (
            lambda: compare(rankers(), (table, "bought", "week"), clusters="user"),
            ValueError,
            "constant within a query; got 'user 0' and 'user 1' in query 1. If these are two",
        ),
        (
            lambda: compare(rankers(), [Split("1", train, train)], clusters="user"),
            ValueError,
            r"must be None for data in folds; got clusters. Pass one data set",
        ),
        (
            lambda: compare(rankers(), data, human_labels=people, clusters="user"),
            ValueError,
            "must be None where human_labels are given",
        ),
        (
            lambda: compare_scores(scores, table.bought, table.user, clusters="user"),
            ValueError,
            "or name a level of qid; got 'user' and query ids without names",
        ),
        (
            lambda: compare_scores(
                scores, table.bought, table.user, human_labels=people, clusters=table.user
            ),
            ValueError,
            "must be None where human_labels are given",
        ),
        (
            lambda: compare_scores(scores, table.bought, table.user, clusters=np.zeros(len(table))),
            ValueError,
            "must be at least two, which are independent of each other; got one, 0.0",
        ),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize(
    ("n_users", "is_judged", "words"),
    [
        (
            4,
            True,
            r"cv must be at most the number of clusters .* 4, .* got 5 folds. Write cv=4, or",
        ),
        (4, False, r"cv must be at most the number of clusters .* 4, .* got 5 folds. Write cv=4"),
        (2, True, r"number of clusters with a judged query, 2, .* got 5 folds. Write cv=2, or"),
        (1, False, r"number of clusters with a judged query, 1, .* got 5 folds. Pass more data"),
    ],
)
def test_more_folds_than_clusters_are_answered_by_the_clusters(table, n_users, is_judged, words):
    some = table[table.user.isin([f"user {i}" for i in range(n_users)])]
    if not is_judged:  # in part: other folds are drawn
        some = pd.concat([some, table[table.user == "user 9"].assign(bought=np.nan)])
    with pytest.raises(ValueError, match=words):
        compare(rankers(), (some, "bought", QUERY), clusters="user")


@pytest.mark.parametrize("is_judged", [True, False])
def test_as_many_folds_as_clusters_are_allowed(table, is_judged):
    some = table[table.user.isin(["user 0", "user 1", "user 2"])]
    if not is_judged:
        some = pd.concat([some, table[table.user == "user 9"].assign(bought=np.nan)])
    comparison = compare(rankers(), (some, "bought", QUERY), clusters="user", cv=3)
    assert len(comparison.splits) == 3
    with pytest.raises(ValueError, match=r"at most the number of clusters .* 3, .* got 4 folds"):
        compare(rankers(), (some, "bought", QUERY), clusters="user", cv=4)
