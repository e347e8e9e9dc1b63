"""Relevance from clicks: propensities, the objective of click shares, features and corrections."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_rankers import Column
from random_logs import random_log
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from treerank import NDCG, LightGBMTrees, make_objective
from treerank.clicks import ClickLog, ClickRelevance, simulate_clicks
from treerank.clicks.propensities import estimate_propensities
from treerank.clicks.relevance_model import ClickShares, CrossFittedObjective
from treerank.clicks.trust_bias import estimate_trust_bias
from treerank.feature_parts import NewtonBoosting
from treerank.feature_parts.bags import deal_bags
from treerank.objectives.batches import taken

pytestmark = pytest.mark.slow

FEW_TREES = LightGBMTrees(n_estimators=20, n_jobs=1)
# Documents whose first feature is relevance and whose second one is the old ranking.
X, qid = np.random.default_rng(0).normal(size=(600, 3)), np.repeat(np.arange(60), 10)
y = 2.0 * (X[:, 0] > 0.5) + (X[:, 0] > 1.5)
LOG = simulate_clicks(y, qid, X[:, 1], severity=1.5, exploration=0.5, random_state=0)


def relevance_of(log=LOG, X=X, part=FEW_TREES, **settings):
    return ClickRelevance(part, random_state=0, **settings).fit(log, (X, qid, np.arange(len(y))))


@pytest.fixture(scope="module")
def fitted():
    return relevance_of()


@pytest.mark.parametrize("severity", [0.0, 1.0, 2.0])
def test_propensities_of_many_sessions_are_the_true_ones(severity):
    log = random_log(100_000, severity=severity)
    expected = np.arange(1.0, 6.0) ** -severity
    assert estimate_propensities(log) == pytest.approx(expected, abs=0.02)


def test_propensities_have_no_bias_where_items_have_few_impressions():
    logs = [random_log(2000, n_queries=200, seed=seed) for seed in range(20)]
    found = np.mean([estimate_propensities(log) for log in logs], axis=0)
    assert found == pytest.approx(1 / np.arange(1.0, 6.0), abs=0.03)


def test_click_shares_have_the_derivatives_of_their_value():
    rng = np.random.default_rng(0)
    clicks, exposure = rng.integers(0, 5, size=6), rng.uniform(1, 9, size=6)
    settings = {"loss": ClickShares(), "sample_weight": exposure}
    objective = make_objective(clicks / exposure, [1, 1, 1, 2, 2, 2], **settings)
    scores, step = rng.normal(size=6), 1e-5
    value, gradient, hessian = objective(scores)
    p = exposure * np.exp(scores)
    p /= np.repeat(np.add.reduceat(p, [0, 3]), 3)
    assert value == pytest.approx(-(clicks * np.log(p)).sum())
    with pytest.raises(ValueError, match=r"y must be at least 0 as a rate; got -1.0 in row 1\."):
        make_objective([0, -1], loss=ClickShares())
    for i in range(6):
        up, down = (objective(scores + sign * step * np.eye(6)[i]) for sign in (1, -1))
        assert gradient[i] == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-6)
        assert hessian[i] == pytest.approx((up[1][i] - down[1][i]) / (2 * step), abs=1e-6)


def test_training_data_are_relevance_as_gains(fitted):
    training = fitted.training_data()
    assert 2**training.y - 1 == pytest.approx(fitted.relevance_ / fitted.relevance_.mean())
    assert training.X is fitted.X_
    assert (training.qid == fitted.items_.query).all()


def test_neither_names_of_queries_and_documents_nor_the_order_of_sessions_change_anything():
    found = relevance_of(part=None)
    name, session = np.random.default_rng(1).permutation(len(y)), LOG.session[::-1]
    document, query = name[LOG.items.document[LOG.item]], -LOG.items.query[LOG.item]
    columns = (query, document, LOG.position, LOG.clicked)
    other = ClickLog.from_columns(session, *(column[::-1] for column in columns))
    again = ClickRelevance(random_state=0).fit(other, (X, -qid, name))
    place = np.argsort(np.argsort(name[found.items_.document]))
    by_document = np.argsort(again.items_.document)
    assert (again.relevance_[by_document][place] == found.relevance_).all()
    assert (again.exposure_[by_document][place] == found.exposure_).all()
    assert (again.propensities_ == found.propensities_).all()
    assert NDCG()(y[found.items_.document], found.predicted_, qid[found.items_.document]) > 0.95


def cross_fits(seed=0):
    """Return features of few values, clicks of 20 queries, and their fits without some queries."""
    rng = np.random.default_rng(seed)
    X, qid = rng.integers(0, 5, size=(200, 3)).astype(float), np.repeat(np.arange(20), 10)
    clicks = rng.poisson(np.exp(X[:, 0] / 3)) / 4.0
    objective = make_objective(clicks, qid, loss=ClickShares(), sample_weight=np.full(200, 4.0))
    return X, objective, deal_bags(objective.groups, 4, np.random.RandomState(0))


def test_fits_side_by_side_are_fits_without_the_rows_that_they_leave_out():
    X, objective, bags = cross_fits()
    part = LightGBMTrees(n_estimators=5, min_child_samples=0, n_jobs=1, random_state=0)
    together = part.fit(X, CrossFittedObjective(objective, bags)).transform(X)
    for k, bag in enumerate(bags):
        alone = part.fit(X[bag.kept], taken(objective, bag.kept)).transform(X)
        assert together[:, k] == pytest.approx(alone[:, 0], rel=1e-4)


def test_fits_side_by_side_are_scored_by_what_they_leave_out():
    _, objective, bags = cross_fits()
    fits, scores = (
        CrossFittedObjective(objective, bags),
        np.random.default_rng(1).normal(size=(2, 200, 4)),
    )
    own = np.empty((2, 200))
    for k, bag in enumerate(bags):
        own[:, bag.left_out] = scores[:, bag.left_out, k]
    values = [fits.negative_loss(each) for each in scores]
    assert values == pytest.approx([-objective(each)[0] for each in own])
    assert fits.best_scores.tolist() == own[np.argmax(values)].tolist()


def test_clicks_of_a_single_query_are_learned_from():
    log = ClickLog.from_columns([1, 1, 2, 2], [1] * 4, [1, 2, 2, 1], [1, 2] * 2, [1, 0, 1, 1])
    found = ClickRelevance(random_state=0).fit(log, (np.eye(2), [1, 1], [1, 2]))
    assert np.isfinite(found.relevance_).all()


@pytest.mark.parametrize("correction", [0.0, 0.5])
def test_features_predict_from_propensities_to_the_power_of_the_correction(correction):
    theta = 1 / np.arange(1.0, 11.0)
    found, expected = (
        relevance_of(propensities=given, correction=power)
        for given, power in ((theta, correction), (theta**correction, 1.0))
    )
    ratio = found.predicted_ / expected.predicted_
    assert ratio == pytest.approx(ratio.mean())
    counts = LOG.counts()
    exposure = counts.by_item(counts.shown * theta[counts.slot])
    assert found.exposure_ == pytest.approx(exposure)


def test_estimated_propensities_above_1_may_be_given():
    position = np.r_[2, 1, 3:11][LOG.position - 1]  # users look at the second one first
    ids = LOG.session, LOG.items.query[LOG.item], LOG.items.document[LOG.item]
    log = ClickLog.from_columns(*ids, position, LOG.clicked)
    estimated = relevance_of(log)
    assert estimated.propensities_[1] > 1.5
    given = relevance_of(log, propensities=estimated.propensities_)
    assert (given.relevance_ == estimated.relevance_).all()


def test_many_clicks_are_corrected_in_full_whatever_features_predict():
    log = simulate_clicks(y, qid, X[:, 1], severity=1.5, n_sessions=500, random_state=0)
    found = relevance_of(log, X[:, 1:2], correction=0.0)
    true = 0.1 + 0.9 * (np.exp2(y[found.items_.document]) - 1) / 7
    error = np.abs(np.log(found.relevance_ / true))[found.exposure_ > 100]
    assert np.median(error) < 0.2


def test_a_log_without_clicks_tells_no_relevance():
    without = LOG.with_clicks(np.zeros(len(LOG.item), dtype=bool))
    for fit in (partial(relevance_of, propensities=np.ones(10)), estimate_trust_bias):
        with pytest.raises(ValueError, match="click must be 1 in some row; got none"):
            fit(without)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, "Parquet", sparse.coo_matrix])
def test_features_are_found_by_query_and_document(fitted, kind, tmp_path):
    table = {f"f{j}": X[:, j] for j in range(3)} | {"query": qid, "document": np.arange(len(y))}
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = {name: column[order] for name, column in table.items()}
    if kind is sparse.coo_matrix:
        features = kind(X), qid, np.arange(len(y))
    elif kind == "Parquet":
        features = tmp_path / "features.parquet"
        pl.DataFrame(shuffled).write_parquet(features)
    else:
        features = kind(shuffled)
    found = ClickRelevance(FEW_TREES, random_state=0).fit(LOG, features)
    if kind in (pd.DataFrame, pl.DataFrame):
        assert list(found.X_.columns) == ["f0", "f1", "f2"]
    assert found.relevance_ == pytest.approx(fitted.relevance_)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (([[1.0]], [0], 0), "features: document must be one-dimensional, an id per row; got 0"),
        (([[1.0]], [0], [0]), r"got none for \(0, 1\), and 599 are missing in all\."),
        (([[1.0]], ["0"], [7]), r"got none for \(0, 0\).*items such as \('0', 7\)\."),
        (([[1.0]] * 2, [1], [7, 8]), r"equally many rows of X, query .* got \[2, 1, 2\]"),
        (([[1.0]] * 2, [0, 0], [0, 0]), r"one row for each document .* got \(0, 0\) twice\."),
        (pd.DataFrame({"sku": [0]}), r"columns \['query', 'document'\]; .*'sku'.* Write query='N"),
        (np.ones((2, 2)), r"must have the columns \['query', 'document'\]; got no data frame\."),
    ],
)
def test_features_that_lack_documents_or_columns_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        ClickRelevance(FEW_TREES).fit(LOG, features)


@pytest.mark.parametrize(
    "part", [PCA(2), NewtonBoosting(Ridge(), n_estimators=3)], ids=["transformer", "regressor"]
)
def test_a_model_of_another_library_predicts_relevance(part):
    found = relevance_of(part=part)
    of = y[found.items_.document]
    assert np.corrcoef(found.relevance_, of)[0, 1] > 0.4
    assert np.ptp(found.predicted_) > 0


def test_outputs_that_nobody_weighs_are_refused():
    with pytest.raises(ValueError, match="parts must have a single output or weights of their"):
        relevance_of(part=Column((0, 1)))


THETA, TRUST = 0.8 / np.arange(1.0, 11.0), 0.2 / np.arange(1.0, 11.0) ** 2


def test_clicks_by_trust_are_left_out_of_relevance():
    log = simulate_clicks(y, qid, X[:, 1], exploration=0.5, n_sessions=100, random_state=0)
    true, place = 0.05 + 0.9 * (np.exp2(y) - 1) / 7, log.position - 1
    proba = THETA[place] * true[log.items.document[log.item]] + TRUST[place]
    log = log.with_clicks(np.random.default_rng(0).random(len(proba)) < proba)
    naive, without = (relevance_of(log, trust=trust) for trust in (False, True))
    counts, owed = log.counts(), []
    assert without.trust_ == pytest.approx(estimate_trust_bias(counts).trust)
    assert without.trust_ == pytest.approx(TRUST, abs=0.03)
    assert without.propensities_ == pytest.approx(THETA / THETA[0], abs=0.15)
    left = counts.by_item(counts.clicked - counts.shown * without.trust_[counts.slot]).clip(0)
    assert (without.exposure_ * without.predicted_).sum() == pytest.approx(left.sum())
    assert not naive.trust_.any()
    for found in (naive, without):
        of = true[found.items_.document]
        error = found.relevance_ * (of.sum() / found.relevance_.sum()) - of
        owed.append(abs(np.corrcoef(error, X[found.items_.document, 1])[0, 1]))
    assert owed[1] < owed[0] - 0.08
    with pytest.raises(ValueError, match="propensities must be None where trust is True"):
        relevance_of(propensities=THETA, trust=True)
