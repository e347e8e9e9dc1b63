import re
import sys
import warnings
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from noting_rankers import DATA, FITS, Weigher, X, lines, qid, y
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from treerank import (
    NDCG,
    HistogramTrees,
    LightGBMTrees,
    QueryKFold,
    QueryShuffleSplit,
    TreeDirectRanker,
    compare,
    compare_scores,
    get_metric,
    report,
)
from treerank.baselines import CoordinateAscent, RankSVM
from treerank.datasets.folds import load_folds
from treerank.datasets.letor import write_letor
from treerank.documents.columns import taken_rows
from treerank.documents.ranking_data import RankingData
from treerank.documents.training_queries import QueryOverlap
from treerank.evaluation import Split
from treerank.evaluation.data_splits import make_splits
from treerank.evaluation.fits import Search, _stacked, check_scores
from treerank.evaluation.running import _check, _seeded
from treerank.metrics import AveragePrecision, RankingScorer, Recall
from treerank.progress import listening
from treerank.rankers import ColumnRanker, NestedRanker
from treerank.rankers.ranker import Ranker

pytestmark = pytest.mark.slow


class Watcher(Ranker):
    """A ranker of ours that notes what it may watch."""

    def _learn(self, data, held_out, seed):
        FITS.append(("watcher", None if held_out is None else len(held_out.X)))

    def _scores(self, X):
        return X[:, 0].copy()


class Broken(BaseEstimator):
    """Fails where the first query of the training set is 0."""

    def fit(self, X, y, qid):
        if qid.min() == 0:
            raise RuntimeError("no query 0, please")
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0]


def with_validation(data, n_queries):
    """Return two splits whose training sets leave some queries to a validation set."""
    splits = []
    for number, (train, test) in enumerate(QueryKFold(2).split(X, qid=qid)):
        is_held_out = np.isin(qid[train], np.unique(qid[train])[:n_queries])
        parts = train[~is_held_out], test, train[is_held_out]
        sets = (RankingData(taken_rows(data, rows), y[rows], qid[rows]) for rows in parts)
        splits.append(Split(str(number), *sets))
    return splits


def rows_where(comparison, **values):
    """Return the table of all values as a data frame, of the rows that hold given ones."""
    return pl.DataFrame(comparison.values).filter(**values)


def test_values_are_the_metrics_of_scores_on_test_sets():
    cv = QueryKFold(3)
    comparison = compare(lines(), DATA, cv=cv, metrics=("ndcg@3", "map"))
    for i, (train, test) in enumerate(cv.split(X, qid=qid)):
        scores = LinearRegression().fit(X[train], y[train]).predict(X[test])
        expected = NDCG(k=3).per_query(y[test], scores, qid[test])
        found = rows_where(comparison, ranker="linear", split=str(i + 1), metric="ndcg@3")
        np.testing.assert_array_equal(found["query"], np.unique(qid[test]))
        np.testing.assert_allclose(found["value"], expected)
        np.testing.assert_allclose(comparison.by_split("ndcg@3")[i, 0], np.nanmean(expected))
    by_query = comparison.by_query("ndcg@3")
    assert by_query.shape == (30, 2)
    last = by_query[np.unique(qid[test]), 0]
    np.testing.assert_array_equal(last, found["value"])


def test_all_test_sets_are_measured_on_one_scale():
    graded = y.copy()
    graded[np.flatnonzero(qid == 0)[0]] = 4  # a grade that one test set has
    expected = get_metric("err").per_query(graded, X[:, 0], qid)
    data = X, graded, qid
    assert_on_scale = partial(np.testing.assert_array_equal, expected)
    ranker, cv = {"first": Weigher()}, QueryKFold(3)
    assert_on_scale(compare(ranker, data, cv=cv, metrics="err").by_query("err")[:, 0])
    two = {"graded": graded, "same": y}
    comparison = compare({"first": Weigher().fit(X, y)}, (X, two, qid), metrics=["err", "map"])
    assert_on_scale(comparison.by_query("err of graded")[:, 0])
    of_same = get_metric("err").per_query(y, X[:, 0], qid)
    np.testing.assert_array_equal(comparison.by_query("err of same")[:, 0], of_same)


def test_the_convention_is_applied_and_named():
    comparison = compare(lines(), DATA, cv=3, metrics=("ndcg@8",), convention="letor4")
    assert (comparison.values["value"] == 0).all()  # no query has 8 documents
    assert "Eval-Score-4.0.pl" in str(comparison.summary())


def test_fitted_rankers_are_not_fitted_again():
    rankers = {"first": Weigher().fit(X, y), "linear": LinearRegression().fit(X, y)}
    FITS.clear()
    comparison = compare(rankers, (-X, y, qid), metrics=["map"])
    assert FITS == []
    values = [get_metric("map").per_query(y, each.predict(-X), qid) for each in rankers.values()]
    np.testing.assert_array_equal(comparison.by_query("map").T, values)


def test_two_settings_of_a_metric_are_two_columns():
    metrics = ["ndcg@3", NDCG(3, gain="linear")]
    comparison = compare(lines(), DATA, cv=2, metrics=metrics)
    assert len(comparison.metrics) == 2
    comparison = compare(lines(), DATA, cv=2, metrics=[*metrics, "map(threshold=2)"])
    assert comparison.metrics == ("ndcg@3", "ndcg(gain='linear')@3", "map(threshold=2)")
    for metric in metrics:
        name = metric if isinstance(metric, str) else metric.name
        alone = compare(lines(), DATA, cv=2, metrics=[metric])
        assert alone.metrics == (name,)
        np.testing.assert_array_equal(comparison.by_query(name), alone.by_query(name))
    pair = comparison.by_query("ndcg@3"), comparison.by_query("ndcg(gain='linear')@3")
    assert (pair[0] != pair[1]).any()


