"""Propensity pairs: weights by inverse propensities, clipped and divided by their mean."""

from math import exp, log1p

import numpy as np
import pytest

from treerank import LightGBMTrees, TreeDirectRanker, load, make_objective
from treerank.clicks import PropensityPairs, make_click_log, session_data, simulate_clicks

LOG = make_click_log(60, severity=1.0, random_state=0)
CLICKS = {"y": LOG.clicked.astype(float), "qid": LOG.session, "position": LOG.position}
THETA = [1.0, 0.5, 0.25, 0.1, 0.05]
SCORES = np.random.default_rng(0).normal(size=len(LOG.session))


def value_of(weight_of_click, times):
    """Sum the losses of all pairs, one by one."""
    rows = list(zip(LOG.session, LOG.clicked, LOG.position, SCORES, times, strict=True))
    value = 0.0
    for session, clicked, position, score, own in rows:
        for other, other_clicked, _, other_score, of_other in rows:
            if session == other and clicked and not other_clicked:
                weight = weight_of_click[position - 1] * own * of_other
                value += weight * log1p(exp(other_score - score))
    return value


@pytest.mark.parametrize(("clip", "most"), [(10.0, [1, 2, 4, 10, 10]), (3.0, [1, 2, 3, 3, 3])])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_click_weighs_one_over_its_propensity_clipped_over_the_mean(clip, most, weighted):
    times = np.random.default_rng(1).integers(1, 4, len(SCORES)) if weighted else np.ones(60 * 5)
    weights = {"sample_weight": times} if weighted else {}
    loss = PropensityPairs(THETA, clip, "uniform")
    clicks = np.repeat(LOG.position[LOG.clicked], times[LOG.clicked].astype(int)) - 1
    of_click = np.array(most) / np.array(most)[clicks].mean()
    objective = make_objective(**CLICKS, loss=loss, **weights)
    scale = make_objective(CLICKS["y"], CLICKS["qid"], weight="uniform", **weights)(SCORES)[0]
    scale /= value_of(np.ones(5), times)
    assert objective(SCORES)[0] == pytest.approx(value_of(of_click, times) * scale, rel=1e-5)


def test_propensities_of_one_are_no_correction():
    even = make_objective(**CLICKS, loss=PropensityPairs(np.ones(5)))
    plain = make_objective(CLICKS["y"], CLICKS["qid"], weight="ndcg")
    for found, expected in zip(even(SCORES), plain(SCORES), strict=True):
        assert found == pytest.approx(expected)


def test_it_learns_relevance_where_the_old_ranking_says_nothing_of_it(tmp_path):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(600, 3)), np.repeat(np.arange(60), 10)
    y, old = 2 * (X[:, 0] > 1), X[:, 1]
    log = simulate_clicks(y, qid, old, n_sessions=30, severity=2.0, random_state=0)
    data = session_data(log, (X, qid, np.arange(600)))._asdict()
    theta = np.arange(1, 11) ** -2.0

    def fitted(loss):
        ranker = TreeDirectRanker(LightGBMTrees(n_estimators=20), loss=loss, random_state=0)
        return ranker.fit(**data)

    ranker = fitted(PropensityPairs(theta))
    assert ranker.score(X, y, qid) > fitted(PropensityPairs(np.ones(10))).score(X, y, qid) + 0.02
    assert (ranker.propensities_ == theta).all()
    ranker.save(tmp_path / "ranker.treerank")
    assert (load(tmp_path / "ranker.treerank").propensities_ == theta).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"propensities": [1.0, 0.0]}, "propensities must be above 0 and at most 1; got 0.0 at"),
        (
            {"propensities": THETA, "clip": 0.5},
            "clip must be a finite number of at least 1; got 0.5",
        ),
        ({"propensities": THETA, "weight": "no"}, "weight must be"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        PropensityPairs(**settings)


def test_each_position_needs_a_propensity():
    with pytest.raises(ValueError, match="an entry for each of 5 positions; got 3"):
        make_objective(**CLICKS, loss=PropensityPairs(THETA[:3]))


def test_a_position_without_clicks_needs_no_propensity():
    clicked = CLICKS | {"y": np.where(LOG.position == 4, 0.0, CLICKS["y"])}
    known, unknown = (
        make_objective(**clicked, loss=PropensityPairs([*THETA[:3], fourth, *THETA[4:]]))
        for fourth in (THETA[3], np.nan)
    )
    for found, expected in zip(unknown(SCORES), known(SCORES), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"propensities must be known .*; got nan at position 4"):
        make_objective(**CLICKS, loss=PropensityPairs([*THETA[:3], np.nan, *THETA[4:]]))
