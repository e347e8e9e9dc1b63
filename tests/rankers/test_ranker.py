import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from example_rankers import PARTS, Column, fitted_rankers, ranking_data, some_ranker
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from treerank import TreeDirectRanker
from treerank.documents.reading import Accepts
from treerank.documents.rows import Rows
from treerank.documents.training_set import training_set
from treerank.parameters import Seed
from treerank.rankers import ColumnRanker
from treerank.rankers.click_training import check_saved_propensities, relevance_of_clicks
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import _joined_labels, scores_of

pytestmark = pytest.mark.usefixtures("one_thread")
X, y, qid = DATA = ranking_data()


@pytest.mark.parametrize("name", PARTS)
def test_the_head_squashes_margins_but_changes_no_ranking(name):
    ranker = fitted_rankers()[name]
    squashed = clone(ranker).set_params(tau="tanh").fit(X, y, qid)
    margin = ranker.compare(X[:80], X[80:])
    np.testing.assert_allclose(squashed.compare(X[:80], X[80:]), np.tanh(margin))
    np.testing.assert_array_equal(squashed.rank(X, qid), ranker.rank(X, qid))


def test_one_document_is_compared_with_many():
    ranker = fitted_rankers()["lightgbm"]
    one_by_one = [ranker.compare(X[:1], other[None])[0] for other in X[:5]]
    np.testing.assert_array_equal(ranker.compare(X[:1], X[:5]), one_by_one)
    with pytest.raises(ValueError, match=r"equally many rows, or one .*; got 2 and 5"):
        ranker.compare(X[:2], X[:5])


def test_ranks_and_top_rows_worked_by_hand():
    X = np.array([[1.0], [5.0], [2.0], [7.0], [2.0], [0.0]])
    qid = ["b", "a", "a", "b", "a", "b"]
    ranker = TreeDirectRanker(Column()).fit(X, [1, 0, 0, 0, 0, 0], qid)
    np.testing.assert_array_equal(ranker.rank(X, qid), [2, 1, 2, 1, 3, 3])
    np.testing.assert_array_equal(ranker.top_k(X, qid, k=2), [1, 2, 3, 0])
    np.testing.assert_array_equal(ranker.rank(X), [5, 2, 3, 1, 4, 6])
    one = ["a"] * 6
    np.testing.assert_array_equal(ranker.top_k(X, one, k=3), [3, 1, 2])
    np.testing.assert_array_equal(ranker.top_k(X, one), [3, 1, 2, 4, 0, 5])


def test_score_weighs_queries_by_their_documents():
    ranker = fitted_rankers()["lightgbm"]
    alone = ranker.score(X[qid == 3], y[qid == 3], qid[qid == 3])
    assert ranker.score(X, y, qid, sample_weight=qid == 3) == pytest.approx(alone)
    everywhere = ranker.score(X, y, qid, sample_weight=np.full(160, 0.5))
    assert everywhere == pytest.approx(ranker.score(X, y, qid))


def test_several_outputs_get_a_head_fitted_to_the_pairs():
    ranker = TreeDirectRanker(Column((0, 1, 3)), head_alpha=1e-2).fit(X, y, qid)
    assert ranker.head_.weight.shape == (3,)
    assert ranker.head_.weight[0] > 10 * abs(ranker.head_.weight[1])
    assert ranker.feature_part_.transform(X).shape == (160, 3)


def test_probabilities_are_calibrated_on_the_eval_set():
    own, other = ((X[rows], y[rows], qid[rows]) for rows in (qid < 6, qid >= 6))
    uncalibrated = some_ranker(sigma=2.0).fit(*own)
    assert uncalibrated.calibration_slope_ == 2.0
    on_eval_set = some_ranker(sigma=2.0).fit(*own, eval_set=other)
    by_hand = clone(uncalibrated).fit(*own).calibrate(*other)
    assert on_eval_set.calibration_slope_ == by_hand.calibration_slope_ != 2.0
    singles = X, y, np.arange(len(y))
    with pytest.raises(ValueError, match="eval_set must hold out a query with two different"):
        some_ranker(metric=lambda *_: 0.0).fit(*own, eval_set=singles)