@pytest.mark.parametrize(
    ("metrics", "advice"),
    [
        (["ndcg@3", NDCG(3)], ""),
        (["map", "map"], ""),
        (
            [lambda y, scores, qid=None: 0.0, lambda y, scores, qid=None: 1.0],
            " Give functions different names.",
        ),
    ],
)
def test_two_metrics_of_one_name_are_refused(metrics, advice):
    rule = rf"metrics must have different names; got '[^']*' twice\.{advice}$"
    with pytest.raises(ValueError, match=rule):
        compare({"a": Weigher()}, DATA, cv=2, metrics=metrics)
    assert FITS == []


def test_the_note_speaks_of_the_gains_that_were_used():
    def notes(*metrics):
        return str(compare(lines(), DATA, cv=2, metrics=metrics).summary())

    assert "gains 2^y - 1" in notes("ndcg@3")
    assert "gains 2^y - 1" not in notes(NDCG(3, gain="linear"))
    assert "NDCG" not in notes("mrr")
    assert "tied scores averaged" not in notes(NDCG(3, ties="stable"))
    assert "Scored" not in notes(lambda y, scores, qid=None: float(scores[0]))


def test_queries_and_seeds_reach_those_who_take_them_in_pipelines_too():
    rankers = {"w": Weigher(), "seeded": Weigher(random_state=7)}
    compare(rankers, DATA, cv=2, random_state=3)
    assert all(n_documents == n_qids for _, _, n_documents, n_qids in FITS)
    piped = {name: make_pipeline(StandardScaler(), each) for name, each in rankers.items()}
    compare(piped, DATA, cv=2, random_state=3)
    assert [fit[1] for fit in FITS] == [3, 7] * 4
    assert rankers["w"].random_state is piped["w"][-1].random_state is None
    values = compare({"bare": Watcher(), "piped": make_pipeline(Watcher())}, DATA, cv=2)
    np.testing.assert_allclose(*values.by_split("map").T)


def test_our_rankers_watch_the_validation_set_in_pipelines_too():
    rankers = {"ours": Watcher(), "piped": make_pipeline(StandardScaler(), Watcher())}
    rankers |= {"other": Weigher(), "linear": make_pipeline(StandardScaler(), LinearRegression())}
    found = compare(rankers, with_validation(X, n_queries=5))
    assert [fit for fit in FITS if fit[0] == "watcher"] == [("watcher", 30)] * 4
    assert [fit[2] for fit in FITS if fit[0] == 1.0] == [60, 60]
    keeps_all = TreeDirectRanker(LightGBMTrees(3, early_stopping_rounds=None))
    alone = compare({"all": keeps_all}, with_validation(X, n_queries=5))
    assert "Validation set, for early stopping: used by none." in alone.summary().notes
    note = "Validation set, for early stopping: used by ours and piped; not by other or linear."
    assert note in found.summary().notes
    assert "Validation" not in str(compare(rankers, DATA, cv=2).summary())


class Watching(BaseEstimator):
    """A ranker of another package whose ``fit`` takes a validation set."""

    def fit(self, X, y, qid=None, eval_set=None):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


@pytest.mark.parametrize(
    ("ranker", "who"),
    [
        (TreeDirectRanker("linear"), "none"),
        (TreeDirectRanker(["linear", "histogram"]), "none"),
        (TreeDirectRanker("histogram"), "it"),
        (ColumnRanker(0), "none"),
        (RankSVM(), "none"),
        (CoordinateAscent(), "it"),
        (NestedRanker(TreeDirectRanker("linear")), "none"),
        (NestedRanker(Watching()), "it"),
        (NestedRanker(TreeDirectRanker(HistogramTrees(min_child_samples=1))), "it"),
    ],
)
def test_rankers_that_learn_in_one_step_do_not_stop_by_the_validation_set(ranker, who):
    summary = compare({"it": ranker}, with_validation(X, n_queries=5)).summary()
    assert f"Validation set, for early stopping: used by {who}." in summary.notes


@pytest.mark.parametrize("n_queries", [0, 4])
def test_the_search_finds_the_best_by_query(n_queries):
    grid = {"first": {"weight": [-1.0, 1.0, 2.0]}}
    rankers = {"first": Weigher(weight=-1.0)}
    data = with_validation(X, n_queries) if n_queries else DATA
    comparison = compare(rankers, data, grid=grid, **{} if n_queries else {"cv": 2})
    chosen = [outcome.best_params for outcome in comparison.outcomes.values()]
    assert chosen == [{"weight": 1.0}] * 2
    n_searches = 3 * (1 if n_queries else 3)
    assert len(FITS) == 2 * (n_searches + 1)
    n_rows = 90 - 6 * n_queries  # the last fit has the whole training set
    last = [(fit[0], fit[2]) for fit in FITS[n_searches :: n_searches + 1]]
    assert last == [(1.0, n_rows)] * 2


