import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from treerank import LightGBMTrees, QueryKFold, TreeDirectRanker, load, make_web_search
from treerank.documents.queries import QueryGroups
from treerank.inspection import calibration_curve
from treerank.rankers import ForestRanker
from treerank.rankers.calibration import RelevanceScale, fit_calibration_slope, pair_probability

X, y, qid = make_web_search(240, documents_per_query=20, n_features=15, random_state=0)


@pytest.fixture(scope="module")
def calibrated():
    (_, train), (_, held_out), (_, test) = QueryKFold(3).split(X, y, qid)
    ranker = TreeDirectRanker(LightGBMTrees(n_estimators=20, n_jobs=1), random_state=0)
    ranker.fit(X[train], y[train], qid[train])
    return ranker.calibrate(X[held_out], y[held_out], qid[held_out]), test


def test_probabilities_are_right_on_new_queries_and_change_no_order(calibrated):
    ranker, test = calibrated
    order = np.argsort(ranker.predict(X[test]), kind="stable")
    before = np.ones(len(test))
    for label in (1, 2, 3):
        likely = ranker.predict_relevance(X[test], label)
        assert (np.diff(likely[order]) >= 0).all()
        assert (likely <= before).all()
        assert 0 < likely.min() <= likely.max() < 1
        assert calibration_curve(likely, y[test] >= label).error < 0.05  # of 80 queries
        before = likely
    lowest = ranker.predict_relevance(X[test], 0.5)
    np.testing.assert_array_equal(lowest, ranker.predict_relevance(X[test]))


def test_intervals_of_shares_cover_what_queries_have_in_common():
    rng = np.random.default_rng(0)
    qid, covered = np.repeat(np.arange(60), 20), {"by query": [], "by pair": []}
    for _ in range(100):
        likely = np.where(rng.normal(size=60) > 0, 0.9, 0.3)[qid]  # 0.6 in the mean
        won = rng.uniform(size=len(qid)) < likely
        for how, query in zip(covered, (qid, None), strict=True):
            low, high = calibration_curve(np.full(len(qid), 0.6), won, query).interval
            covered[how].append(low[0] <= 0.6 <= high[0])
    assert np.mean(covered["by query"]) >= 0.9 > 0.6 > np.mean(covered["by pair"])
    certain = calibration_curve([0.5] * 20, [1] * 20, [0] * 10 + [1] * 10).interval
    np.testing.assert_allclose(certain, [[1 / (1 + 1.959964**2 / 2)], [1]])  # as two pairs
    with pytest.raises(ValueError, match=r"won must be 0 or 1; got 2.0 in row 1"):
        calibration_curve([0.5, 0.5], [1, 2])


def test_a_threshold_has_its_precision_on_new_documents(calibrated):
    ranker, test = calibrated
    chosen = ranker.predict(X[test]) >= ranker.threshold_for(np.float32(0.7), at_least=1)
    assert chosen.any()
    assert abs(np.mean(y[test][chosen] >= 1) - 0.7) < 0.1
    with pytest.raises(ValueError, match=r"precision must be at most 0\.\d+, which the highest"):
        ranker.threshold_for(precision=1.0, at_least=4)


def test_a_higher_label_is_never_more_likely_where_curves_cross():
    steps, lines = np.zeros((2, 2)), np.array([[0.0, -1.0], [2.0, 0.0]])
    scale = RelevanceScale(np.arange(3.0), np.arange(2.0), steps, lines, np.array([True] * 2))
    scores = np.array([-3.0, 3.0])
    higher, lower = (scale.probability(scores, label) for label in (2, 1))
    assert higher[0] < lower[0]
    assert higher[1] == lower[1]


def test_equal_scores_tell_the_mean_of_the_targets_of_platt():
    y, qid = np.array([1.0, 0, 0, 0]), QueryGroups.from_qid(np.arange(4))
    (line,) = RelevanceScale.fitted(np.zeros(4), y, qid).lines
    share = (2 / 3 + 3 * 1 / 5) / 4  # of (1 + 1) / (1 + 2) and 1 / (3 + 2)
    assert line == pytest.approx([0, math.log(share / (1 - share))])


