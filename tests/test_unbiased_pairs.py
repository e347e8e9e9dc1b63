"""Unbiased pairs: joint propensities as a function of the scores, and what rankers learn."""

import numpy as np
import pandas as pd
import pytest

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, make_objective
from treerank.clicks import UnbiasedPairs, make_click_log, session_data, simulate_clicks
from treerank.objectives.batches import taken

LOG = make_click_log(60, severity=1.0, random_state=0)
SESSION = LOG.session
Y, POSITION = LOG.clicked.astype(float), LOG.position
SCORES = np.random.default_rng(0).normal(size=len(Y))


def unbiased(weight="uniform", correction=0.5, **weights):
    """Return the objective of the log."""
    loss = UnbiasedPairs(weight, correction)
    return make_objective(Y, SESSION, loss=loss, position=POSITION, **weights)


@pytest.mark.parametrize("correction", [0.3, 0.5, 1.0])
def test_propensities_do_not_change_the_gradient_of_the_value(correction):
    objective, step = unbiased(correction=correction), 1e-5
    gradient = objective(SCORES)[1]
    for i in np.argsort(-np.abs(gradient))[:4]:
        up, down = (objective(SCORES + sign * step * np.eye(len(Y))[i])[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("correction", [0.3, 0.5, 1.0])
def test_no_other_propensities_have_a_smaller_value(correction, monkeypatch):
    objective, rng = unbiased(correction=correction), np.random.default_rng(0)
    least, solved = objective(SCORES)[0], objective._solved(SCORES)
    for _ in range(10):
        other = tuple(each * np.exp(0.1 * rng.normal(size=5)) for each in solved)
        monkeypatch.setattr(type(objective), "_solved", lambda *_, other=other: other)
        assert objective(SCORES)[0] > least


def test_pairs_of_a_sum_weigh_one_over_both_propensities():
    objective = unbiased()
    assert objective._sums(SCORES).sum() == pytest.approx(make_objective(Y, SESSION)(SCORES)[0])
    clicked, skipped = objective._solved(SCORES)
    weight = 1 / np.where(Y > 0, clicked[LOG.position - 1], skipped[LOG.position - 1])
    expected = make_objective(Y, SESSION, weight="uniform", sample_weight=weight)
    for found, part in zip(objective.derivatives(SCORES), expected(SCORES)[1:], strict=True):
        assert found == pytest.approx(part, rel=1e-4, abs=1e-6)


def test_a_small_correction_is_that_of_no_propensities():
    objective, plain = unbiased("ndcg", 1e-9), make_objective(Y, SESSION, weight="ndcg")
    assert objective(SCORES)[1] == pytest.approx(plain(SCORES)[1])
    assert objective.convex()(SCORES)[1] == pytest.approx(plain.convex()(SCORES)[1])


def test_the_order_of_rows_and_weights_of_all_sessions_change_no_propensity():
    shuffled = np.random.default_rng(1).permutation(len(Y))
    data = {"qid": SESSION[shuffled], "position": POSITION[shuffled]}
    other = make_objective(Y[shuffled], **data, loss=UnbiasedPairs("uniform"))
    heavy = unbiased(query_weight=np.full(len(Y), 2.0))
    found = unbiased().joint_propensities(SCORES)
    for same in (other.joint_propensities(SCORES[shuffled]), heavy.joint_propensities(SCORES)):
        assert same.clicked == pytest.approx(found.clicked)
        assert same.skipped == pytest.approx(found.skipped)
    assert heavy(SCORES)[0] == pytest.approx(2 * unbiased()(SCORES)[0])


def test_an_objective_of_some_sessions_is_that_of_their_rows():
    rows = np.flatnonzero(SESSION < 30)
    rows = rows[np.argsort(SESSION[rows], kind="stable")]
    data = {"qid": SESSION[rows], "position": POSITION[rows]}
    alone = make_objective(Y[rows], **data, loss=UnbiasedPairs("uniform"))
    found = taken(unbiased(), rows)
    assert (found(SCORES[rows])[1] == alone(SCORES[rows])[1]).all()


def test_the_convex_form_keeps_the_propensities_of_equal_scores():
    objective, zeros = unbiased(), np.zeros(len(Y))
    fixed = objective.convex()
    assert fixed(zeros)[1] == pytest.approx(objective(zeros)[1])
    assert np.abs(fixed(SCORES)[1] - objective(SCORES)[1]).max() > 1e-3


def test_a_position_without_pairs_has_no_extreme_propensity():
    objective = make_objective([1, 0, 0], loss=UnbiasedPairs(), position=[1, 2, 3])
    assert np.abs(np.log(objective.joint_propensities(np.zeros(3)))).max() < 1


def test_sessions_without_a_click_teach_nothing():
    objective = make_objective([0, 0, 0], loss=UnbiasedPairs(), position=[1, 2, 3])
    value, gradient, hessian = objective(SCORES[:3])
    assert (value, np.abs(gradient).max(), np.abs(hessian).max()) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("part", [LightGBMTrees, HistogramTrees])
def test_a_ranker_learns_relevance_and_not_the_old_ranking(part):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(600, 3)), np.repeat(np.arange(60), 10)
    y = 2.0 * (X[:, 0] > 0.5) + (X[:, 0] > 1.5)
    log = simulate_clicks(y, qid, X[:, 1], severity=1.0, exploration=0.5, random_state=0)
    data = session_data(log, (X, qid, np.arange(len(y))))
    trees = part(n_estimators=20, n_jobs=1)
    loss = UnbiasedPairs(correction=1.0)
    ranker = TreeDirectRanker(trees, loss=loss, random_state=0).fit(**data._asdict())
    naive = TreeDirectRanker(trees, random_state=0).fit(data.X, data.y, data.qid)
    old = [np.corrcoef(each.predict(X), X[:, 1])[0, 1] for each in (ranker, naive)]
    assert abs(old[0]) < 0.1 < 0.4 < old[1]
    assert ranker.score(X, y, qid) > naive.score(X, y, qid) + 0.01


def test_impressions_keep_their_document_position_and_session():
    log = make_click_log(20, random_state=0)
    items = log.items
    frame = {"query": items.query, "document": items.document, "f": items.document / 2}
    data = session_data(log, pd.DataFrame(frame).sample(frac=1, random_state=0))
    assert (data.X["f"] == items.document[log.item] / 2).all()
    assert (data.position == log.position).all()
    assert (data.y == log.clicked).all()
    assert (data.qid == log.session).all()


def test_positions_must_be_given():
    with pytest.raises(ValueError, match=r"position must be given for loss=UnbiasedPairs.*clicks"):
        make_objective([1.0, 0.0], loss=UnbiasedPairs())
    with pytest.raises(
        ValueError, match=r"position must be None for loss='logistic', which learns"
    ):
        make_objective([1.0, 0.0], position=[1, 2])


@pytest.mark.parametrize("wrong", [0.0, 1.5, -1.0, 1001.0])
def test_numbers_that_are_no_positions_are_refused(wrong):
    with pytest.raises(
        ValueError, match=rf"position must be a whole .* 1000; got {wrong} in row 1"
    ):
        make_objective([1.0, 0.0], loss=UnbiasedPairs(), position=[1, wrong])


def test_labels_that_are_no_clicks_are_refused():
    with pytest.raises(ValueError, match=r"y must be a click, 0 or 1, .* got 2\.0 in row 1\."):
        make_objective([1.0, 2.0], loss=UnbiasedPairs(), position=[1, 2])


@pytest.mark.parametrize("correction", [0, 1.1])
def test_a_correction_that_is_no_share_is_refused(correction):
    with pytest.raises(ValueError, match=r"correction must be .* above 0 and of at most 1; got"):
        UnbiasedPairs(correction=correction)