def test_the_parts_of_a_search_are_measured_on_one_scale(monkeypatch):
    search = Mock()
    monkeypatch.setattr("treerank.evaluation.fits.GridSearchCV", search)
    data = RankingData(X, np.where(qid == 0, 4, y), qid)
    Search({"weight": [1.0]}, get_metric("err")).choose(Weigher(), data, None)
    assert search.call_args.kwargs["scoring"] == RankingScorer(get_metric("err(max_label=4.0)"))


def test_searches_tell_apart_queries_of_the_same_name_in_train_and_validation():
    parts = [RankingData(X[rows], y[rows], qid[rows] % 10) for rows in np.split(np.arange(180), 3)]
    split = Split("a", *parts)
    grid = {"first": {"weight": [-1.0, 1.0]}}
    comparison = compare({"first": Weigher()}, [split], grid=grid)
    assert comparison.outcomes["first", "a"].best_params == {"weight": 1.0}


def write_folds(folder, n_folds=2):
    for fold in range(n_folds):
        place = folder / f"Fold{fold + 1}"
        place.mkdir(parents=True)
        for part, name in enumerate(("train", "vali", "test")):
            rows = (qid + fold) % 3 == part
            write_letor(place / f"{name}.txt", X[rows], y[rows], qid[rows])


def test_folders_and_folds_bring_their_splits(tmp_path):
    write_folds(tmp_path)
    from_folder = compare(lines(), tmp_path)
    from_folds = compare(lines(), list(load_folds(tmp_path)))
    assert from_folder.splits == ("Fold1", "Fold2")
    FITS.clear()
    hidden = (tmp_path / "Fold2" / "test.txt").rename(tmp_path / "hidden")
    with pytest.raises(FileNotFoundError, match="Fold2"):
        compare(lines(), tmp_path)
    assert FITS == []
    hidden.rename(tmp_path / "Fold2" / "test.txt")
    np.testing.assert_array_equal(from_folder.by_query("map"), from_folds.by_query("map"))
    assert from_folder.test_to_train == 1.0


def test_in_parallel_all_is_the_same():
    cv = QueryShuffleSplit(3, random_state=0)
    rankers = {"linear": LinearRegression(), "tree": DecisionTreeRegressor(max_features=1)}
    one, two = (compare(rankers, DATA, cv=cv, n_jobs=n_jobs) for n_jobs in (1, 2))
    for name, column in one.values.items():
        np.testing.assert_array_equal(column, two.values[name])


def test_queries_of_several_splits_count_by_their_mean():
    comparison = compare(lines(), DATA, cv=QueryShuffleSplit(4, test_size=0.5, random_state=0))
    values = rows_where(comparison, ranker="linear", metric="map")
    ids = np.unique(values["query"])
    expected = [values.filter(query=query)["value"].mean() for query in ids]
    np.testing.assert_allclose(comparison.by_query("map")[:, 0], expected)


def test_values_have_the_text_that_names_a_query():
    X, y, qid = DATA
    names = [f"q{query}" for query in qid]
    assert set(compare(lines(), (X, y, names), cv=2).values["query"]) == set(names)


def test_progress_is_told():
    told = []
    with listening(lambda *what: told.append(what)):
        compare({"trees": TreeDirectRanker(LightGBMTrees(3))}, DATA, cv=2)
        TreeDirectRanker(LightGBMTrees(3)).fit(*DATA)
    assert told[0] == (1, 2, "trees on split 1")
    assert [done for done, _, _ in told] == [1, 2, 1, 2, 3]
    told.clear()
    with listening(lambda *what: told.append(what)):
        compare({"bm25": ColumnRanker(0).fit(*DATA)}, DATA)
    assert told == [(1, 1, "bm25")]  # one test set: its name says nothing


def test_failures_are_recorded_and_keep_the_ranker_out_of_tests():
    rankers = {"broken": Broken(), **lines()}
    failed = r"broken failed on split \d: RuntimeError: no query 0"
    with pytest.warns(UserWarning, match=failed) as caught:
        comparison = compare(rankers, DATA, cv=3)
    assert sum(bool(re.match(failed, str(each.message))) for each in caught) == 1
    assert len(comparison.failures) == 2
    assert "no query 0" in comparison.failures[0].trace
    assert np.isnan(comparison.by_split("map")[:, 0]).sum() == 2
    assert comparison.complete == ("linear", "first")
    with pytest.raises(ValueError, match=r"for all splits to be paired; 'broken' has none for"):
        comparison.test("map", "linear", "broken")
    assert comparison.test("map", "linear", "first").n == 3
    text = str(comparison.summary())
    assert text.count("broken failed on split") == 1
    assert re.search(r"broken failed on splits \d, \d: RuntimeError: no query 0", text)
    with pytest.raises(ValueError, match=r"reference must be 'best' or .*; got 'broken'"):
        comparison.summary(reference="broken")


