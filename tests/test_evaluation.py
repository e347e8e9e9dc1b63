"""Comparisons of rankers: the same splits for all, nothing fitted twice, nothing hidden."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from treerank.datasets.folds import load_folds
from treerank.datasets.letor import write_letor
from treerank.datasets.ranking_data import RankingData
from treerank.evaluation import Comparison, Split, compare, join
from treerank.evaluation.comparison import Outcome
from treerank.evaluation.fitting import checked_scores
from treerank.feature_parts.lightgbm import LightGBMTrees
from treerank.metrics import ndcg_score, with_convention
from treerank.model_selection import QueryKFold, QueryShuffleSplit
from treerank.progress import listening
from treerank.ranker import Ranker
from treerank.statistics import adjust_holm, corrected_resampled_t_test, randomization_test
from treerank.tree_direct_ranker import TreeDirectRanker

FITS = []


class Weigher(BaseEstimator):
    """Ranks by the first feature times a weight, and notes each fit."""

    def __init__(self, weight=1.0, random_state=None):
        self.weight = weight
        self.random_state = random_state

    def fit(self, X, y, qid=None):
        FITS.append((self.weight, self.random_state, len(y), None if qid is None else len(qid)))
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return self.weight * X[:, 0]


class Watcher(Ranker):
    """A ranker of ours that notes what it may watch."""

    def _learn(self, data, validation, seed):
        FITS.append(("watcher", None if validation is None else len(validation[0])))

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


@pytest.fixture(autouse=True)
def _no_fits_yet():
    FITS.clear()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 6)
    X = rng.normal(size=(180, 3))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=180)), 0, 2)
    return X, y, qid


def lines():
    return {"line": LinearRegression(), "first": Weigher()}


def test_values_are_the_metrics_of_scores_on_test_sets(data):
    X, y, qid = data
    cv = QueryKFold(3)
    comparison = compare(lines(), data, cv=cv, metrics=("ndcg@3", "map"))
    for i, (train, test) in enumerate(cv.split(X, qid=qid)):
        scores = LinearRegression().fit(X[train], y[train]).predict(X[test])
        expected = ndcg_score(y[test], scores, qid[test], k=3, per_query=True)
        found = comparison.values.where(ranker="line", split=str(i + 1), metric="ndcg@3")
        np.testing.assert_array_equal(found["query"], np.unique(qid[test]))
        np.testing.assert_allclose(found["value"], expected)
        np.testing.assert_allclose(comparison.by_split("ndcg@3")[i, 0], np.nanmean(expected))
    by_query = comparison.by_query("ndcg@3")
    assert by_query.shape == (30, 2)
    np.testing.assert_array_equal(
        by_query[np.unique(qid[test]), 0], found["value"]
    )  # of the last fold


def test_the_convention_is_applied_and_named(data):
    comparison = compare(lines(), data, cv=3, metrics=("ndcg@8",), convention="letor4")
    assert (comparison.values["value"] == 0).all()  # no query has 8 documents
    assert "Eval-Score-4.0.pl" in str(comparison.summary())


def test_queries_and_seeds_reach_those_who_take_them(data):
    compare({"w": Weigher(), "seeded": Weigher(random_state=7)}, data, cv=2, random_state=3)
    assert {fit[1] for fit in FITS} == {3, 7}
    assert all(n_documents == n_qids for _, _, n_documents, n_qids in FITS)


def test_pipelines_take_queries_for_their_last_step(data):
    piped = make_pipeline(StandardScaler(), Watcher())
    values = compare({"piped": piped, "bare": Watcher()}, data, cv=2).by_split("map")
    np.testing.assert_allclose(values[:, 0], values[:, 1])


def test_our_rankers_watch_the_validation_set(data):
    compare({"ours": Watcher(), "other": Weigher()}, data, cv=2, validation_size=5)
    assert [fit for fit in FITS if fit[0] == "watcher"] == [("watcher", 30)] * 2
    assert [fit[2] for fit in FITS if fit[0] == 1.0] == [60, 60]


@pytest.mark.parametrize("validation_size", [None, 4])
def test_the_search_finds_the_best_by_query(data, validation_size):
    grid = {"first": {"weight": [-1.0, 1.0, 2.0]}}
    rankers = {"first": Weigher(weight=-1.0)}
    comparison = compare(rankers, data, cv=2, grid=grid, validation_size=validation_size)
    chosen = comparison.fits.where(ranker="first")["best_params"]
    assert set(chosen) == {"{'weight': 1.0}"}
    n_searches = 3 * (1 if validation_size else 3)
    assert len(FITS) == 2 * (n_searches + 1)
    n_rows = 90 - 6 * (validation_size or 0)  # the last fit has the whole training set
    last = [(fit[0], fit[2]) for fit in FITS[n_searches :: n_searches + 1]]
    assert last == [(1.0, n_rows)] * 2


def test_searches_tell_apart_queries_of_the_same_name_in_train_and_validation(data):
    X, y, qid = data
    parts = [RankingData(X[rows], y[rows], qid[rows] % 10) for rows in np.split(np.arange(180), 3)]
    split = Split("a", *parts)
    grid = {"first": {"weight": [-1.0, 1.0]}}
    comparison = compare({"first": Weigher()}, [split], grid=grid)
    assert comparison.outcomes["first", "a"].best_params == {"weight": 1.0}


def write_folds(folder, data, n_folds=2):
    X, y, qid = data
    for fold in range(n_folds):
        place = folder / f"Fold{fold + 1}"
        place.mkdir(parents=True)
        for part, name in enumerate(("train", "vali", "test")):
            rows = (qid + fold) % 3 == part
            write_letor(place / f"{name}.txt", X[rows], y[rows], qid[rows])


def test_folders_and_folds_bring_their_splits(tmp_path, data):
    write_folds(tmp_path, data)
    from_folder = compare(lines(), tmp_path)
    from_folds = compare(lines(), list(load_folds(tmp_path)))
    assert from_folder.splits == ("Fold1", "Fold2")
    np.testing.assert_array_equal(from_folder.by_query("map"), from_folds.by_query("map"))
    assert from_folder.test_to_train == 1.0


def test_rows_may_be_split_by_hand(data):
    rows = np.arange(180)
    comparison = compare(lines(), data, cv=[(rows[:90], rows[90:])])
    assert comparison.by_query("map").shape == (15, 2)


def test_in_parallel_all_is_the_same(data):
    cv = QueryShuffleSplit(3, random_state=0)
    rankers = {"line": LinearRegression(), "tree": DecisionTreeRegressor(max_features=1)}
    one, two = (compare(rankers, data, cv=cv, n_jobs=n_jobs) for n_jobs in (1, 2))
    for name in one.values.columns:
        np.testing.assert_array_equal(one.values[name], two.values[name])
    assert str(one.test("map")) == str(two.test("map"))


# Going on after a kill ------------------------------------------------------------------------


def test_what_is_stored_is_not_fitted_again(tmp_path, data):
    options = {"cv": 3, "store": tmp_path / "store"}
    first = compare(lines(), data, **options)
    assert len(FITS) == 3
    again = compare(lines(), data, metrics=("p@2",), **options)  # metrics cost no fit
    assert len(FITS) == 3
    assert again.metrics == ("p@2",)
    np.testing.assert_array_equal(
        compare(lines(), data, **options).values["value"], first.values["value"]
    )
    compare({"first": Weigher(weight=2.0)}, data, **options)
    assert len(FITS) == 6
    X, y, qid = data
    compare({"first": Weigher()}, (X + 1, y, qid), **options)
    assert len(FITS) == 9
    compare({"first": Weigher()}, data, **options, grid={"first": {"weight": [1.0]}})
    assert len(FITS) == 9 + 3 * (3 + 1)


def test_damaged_files_are_done_again(tmp_path, data):
    options = {"cv": 2, "store": tmp_path}
    expected = compare({"first": Weigher()}, data, **options).by_query("map")
    whole, *_ = files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    with np.load(whole) as file:
        about = json.loads(str(file["about"]))
    assert about["configuration"]["ranker"]["params"] == {"random_state": 0, "weight": 1.0}
    assert {"treerank", "numpy", "python"} <= set(about["versions"])
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].write_bytes(b"")
    np.testing.assert_array_equal(
        compare({"first": Weigher()}, data, **options).by_query("map"), expected
    )
    assert len(FITS) == 4
    assert sorted(tmp_path.iterdir()) == files


KILLED = """
import sys, time
import numpy as np
from sklearn.linear_model import Ridge
from treerank.evaluation import compare

