"""Clicks by trust are left out of relevance."""

import numpy as np
import pytest

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.clicks import ClickRelevance, estimate_trust_bias, simulate_clicks

pytestmark = pytest.mark.slow

FEW_TREES = LightGBMTrees(n_estimators=20, n_jobs=1)
THETA, TRUST = 0.8 / np.arange(1.0, 11.0), 0.2 / np.arange(1.0, 11.0) ** 2


@pytest.fixture(scope="module")
def world():
    """Documents whose first feature is relevance and whose second one is the old ranking."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(600, 3)), np.repeat(np.arange(60), 10)
    y = 2.0 * (X[:, 0] > 0.5) + (X[:, 0] > 1.5)
    log = simulate_clicks(y, qid, X[:, 1], exploration=0.5, n_sessions=100, random_state=0)
    relevance = 0.05 + 0.9 * (np.exp2(y) - 1) / 7
    place = log.position - 1
    proba = THETA[place] * relevance[log.items.document[log.item]] + TRUST[place]
    return X, qid, relevance, log.with_clicks(rng.random(len(proba)) < proba)


def fitted(world, **settings):
    X, qid, _, log = world
    found = ClickRelevance(FEW_TREES, random_state=0, **settings)
    return found.fit(log, (X, qid, np.arange(len(qid))))


@pytest.fixture(scope="module")
def without(world):
    """Relevance of whatever trust leaves."""
    return fitted(world, trust=True)


@pytest.fixture(scope="module")
def naive(world):
    return fitted(world)


def test_trust_is_estimated_with_propensities_and_predictions_fit_what_it_leaves(world, without):
    found, counts = without, world[3].counts()
    assert found.trust_ == pytest.approx(estimate_trust_bias(counts).trust)
    assert found.trust_ == pytest.approx(TRUST, abs=0.03)
    assert found.propensities_ == pytest.approx(THETA / THETA[0], abs=0.15)
    left = counts.by_item(counts.clicked - counts.shown * found.trust_[counts.slot]).clip(0)
    assert (found.exposure_ * found.predicted_).sum() == pytest.approx(left.sum())


def test_relevance_without_trust_owes_less_to_the_old_ranking(world, without, naive):
    assert not naive.trust_.any()
    owed = []
    for found in (naive, without):
        document = found.items_.document
        true = world[2][document]
        error = found.relevance_ * (true.sum() / found.relevance_.sum()) - true
        owed.append(abs(np.corrcoef(error, world[0][document, 1])[0, 1]))
    assert owed[1] < owed[0] - 0.08


def test_given_propensities_and_trust_are_refused(world):
    with pytest.raises(ValueError, match="propensities must be None where trust is True"):
        fitted(world, propensities=THETA, trust=True)


def test_a_ranker_learns_from_relevance_without_trust(world):
    X, qid, relevance, log = world
    row = log.items.document[log.item]
    data = X[row], log.clicked.astype(float), qid[row]
    clicks = ClickRelevance(FEW_TREES, trust=True)
    ranker = TreeDirectRanker(FEW_TREES, clicks=clicks, random_state=0)
    ranker.fit(*data, position=log.position)
    assert ranker.propensities_ == pytest.approx(THETA / THETA[0], abs=0.15)
    naive = TreeDirectRanker(FEW_TREES, random_state=0).fit(*data)
    y = np.searchsorted(np.unique(relevance), relevance)
    assert ranker.score(X, y, qid) > naive.score(X, y, qid) + 0.01