def test_a_mean_over_some_of_the_splits_is_marked_in_all_tables_and_is_not_the_best():
    with pytest.warns(UserWarning, match="broken failed on split"):
        comparison = compare({"broken": Broken(), **lines()}, DATA, cv=3, metrics=["map"])
    assert comparison.summary().cells["broken", "map"].mean > 0
    cells = comparison.summary().cells
    (best,) = (name for (name, _), cell in cells.items() if cell.is_best)
    for value in (2.0, 3.0):  # as high as the best, and higher
        values = {best: 2.0, "broken": value}
        outcomes = {
            key: replace(
                outcome, values={"map": 0 * outcome.values["map"] + values[outcome.ranker]}
            )
            if outcome.ranker in values
            else outcome
            for key, outcome in comparison.outcomes.items()
        }
        summary = replace(comparison, outcomes=outcomes).summary()
        assert summary.cells["broken", "map"].mean == value
        assert [name for (name, _), cell in summary.cells.items() if cell.is_best] == [best]
    assert summary.header[:3] == ("ranker", "splits", "map")
    for table in (str(summary), repr(summary), replace(summary, notes=()).to_text()):
        assert [line.split()[1:4] for line in table.splitlines()[2:5]] == [
            [count, "of", "3"] for count in "133"
        ]
    assert "| broken | 1 of 3 | " in summary.to_markdown()
    for html in (summary.to_html(), comparison._repr_html_()):
        assert "<td>broken</td><td>1 of 3</td>" in html
    with pytest.warns(UserWarning, match="none failed on split"):
        failed = compare({"none": Weigher(0.0), **lines()}, DATA, cv=2).summary()
    assert "splits" not in failed.header  # all means are over the same splits


@pytest.mark.parametrize("frames", [pd.DataFrame, pl.DataFrame])
def test_columns_of_text_and_infinite_values_of_data_frames(frames):
    names = np.where(X[:, 0] > 0, "yes", "no")
    frame = frames({"text": names, "first": X[:, 0], "second": X[:, 1]})
    grid = {"trees": {"loss": ["hinge"]}}
    ranker = TreeDirectRanker(LightGBMTrees(n_estimators=2))
    found = compare({"trees": ranker}, with_validation(frame, 3), grid=grid)
    assert [o.best_params for o in found.outcomes.values()] == [{"loss": "hinge"}] * 2
    infinite = frames({"text": names, "first": np.where(X[:, 0] > 2, np.inf, X[:, 0])})
    with pytest.raises(ValueError, match=r"Column 'first' of X must not be infinite\."):
        compare({"trees": ranker}, (infinite, y, qid), cv=3, grid=grid)


def test_sparse_features_are_searched_with_a_validation_set():
    grid = {"trees": {"loss": ["hinge"]}}
    rankers = {"trees": TreeDirectRanker(LightGBMTrees(n_estimators=2))}
    sparse, dense = (
        compare(rankers, with_validation(data, 3), grid=grid).by_query("map")
        for data in (csr_matrix(X), X)
    )
    np.testing.assert_array_equal(sparse, dense)


def test_ids_among_the_features_of_a_frame_are_refused_before_any_fit():
    class Never(TreeDirectRanker):
        def fit(self, *args, **kwargs):
            raise AssertionError("fitted")

    labels, queries = np.arange(3000) % 3, np.arange(3000) // 30
    ids = [f"p{row}" for row in range(3000)]
    for frame_of in (pd.DataFrame, pl.DataFrame):
        frame = frame_of({"bm25": labels + 1.0, "passage": ids})
        with pytest.raises(ValueError, match="Column 'passage' of X must not be text of that many"):
            compare({"a": Never(), "b": Never()}, (frame, labels, queries), cv=2)


def test_a_ranker_that_always_fails_is_a_row_of_its_own():
    rankers = {"none": Weigher(weight=0.0), "first": Weigher()}
    with pytest.warns(UserWarning, match="none failed on split"):
        comparison = compare(rankers, DATA, cv=2)
    assert "failed" in str(comparison.summary()).splitlines()[2]
    assert np.isnan(comparison.by_query("map")[:, 0]).all()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros(90), r"predict must return different scores; got 0 for all 90\."),
        (np.full(90, np.nan), r"predict must return finite scores; got 90 others among 90\."),
        (np.zeros((90, 1)), r"predict must return one score per document; got shape \(90, 1\)"),
    ],
)
def test_scores_that_rank_nothing_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        check_scores(scores, 90)
    np.testing.assert_array_equal(check_scores([2], 1), [2.0])  # there is no other


def of_trees(**settings):
    return {"rankers": {"a": TreeDirectRanker(**settings)}}


