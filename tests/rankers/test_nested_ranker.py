from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import HistogramTrees, TreeDirectRanker, load
from treerank.clicks import ClickRelevance
from treerank.documents.eval_set import EvalSet
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.documents.training_queries import overlap_with_training
from treerank.documents.training_set import training_set
from treerank.feature_parts import NewtonBoosting
from treerank.objectives.pairs.rules import GivenPairs
from treerank.rankers import ColumnRanker, ForestRanker, NestedRanker
from treerank.rankers.nested_ranker import _have_pairs, _reaching

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(40), 20)
SHOPS = np.array([f"shop {number}" for number in range(12)])
SHOP = RNG.integers(12, size=len(QID))
FRAME = pd.DataFrame({"price": RNG.normal(size=len(QID)), "shop": SHOPS[SHOP]})
#: Which shop it is matters, not where its name stands in the alphabet.
Y = np.isin(SHOP, [1, 4, 6, 9]) + (FRAME["price"].to_numpy() > 0.5).astype(int)


def trees(**settings):
    return TreeDirectRanker(HistogramTrees(10, random_state=0, **settings), random_state=0)


def test_the_stages_get_names_and_categories():
    nested = NestedRanker(trees(), sizes=(5,), random_state=0).fit(FRAME, Y, QID)
    assert len(nested.rankers_) == 2
    for stage in nested.rankers_:
        assert stage.columns_ == nested.columns_
        assert list(stage.feature_names_in_) == ["price", "shop"]
        assert stage.columns_.categories == {1: sorted(SHOPS)}
    alone = trees().fit(FRAME, Y, QID)
    np.testing.assert_array_equal(nested.rankers_[0].predict(FRAME), alone.predict(FRAME))


def test_held_out_documents_reach_the_stages_with_their_categories(tmp_path):
    ranker = trees(early_stopping_rounds=3)
    train = QID < 30
    data, held_out = ((FRAME[some], Y[some], QID[some]) for some in (train, ~train))
    nested = NestedRanker(ranker, sizes=(5,), random_state=0).fit(*data, eval_set=held_out)
    alone = trees(early_stopping_rounds=3).fit(*data, eval_set=held_out)
    assert nested.rankers_[0].evals_result_ == alone.evals_result_
    nested.save(tmp_path / "model")
    columns = FRAME[["shop", "price"]]
    np.testing.assert_array_equal(load(tmp_path / "model").predict(columns), nested.predict(FRAME))


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_given_trees_serve_in_stages(kind):
    X = FRAME[["price"]].to_numpy() if kind == "array" else FRAME
    ranker = trees().fit(X, Y, QID)
    later = X[200:] if kind == "array" else X[200:].replace({"shop": {"shop 0": "shop 1"}})
    nested = NestedRanker(ForestRanker(ranker.forest()), sizes=(5,)).fit(later, Y[200:], QID[200:])
    assert nested.columns_.categories == ranker.columns_.categories
    assert overlap_with_training(nested, X[:200], Y[:200], QID[:200]).n_same == 10
    np.testing.assert_array_equal(nested.rankers_[0].predict(X), ranker.predict(X))


def test_columns_that_given_trees_do_not_read_are_refused_by_name():
    ranker = trees().fit(FRAME, Y, QID)
    message = r"X must have 2 columns \['price', 'shop'\] with .*; got 3 columns \['price', 'shop'"
    with pytest.raises(ValueError, match=message):
        NestedRanker(ForestRanker(ranker.forest())).fit(FRAME.assign(age=1.0), Y, QID)


def test_constraints_by_name_hold_in_all_stages():
    ranker = trees(monotone_constraints={"price": -1})
    nested = NestedRanker(ranker, sizes=(5,), random_state=0).fit(FRAME, Y, QID)
    prices = pd.DataFrame({"price": np.linspace(-2, 2, 50), "shop": "shop 1"})
    for stage in nested.rankers_:
        assert (np.diff(stage.predict(prices)) <= 0).all()


class Plain:
    """A ranker of another package, which reads numbers."""

    def __init__(self):
        self.shapes = []

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def fit(self, X, y, qid):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        assert isinstance(X, np.ndarray)
        return X[:, 0]


def test_a_ranker_of_another_class_gets_numbers():
    nested = NestedRanker(Plain(), sizes=(5,)).fit(FRAME, Y, QID)
    assert nested.predict(FRAME) == pytest.approx(nested.predict(FRAME[["shop", "price"]]))


class Keyword(Plain):
    """A ranker of another package that takes weights of documents, and the query by name alone."""

    def fit(self, X, y, sample_weight=None, *, qid):
        self.qid, self.sample_weight = qid, sample_weight
        return super().fit(X, y, qid)


