import numpy as np
import pytest
from sklearn.base import clone

from treerank import HistogramTrees, TreeDirectRanker, make_objective
from treerank.baselines.boosted import MART, LambdaMART

pytestmark = pytest.mark.slow

SMALL = {"n_estimators": 20, "n_jobs": 1, "random_state": 0, "learning_rate": 0.1}
SMALL |= {"num_leaves": 31, "colsample_bytree": 1.0}
RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(40), 15)
X = RNG.normal(size=(600, 5))
Y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=600), [-0.5, 0.8, 1.6])


def fitted(ranker_class=LambdaMART, **params):
    return ranker_class(**{**SMALL, **params}).fit(X, Y, QID)


def test_lambdamart_is_the_direct_ranker_with_the_logistic_loss_and_ndcg_weights():
    part = HistogramTrees(20, num_leaves=7, learning_rate=0.2, colsample_bytree=1.0, n_jobs=1)
    same = TreeDirectRanker(part, k=5, smoothing=1.0, random_state=0).fit(X, Y, QID)
    ours = fitted(num_leaves=7, learning_rate=0.2, k=5)
    np.testing.assert_array_equal(ours.predict(X), same.predict(X))


def test_mart_is_boosted_regression_from_the_mean():
    ranker = fitted(MART, n_estimators=200)
    scores = ranker.predict(X) + Y.mean()
    assert np.mean((scores - Y) ** 2) < 0.05 * Y.var()


def test_a_document_of_weight_two_counts_as_if_it_were_there_twice():
    weight = np.where(np.arange(600) < 100, 2.0, 1.0)
    twice = np.append(np.arange(600), np.arange(100))
    params = SMALL | {"min_child_samples": 1, "num_leaves": 4}
    rounded = X.round(1)  # few enough values to have a bin each
    weighted = MART(**params).fit(rounded, Y, QID, sample_weight=weight)
    repeated = MART(**params).fit(rounded[twice], Y[twice], QID[twice])
    scores = weighted.predict(rounded)
    np.testing.assert_allclose(scores, repeated.predict(rounded), atol=1e-5)


def test_knobs_reach_the_trees():
    knobs = {"n_estimators": 7, "num_leaves": 4, "max_depth": 2, "learning_rate": 0.5}
    knobs |= {"min_child_samples": 30, "subsample_queries": 0.5, "precision": "int16"}
    ranker = LambdaMART(**knobs, random_state=0)
    part = clone(ranker).fit(X, Y, QID).feature_part_
    assert knobs.items() <= part.get_params().items()
    assert max(np.diff(part.booster_.roots, append=part.booster_.n_nodes)) <= 7


def test_a_warm_start_goes_on():
    ranker = fitted(n_estimators=12, warm_start=True).set_params(n_estimators=20).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), fitted().predict(X))


def test_squared_errors_start_at_the_best_constant_and_weights_of_zero_leave_none():
    for weight in (RNG.exponential(size=600), np.zeros(600)):
        objective = make_objective(Y, loss="half_squared_error", sample_weight=weight)
        assert objective.derivatives(np.zeros(600))[0].sum() == pytest.approx(0, abs=1e-9)
    assert not any(np.any(part) for part in objective(np.ones(len(Y))))