def searched(**grid):
    return of_trees() | {"grid": {"a": grid}}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"rankers": [Weigher()]}, TypeError, "rankers must be a dict like {.name.: ...}; got"),
        ({"rankers": {"a": 5}}, TypeError, "rankers must have predict; 'a' is 5"),
        ({"grid": {"b": {}}}, ValueError, r"grid must be by name of ranker, .*; got \['b'\]"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be a whole number of at least 1; got 0"),
        ({"random_state": -1}, ValueError, "random_state must be a whole number of at least 0"),
        ({"rankers": {"a": Weigher}}, TypeError, "rankers must be objects by name; got 'a'"),
        (of_trees(tau="x"), ValueError, r"rankers\['a'\]: tau must be"),
        (of_trees(feature_part="tres"), ValueError, r"rankers\['a'\]: feature_part must have"),
        (
            {"rankers": {"a": NestedRanker(TreeDirectRanker(sigma=0))}},
            ValueError,
            r"rankers\['a'\]: sigma must be a finite number above 0",
        ),
        ({"grid": {"a": {"wieght": [1.0]}}}, ValueError, "Invalid parameter 'wieght'"),
        (searched(metric=["x"]), ValueError, r"rankers\['a'\]: metric must be one of .*; got 'x'"),
        (searched(feature_part__num_leaves=[7, 0]), ValueError, r"\['a'\]: num_leaves must"),
        ({"inner_cv": 0}, ValueError, "inner_cv must be a whole number of at least 2; got 0"),
        ({"inner_cv": "x"}, TypeError, "inner_cv must be a number, a splitter or .*; got 'x'"),
        ({"cv": 1}, ValueError, "cv must be a whole number of at least 2; got 1"),
        ({"cv": "x"}, TypeError, "cv must be a number, a splitter or pairs of rows; got 'x'"),
        ({"cv": [(np.arange(5), [10**6])]}, ValueError, "cv must hold pairs of rows of the data"),
        ({"cv": [(np.arange(5), [-1])]}, ValueError, "cv must hold .*; they count from 0"),
        (
            {"cv": [([0], [80, 80])]},
            ValueError,
            "cv must test each row once; split 1 has one twice",
        ),
        ({"metrics": NDCG}, TypeError, "metrics: metric must be a name, a Metric or callable"),
        (
            {"metrics": "ndcg, map"},
            ValueError,
            "metrics: metric must be one of .* 'ndcg, map'",
        ),
        ({"data": ([["a"], ["b"]], [0, 1], [1, 2])}, ValueError, "could not convert|[Dd]type"),
        ({"data": ([[1.0], [np.inf]], [0, 1], [1, 2])}, ValueError, "Input X contains infinity"),
        (
            {"data": (X, {"a": y, "b": -y}, qid)},
            ValueError,
            r"y must be a single label for 'a', Weigher; got \['a', 'b'\]\. Fit it to one of them",
        ),
        ({"store": __file__}, ValueError, "store must be a folder; got the file"),
        ({"store": "/dev/null/fits"}, OSError, "/dev/null/fits"),
        ({"metrics": ()}, ValueError, r"metrics must be at least one; got \(\)"),
        ({"metrics": ("mrr",), "convention": "letor4"}, ValueError, "metric must be one of"),
        ({"data": 5}, TypeError, "data must be a folder, folds or"),
        ({"data": 5, "cv": None}, TypeError, "data must be a folder, folds or"),
        ({"data": (X, y)}, ValueError, r"got \(X, y\)\. For a single query there is nothing to co"),
        ({"data": ([*X], y)}, ValueError, r"data must be \(X, y, qid\), with the query of each"),
        ({"data": [], "cv": None}, ValueError, "data and cv must give at least one split"),
        ({"data": [5], "cv": None}, TypeError, r"data must be \(X, y, qid\), a path, or hold spl"),
        ({"data": "."}, ValueError, "cv must be None for data in folds; got 2"),
        (
            {"data": [Split("1", RankingData(*DATA), RankingData(*DATA))]},
            ValueError,
            "cv must be None for data in folds; got 2",
        ),
        ({"cv": [(np.arange(5), np.arange(5, 9))]}, ValueError, "cv must keep queries whole; .* 0"),
    ],
)
def test_bad_input_is_refused_before_anything_is_fitted(changed, error, message):
    arguments = {"rankers": {"a": Weigher()}, "data": DATA, "cv": 2} | changed
    with pytest.raises(error, match=message):
        compare(**arguments)
    assert FITS == []


@pytest.mark.filterwarnings("ignore:1 of .* queries have no judgment")
@pytest.mark.parametrize("part", ["training", "test"])
def test_splits_without_judged_documents_are_refused(part):
    of_first = qid == qid[0]
    rows = {"training": np.flatnonzero(~of_first), "test": np.flatnonzero(of_first)}
    train, test = rows.values() if part == "test" else reversed(rows.values())
    message = f"with labels in each {part} set; split 1 has none among {of_first.sum()} documents"
    with pytest.raises(ValueError, match=message):
        compare({"a": RankSVM()}, (X, np.where(of_first, np.nan, y), qid), cv=[(train, test)])


def test_data_in_three_arguments_are_told_to_be_one():
    with pytest.raises(TypeError, match=r"one tuple: compare\(rankers, \(X, y, qid\)\)"):
        compare({"a": Weigher()}, *DATA)
    with pytest.raises(TypeError, match=r"'test'\. Write summary\(.*test\(metric, first, sec"):
        compare({"a": Weigher()}, DATA, cv=2).summary(test="t")


def test_one_metric_is_given_as_it_is_and_asked_for_by_its_object():
    for one in ("map", AveragePrecision(), ["map"]):
        comparison = compare(
            {"a": Weigher(-1.0), "b": Weigher(1.0)}, (X, y, qid), cv=2, metrics=one
        )
        assert comparison.metrics == ("map",)
        for metric in ("map", AveragePrecision()):
            np.testing.assert_array_equal(comparison.by_query(metric), comparison.by_query("map"))
            assert comparison.difference(metric, "a", "b").metric == "map"
            comparison.test(metric, "a", "b", test="randomization")
    one = compare_scores({"a": X[:, 0], "b": -X[:, 0]}, y, qid, metrics=NDCG(5))
    assert one.metrics == ("ndcg@5",)
    assert report(RankSVM().fit(X, y, qid), X, y, qid, metrics=NDCG(5)) is not None