def test_weights_matter():
    plain = some_ranker(smoothing=0.0).fit(X, y, qid).predict(X)  # noise would differ, too
    weight = np.where(X[:, 1] > 0, 1.0, 0.1)
    for name, values in {"sample_weight": weight, "query_weight": 1.0 + qid}.items():
        ranker = some_ranker(smoothing=0.0).fit(X, y, qid, **{name: values})
        assert np.abs(ranker.predict(X) - plain).max() > 0.01  # more than by the order of sums


#: What users call and read of a ranker, beside its parameters and the members of scikit-learn.
MEMBERS = {
    *("best", "save", "get_state", "set_state"),
    *("rank", "top_k", "sample", "compare", "distance", "explain", "explain_interactions"),
    *("predict_pair_proba", "calibrate", "predict_relevance", "threshold_for"),
    *("components", "forest", "scorer"),
    *("feature_part_", "feature_importances_", "head_", "columns_"),
    *("best_iteration_", "evals_result_", "calibration_slope_", "propensities_"),
    "training_queries_",
}
OF_SCIKIT_LEARN = {
    *dir(TransformerMixin()),
    *dir(ClassNamePrefixFeaturesOutMixin()),
    *dir(BaseEstimator()),
    *("fit", "predict", "score", "set_fit_request", "set_score_request"),
    *("transform", "n_features_in_", "feature_names_in_"),
}


def test_a_ranker_has_no_public_members_but_for_its_users():
    ranker = TreeDirectRanker("linear", random_state=0).fit(X, y, qid)
    public = {name for name in (*dir(ranker), *vars(ranker)) if not name.startswith("_")}
    assert public - {*ranker.get_params(deep=False)} - OF_SCIKIT_LEARN == MEMBERS


def test_a_report_is_a_function():
    ranker = TreeDirectRanker("linear", random_state=0).fit(X, y, qid)
    with pytest.raises(AttributeError, match=r"write treerank.report\(ranker, X, y, qid\)\.$"):
        ranker.report(X, y, qid)


class Constant(Ranker):
    """A ranker without parameters: scores are the first column, of which it learns nothing."""

    seeds: ClassVar[list[int]] = []

    def _learn(self, data, held_out, seed):
        self.seeds.append(seed)

    def _scores(self, X):
        return X[:, 0]


@dataclass(eq=False, repr=False)
class Seeded(Constant):
    random_state: Seed = None


def test_the_seed_of_a_fit_is_drawn_from_the_random_state_and_0_without_one():
    X, y = [[1.0], [2.0]], [0, 1]
    Constant.seeds.clear()
    for ranker in (Constant(), Seeded(0), Seeded(3), Seeded(np.random.RandomState(3))):
        ranker.fit(X, y)
    drawn = [np.random.RandomState(n).randint(2**31 - 1) for n in (0, 0, 3, 3)]
    assert Constant.seeds == drawn


@pytest.mark.parametrize(("held_out", "is_fitted"), [([0.0, 0.5], True), ([2.0, 2.0], False)])
def test_probabilities_are_fitted_to_held_out_scores_unless_they_are_equal(held_out, is_fitted):
    data = [[1.0], [2.0]], [0, 1], ["a", "a"]
    with warnings.catch_warnings(action="error"):
        ranker = Constant().fit(*data, eval_set=([[x] for x in held_out], [0, 1], ["b", "b"]))
    assert (ranker.calibration_slope_ != 1.0) == is_fitted


