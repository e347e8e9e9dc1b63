"""Rankers that were fitted before, and files of models, in comparisons."""

import re

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRanker
from noting_rankers import DATA, FITS, Weigher, X, lines, qid, y
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

from treerank import (
    NDCG,
    HistogramTrees,
    QueryKFold,
    TreeDirectRanker,
    compare,
    compare_scores,
    make_web_search,
    read_forest,
)
from treerank.baselines import RankSVM
from treerank.documents.ranking_data import RankingData
from treerank.evaluation import Split
from treerank.evaluation.fitted_rankers import fitted_without_labels, is_fitted
from treerank.rankers import ColumnRanker, ForestRanker

SIZES = np.full(15, 6)
TRAIN, TEST = qid < 15, qid >= 15
NEW = X[TEST], y[TEST], qid[TEST]
OLD = X[TRAIN], y[TRAIN], qid[TRAIN]


def trees():
    return TreeDirectRanker(HistogramTrees(5), random_state=0)


class Unconventional(BaseEstimator):
    """Keeps what it learns under a name that does not end in an underscore."""

    def fit(self, X, y):
        FITS.append("unconventional")
        self.model = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model.predict(X)


class Booster:
    """Has predict alone."""

    def predict(self, X):
        return X[:, 0]


class Plain:
    """A class of the user's own, which scikit-learn knows nothing of."""

    def fit(self, X, y):
        self.column_ = 0
        return self

    def predict(self, X):
        return X[:, 0]


def test_a_plain_class_is_scored_once_it_is_fitted_and_cannot_be_fitted_here():
    assert not is_fitted(Plain())
    fitted = Plain().fit(X, y)
    values = compare({"plain": fitted}, DATA, metrics="ndcg@10").by_query("ndcg@10")
    np.testing.assert_array_equal(values[:, 0], NDCG(10).per_query(y, X[:, 0], qid))
    with pytest.raises(TypeError, match="rankers must have get_params to be fitted; 'plain' is"):
        compare({"plain": Plain()}, DATA)


