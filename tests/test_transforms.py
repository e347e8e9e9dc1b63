"""Transforms give features the distribution they promise, and go into pipelines."""

import numpy as np
import pytest
import sklearn
from scipy.stats import norm
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from treerank.datasets.transforms import NormalTransformer, QueryScaler
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.rankers.tree_direct_ranker import TreeDirectRanker


def what_cannot_hold(estimator):
    if isinstance(estimator, NormalTransformer):
        return {}
    return {"check_methods_subset_invariance": "a document is scaled by the query it comes with"}


@parametrize_with_checks(
    [NormalTransformer(), QueryScaler()], expected_failed_checks=what_cannot_hold
)
def test_scikit_learn_accepts_the_transformer(estimator, check):
    check(estimator)


def test_any_distribution_becomes_normal_with_standard_deviation_one_third():
    X = np.exp(3 * np.random.default_rng(0).normal(size=(5000, 1)))
    for n_quantiles in (1000, 10_000):
        normal = NormalTransformer(n_quantiles=n_quantiles).fit_transform(X)
        assert normal.std() == pytest.approx(1 / 3, rel=0.01)
        assert normal.mean() == pytest.approx(0, abs=0.01)
        np.testing.assert_array_equal(np.argsort(normal[:, 0]), np.argsort(X[:, 0]))


def test_equal_values_stand_in_the_middle_of_their_share():
    X = np.array([[0.0], [0.0], [0.0], [9.0]])
    normal = NormalTransformer(2.0).fit_transform(X)
    np.testing.assert_allclose(normal[:, 0], 2 * norm.ppf([3 / 8, 3 / 8, 3 / 8, 7 / 8]))


def test_values_between_are_interpolated_and_those_beyond_are_as_the_extremes():
    transformer = NormalTransformer().fit([[0.0], [1.0], [2.0]])
    low, middle, high = transformer.scores_[0]
    actual = transformer.transform([[-5.0], [0.5], [99.0]])[:, 0]
    np.testing.assert_allclose(actual, [low, (low + middle) / 2, high])


def test_missing_values_stay_missing():
    X = np.array([[np.nan, np.nan], [1.0, np.nan], [3.0, np.nan]])
    normal = NormalTransformer().fit_transform(X)
    assert np.isnan(normal).tolist() == np.isnan(X).tolist()
    assert normal[1, 0] == -normal[2, 0]
    scaled = QueryScaler().fit_transform(X)
    np.testing.assert_allclose(scaled[:, 0], [np.nan, -1 / 3, 1 / 3])


def test_the_order_of_rows_does_not_matter():
    X = np.random.default_rng(0).normal(size=(3000, 2)).round(2)
    turn = np.random.default_rng(1).permutation(3000)
    expected = NormalTransformer(n_quantiles=50).fit(X).transform(X)
    np.testing.assert_array_equal(
        NormalTransformer(n_quantiles=50).fit(X[turn]).transform(X), expected
    )


def test_queries_are_scaled_by_equation_5_whatever_their_order():
    X = np.array([[1.0, 0.0], [4.0, 2.0], [3.0, 0.0], [2.0, -6.0]])
    scaled = QueryScaler().fit_transform(X, qid=["b", "a", "b", "a"])
    expected = [[-1 / 3, 0], [1 / 4, 4 / 6], [1 / 3, 0], [-1 / 4, -4 / 6]]
    np.testing.assert_allclose(scaled, expected)


@pytest.mark.parametrize("value", [0, -1.0])
def test_a_deviation_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="standard_deviation must be a finite number above 0"):
        NormalTransformer(value).fit([[1.0], [2.0]])


def test_a_pipeline_hands_the_qid_to_the_scaler():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(10), 20)
    X = np.abs(rng.normal(size=(200, 2))) * (1 + qid[:, None])
    y = (X[:, 0] > 1 + qid).astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = TreeDirectRanker(LightGBMTrees(n_estimators=5, n_jobs=1))
        pipeline = make_pipeline(QueryScaler(), ranker).fit(X, y, qid=qid)
        expected = ranker.fit(QueryScaler().fit_transform(X, qid=qid), y, qid)
        scaled = QueryScaler().fit(X).transform(X, qid)
        np.testing.assert_array_equal(pipeline.predict(X, qid=qid), expected.predict(scaled))
        assert pipeline.score(X, y, qid=qid) == expected.score(scaled, y, qid)