def test_a_function_that_is_a_metric_is_asked_for_by_itself():
    def first_label(y, scores, qid=None):
        return float(y[np.argmax(scores)])

    scores = {"a": X[:, 0], "b": -X[:, 0]}
    comparison = compare_scores(scores, y, qid, metrics=["map", first_label])
    assert repr(comparison.difference(first_label, "a", "b")) == repr(
        comparison.difference("first_label", "a", "b")
    )
    for table in (comparison.by_query, comparison.by_split):
        np.testing.assert_array_equal(table(first_label), table("first_label"))
    with pytest.raises(
        ValueError, match=r"metric must be one of \['first_label', 'map'\]; got '<lam"
    ):
        comparison.by_query(lambda y, scores, qid: 0.0)
    with pytest.raises(TypeError, match=r"metric must be .*; got the class NDCG, no object"):
        comparison.by_query(NDCG)


def test_a_metric_without_its_cutoff_is_answered_by_those_that_were_measured():
    metrics = ["ndcg@10", "ndcg@5", "map"]
    comparison = compare_scores({"a": X[:, 0], "b": -X[:, 0]}, y, qid, metrics=metrics)
    meant = r"got 'ndcg'\. Did you mean 'ndcg@10' or 'ndcg@5'\?"
    for ask in (comparison.difference, comparison.test):
        with pytest.raises(ValueError, match=meant):
            ask("ndcg", "a", "b")
    for table in (comparison.by_query, comparison.by_split):
        with pytest.raises(ValueError, match=meant):
            table("ndcg")
        with pytest.raises(ValueError, match=r"metric must be one of \['map', 'ndcg@10', 'ndcg@5'"):
            table(NDCG(3))


def test_folds_of_half_judged_queries_are_those_of_the_judged_ones():
    """Else folds with one judged query would count as much as those with ten."""
    n_queries = 60
    queries = np.repeat(np.arange(n_queries), 6)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(len(queries), 3))
    unjudged = rng.permutation(n_queries)[:30]
    labels = np.where(np.isin(queries, unjudged), np.nan, rng.integers(3, size=len(queries)))
    data = RankingData(features, labels, queries)
    rankers = {"a": LinearRegression(), "b": DecisionTreeRegressor(max_depth=2, random_state=0)}
    whole, alone = (compare(rankers, part, metrics=["ndcg@3"]) for part in (data, data.judged()))
    np.testing.assert_array_equal(whole.by_split("ndcg@3"), alone.by_split("ndcg@3"))
    assert whole.difference("ndcg@3", "a", "b") == alone.difference("ndcg@3", "a", "b")
    assert len(whole.by_query("ndcg@3")) == 60
    counts = [np.isfinite(o.values["ndcg@3"]).sum() for o in whole.outcomes.values()]
    assert set(counts) == {6}

    order = rng.permutation(len(queries))
    mixed = compare(rankers, data.take(order), metrics=["ndcg@3"])
    np.testing.assert_allclose(mixed.by_split("ndcg@3"), whole.by_split("ndcg@3"))
    with pytest.warns(UserWarning, match=r"30 of 60 queries have no judgment.*data\.judged\(\)"):
        compare(rankers, data, cv=QueryKFold(5), metrics=["ndcg@3"])
    some = data.take(np.flatnonzero((queries < 4) | np.isnan(labels)))
    with pytest.raises(ValueError, match="at most the number of judged queries, 3; got 10"):
        compare(rankers, some, cv=10)


def test_a_function_gets_the_ids_of_its_query():
    """The same id for each document of the query, of any type."""

    def id_of_query(y, scores, qid):
        (query,) = {*qid.tolist()}
        assert len(qid) == len(scores)
        return float(str(query).strip("q"))

    names = np.array([f"q{query}" for query in qid])
    for ids in (qid, names):
        comparison = compare(lines(), (X, y, ids), cv=2, metrics=[id_of_query])
        numbers = [float(str(query).strip("q")) for query in np.unique(ids)]
        np.testing.assert_array_equal(comparison.by_query("id_of_query")[:, 0], numbers)


def test_a_metric_without_a_value_says_so():
    def meanq(y, scores, qid):
        return np.nan

    comparison = compare(lines(), DATA, cv=2, metrics=["ndcg@3", meanq])
    n_queries, names = len(np.unique(qid)), " and ".join(comparison.rankers)
    text = str(comparison)
    assert f"meanq of {names} has no value: NaN for all {n_queries} queries." in text
    assert "no value" in text.splitlines()[2]
    assert "failed" not in text
    assert "has no value" not in str(compare(lines(), DATA, cv=2, metrics=["ndcg@3"]))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_warning_of_several_fits_is_given_once_at_the_call_of_the_user(n_jobs):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"price": rng.normal(size=120), "shop": rng.choice(["a", "b"], size=120)})
    y, qid = rng.integers(0, 3, size=120), np.arange(120) // 10
    rankers = {"linear": TreeDirectRanker("linear")}
    with warnings.catch_warnings(record=True, action="always") as caught:
        compare(rankers, (X, y, qid), cv=3, metrics="ndcg@3", n_jobs=n_jobs)
    of_fits = [each for each in caught if "LinearModel() leaves out" in str(each.message)]
    assert len(of_fits) == 1
    assert of_fits[0].filename == __file__