def test_a_ranker_of_another_class_gets_the_queries_by_name():
    nested = NestedRanker(Keyword(), sizes=(5,)).fit(FRAME, Y, QID + 7)
    assert sorted(nested.rankers_[0].qid) == [*QID]
    assert nested.rankers_[0].sample_weight is None


@pytest.mark.parametrize(
    ("ranker", "advice"),
    [
        (Ridge(), r" Write TreeDirectRanker\(NewtonBoosting\(Ridge\(\)\)\) for a regressor\."),
        (VotingRegressor([("ridge", Ridge())]), r" Write .* for a regressor\."),
        (
            make_pipeline(StandardScaler(), trees()),
            r" .* make_pipeline\(StandardScaler\(\), Nested.*",
        ),
        (LogisticRegression(), ""),
    ],
)
def test_an_estimator_whose_fit_takes_no_queries_is_refused(ranker, advice):
    with pytest.raises(TypeError, match=rf"ranker must have fit\(X, y, qid\), .*\.{advice}$"):
        NestedRanker(ranker, sizes=(5,)).fit(FRAME, Y, QID)


def test_the_advice_on_a_regressor_ranks():
    ranker = TreeDirectRanker(NewtonBoosting(Ridge(), n_estimators=2))
    assert np.ptp(NestedRanker(ranker, sizes=(5,)).fit(FRAME[["price"]], Y, QID).predict(FRAME)) > 0


def test_weights_that_a_ranker_of_another_class_does_not_take_are_refused():
    weight = 1.0 + QID
    for name in ("sample_weight", "query_weight"):
        with pytest.raises(TypeError, match=f"{name} must be None for Plain, whose fit does not"):
            NestedRanker(Plain(), sizes=(5,)).fit(FRAME, Y, QID, **{name: weight})
    nested = NestedRanker(Keyword(), sizes=(5,)).fit(FRAME, Y, QID, sample_weight=weight)
    assert sorted(nested.rankers_[0].sample_weight) == [*weight]


class Delegating(Plain):
    """A ranker of another package that passes all arguments on."""

    def fit(self, *args, **kwargs):
        self.names = [*kwargs]
        return super().fit(*args, qid=kwargs["qid"])


def test_a_ranker_that_takes_the_queries_as_one_of_any_arguments_is_fitted():
    data = FRAME, Y, QID
    nested = NestedRanker(Delegating(), sizes=(5,)).fit(*data, sample_weight=1.0 + QID)
    assert sorted(nested.rankers_[0].names) == ["qid", "sample_weight"]
    np.testing.assert_array_equal(
        nested.predict(FRAME), NestedRanker(Plain(), sizes=(5,)).fit(*data).predict(FRAME)
    )


def test_rankers_of_engines_are_answered_by_their_trees():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    data = FRAME[["price"]], Y, QID
    with pytest.raises(TypeError, match=r'got LGBM.*\. Write TreeDirectRanker\("lightgbm"\)\.$'):
        NestedRanker(lightgbm.LGBMRanker()).fit(*data)
    ranker = NestedRanker(xgboost.XGBRanker(n_estimators=2, n_jobs=1), sizes=(5,))
    held_out = FRAME[["price"]] + 1, Y, QID + 100
    for name, value in {"eval_set": held_out, "sample_weight": 1.0 + QID}.items():
        rule = rf"{name} must be None for XGBRanker, whose fit does not take it in this form\. "
        with pytest.raises(TypeError, match=rf'^{rule}Write TreeDirectRanker\("xgboost"\)\.$'):
            ranker.fit(*data, **{name: value})
    assert np.isfinite(ranker.fit(*data).predict(data[0])).all()


class Watching(Plain):
    """A ranker of another package that takes an ``eval_set``."""

    def fit(self, X, y, qid, eval_set):
        self.labels = eval_set[1]
        return super().fit(X, y, qid)


def test_a_ranker_of_another_class_gets_the_held_out_documents_that_are_judged():
    train, judged = QID < 30, np.arange(len(QID)) % 3 > 0
    eval_set = FRAME[~train], np.where(judged, Y, np.nan)[~train], QID[~train]
    nested = NestedRanker(Watching(), sizes=(5,)).fit(
        FRAME[train], Y[train], QID[train], eval_set=eval_set
    )
    assert nested.rankers_[0].labels.tolist() == Y[~train & judged].tolist()


class Marker(Plain):
    """Scores by the first column, and notes the queries of each fit, which the second one names."""

    fitted: ClassVar = []

    def fit(self, X, y, qid):
        Marker.fitted.append(sorted(set(X[:, 1].tolist())))
        return super().fit(X, y, qid)


