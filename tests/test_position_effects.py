"""Position effects: a function of the scores, and what feature parts learn beside them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from treerank import (
    MLP,
    LightGBMTrees,
    Line,
    Linear,
    SoftTrees,
    TreeDirectRanker,
    make_objective,
)
from treerank.clicks import (
    ClickShares,
    PositionEffects,
    make_click_log,
    session_data,
    simulate_clicks,
)
from treerank.objectives.batches import taken

LOG = make_click_log(60, severity=1.0, random_state=0)
CLICKS = LOG.clicked.astype(float)
SCORES = np.random.default_rng(0).normal(size=len(CLICKS))


def effects(penalty=0.5, rows=slice(None), **weights):
    """Return the objective of some impressions of the log."""
    shown = CLICKS[rows], LOG.session[rows]
    loss = PositionEffects(penalty)
    return make_objective(*shown, loss=loss, position=LOG.position[rows], **weights)


@pytest.mark.parametrize("penalty", [0.01, 0.5, 20.0])
def test_the_value_is_the_least_one_over_all_effects(penalty):
    place = LOG.position - 1

    def loss(b):
        rate = np.exp(SCORES + b[place])
        spread = CLICKS.sum() / 5 / 2 * sum((each - sum(b) / 5) ** 2 for each in b)
        return sum(rate) - sum(CLICKS * np.log(rate)) + penalty * spread

    found = minimize(loss, np.zeros(5), tol=1e-8)
    objective = effects(penalty)
    assert objective(SCORES)[0] == pytest.approx(found.fun)
    assert objective.propensities(SCORES) == pytest.approx(np.exp(found.x - found.x[0]), rel=1e-4)


@pytest.mark.parametrize("penalty", [1e-6, 0.01, 0.5, 20.0])
def test_derivatives_are_those_of_the_value(penalty):
    objective, step = effects(penalty), 1e-5
    _, gradient, hessian = objective(SCORES)
    for i in np.argsort(-np.abs(gradient))[::20]:
        up, down = (objective(SCORES + sign * step * np.eye(len(SCORES))[i]) for sign in (1, -1))
        assert gradient[i] == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-6)
        assert hessian[i] == pytest.approx((up[1][i] - down[1][i]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize(
    ("penalty", "lists"), [(1e-8, LOG.position), (1e8, np.ones_like(LOG.position))]
)
def test_free_effects_share_the_clicks_of_each_position_and_equal_ones_all_clicks(penalty, lists):
    expected = make_objective(CLICKS, lists, loss=ClickShares())(SCORES)
    for found, part in zip(effects(penalty)(SCORES)[1:], expected[1:], strict=True):
        assert found == pytest.approx(part, abs=1e-5)


def test_a_constant_added_to_all_scores_changes_nothing():
    for found, part in zip(effects()(SCORES + 700), effects()(SCORES), strict=True):
        assert found == pytest.approx(part)


def test_weights_are_repetitions():
    times = np.random.default_rng(1).integers(0, 3, size=len(CLICKS))
    rows = np.repeat(np.arange(len(CLICKS)), times)
    weighted, repeated = effects(sample_weight=times), effects(rows=rows)
    assert weighted(SCORES)[0] == pytest.approx(repeated(SCORES[rows])[0])
    found = np.bincount(rows, repeated(SCORES[rows])[1], minlength=len(CLICKS))
    assert weighted(SCORES)[1] == pytest.approx(found)


def test_an_objective_of_some_sessions_is_that_of_their_rows():
    rows = np.flatnonzero(LOG.session < 30)
    rows = rows[np.argsort(LOG.session[rows], kind="stable")]
    alone, found = effects(rows=rows), taken(effects(), rows)
    assert (found(SCORES[rows])[1] == alone(SCORES[rows])[1]).all()


def test_the_scores_of_attractions_give_the_true_effects():
    log = make_click_log(50_000, severity=1.0, random_state=0)
    clicks = log.counts().by_item(log.counts().clicked)
    exposure = log.counts().by_item(log.counts().shown / (1.0 + log.counts().slot))
    scores = np.log(clicks / exposure)[log.item]
    loss = PositionEffects(penalty=1e-6)
    objective = make_objective(log.clicked, log.session, loss=loss, position=log.position)
    assert objective.propensities(scores) == pytest.approx(1 / np.arange(1, 6), abs=0.01)


def test_a_position_without_clicks_or_impressions_is_no_error():
    loss = PositionEffects(penalty=0.1)
    objective = make_objective([1, 0, 0], loss=loss, position=[1, 3, 4], sample_weight=[1, 1, 0])
    value, gradient, hessian = objective(np.zeros(3))
    assert np.isfinite([value, *gradient, *hessian]).all()
    found = objective.propensities(np.zeros(3))
    assert np.isnan(found).tolist() == [False, True, False, False]
    assert found[2] < found[3] < found[0] == 1.0


def test_impressions_without_a_click_teach_nothing():
    objective = make_objective([0, 0], loss=PositionEffects(), position=[1, 2])
    value, gradient, hessian = objective(SCORES[:2])
    assert (value, np.abs(gradient).max(), np.abs(hessian).max()) == (0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def world():
    """Documents whose first feature is relevance and whose second one is the old ranking."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(600, 3)), np.repeat(np.arange(60), 10)
    y = 2.0 * (X[:, 0] > 0.5) + (X[:, 0] > 1.5)
    log = simulate_clicks(y, qid, X[:, 1], severity=1.0, exploration=0.5, random_state=0)
    data = session_data(log, (X, qid, np.arange(len(y))))
    naive = TreeDirectRanker("line", loss="half_squared_error").fit(data.X, data.y, data.qid)
    assert np.corrcoef(naive.predict(X), X[:, 1])[0, 1] > 0.3
    return X, y, qid, data, naive.score(X, y, qid)


PARTS = {
    "lightgbm": LightGBMTrees(n_estimators=40, n_jobs=1),
    "mlp": MLP(n_epochs=5, learning_rate=0.01),
    "soft_trees": SoftTrees(n_estimators=16, n_epochs=5, learning_rate=0.01),
    "linear": Linear(n_epochs=5),
    "line": Line(),
}


@pytest.mark.parametrize("name", PARTS)
def test_feature_parts_learn_relevance_and_the_effects_and_not_the_old_ranking(name, world):
    X, y, qid, data, naive = world
    loss = PositionEffects(penalty=0.001)
    ranker = TreeDirectRanker(PARTS[name], loss=loss, random_state=0).fit(**data._asdict())
    assert abs(np.corrcoef(ranker.predict(X), X[:, 1])[0, 1]) < 0.15
    assert ranker.score(X, y, qid) > naive + 0.01
    objective = make_objective(data.y, data.qid, loss=loss, position=data.position)
    found = objective.propensities(ranker.predict(data.X))
    assert found == pytest.approx(1 / np.arange(1, 11), abs=0.12)


@pytest.mark.parametrize("penalty", [0.0, -1.0])
def test_a_penalty_that_is_not_above_0_is_refused(penalty):
    with pytest.raises(ValueError, match=r"penalty must be .* above 0; got"):
        PositionEffects(penalty)
