"""Clicks by trust left out, and doubly robust estimates of relevance."""

import numpy as np
import pytest

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.clicks import ClickRelevance, make_click_log, simulate_clicks
from treerank.clicks import relevance as module

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


@pytest.mark.parametrize("trust", [False, TRUST])
def test_a_doubly_robust_estimate_adds_unpredicted_clicks_over_the_exposure(world, trust):
    found = fitted(world, propensities=THETA, trust=trust, estimate="doubly_robust")
    log = world[3]
    for i in range(0, len(found.relevance_), 97):
        at = [k for k, item in zip(log.position, log.item, strict=True) if item == i]
        exposure = sum(THETA[k - 1] for k in at)
        clicks = log.clicked[log.item == i].sum()
        by_trust = 0.0 if trust is False else sum(TRUST[k - 1] for k in at)
        surprise = clicks - by_trust - exposure * found.predicted_[i]
        least = 100 * 10 / np.sqrt(6000)  # of the 100 sessions of each query
        expected = found.predicted_[i] + surprise / max(exposure, least)
        assert found.relevance_[i] == pytest.approx(expected)


def test_predictions_are_scaled_to_the_clicks_that_trust_leaves(world):
    found = fitted(world, propensities=THETA, trust=TRUST)
    counts = world[3].counts()
    left = counts.by_item(counts.clicked - counts.shown * TRUST[counts.slot]).clip(0)
    assert (found.exposure_ * found.predicted_).sum() == pytest.approx(left.sum())
    zeros = fitted(world, propensities=THETA, trust=np.zeros(10))
    assert (zeros.relevance_ == fitted(world, propensities=THETA).relevance_).all()
    assert (zeros.relevance_ != found.relevance_).any()


def estimates(predicted, trust, least=0.0):
    """Return the mean and the standard error of doubly robust estimates of ten documents."""
    rng, relevance = np.random.default_rng(0), np.linspace(0.1, 0.9, 10)
    shown = rng.multinomial(20, np.full(10, 0.1), size=10)  # of each document at each position
    proba = THETA * relevance[:, None] + TRUST
    clicks = rng.binomial(shown, proba, size=(4000, 10, 10)).sum(axis=2) - shown @ trust
    exposure = np.tile(shown @ THETA, (4000, 1))
    found = module._doubly_robust(predicted, clicks, exposure, np.full(10, least))
    return relevance, found.mean(axis=0), found.std(axis=0) / np.sqrt(4000)


def test_estimates_are_unbiased_whatever_was_predicted():
    relevance, mean, error = estimates(np.linspace(2.0, 0.0, 10), TRUST)
    assert (np.abs(mean - relevance) < 4 * error).all()


def test_estimates_are_unbiased_however_they_are_clipped_where_predictions_are_right():
    relevance, mean, error = estimates(np.linspace(0.1, 0.9, 10), TRUST, least=15.0)
    assert (np.abs(mean - relevance) < 4 * error).all()
    wrong = estimates(np.linspace(2.0, 0.0, 10), TRUST, least=15.0)[1]
    assert (np.abs(wrong - relevance) > 4 * error).sum() > 5


def test_clicks_by_trust_that_are_not_left_out_are_a_bias():
    relevance, mean, error = estimates(np.linspace(0.1, 0.9, 10), np.zeros(10))
    assert (mean - relevance > 10 * error).all()


def test_clipped_estimates_vary_less():
    predicted = np.linspace(0.1, 0.9, 10)
    assert (estimates(predicted, TRUST, least=15.0)[2] < estimates(predicted, TRUST)[2] / 2).all()


def test_trust_is_estimated_with_propensities(world):
    found = fitted(world, trust=True)
    assert found.trust_ == pytest.approx(TRUST, abs=0.03)
    assert found.propensities_ == pytest.approx(THETA / THETA[0], abs=0.15)


@pytest.mark.parametrize("estimate", ["posterior", "doubly_robust"])
def test_relevance_without_trust_owes_less_to_the_old_ranking(world, estimate):
    owed = []
    for trust in (False, True):
        found = fitted(world, trust=trust, estimate=estimate)
        document = found.items_.document
        true = world[2][document]
        error = found.relevance_ * (true.sum() / found.relevance_.sum()) - true
        owed.append(abs(np.corrcoef(error, world[0][document, 1])[0, 1]))
    assert owed[1] < owed[0] - 0.08


def test_gains_of_labels_differ_as_relevance_does_unless_it_is_below_0(world):
    found = fitted(world, trust=True, estimate="doubly_robust")
    gain = 2 ** found.training_data().y - 1
    below = found.relevance_ < 0
    assert below.any()
    assert (gain[below] == 0.0).all()
    assert gain.mean() == pytest.approx(1.0)
    ratio = gain[~below] / found.relevance_[~below]
    assert ratio == pytest.approx(np.full(len(ratio), ratio[0]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trust": [1.0] * 10}, r"trust must be at least 0 and below 1; got 1\.0 at position 1\."),
        ({"trust": [0.1]}, r"trust must have an entry for each of 10 positions; got 1\."),
        ({"trust": [0.99] * 10}, r"trust must leave some clicks; got one that explains all"),
        ({"trust": 0.1}, r"trust must be True, False or one probability for each.*; got 0\.1\."),
        ({"trust": "auto"}, "trust must be True, False or one probability .*; got 'auto'"),
        ({"trust": None}, "trust must be True, False or one probability .*; got None"),
        ({"trust": True}, "propensities must be None where trust is True"),
        ({"trust": TRUST, "propensities": None}, r"propensities must be given where trust is\."),
        ({"estimate": "ips"}, r"estimate must be .*; got 'ips'"),
    ],
)
def test_settings_that_say_nothing_are_refused(world, settings, message):
    with pytest.raises(ValueError, match=message):
        fitted(world, **({"propensities": THETA} | settings))


def test_truth_values_of_numpy_are_truth_values(world):
    for is_trusted in (False, True):
        expected, found = (fitted(world, trust=kind(is_trusted)) for kind in (bool, np.bool_))
        assert (found.relevance_ == expected.relevance_).all()


def test_every_query_has_the_clip_of_its_own_sessions():
    log = make_click_log(90, n_queries=3, random_state=0)
    counts = log.counts()
    least = module._least_exposure(counts, np.unique(counts.items.query, return_inverse=True)[1])
    assert least == pytest.approx(np.full(len(counts.items), 30.0))  # all sessions: few in all


def test_a_ranker_learns_from_relevance_that_is_corrected_in_every_way(world):
    X, qid, relevance, log = world
    row = log.items.document[log.item]
    data = X[row], log.clicked.astype(float), qid[row]
    clicks = ClickRelevance(FEW_TREES, trust=True, estimate="doubly_robust")
    ranker = TreeDirectRanker(FEW_TREES, clicks=clicks, random_state=0)
    ranker.fit(*data, position=log.position)
    assert ranker.propensities_ == pytest.approx(THETA / THETA[0], abs=0.15)
    naive = TreeDirectRanker(FEW_TREES, random_state=0).fit(*data)
    y = np.searchsorted(np.unique(relevance), relevance)
    assert ranker.score(X, y, qid) > naive.score(X, y, qid) + 0.01