@pytest.mark.parametrize(("n_teaching", "n_fits"), [(1, 2), (2, 4), (3, 4)])
def test_two_queries_with_pairs_suffice_to_score_each_by_a_ranker_of_the_other(n_teaching, n_fits):
    qid = np.repeat(np.arange(4), 3)
    X = np.column_stack([np.random.default_rng(0).normal(size=12), qid])
    y = np.where(qid < n_teaching, np.arange(12) % 3, 0)
    Marker.fitted.clear()
    NestedRanker(Marker(), sizes=(2,), random_state=0).fit(X, y, qid)
    # The first stage, a ranker for each half of the queries, and the second stage.
    assert len(Marker.fitted) == n_fits
    if n_teaching > 1:
        first, second = Marker.fitted[1:-1]
        assert sorted(first + second) == [0, 1, 2, 3]
        assert any(query < n_teaching for query in first)
        assert any(query < n_teaching for query in second)


class Column(Plain):
    """Scores by the first column, and remembers what it was fitted to."""

    def __init__(self):
        super().__init__()
        self.seen = None

    def fit(self, X, y, qid):
        self.seen = sorted(X[:, 0].tolist())
        return super().fit(X, y, qid)


@pytest.mark.parametrize("sizes", [(3,), (3, 2), (100, 2)])
def test_stages_and_scores_are_what_is_written_out(sizes):
    qid = np.repeat(np.arange(4), 5)
    X = np.random.default_rng(0).permutation(np.arange(20.0) - 8)[:, None]
    y = (X[:, 0] % 2).astype(int)
    nested = NestedRanker(Column(), sizes=sizes, random_state=0).fit(X, y, qid)
    descending = sorted(X[:, 0].tolist(), reverse=True)
    expected = [descending[min(4 * size, 20) - 1] for size in sizes]
    assert nested.thresholds_ == expected
    reached = [[x for x in descending if x >= least] for least in (-np.inf, *expected)]
    assert [stage.seen for stage in nested.rankers_] == [sorted(part) for part in reached]
    scores = nested.predict(X)
    for (x,), score in zip(X, scores, strict=True):
        stage = sum(x >= least for least in expected)
        assert score == stage + 0.5 + x / (2 * (1 + abs(x)))
    assert nested.predict(np.empty((0, 1))).shape == (0,)


def test_a_column_that_documents_of_a_stage_lack_is_named():
    with pytest.raises(ValueError, match=r"column must be one of .*'price', .*got 'color'"):
        NestedRanker(ColumnRanker("color"), sizes=(5,)).fit(FRAME, Y, QID)


def test_stages_learn_from_the_relevance_that_clicks_have_told():
    X, clicks = FRAME[["price"]].to_numpy(), (Y > 0).astype(int)
    position = np.tile(np.arange(20) + 1, 40)
    clicks_of = ClickRelevance(propensities=1 / np.arange(1, 21))
    ranker = TreeDirectRanker(HistogramTrees(2, random_state=0), clicks=clicks_of, random_state=0)
    nested = NestedRanker(ranker, sizes=(5,), random_state=0).fit(X, clicks, QID, position=position)
    assert len(nested.rankers_) == 2
    assert [stage.clicks for stage in nested.rankers_] == [None, None]
    assert nested.propensities_.shape == (20,)


def test_a_query_of_one_given_pair_teaches():
    groups, no_labels = QueryGroups.from_qid([0, 0, 1, 1]), np.zeros(4)
    pairs = GivenPairs.from_table([[0, 1]], groups)
    data = training_set(Rows(np.zeros((4, 1))), no_labels, groups.codes, pairs=pairs)
    assert _have_pairs(data).tolist() == [True, False]


def test_stages_take_a_single_label_of_rows_in_memory():
    nested = NestedRanker(TreeDirectRanker("histogram"), sizes=(5,))
    assert TreeDirectRanker("histogram")._accepts.several_labels
    assert (nested._accepts.batches, nested._accepts.several_labels) == (False, False)
    with pytest.raises(ValueError, match="y must be a single label for NestedRanker"):
        nested.fit(FRAME, {"a": Y, "b": Y}, QID)


@pytest.mark.parametrize("held_out", [[0, 1], [0], []])
def test_held_out_documents_of_a_stage_hold_a_pair(held_out):
    X = np.array([[3.0], [2.0], [1.0]])
    data = EvalSet(Rows(X), np.array([1.0, 0.0, 1.0]), QueryGroups.from_qid([0, 0, 0]))
    reaching = _reaching(data, Plain(), {2: 2.0, 1: 3.0, 0: 4.0}[len(held_out)])
    assert (reaching is not None) == (len(held_out) == 2)
