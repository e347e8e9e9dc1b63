import math

import numpy as np
import pytest
from ranking_sample import make_ranking_sample

from treerank.baselines.stump_ranker import FRank, RankBoost
from treerank.baselines.stumps import BinnedFeatures
from treerank.objectives import make_objective

pytestmark = pytest.mark.usefixtures("one_thread")
X, y, qid = DATA = make_ranking_sample(n_queries=8, random_state=1)


def all_stumps(X):
    """Return what every stump says of the documents, missing values both ways."""
    stumps = []
    for column in X.T:
        missing = np.isnan(column)
        for cut in [-np.inf, *np.unique(column[~missing])[:-1]]:
            stumps += [(column > cut) | missing, column > cut] if missing.any() else [column > cut]
    return np.array(stumps, dtype=float)


def plain_rankboost(X, y, qid, n_rounds, weight=None):
    """RankBoost in plain Python, over a list of pairs; returns the training scores."""
    weight = np.ones(len(y)) if weight is None else weight
    i, j = np.nonzero((qid[:, None] == qid) & (y[:, None] > y))
    distribution, scores, stumps = weight[i] * weight[j], np.zeros(len(y)), all_stumps(X)
    for _ in range(n_rounds):
        distribution = distribution / distribution.sum()
        r = (stumps[:, i] - stumps[:, j]) @ distribution
        best = int(np.argmax(np.abs(r)))
        alpha = 0.5 * math.log((1 + r[best]) / (1 - r[best]))
        scores += alpha * stumps[best]
        distribution *= np.exp(-alpha * (stumps[best, i] - stumps[best, j]))
    return scores


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_rankboost_is_a_plain_rankboost(share_missing):
    X, y, qid = (column[:-1].copy() for column in DATA)  # an odd number of documents
    rng = np.random.default_rng(0)
    weight = 0.5 + rng.random(len(y))
    X[rng.random(X.shape) < share_missing] = np.nan
    scores = RankBoost(n_estimators=20).fit(X, y, qid, sample_weight=weight).predict(X)
    expected = plain_rankboost(X, y, qid, 20, weight)
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_few_thresholds_are_quantiles():
    X = np.arange(1000.0)[:, None]
    thresholds = BinnedFeatures.of(X, np.arange(1000), 3).thresholds
    np.testing.assert_array_equal(thresholds, [[249.0, 499.0, 749.0]])


def test_every_step_of_frank_lowers_its_loss():
    objective = make_objective(y, qid, loss="fidelity", weight="query")
    values = [objective(np.zeros(len(y)))[0]]
    for n_rounds in range(1, 15):
        scores = FRank(n_estimators=n_rounds).fit(X, y, qid).predict(X)
        values.append(objective(scores)[0])
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("ranker_class", [RankBoost, FRank])
def test_perfect_separation_has_finite_scores(ranker_class):
    X = np.arange(12.0)[:, None]
    ranker = ranker_class(n_estimators=300).fit(X, X[:, 0] > 5, np.arange(12) % 3)
    assert np.isfinite(ranker.predict(X)).all()
    assert ranker.score(X, X[:, 0] > 5, np.arange(12) % 3) == 1
    np.testing.assert_array_equal(ranker.feature_importances_, [1.0])


def test_scores_stay_finite_however_far_apart_they_are():
    y, scores = np.array([0.0, 0.0, 1.0, 1.0]), np.array([-900.0, -890.0, 880.0, 900.0])
    value, gradient, hessian = make_objective(y, loss="exponential")(scores)
    assert value == 0
    np.testing.assert_array_equal([gradient, hessian], 0)
    value, gradient, _ = make_objective(y[::-1], loss="exponential")(scores / 2)
    with np.errstate(over="ignore"):
        expected = np.exp(scores[2:, None] / 2 - scores[None, :2] / 2)
    assert value == pytest.approx(expected.sum())
    np.testing.assert_allclose(gradient[:2], -expected.sum(axis=0))
