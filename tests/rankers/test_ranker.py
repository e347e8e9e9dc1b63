import numpy as np
import pytest
from example_rankers import PARTS, Column, fitted_rankers, ranking_data, some_ranker
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)

from treerank import TreeDirectRanker

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