class ByFirst(BaseEstimator):
    """Has nothing to learn, and says so."""

    def fit(self, X, y):
        FITS.append("by first")
        return self

    def predict(self, X):
        return X[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def catboost(**settings):
    package = pytest.importorskip("catboost")
    return package.CatBoostRanker(
        iterations=3, thread_count=1, silent=True, allow_writing_files=False, **settings
    )


FITTED = {
    "trees": lambda: trees().fit(*OLD),
    "svm": lambda: RankSVM().fit(*OLD),
    "piped": lambda: make_pipeline(StandardScaler(), trees()).fit(*OLD[:2]),
    "linear": lambda: LinearRegression().fit(*OLD[:2]),
    "lightgbm": lambda: LGBMRanker(n_estimators=3, verbose=-1).fit(*OLD[:2], group=SIZES),
    "xgboost": lambda: XGBRanker(n_estimators=3).fit(*OLD[:2], qid=OLD[2]),
    "catboost": lambda: catboost().fit(*OLD[:2], group_id=OLD[2]),
    "catboost with categories": lambda: catboost(cat_features=["c"]).fit(
        pd.DataFrame(OLD[0], columns=["a", "b", "c"]).assign(c=OLD[0][:, 2].astype(str)),
        OLD[1],
        group_id=OLD[2],
    ),
    "forest": lambda: ForestRanker(read_forest(FITTED["lightgbm"]())),
    "unconventional": lambda: Unconventional().fit(*OLD[:2]),
    "piped unconventional": lambda: make_pipeline(StandardScaler(), Unconventional()).fit(*OLD[:2]),
    "no fit": Booster,
}
#: Those that read other columns, or that scikit-learn's pipelines take for not fitted.
OTHERS = {"catboost with categories", "piped unconventional"}
UNFITTED = {
    "trees": trees,
    "piped": lambda: make_pipeline(StandardScaler(), trees()),
    "linear": LinearRegression,
    "half": lambda: make_pipeline(StandardScaler().fit(X), LinearRegression()),
    "lightgbm": LGBMRanker,
    "xgboost": XGBRanker,
    "catboost": lambda: catboost(cat_features=["c"]),
    "unconventional": Unconventional,
    "nothing to learn": ByFirst,
    "requests": lambda: trees().set_fit_request(qid=True),
}


@pytest.fixture(autouse=True)
def _no_fits():
    FITS.clear()


@pytest.mark.filterwarnings("ignore:qid is None")
@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_ranker_is_recognized(name):
    assert is_fitted(FITTED[name]())


@pytest.mark.parametrize("name", UNFITTED)
@pytest.mark.usefixtures("routing")
def test_a_ranker_that_is_not_fitted_is_recognized(name):
    assert not is_fitted(UNFITTED[name]())


@pytest.mark.filterwarnings("ignore:qid is None")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # of scikit-learn 1.8
@pytest.mark.parametrize("name", sorted(FITTED.keys() - OTHERS))
def test_a_fitted_ranker_is_scored_as_it_is(name):
    ranker = FITTED[name]()
    FITS.clear()
    scores = ranker.predict(NEW[0])
    comparison = compare({"old": ranker}, NEW, metrics=["ndcg@3"])
    assert comparison.splits == ("test",)
    expected = NDCG(3).per_query(NEW[1], scores, NEW[2])
    np.testing.assert_array_equal(comparison.by_query("ndcg@3")[:, 0], expected)
    np.testing.assert_array_equal(ranker.predict(NEW[0]), scores)
    assert FITS == []
    assert "old: fitted before, scored as it is." in comparison.summary().notes
    assert comparison.summary().to_text().splitlines()[2].endswith("fitted before")


def test_two_fitted_rankers_differ_as_their_scores_do(tmp_path):
    rankers = {"old": trees().fit(*OLD), "new": RankSVM().fit(*OLD)}
    comparison = compare(rankers, NEW)
    scores = {name: ranker.predict(NEW[0]) for name, ranker in rankers.items()}
    given = compare_scores(scores, *NEW[1:])
    for metric in ("ndcg@10", "map"):
        pair = metric, "old", "new"
        assert comparison.difference(*pair) == given.difference(*pair)
        assert comparison.test(*pair) == given.test(*pair)
    for name, ranker in rankers.items():
        ranker.save(tmp_path / f"{name}.treerank")
    files = {"old": tmp_path / "old.treerank", "new": str(tmp_path / "new.treerank")}
    of_files = compare(files, RankingData(*NEW))
    np.testing.assert_array_equal(of_files.by_query("map"), comparison.by_query("map"))
    with pytest.raises(FileNotFoundError, match=r"none\.treerank"):
        compare({"old": tmp_path / "none.treerank"}, NEW)
    LGBMRanker(n_estimators=1, verbose=-1).fit(*OLD[:2], group=SIZES).booster_.save_model(
        tmp_path / "lightgbm.txt"
    )
    with pytest.raises(ValueError, match=r"rankers\['old'\] must be an estimator or a file that "):
        compare({"old": tmp_path / "lightgbm.txt"}, NEW)
    (tmp_path / "damaged").write_bytes((tmp_path / "old.treerank").read_bytes()[:-40])
    with pytest.raises(ValueError, match="damaged"):
        compare({"old": tmp_path / "damaged"}, NEW)


def test_fitted_rankers_on_several_test_sets_are_compared_by_query():
    sets = [RankingData(*(part[rows] for part in DATA)) for rows in (qid < 10, qid >= 20)]
    sets[1] = sets[1].take(sets[1].qid < 25)  # so that means over splits are others
    splits = [Split(str(i), None, data) for i, data in enumerate(sets)]
    rankers = {"old": RankSVM().fit(*OLD), "linear": LinearRegression().fit(*OLD[:2])}
    with pytest.warns(UserWarning, match="fitted to 10 of the 15 test queries"):
        comparison = compare(rankers, splits)
    means = [comparison.summary().cells[name, "map"].mean for name in rankers]
    np.testing.assert_allclose(means, np.nanmean(comparison.by_query("map"), axis=0))
    gap = comparison.difference("map", "old", "linear").interval.estimate
    assert means[0] - means[1] == pytest.approx(gap)
    assert comparison.test("map", "old", "linear").test == "paired randomization test"
    with pytest.raises(ValueError, match="over queries if there are no training sets"):
        comparison.test("map", "old", "linear", test="corrected_t")
    text = str(comparison.summary())
    assert "2 splits, 15 queries tested; ± is the standard error over queries." in text
    assert "nan" not in text
    with pytest.raises(ValueError, match=r"train must not be None if .* as 'new'; split '0' has"):
        compare({"old": rankers["old"], "new": Weigher()}, splits)


def test_fitted_and_unfitted_rankers_are_scored_on_the_same_test_sets():
    fitted, options = RankSVM().fit(*OLD), {"metrics": ["map"]}
    comparison = compare({"old": fitted} | lines(), NEW, **options)
    assert len(FITS) == 5  # of the one that notes its fits: the folds of the data
    assert {fit[2] for fit in FITS} == {72}
    expected = compare(lines(), NEW, **options)
    np.testing.assert_array_equal(comparison.by_query("map")[:, 1:], expected.by_query("map"))
    whole = compare({"old": fitted}, NEW, **options)
    np.testing.assert_array_equal(comparison.by_query("map")[:, :1], whole.by_query("map"))
    note = "old: fitted before, scored as it is; linear and first: fitted to the training set of"
    assert note in str(comparison.summary())
    assert comparison.test("map", "old", "linear").test == "corrected resampled t-test"
    errors = "for their overlap (Nadeau and Bengio), and over queries for old."
    assert f"{errors} All values are means over splits." in str(comparison)
    of_old = comparison.summary().cells["old", "map"].mean
    assert of_old == pytest.approx(comparison.by_split("map")[:, 0].mean())


def test_what_has_nothing_to_learn_is_either():
    assert compare({"old": RankSVM().fit(*OLD), "first": ByFirst()}, NEW).splits == ("test",)
    assert compare({"svm": RankSVM(), "first": ByFirst()}, NEW, cv=2).splits == ("1", "2")


@pytest.mark.parametrize("others", [{}, {"svm": RankSVM()}])
def test_a_fitted_column_ranker_is_scored_as_it_is_on_every_fold(others):
    column = ColumnRanker(1).fit(*DATA)
    rankers = {"column": column, "by first": ByFirst()} | others
    comparison = compare(rankers, DATA, cv=3)  # without a warning, which would be an error
    assert comparison.splits == ("1", "2", "3")
    expected = NDCG(10).per_query(y, column.predict(X), qid)
    np.testing.assert_array_equal(comparison.by_query("ndcg@10")[:, 0], expected)
    assert "test queries" not in str(comparison)
    with pytest.raises(ValueError, match=r"grid must be for unfitted rankers; .* for 'column'"):
        compare(rankers, DATA, cv=3, grid={"column": {"column": [0, 1]}})
    learned = {"old": RankSVM().fit(*OLD), "column": column}
    with pytest.raises(ValueError, match=r"cv must be None if a ranker is fitted, .* as 'old'"):
        compare(learned, DATA, cv=3)
    assert column.score(X[::2], y[::2], qid[::2]) > 0  # it has seen no query


def test_test_queries_that_a_ranker_was_fitted_to_are_warned_of():
    rankers = {
        "trees": trees().fit(*DATA),
        "piped": make_pipeline(StandardScaler(), RankSVM()).set_params(ranksvm__C=2.0),
        "linear": LinearRegression().fit(X, y),
    }
    rankers["piped"].fit(X[qid < 20], y[qid < 20], ranksvm__qid=qid[qid < 20])
    with pytest.warns(UserWarning, match="was fitted to") as caught:
        comparison = compare(rankers, NEW)
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2
    assert "rankers['trees'] was fitted to 15 of the 15 test queries, so its values are" in said[0]
    assert said[0].endswith("has seen, or pass clone(ranker) of sklearn.base to fit it anew.")
    assert "rankers['piped'] was fitted to 5 of the 15 test queries" in said[1]
    text = str(comparison.summary())
    assert "trees was fitted to 15 of the test queries: its values are too high." in text
    assert "Whether linear learned from test queries is not known here." in text
    with pytest.warns(UserWarning, match="trees.* fitted to 15 of the 15"):
        compare({"trees": rankers["trees"], "new": Weigher()}, NEW, n_jobs=2)
    new = compare({"old": trees().fit(*OLD)}, NEW)
    assert "fitted to" not in str(new.summary())
    assert "not known" not in str(new.summary())


def test_searches_that_come_back_with_other_documents_are_not_called_a_fault():
    words = np.array([f"{color} shoes" for color in ["red", "blue", "green", "black", "white"]])
    old = RankSVM().fit(X[qid < 5], y[qid < 5], words[qid[qid < 5]])
    later = (qid >= 5) & (qid < 10)
    new = X[later], y[later], words[qid[later] - 5]
    with pytest.warns(UserWarning, match="was fitted to") as caught:
        comparison = compare({"old": old}, new)
    assert len(caught) == 1
    said = str(caught[0].message)
    assert said.startswith(
        "rankers['old'] was fitted to 5 of the 5 test queries with other documents. If a split of "
        "rows cut them (KFold, train_test_split), its values are too high: "
    )
    assert "If they are the same searches at another time" in said
    text = str(comparison.summary())
    assert "old was fitted to 5 of the test queries with other documents: its values are" in text
    assert "too high if a split of rows cut them, not if searches came back later." in text
    assert "test queries: its values are too high." not in text


@pytest.mark.parametrize(
    ("others", "instead"),
    [
        ({}, "Leave cv out; or pass clone(ranker)"),
        (
            {"new": Weigher()},
            "Leave cv out, or pass folds as a list of Split; or pass clone(ranker)",
        ),
    ],
)
def test_what_is_for_unfitted_rankers_is_refused(others, instead):
    rankers = {"old": RankSVM().fit(*OLD), **others}
    rule = "cv must be None if a ranker is fitted, and so is only scored, as 'old'; got "
    for cv in (2, QueryKFold(3), [(np.flatnonzero(TRAIN), np.flatnonzero(TEST))]):
        with pytest.raises(ValueError, match=re.escape(rule)) as caught:
            compare(rankers, NEW, cv=cv)
        assert f". {instead}" in str(caught.value)
    with pytest.raises(ValueError, match=r"grid must be for unfitted rankers; got .*old"):
        compare(rankers, NEW, grid={"old": {"C": [1.0]}})
    assert FITS == []
    fitted_anew = {name: clone(ranker) for name, ranker in rankers.items()}
    assert compare(fitted_anew, NEW, cv=2).splits == ("1", "2")


def test_a_fitted_ranker_that_does_not_read_the_data_fails_alone():
    narrow = LinearRegression().fit(OLD[0][:, :2], OLD[1])
    with pytest.warns(UserWarning, match="narrow failed on split test: ValueError: X has 3"):
        comparison = compare({"narrow": narrow, "old": RankSVM().fit(*OLD)}, NEW)
    assert comparison.complete == ("old",)


def test_fitted_rankers_store_nothing(tmp_path):
    compare({"old": RankSVM().fit(*OLD)}, NEW, store=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_fitted_rankers_are_measured_by_several_labels():
    labels = {"a": NEW[1], "b": np.where(NEW[2] < 20, np.nan, NEW[1])}
    rankers = {"old": RankSVM().fit(*OLD), "linear": LinearRegression().fit(*OLD[:2])}
    comparison = compare(rankers, (NEW[0], labels, NEW[2]), metrics=["map"])
    scores = {name: ranker.predict(NEW[0]) for name, ranker in rankers.items()}
    given = compare_scores(scores, labels, NEW[2], metrics=["map"])
    assert comparison.metrics == given.metrics == ("map", "map of a", "map of b")
    for metric in comparison.metrics:
        np.testing.assert_array_equal(comparison.by_query(metric), given.by_query(metric))


def test_unfitted_rankers_of_several_labels_are_fitted_to_all_of_them():
    labels = {"a": y, "b": np.where(qid % 2, X[:, 1] > 0, np.nan)}
    rankers = {"trees": TreeDirectRanker(HistogramTrees(5), label_weights={"b": 3.0})}
    settings = {"metrics": ["map"], "label_weights": {"b": 3.0}}
    cv = [(np.flatnonzero(TRAIN), np.flatnonzero(TEST))]
    comparison = compare(rankers, (X, labels, qid), cv=cv, **settings)
    train, test = ({n: c[rows] for n, c in labels.items()} for rows in (TRAIN, TEST))
    ranker = clone(rankers["trees"]).set_params(random_state=0, metric="map")
    ranker.fit(OLD[0], train, OLD[2])
    expected = ranker.score(NEW[0], test, NEW[2])
    assert np.nanmean(comparison.by_query("map")) == pytest.approx(expected)
    assert comparison.by_split("map")[0, 0] == pytest.approx(expected)
    with pytest.raises(ValueError, match="grid must be None where y has several labels"):
        compare(rankers, (X, labels, qid), cv=2, grid={"trees": {"tau": ["tanh"]}})


def rankers_by_column():
    """Return unfitted rankers by column, and documents with missing values."""
    data = make_web_search(30, documents_per_query=10, n_features=4, random_state=0)
    features = np.where(np.random.default_rng(0).random(data[0].shape) < 0.2, np.nan, data[0])
    return {"first": ColumnRanker(0), "third": ColumnRanker(2)}, (features, *data[1:])


def test_columns_alone_are_scored_on_all_of_the_data():
    rankers, data = rankers_by_column()
    comparison = compare(rankers, data, metrics="map")
    assert len(comparison.splits) == 1
    assert comparison.test("map", "first", "third").test == "paired randomization test"
    fitted = {name: clone(ranker).fit(*data) for name, ranker in rankers.items()}
    expected = compare(fitted, data, metrics="map")
    np.testing.assert_array_equal(comparison.by_query("map"), expected.by_query("map"))
    assert "first and third: fitted before, scored as they are." in str(expected)
    splits = RankingData(*data).split(valid=None, test=0.3)
    folds = [Split("one", splits[0], splits[-1])]
    assert compare(rankers, folds, metrics="map").fitted_before == ()
    assert "first and third: learn from no labels, scored as they are." in str(comparison)
    assert str(comparison).splitlines()[2].endswith("nothing to fit")
    assert not hasattr(rankers["first"], "column_index_")
    assert len(compare(rankers, data, metrics="map", cv=3).splits) == 3
    searched = compare(rankers, data, metrics="map", grid={"first": {"column": [0, 1]}})
    assert len(searched.splits) == 5
    assert searched.fitted_before == ()


def test_unfitted_columns_beside_fitted_rankers_split_nothing():
    rankers, data = rankers_by_column()
    other = make_web_search(30, documents_per_query=10, n_features=4, random_state=1)
    trained = TreeDirectRanker("linear").fit(*other)
    comparison = compare(rankers | {"linear": trained}, data, metrics="map")
    assert comparison.splits == ("test",)
    note = "linear: fitted before, scored as it is; first and third: learn from no labels, scored"
    assert note in str(comparison)
    beside = compare(rankers | {"linear": TreeDirectRanker("linear")}, data, metrics="map")
    assert len(beside.splits) == 5
    assert beside.fitted_before == ()


def test_labels_of_test_documents_change_no_score_of_a_column():
    rankers, (features, labels, queries) = rankers_by_column()
    half = np.where(queries % 2 == 0, labels, np.nan)
    some = compare(rankers, (features, half, queries), metrics="map").by_query("map")
    whole = compare(rankers, (features, labels, queries), metrics="map").by_query("map")
    np.testing.assert_array_equal(some[::2], whole[::2])
    low = np.where(queries[:, None] < 15, features - 100, features)
    of_half = np.where(queries < 15, np.nan, labels)
    seen = fitted_without_labels(ColumnRanker(0), RankingData(low, of_half, queries))
    assert seen.missing_score_ < -100


def test_a_column_that_is_not_there_fails_with_its_name():
    _, data = rankers_by_column()
    rankers = {"first": ColumnRanker(0), "third": ColumnRanker(7)}
    with pytest.warns(UserWarning, match="third failed on split test: ValueError: column must be"):
        compared = compare(rankers, data, metrics="map")
    assert "first: learns from no labels, scored as it is." in compared.summary().notes