def test_a_line_is_chosen_where_it_is_true_and_steps_where_it_is_not():
    rng, qid = np.random.default_rng(0), QueryGroups.from_qid(np.arange(3000) // 10)
    scores = rng.normal(size=3000)
    y = (scores + rng.logistic(size=3000) > 0) * 1.0
    line = RelevanceScale.fitted(scores, y, qid)
    step = RelevanceScale.fitted(scores, (rng.random(3000) < 0.1 + 0.8 * (scores > 1)) * 1.0, qid)
    assert line.is_line.tolist() == [True]
    np.testing.assert_allclose(line.lines[0], [1, 0], atol=0.15)
    assert step.is_line.tolist() == [False]
    np.testing.assert_allclose(step.probability(np.array([0.5, 1.5]), 1), [0.1, 0.9], atol=0.05)
    rows = rng.permutation(3000)
    again = RelevanceScale.fitted(scores[rows], y[rows], QueryGroups.from_qid(rows // 10))
    np.testing.assert_array_equal(again.lines, line.lines)


def test_steps_are_chosen_only_if_they_are_better_by_more_than_chance():
    query, chosen = np.arange(200) // 20, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=200)
        y = (scores + rng.normal(size=10)[query] + rng.logistic(size=200) > 0) * 1.0
        chosen += RelevanceScale.fitted(scores, y, QueryGroups.from_qid(query)).is_line.tolist()
    assert all(chosen)
    # Queries without a relevant document choose no curve.
    scores, qid = np.random.default_rng(131).normal(size=100), np.repeat(np.arange(5), 20)
    y = ((qid == 0) & (abs(scores) < 1)).astype(float)
    assert not RelevanceScale.fitted(scores, y, QueryGroups.from_qid(qid)).is_line[0]


def test_up_to_32_labels_have_curves_and_more_have_none():
    groups, scores = QueryGroups.from_qid(np.arange(66) // 2), np.arange(66.0)
    scale = RelevanceScale.fitted(scores, np.arange(66) % 32.0, groups)
    assert (len(scale.labels), len(scale.lines)) == (32, 31)
    with pytest.warns(UserWarning, match="33 different labels, more than 32"):
        assert RelevanceScale.fitted(scores, np.arange(66) % 33.0, groups) is None


def test_shares_of_many_values_are_never_rounded_up():
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(400), 10)
    groups, scores = QueryGroups.from_qid(qid), rng.normal(size=4000)
    shares = (1 / (1 + np.exp(-(scores + rng.logistic(size=4000))))).round(3)
    assert len(np.unique(shares)) > 32
    scale = RelevanceScale.fitted(scores, shares, groups)
    assert set(scale.labels) <= set(np.arange(21) / 20)
    for at_least in (0.15, 0.5, 0.7):  # 0.15 and 0.7 are not what float sums of 0.05 are
        exact = RelevanceScale.fitted(scores, (shares >= at_least) * 1.0, groups)
        curve = int(np.searchsorted(scale.labels, at_least)) - 1
        np.testing.assert_allclose(scale.lines[curve], exact.lines[0], rtol=1e-9)
        np.testing.assert_allclose(scale.steps[curve], exact.steps[0], rtol=1e-9)
    cutoff = scale.threshold(0.8, 0.5)
    assert np.mean(shares[scores >= cutoff] >= 0.5) == pytest.approx(0.8, abs=0.03)
    assert scale.threshold(0.8, 0.46) == cutoff  # between two steps, the higher one counts
    with pytest.raises(ValueError, match=r"at most the highest, 0\.95; got 0\.97"):
        RelevanceScale.fitted(scores, shares * 0.97, groups).probability(scores, 0.97)


def test_an_isotonic_fit_goes_through_the_centers_of_its_steps():
    y, qid = np.array([0.0, 0, 1, 1]), QueryGroups.from_qid(np.arange(4))
    scale = RelevanceScale.fitted(np.arange(4.0), y, qid)
    at = np.interp([0.5, 1, 1.5, 2, 2.5], scale.scores, scale.steps[0])
    np.testing.assert_allclose(at, (4 * np.array([0, 0.25, 0.5, 0.75, 1]) + 1) / 6, atol=0.01)


def test_it_is_saved_forgotten_by_a_fit_asked_for_and_refused_where_it_is_forged(
    calibrated, tmp_path
):
    ranker, test = calibrated
    ranker.save(tmp_path / "ranker")
    expected = ranker.predict_relevance(X[test])
    np.testing.assert_array_equal(load(tmp_path / "ranker").predict_relevance(X[test]), expected)
    forest = ForestRanker(ranker.forest())
    named = pd.DataFrame(X, columns=forest.forest().feature_names)
    forest.calibrate(named, y, qid).save(tmp_path / "forest")
    again = load(tmp_path / "forest").predict_relevance(named)
    np.testing.assert_array_equal(again, forest.predict_relevance(named))
    fresh = TreeDirectRanker(LightGBMTrees(n_estimators=1, n_jobs=1)).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"calibrate\(X, y, qid\) must be called before"):
        fresh.predict_relevance(X)
    fresh.calibrate(X, y, qid).fit(X, y, qid)
    with pytest.raises(ValueError, match="must be called before"):
        fresh.threshold_for()
    for wrong in (5, 0):
        with pytest.raises(ValueError, match=rf"the lowest label, 0, .* highest, 4; got {wrong}"):
            ranker.predict_relevance(X, wrong)
    state = calibrated[0].get_state()
    forged = dict(state["relevance_scale"], steps=state["relevance_scale"]["steps"][:, ::-1].copy())
    with pytest.raises(ValueError, match="must rise"):
        TreeDirectRanker().set_state(state | {"relevance_scale": forged})
    with pytest.raises(ValueError, match="must have the entries"):
        TreeDirectRanker().set_state(state | {"relevance_scale": {"labels": np.ones(1)}})


margins = st.floats(-1e6, 1e6)


@given(margins, st.floats(0, 1e3))
def test_the_two_directions_add_up_to_exactly_one(margin, slope):
    there, back = pair_probability(np.array([margin, -margin]), slope)
    assert there + back == 1
    assert 0 <= there <= 1
    assert (there - 0.5) * margin * slope >= 0


def test_probabilities_worked_by_hand():
    np.testing.assert_allclose(pair_probability(np.log([1, 3, 1 / 3])), [1 / 2, 3 / 4, 1 / 4])
    np.testing.assert_allclose(pair_probability(np.log(3), calibration_slope=2), 9 / 10)


def most_likely(scores, y, qid):
    """Maximize the mean over queries of the mean log likelihood of pairs, written out."""
    queries = []
    for q in set(qid):
        pairs = itertools.permutations(np.flatnonzero(qid == q), 2)
        queries.append(np.array([scores[i] - scores[j] for i, j in pairs if y[i] > y[j]]))
    queries = [margins for margins in queries if len(margins)]
    target = (len(queries) + 1) / (len(queries) + 2)

    def surprise(slope):
        right, wrong = (
            sum(np.logaddexp(0, sign * slope * m).mean() for m in queries) for sign in (-1, 1)
        )
        return target * right + (1 - target) * wrong

    return minimize_scalar(surprise, bounds=(0, 1e3), options={"xatol": 1e-9}, method="bounded").x


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_equals_the_definition_written_out(noise):
    rng = np.random.default_rng(0)
    qid = np.repeat(range(12), rng.integers(1, 9, 12))
    y = rng.integers(3, size=len(qid))
    scores = y + noise * rng.normal(size=len(y))
    assert fit_calibration_slope(scores, y, qid) == pytest.approx(
        most_likely(scores, y, qid), rel=1e-4
    )


def test_scaling_the_scores_changes_no_probability():
    scores, y = np.array([2.0, 1.0, 0.0, 0.5]), [1, 0, 0, 1]
    slope = fit_calibration_slope(scores, y)
    assert 1000 * fit_calibration_slope(1000 * scores - 5, y) == pytest.approx(slope)


def test_scores_worse_than_chance_say_nothing_and_labels_without_a_pair_are_refused():
    with pytest.warns(UserWarning, match="no better than chance"):
        assert fit_calibration_slope([0.0, 1.0], [1, 0]) == 0
    with pytest.raises(ValueError, match="y must hold two different labels in some query"):
        fit_calibration_slope([0.0, 1.0], [1, 0], [1, 2])


@pytest.mark.parametrize("seed", range(4))
def test_scores_that_are_equal_within_each_query_say_nothing(seed):
    rng, qid = np.random.default_rng(seed), np.repeat(range(12), 10)
    with pytest.warns(UserWarning, match="no better than chance"):
        assert fit_calibration_slope(rng.normal(size=12)[qid], rng.integers(4, size=120), qid) == 0


def test_calibrate_warns_of_many_labels_and_of_training_queries():
    ranker = TreeDirectRanker(LightGBMTrees(n_estimators=5, n_jobs=1), random_state=0)
    train = qid < 60
    ranker.fit(X[train], y[train], qid[train])
    with pytest.warns(UserWarning, match="fitted to 60 of the 60 queries, so its probabilities"):
        ranker.calibrate(X[train], y[train], qid[train])
    new = (qid >= 60) & (qid < 120)
    with warnings.catch_warnings(action="error"):
        ranker.calibrate(X[new], y[new], qid[new])
    sales = np.arange(new.sum()) % 40.0
    with pytest.warns(UserWarning, match="y has 40 different labels, more than 32.*Pass grades"):
        ranker.calibrate(X[new], sales, qid[new])
    with pytest.raises(ValueError, match="it was not called, or it got more"):
        ranker.threshold_for(0.5)