class Slow(Ridge):
    def fit(self, X, y):
        print("fit", flush=True)
        time.sleep(float(sys.argv[2]))
        return super().fit(X, y)

qid = np.repeat(np.arange(12), 4)
X = np.random.default_rng(0).normal(size=(48, 2))
compare({"slow": Slow()}, (X, (X[:, 0] > 0) * 1.0, qid), cv=4, store=sys.argv[1])
"""


def test_a_kill_costs_no_finished_fit(tmp_path):
    def start(seconds):
        command = [sys.executable, "-c", KILLED, str(tmp_path), seconds]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    process = start("0.2")
    while len(list(tmp_path.glob("*.npz"))) < 2 and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    n_finished = len(list(tmp_path.glob("*.npz")))
    assert 2 <= n_finished < 4
    again = start("0").communicate()[0]
    assert again.split().count("fit") == 4 - n_finished


# Failures and refusals --------------------------------------------------------------------------


def test_failures_are_recorded_and_keep_the_ranker_out_of_tests(data):
    rankers = {"broken": Broken(), **lines()}
    with pytest.warns(UserWarning, match=r"broken failed on split \d: RuntimeError: no query 0"):
        comparison = compare(rankers, data, cv=3)
    assert len(comparison.failures) == 2
    assert "no query 0" in comparison.failures[0].trace
    assert np.isnan(comparison.by_split("map")[:, 0]).sum() == 2
    assert comparison.complete == ("line", "first")
    with pytest.raises(ValueError, match=r"for all splits to be paired; 'broken' has none for"):
        comparison.test("map")
    with pytest.raises(ValueError, match=r"for all splits to be paired; 'broken' has none for"):
        comparison.nemenyi("map")
    assert comparison.test("map", rankers=["line", "first"]).names == ("line", "first")
    text = str(comparison.summary())
    assert text.count("broken failed on split") == 2
    with pytest.raises(ValueError, match=r"reference must be 'best' or .*; got 'broken'"):
        comparison.summary(reference="broken")
    with pytest.raises(RuntimeError, match="no query 0"):
        compare(rankers, data, cv=3, on_error="raise")


def test_a_ranker_that_always_fails_is_a_row_of_its_own(data):
    rankers = {"none": Weigher(weight=0.0), "first": Weigher()}
    with pytest.warns(UserWarning, match="none failed on split"):
        comparison = compare(rankers, data, cv=2)
    assert "failed" in str(comparison.summary()).splitlines()[2]
    assert np.isnan(comparison.by_query("map")[:, 0]).all()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (0.0, r"predict must tell documents apart; got 0 for all 90\."),
        (np.nan, r"predict must return finite scores; got 90 others among 90\."),
    ],
)
def test_scores_that_rank_nothing_are_refused(data, weight, message):
    with pytest.raises(ValueError, match=message):
        compare({"w": Weigher(weight=weight)}, data, cv=2, on_error="raise")


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"rankers": [Weigher()]}, TypeError, "rankers must be a dict from name to estimator"),
        ({"rankers": {}}, TypeError, "rankers must be a dict from name to estimator"),
        ({"rankers": {"a": 5}}, TypeError, "rankers must have fit; 'a' is 5"),
        ({"grid": {"b": {}}}, ValueError, r"grid must be by name of ranker, .*; got \['b'\]"),
        ({"on_error": "skip"}, ValueError, "on_error must be one of .*; got 'skip'"),
        ({"random_state": None}, TypeError, "random_state must be an integer; got None"),
        ({"metrics": ()}, ValueError, r"metrics must be at least one; got \(\)"),
        ({"metrics": ("mrr",), "convention": "letor4"}, ValueError, "metric must be one of"),
        ({"data": 5}, TypeError, "data must be a folder, folds or"),
        ({"data": [], "cv": None}, ValueError, "data must have at least one split"),
        ({"data": [5], "cv": None}, TypeError, "data must hold folds or splits"),
        ({"data": "."}, ValueError, "cv must be None for data that come in folds; got 2"),
        ({"cv": [(np.arange(5), np.arange(5, 9))]}, ValueError, "cv must keep queries whole; .* 0"),
    ],
)
def test_bad_input_is_refused_before_anything_is_fitted(data, changed, error, message):
    arguments = {"rankers": {"a": Weigher()}, "data": data, "cv": 2} | changed
    with pytest.raises(error, match=message):
        compare(**arguments)
    assert FITS == []


def test_what_cannot_be_tested_is_said(data):
    rows = np.arange(180)
    one = compare(lines(), data, cv=[(rows[:90], rows[90:])])
    with pytest.raises(ValueError, match="over queries where there is one split only, '1'"):
        one.test("map", "corrected_t")
    assert one.test("map").test == "paired randomisation test"
    assert "standard error over queries" in str(one.summary())
    queries = one.by_query("map")[:, 0]
    expected = stats.sem(queries[~np.isnan(queries)])
    assert one.summary().cells["line", "map"].error == pytest.approx(expected)
    copies = compare({"a": Weigher(), "b": Weigher()}, data, cv=2)
    with pytest.raises(ValueError, match=r"a and b cannot be compared: .* constant difference"):
        copies.test("map")
    assert str(copies.summary()).count("Not tested by") == 2
    with pytest.raises(ValueError, match=r"metric must be one of .*; got 'err'"):
        copies.test("err")
    with pytest.raises(ValueError, match=r"rankers must be among .*; got 'c'"):
        copies.test("map", rankers=["a", "c"])


# Tests and tables ---------------------------------------------------------------------------------


def test_tests_go_over_what_is_random(data):
    cv = QueryShuffleSplit(4, test_size=0.2, random_state=0)
    comparison = compare(lines(), data, cv=cv)
    by_split, by_query = comparison.by_split("map"), comparison.by_query("map")
    expected = corrected_resampled_t_test(*by_split.T, test_to_train=1 / 4)
    assert comparison.test("map").p_values[0, 1] == expected.p_value
    wider = corrected_resampled_t_test(*by_split.T, test_to_train=1)
    found = comparison.test("map", test_to_train=1).p_values[0, 1]
    assert found == wider.p_value > expected.p_value
    assert compare(lines(), data, cv=2).default_test() == "corrected_t"
    expected = randomization_test(*by_query.T, random_state=5)
    found = comparison.test("map", "randomization", random_state=5)
    assert found.p_values[0, 1] == expected.p_value
    assert comparison.nemenyi("map").n == np.count_nonzero(~np.isnan(by_query[:, 0]))


def test_splits_share_their_mean_ratio_and_their_mean_seconds_of_search_and_fit():
    def outcome(split, ratio, seconds):
        values = {"map": np.array([0.5, 1.0])}
        return Outcome("a", split, np.arange(2), values, "", ratio, {}, seconds)

    outcomes = [outcome("1", 0.25, (1.0, 2.0, 9.0)), outcome("2", 0.75, (3.0, 4.0, 9.0))]
    comparison = Comparison.of(("a",), ("map",), "treerank", outcomes)
    assert comparison.test_to_train == 0.5
    assert comparison.summary().seconds == {"a": 5.0}


def test_queries_of_several_splits_count_by_their_mean(data):
    comparison = compare(lines(), data, cv=QueryShuffleSplit(4, test_size=0.5, random_state=0))
    values = comparison.values.where(ranker="line", metric="map")
    ids = np.unique(values["query"])
    expected = [values["value"][values["query"] == query].mean() for query in ids]
    np.testing.assert_allclose(comparison.by_query("map")[:, 0], expected)


def test_joined_comparisons_are_those_of_all_rankers_at_once(data):
    both = compare(lines(), data, cv=3)
    apart = [compare({name: ranker}, data, cv=3) for name, ranker in lines().items()]
    joined = join(*apart)
    assert joined.rankers == both.rankers
    np.testing.assert_array_equal(joined.by_query("map"), both.by_query("map"))
    X, y, qid = data
    for other, message in [
        (compare({"b": Weigher()}, (X, y[::-1], qid), cv=3), "be on the same folds"),
        (compare({"b": Weigher()}, data, cv=2), "have the same splits"),
        (compare({"b": Weigher()}, data, cv=3, metrics=("p",)), "have the same metrics"),
        (compare({"line": Weigher()}, data, cv=3), "be of different rankers; got {'line'} twice"),
    ]:
        with pytest.raises(ValueError, match=f"comparisons must {message}"):
            join(apart[0], other)


def test_summary_marks_what_is_significant():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(360, 1))
    y = (X[:, 0] + 0.3 * rng.normal(size=360) > 0.7).astype(float)
    rankers = {"up": Weigher(), "down_&_out": Weigher(weight=-1.0)}
    comparison = compare(rankers, (X, y, qid), cv=5)
    summary = comparison.summary()
    cells = summary.cells
    assert cells["down_&_out", "map"].verdict == "worse"
    assert cells["up", "map"].is_best
    assert not cells["down_&_out", "map"].is_best
    assert comparison.summary(reference="down_&_out").cells["up", "map"].verdict == "better"
    assert comparison.summary(alpha=1e-300).cells["down_&_out", "map"].verdict == "same"
    means = comparison.by_split("map").mean(axis=0)
    assert (cells["up", "map"].mean, cells["down_&_out", "map"].mean) == tuple(means)
    text = str(summary)
    assert "↓" in text.splitlines()[3]
    assert "5 splits, 60 queries tested" in text
    assert "corrected resampled t-test, adjusted by Holm for all pairs" in text
    assert "gains 2^y - 1" in text


def test_summary_adjusts_for_the_number_of_rankers(data):
    rankers = {"line": LinearRegression(), "down": Weigher(-1.0), "tree": DecisionTreeRegressor()}
    comparison = compare(rankers, data, cv=5)
    pairs = [comparison.test("map", rankers=(n, "line"), adjust=False) for n in ("down", "tree")]
    smallest = min(pair.p_values[0, 1] for pair in pairs)
    for factor, n_worse in [(1.5, 0), (2.1, 1)]:
        cells = comparison.summary(reference="line", alpha=factor * smallest).cells
        assert sum(cells[name, "map"].verdict == "worse" for name in rankers) >= n_worse
        assert n_worse or all(cells[name, "map"].verdict == "same" for name in rankers)


def null_comparison(rng, n_rankers=6, n_queries=60):
    """Rankers that are equally good."""
    names = [f"ranker {i}" for i in range(n_rankers)]
    outcomes = [
        Outcome(name, "a", np.arange(n_queries), {"map": values}, "", 1.0, {}, (0.0, 0.0, 0.0))
        for name, values in zip(names, rng.normal(size=(n_rankers, n_queries)), strict=True)
    ]
    return Comparison.of(tuple(names), ("map",), "treerank", outcomes)


def test_a_best_that_the_values_chose_is_adjusted_for_all_pairs():
    comparison = null_comparison(np.random.default_rng(0))
    result = comparison.test("map", "wilcoxon")  # adjusted for all pairs
    best = int(np.argmax(comparison.by_split("map")))
    smallest = np.nanmin(result.p_values[best])
    for factor, verdict in [(0.999, "same"), (1.001, "worse")]:
        cells = comparison.summary(test="wilcoxon", alpha=factor * smallest).cells
        worst = comparison.rankers[int(np.nanargmin(result.p_values[best]))]
        assert cells[worst, "map"].verdict == verdict
    single = comparison.test("map", "wilcoxon", adjust=False).p_values[best]
    own = adjust_holm(single[~np.isnan(single)]).min()
    assert own < smallest
    named = comparison.summary(reference=comparison.rankers[best], test="wilcoxon", alpha=own)
    assert sum(cell.verdict == "worse" for cell in named.cells.values()) >= 1
    assert "for its pairs" in str(named)


def test_two_that_are_alike_are_noted_only_against_the_reference():
    queries = np.arange(5)
    values = {"a": queries / 10, "copy": queries / 10, "best": np.sqrt(queries)}
    outcomes = [
        Outcome(name, "1", queries, {"map": found}, "", 1.0, {}, (0.0, 0.0, 0.0))
        for name, found in values.items()
    ]
    comparison = Comparison.of(tuple(values), ("map",), "treerank", outcomes)
    assert "Not tested" not in str(comparison.summary())
    assert str(comparison.summary(reference="a")).count("Not tested") == 1


def test_a_single_document_needs_no_other_to_be_told_from():
    np.testing.assert_array_equal(checked_scores([2], 1), [2.0])


@pytest.mark.slow
def test_summaries_find_no_more_in_pure_chance_than_their_level():
    rng = np.random.default_rng(0)
    n_wrong = 0
    for _ in range(1000):
        summary = null_comparison(rng).summary(test="wilcoxon")
        n_wrong += any(cell.verdict != "same" for cell in summary.cells.values())
    assert n_wrong <= stats.binom.ppf(0.999, 1000, 0.05)


def test_summaries_are_exported(tmp_path, data):
    summary = compare({"a_&_b": LinearRegression(), "c": Weigher()}, data, cv=2).summary()
    for suffix, method in {
        ".txt": summary.to_text,
        ".md": summary.to_markdown,
        ".tex": summary.to_latex,
        ".html": summary.to_html,
    }.items():
        summary.save(tmp_path / f"table{suffix}")
        text = (tmp_path / f"table{suffix}").read_text(encoding="utf-8")
        assert text == method() + "\n"
    assert r"a\_\&\_b & " in summary.to_latex()
    assert "<td>a_&amp;_b</td>" in summary.to_html()
    assert r"| a\_&\_b |" in summary.to_markdown()
    assert "**" in summary.to_markdown()
    odd = compare({"<i>|k_5`": Weigher(), "b": LinearRegression()}, data, cv=2).summary()
    assert r"\textless{}i\textgreater{}\textbar{}k\_5`" in odd.to_latex()
    assert r"| \<i>\|k\_5\` |" in odd.to_markdown()
    assert "<td>&lt;i&gt;|k_5`</td>" in odd.to_html()
    with pytest.raises(ValueError, match=r"path must end in one of .*; got"):
        summary.save(tmp_path / "table.doc")


@pytest.mark.parametrize("frame", ["to_pandas", "to_polars"])
def test_values_come_as_data_frames(data, frame):
    values = compare(lines(), data, cv=2).values
    table = getattr(values, frame)()
    assert list(table.columns) == ["ranker", "split", "query", "metric", "value"]
    assert len(table) == len(values) == 2 * 2 * 30


def test_progress_is_told(data):
    told = []
    with listening(lambda *what: told.append(what)):
        compare({"trees": TreeDirectRanker(LightGBMTrees(3))}, data, cv=2)
        TreeDirectRanker(LightGBMTrees(3)).fit(*data)
    assert told[0] == (1, 2, "trees on 1")
    assert [done for done, _, _ in told] == [1, 2, 1, 2, 3]


DATA = Path(os.environ.get("TREERANK_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.mark.skipif(not (DATA / "mq2008").is_dir(), reason="needs LETOR's MQ2008")
def test_official_convention_scores_a_real_ranking(tmp_path):
    folds = list(load_folds(DATA / "mq2008"))[:1]
    comparison = compare({"ridge": Ridge()}, folds, convention="letor4")
    _, test = folds[0].train, folds[0].test
    scores = Ridge().fit(folds[0].train.X, folds[0].train.y).predict(test.X)
    expected = with_convention("ndcg@10", "letor4")(test.y, scores, test.qid)
    assert comparison.by_split("ndcg@10")[0, 0] == pytest.approx(expected)