def ids_of(kind):
    """Ids of 24 queries of 5 documents each, as users pass them, and the numbers of the queries."""
    code = np.repeat(np.arange(24), 5)
    return code, {
        "tuples": [(f"user {i % 3}", i // 3) for i in code.tolist()],
        "names": [(f"user {i % 3}", i // 3) for i in code.tolist()],
        "mixed": [i if i % 2 else f"q{i}" for i in code.tolist()],
        "arrow": pa.array(code + 100),
        "dates": [date(2026, 1, 1) + timedelta(i) for i in code.tolist()],
        "text in one set": [i if i < 12 else str(i - 12) for i in code.tolist()],
    }[kind]


@pytest.mark.parametrize("kind", ["tuples", "names", "mixed", "arrow", "dates", "text in one set"])
def test_splits_take_what_one_data_set_takes(kind):
    rng, (code, ids) = np.random.default_rng(0), ids_of(kind)
    table = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    relevance = rng.integers(0, 3, 120)
    first = code < 12
    if kind == "names":
        user, week = zip(*ids, strict=True)
        table = table.assign(bought=relevance, user=user, week=week)
        sets = [RankingData(table[rows], "bought", ("user", "week")) for rows in (first, ~first)]
    else:
        ids_by_set = [
            ids.filter(pa.array(rows))
            if kind == "arrow"
            else [query for query, is_in in zip(ids, rows, strict=True) if is_in]
            for rows in (first, ~first)
        ]
        sets = [
            RankingData(table[rows], relevance[rows], part)
            for rows, part in zip((first, ~first), ids_by_set, strict=True)
        ]
    splits = [Split("later", *sets), Split("earlier", *sets[::-1])]
    assert [split.test_to_train for split in splits] == [1, 1]
    rankers = {"a": ColumnRanker("a"), "b": ColumnRanker("b")}
    comparison = compare(rankers, splits, metrics="map")
    assert comparison.test_to_train == 1
    distinct = [*dict.fromkeys(ids.to_pylist() if kind == "arrow" else ids)]
    assert len(distinct) == 24
    numbers = [(isinstance(query, str), query) for query in distinct]
    order = sorted(range(24), key=numbers.__getitem__)  # numbers come before text
    metric = get_metric("map")
    for column, values in zip("ab", comparison.by_query("map").T, strict=True):
        expected = metric.per_query(relevance, table[column], code)[order]
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    if kind not in ("mixed", "text in one set"):
        found = comparison.values["query"].tolist()
        assert sorted(set(found)) == sorted(distinct)


@pytest.mark.parametrize("wrap", [clone, NestedRanker])
def test_a_missing_extra_is_named_before_any_fit(wrap, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "treerank.feature_parts.networks.mlp", raising=False)
    FITS.clear()
    rankers = {"first": Weigher(), "mlp": wrap(TreeDirectRanker("mlp"))}
    with pytest.raises(ImportError, match=r"MLP needs torch: pip install 'treerank\[torch\]'"):
        compare(rankers, DATA, cv=2)
    assert FITS == []
    candidates = {"nested": {"ranker__feature_part": ["linear", "mlp"]}}
    rankers = {"first": Weigher(), "nested": NestedRanker(TreeDirectRanker("linear"))}
    with pytest.raises(ImportError, match=r"MLP needs torch: pip install 'treerank\[torch\]'"):
        compare(rankers, DATA, cv=2, grid=candidates, inner_cv=2)
    assert FITS == []


def test_a_comparison_without_results_has_no_values_and_tells_of_the_failures():
    with pytest.warns(UserWarning, match="none failed on split"):
        comparison = compare({"none": Weigher(weight=0.0)}, DATA, cv=2)
    assert {name: len(column) for name, column in comparison.values.items()} == dict.fromkeys(
        ("ranker", "split", "query", "metric", "value"), 0
    )
    assert str(comparison).startswith("none failed on split 1: ValueError: predict must return")
    assert repr(comparison).split() == str(comparison).split()


def test_unjudged_documents_at_the_top_are_warned_of_once():
    gaps = np.where(np.arange(180) % 2, np.nan, y)
    with warnings.catch_warnings(record=True, action="always") as caught:
        compare(lines(), (X, gaps, qid), cv=2)
    texts = [str(warning.message) for warning in caught]
    assert sum("documents of judged queries" in text for text in texts) == 1


def test_seeds_are_set_in_parts_only_of_rankers_without_one():
    for given, expected in ((None, 3), (5, 5)):
        seeded = _seeded(TreeDirectRanker(LightGBMTrees(), random_state=given), 3).get_params()
        assert seeded["random_state"] == expected
        assert seeded["feature_part__random_state"] is None
    piped = make_pipeline(StandardScaler(), Weigher())
    assert _seeded(piped, 3).get_params()["weigher__random_state"] == 3
    assert _seeded(Weigher(random_state=0), 3).random_state == 0


@pytest.mark.parametrize(("n_jobs", "is_allowed"), [(-1, True), (1, True), (0, False), (-2, False)])
def test_processes_are_one_or_more_or_one_for_each_core(n_jobs, is_allowed):
    if is_allowed:
        _check({"a": Weigher()}, n_jobs)
    else:
        with pytest.raises(ValueError, match="n_jobs must be a whole number of at least 1; got"):
            _check({"a": Weigher()}, n_jobs)


def test_a_ranker_without_labels_has_seen_no_test_query():
    comparison = compare({"a": ColumnRanker(0), "b": ColumnRanker(1)}, DATA)
    assert comparison.seen("a") == QueryOverlap(0, 0, 0)


@pytest.mark.parametrize(
    ("ids", "has_ids"),
    [
        (["a", "b", "b"], True),
        ([1, 2, 2], True),
        (np.array([1, 2, 2]), True),
        ([1, 2.5, 2.5], True),
        (["a", 7, 7], False),
        ([("a", 1), ("b", 2), ("b", 2)], True),
        ([("a", 1), (2, "b"), (2, "b")], False),
    ],
)
def test_ids_of_one_type_are_kept(ids, has_ids):
    data = np.arange(6.0).reshape(3, 2), [1, 0, 1], ids
    (split,) = make_splits(data, None, 0, only_test=True, human_labels=None, clusters=None)
    assert split.has_ids is has_ids
    assert (sorted(set(split.split().test.qid.tolist())) == sorted(set(ids))) if has_ids else True


@pytest.mark.parametrize(
    ("train", "test", "has_ids"),
    [
        (["a", "a", "b"], ["c", "c", "d"], True),
        ([1, 1, 2], [2.5, 2.5, 3.5], True),
        ([1, 1, 2], ["c", "c", "d"], False),
        (["a", "a", "b"], [1.0, 1.0, 2.0], False),
        ([("a", 1)] * 3, [("b", 2)] * 3, True),
        ([("a", 1)] * 3, [(7, 2)] * 3, False),
        (["a", 7, 7], ["c", "c", "d"], False),
    ],
)
def test_ids_of_all_sets_of_a_split_are_of_one_type(train, test, has_ids):
    features = np.arange(6.0).reshape(3, 2)
    sets = [RankingData(features, np.array([1.0, 0.0, 1.0]), ids) for ids in (train, test)]
    (split,) = make_splits(
        [Split("one", *sets)], None, 0, only_test=False, human_labels=None, clusters=None
    )
    assert split.has_ids is has_ids
    found = split.split()
    same = np.array(found.train.qid.tolist() == found.test.qid.tolist())
    assert not same.any()


def test_large_ids_of_sets_with_and_without_sign_are_not_rounded():
    ids = 2**53 + np.arange(20)
    labels, features = np.tile([1.0, 0.0], 20), np.arange(80.0).reshape(40, 2)
    first = RankingData(features, labels, np.repeat(ids, 2))
    second = RankingData(features, labels, np.repeat(ids + 20, 2).astype(np.uint64))
    folds = [Split("1", second, first), Split("2", first, second)]
    comparison = compare({"a": ColumnRanker(0), "b": ColumnRanker(1)}, folds, metrics="mrr")
    assert len(comparison.by_query("mrr")) == 40
    assert set(comparison.values["query"].tolist()) == {*range(2**53, 2**53 + 40)}
    (_, _, stacked), _ = _stacked(first, second)
    assert stacked.tolist() == [*first.qid.tolist(), *second.qid.tolist()]


def test_a_metric_that_looks_queries_up_needs_their_ids():
    names = np.array([f"q{number}" for number in qid])
    recall = Recall(3, n_relevant=dict.fromkeys(np.unique(names).tolist(), 6))
    comparison = compare(lines(), (X, y, names), cv=2, metrics=recall)
    assert np.isfinite(comparison.by_query(recall)).any()
    mixed = [number if number % 2 else f"q{number}" for number in qid.tolist()]
    with pytest.raises(TypeError, match="qid must be all text, all numbers or all tuples for"):
        compare(lines(), (X, y, mixed), cv=2, metrics=recall)


def test_a_number_of_folds_for_the_search_keeps_queries_whole():
    FITS.clear()
    compare({"a": Weigher()}, DATA, cv=2, grid={"a": {"weight": [1.0, 2.0]}}, inner_cv=4)
    sizes = [n_rows for _, _, n_rows, _ in FITS]
    assert len(sizes) == 2 * (2 * 4 + 1)
    assert {size % 6 for size in sizes} == {0}


class Noting:
    """A splitter that notes the labels that it is given."""

    def split(self, X, y=None, groups=None):
        self.y = y
        yield np.flatnonzero(groups < 20), np.flatnonzero(groups >= 20)


def test_a_splitter_sees_the_first_of_several_labels():
    for labels in (y, {"a": y, "b": np.minimum(y, 1.0)}):
        noting = Noting()
        data = X, labels, qid
        compare({"a": TreeDirectRanker("linear")}, data, cv=noting, metrics=["map"])
        np.testing.assert_array_equal(noting.y, y)


def test_masks_of_pandas_in_another_order_are_refused():
    frame, test = pd.DataFrame(X), pd.Series(qid < np.median(qid))

    def values(data, train, test):
        found = compare({"a": ColumnRanker(0)}, (data, y, qid), cv=[(train, test)], metrics=["map"])
        return np.nan_to_num(found.values["value"]).tolist()

    expected = values(X, ~test.to_numpy(), test.to_numpy())
    assert values(frame, ~test, test) == expected
    rows = [pd.Series(np.flatnonzero(mask)) for mask in (~test, test)]  # with indexes of their own
    assert values(frame, *rows) == expected
    with pytest.raises(ValueError, match=r"cv\[0\]\[1\] must have the rows of X in their order"):
        values(frame, ~test, test[::-1])


def test_folds_count_queries_with_a_single_judged_document():
    labels = np.where(np.arange(12) % 2, np.nan, np.arange(12) // 2 % 2.0)
    labels[6:] = np.nan
    data = np.arange(12.0)[:, None] / 7, labels, np.arange(12) // 2
    with pytest.raises(ValueError, match="at most the number of judged queries, 3; got 4"):
        compare({"a": ColumnRanker(0)}, data, cv=4)