def test_a_state_of_wrong_numbers_is_refused():
    ranker = Constant().fit([[1.0], [2.0]], [0, 1])
    state = ranker.get_state()
    assert Constant().set_state(state).predict([[5.0]]) == 5
    head = {"weight": np.ones(1), "tau": "identity"}
    for name, wrong, message in (
        ("n_features", 0, "n_features must be"),
        ("n_features", 1.5, "n_features must be"),
        ("calibration_slope", -0.5, "calibration_slope must be"),
        ("calibration_slope", "1", "calibration_slope must be"),
        ("head", head | {"weight": [1.0]}, "The weight of the head must be an array"),
        ("head", head | {"weight": np.ones((1, 1))}, "The weight of the head must be a float64"),
        ("feature_names", ["a", "b"], "names"),
        ("categories", {3: ["red"]}, "categor"),
        ("propensities", np.array([-1.0]), "propensities must be numbers of at least 0"),
        ("learned", {"more": 1}, "must have the entries"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            Constant().set_state(state | {name: wrong})


def test_a_ranker_reads_dense_rows_of_one_label_unless_it_says_more():
    ranker = Constant()
    assert (ranker._n_threads, ranker._had_queries, ranker._continues()) == (1, False, False)
    assert ranker._accepts == Accepts()
    tags = get_tags(ranker)
    assert tags.target_tags.required
    assert tags.input_tags.allow_nan
    assert not tags.input_tags.sparse
    assert (ranker._resumes, ranker.propensities_, ranker.training_queries_) == (False, None, None)
    assert Accepts() == Accepts(
        sparse=False, batches=False, several_labels=False, clicks=True, categories=True, labels=True
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda ranker, path: ranker.predict(X),
        lambda ranker, path: ranker.score(X, y, qid),
        lambda ranker, path: ranker.explain(X[:1], X[1:2]),
        lambda ranker, path: ranker.compare(X[:1], X[1:2]),
        lambda ranker, path: ranker.calibrate(X, y, qid),
        lambda ranker, path: ranker.predict_relevance(X),
        lambda ranker, path: ranker.threshold_for(0.5),
        lambda ranker, path: ranker.components(),
        lambda ranker, path: ranker.forest(),
        lambda ranker, path: ranker.scorer(),
        lambda ranker, path: ranker.get_state(),
        lambda ranker, path: ranker.save(path),
    ],
)
@pytest.mark.parametrize("kind", ["histogram", "column"])
def test_what_is_asked_of_a_ranker_before_its_fit_is_refused(kind, call, tmp_path):
    ranker = ColumnRanker(0) if kind == "column" else TreeDirectRanker(kind)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        call(ranker, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_direct_ranker_transforms_and_has_importances_after_its_fit_alone():
    ranker = TreeDirectRanker("histogram")
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        ranker.transform(X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        _ = ranker.feature_importances_


def test_queries_and_positions_are_routed_by_default():
    requests = TreeDirectRanker().get_metadata_routing()
    assert requests.fit.requests["qid"] is requests.fit.requests["position"] is True
    assert requests.score.requests["qid"] is True


@pytest.mark.parametrize(
    ("ranker", "of_fit", "message"),
    [
        (TreeDirectRanker(), {"eval_metric": "map"}, "eval_set must be given where eval_metric is"),
        (ColumnRanker(0), {"position": qid * 0 + 1}, "position must be None for ColumnRanker"),
        (
            TreeDirectRanker(),
            {"position": qid * 0 + 1, "y": {"a": y, "b": y}},
            r"y must be a single column if position is given; got \['a', 'b'\]",
        ),
        (
            TreeDirectRanker(),
            {"position": qid * 0 + 1, "given_pairs": [[0, 1]]},
            "given_pairs must be None if position is given",
        ),
        (TreeDirectRanker(label_weights={"a": 1}), {}, "label_weights must be None for a single"),
        (
            TreeDirectRanker(label_weights={"c": 1}),
            {"y": {"a": y, "b": y}},
            "label_weights must .*'c'",
        ),
        (Constant(), {"y": {"a": y, "b": y}}, "y must be a single label for Constant"),
        (TreeDirectRanker(), {"y": {"a": y, "b": y}, "given_pairs": [[0, 1]]}, "given_pairs must"),
        (TreeDirectRanker(sigma=-1.0), {}, "sigma must be"),
    ],
)
def test_arguments_of_a_fit_that_contradict_each_other_are_refused(ranker, of_fit, message):
    Constant.seeds.clear()
    with pytest.raises(ValueError, match=message):
        clone(ranker).fit(**{"X": X, "y": y, "qid": qid} | of_fit)
    assert Constant.seeds == []


class Numbers(Constant):
    _accepts = Accepts(categories=False)


def test_categories_are_refused_where_their_codes_would_be_numbers():
    frame = pd.DataFrame({"size": [1.0, 2.0], "color": ["red", "blue"]})
    with pytest.raises(ValueError, match=r"X must have no categories for Numbers.*column 'color'"):
        Numbers().fit(frame, [0, 1])
    assert Constant().fit(frame[["color"]], [0, 1]).predict(frame[["color"]]).tolist() == [1, 0]


@pytest.mark.parametrize("ranker", [Constant(), ColumnRanker("a")])
def test_labels_in_another_order_than_the_documents_are_refused(ranker):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[0, 1, 2])
    labels = pd.Series([0, 1, 0], index=[1, 0, 2])
    with pytest.raises(ValueError, match="order"):
        ranker.fit(frame, labels)
    ranker.fit(frame, labels.sort_index())


def test_no_documents_have_no_scores_and_scores_are_finite():
    ranker = Constant().fit([[1.0], [2.0]], [0, 1])
    assert scores_of(ranker, np.empty((0, 1))).shape == (0,)
    with pytest.raises(ValueError, match="X must be of a size that gives finite scores"):
        ranker.predict([[np.nan]])
    assert Ranker._resumes is False
    for method in (Ranker()._learn, Ranker()._scores):
        with pytest.raises(NotImplementedError):
            method(*[None] * (3 if method.__name__ == "_learn" else 1))


def test_thresholds_and_probabilities_are_of_label_1_and_precision_of_four_fifths():
    scores = np.random.default_rng(0).normal(size=400)
    labels = np.digitize(scores + np.random.default_rng(1).normal(size=400), [0.0, 1.0])
    rows, query = scores[:, None], np.repeat(np.arange(40), 10)
    ranker = Constant().fit(rows[:20], labels[:20], query[:20])
    ranker.calibrate(rows[20:], labels[20:], query[20:])
    np.testing.assert_array_equal(ranker.predict_relevance(rows), ranker.predict_relevance(rows, 1))
    assert ranker.threshold_for() == ranker.threshold_for(0.8, 1.0)
    assert ranker.threshold_for() != ranker.threshold_for(0.7, 1.0)
    assert ranker.top_k(rows, query * 0).tolist() == np.argsort(-scores)[:10].tolist()


def test_zero_is_a_propensity_and_other_kinds_of_values_are_none():
    for good in (None, np.array([1.0, 0.0, np.nan])):
        check_saved_propensities("p", good, {})
    wrong = ([1.0], np.ones(2, dtype=np.float32), np.ones((1, 2)), np.array([1.0, np.inf]))
    for bad in (*wrong, np.array([1.0, -0.5])):
        with pytest.raises(ValueError, match="p must be numbers of at least 0"):
            check_saved_propensities("p", bad, {})
    with pytest.raises(ValueError, match="clicks must be None or a ClickRelevance; got 3"):
        TreeDirectRanker(clicks=3).fit(X, y, qid)


class Fixed:
    """Stands for an estimator of relevance that has no seed."""

    random_state = None

    def get_params(self, deep=True):
        return {}

    def set_params(self, **params):
        self.seed = params["random_state"]
        return self

    def fit_counts(self, counts, documents):
        Fixed.fitted, self.propensities_ = (self.seed, counts, documents), np.ones(1)

    def training_data(self):
        return np.array([[1.0], [2.0]]), np.array([0.0, 1.0]), np.array([0, 0])


def test_relevance_is_estimated_from_clicks_with_the_seed_of_the_fit():
    one, clicked = training_set(Rows(X[:4]), np.zeros(4), None, position=np.arange(1, 5)), y[:4] * 0
    with pytest.raises(ValueError, match="y must"):
        relevance_of_clicks(one, Fixed(), 3)
    clicked[1] = 1
    data = training_set(Rows(X[:4]), clicked.astype(float), None, position=np.arange(1, 5))
    found, propensities = relevance_of_clicks(data, Fixed(), 3)
    assert Fixed.fitted[0] == 3
    assert (found.y.tolist(), propensities.tolist()) == ([0.0, 1.0], [1.0])


@pytest.mark.parametrize("n_batches", [1, 2])
def test_labels_of_batches_are_joined_by_name(n_batches):
    several = _joined_labels([{"a": [1.0], "b": [2.0]}] * n_batches)
    assert {name: values.tolist() for name, values in several.items()} == {
        "a": [1.0] * n_batches,
        "b": [2.0] * n_batches,
    }
    assert _joined_labels([np.array([1.0])] * n_batches).tolist() == [1.0] * n_batches
