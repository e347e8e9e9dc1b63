import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from treerank import LightGBMTrees, QueryKFold, TreeDirectRanker, load, make_web_search
from treerank.documents.canonical_order import canonical_order
from treerank.documents.queries import QueryGroups
from treerank.inspection import calibration_curve
from treerank.rankers import ForestRanker, calibration
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


def scale_written_out(scores, y, groups):
    """Return the attributes of a scale, by loops over labels, folds and steps."""
    labels, n = sorted(set(y)), len(y)
    points = np.quantile(scores, np.linspace(0, 1, 256))
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)

    def line_of(s, won):
        high, low = (won.sum() + 1) / (won.sum() + 2), 1 / ((~won).sum() + 2)
        target, unit = np.where(won, high, low), (s - s.mean()) / s.std()
        model = LogisticRegression(C=1e6).fit(
            np.append(unit, unit)[:, None],
            [1] * len(s) + [0] * len(s),
            sample_weight=[*target, *(1 - target)],
        )
        slope = model.coef_[0, 0] / s.std()
        if slope <= 0:
            mean = target.mean()
            return np.array([0, np.log(mean / (1 - mean))])
        return np.array([slope, model.intercept_[0] - slope * s.mean()])

    def steps_of(s, won):
        level = IsotonicRegression().fit(s, won).predict(s)
        centers = {value: s[level == value].mean() for value in sorted(set(level))}
        at = np.interp(points, [*centers.values()], [*centers])
        return np.array([(len(s) * max(at[: i + 1]) + 1) / (len(s) + 2) for i in range(256)])

    def loss(likely, won):
        return -sum(math.log(p if w else 1 - p) for p, w in zip(likely, won, strict=True))

    lines, steps, is_line = [], [], []
    for label in labels[1:]:
        won, gains = y >= label, []
        for fold in range(5):
            test = query % 5 == fold
            slope, intercept = line_of(scores[~test], won[~test])
            by_line = [1 / (1 + math.exp(-(slope * s + intercept))) for s in scores[test]]
            by_steps = np.interp(scores[test], points, steps_of(scores[~test], won[~test]))
            gains.append(loss(by_line, won[test]) - loss(by_steps, won[test]))
        lines.append(line_of(scores, won))
        steps.append(steps_of(scores, won))
        error = math.sqrt(sum((g - np.mean(gains)) ** 2 for g in gains) / 4 / 5)
        is_line.append(bool(np.mean(gains) <= error))
    assert n == len(scores)
    return {"labels": labels, "scores": points, "lines": lines, "steps": steps, "is_line": is_line}


@pytest.mark.parametrize("seed", range(4))
def test_a_scale_is_what_is_written_out(seed):
    rng, chosen = np.random.default_rng(seed), set()
    for noise in (0.3, 1.0, 3.0):
        qid = np.repeat(np.arange(23), rng.integers(5, 15, size=23))
        scores = rng.normal(size=len(qid))
        y = np.digitize(np.maximum(scores, 0.3) + noise * rng.logistic(size=len(qid)), [0.5, 1.5])
        y = np.where(scores > 1, np.maximum(y, 1), y).astype(float)
        groups, _ = canonical_order(scores[:, None], QueryGroups.from_qid(qid), y)
        scale = RelevanceScale.fitted(scores, y, QueryGroups.from_qid(qid))
        ordered = QueryGroups(None, groups.indptr)
        expected = scale_written_out(scores[groups.order], y[groups.order], ordered)
        for name, values in expected.items():
            np.testing.assert_allclose(getattr(scale, name), values, rtol=1e-9, err_msg=name)
        chosen |= set(expected["is_line"])
    assert chosen == {True, False} or seed


def test_scores_that_fall_tell_the_mean_of_the_targets_of_platt():
    y, qid = np.array([1.0, 1, 0, 0, 0]), QueryGroups.from_qid(np.arange(5))
    (line,) = RelevanceScale.fitted(np.arange(5.0), y, qid).lines
    share = (2 * 3 / 4 + 3 * 1 / 5) / 5
    np.testing.assert_allclose(line, [0, math.log(share / (1 - share))], rtol=1e-12)


def test_probabilities_stay_within_what_numbers_hold():
    with np.errstate(all="raise", under="ignore"):
        high, low = calibration._logistic(np.array([1e9, -1e9]), 1.0, 0.0)
    assert (high, low) == (1, pytest.approx(math.exp(-500), rel=1e-9))
    likely, won = np.array([0.0, 1.0, 0.5]), np.array([True, False, True])
    expected = 2 * -math.log(1e-12) + math.log(2)
    assert calibration._log_loss(likely, won) == pytest.approx(expected, rel=1e-5)


def test_shares_from_0_to_1_are_cut_and_no_others():
    shares = np.arange(41) / 40
    groups, scores = QueryGroups.from_qid(np.arange(41) // 2), np.arange(41.0)
    scale = RelevanceScale.fitted(scores, shares, groups)
    np.testing.assert_array_equal(scale.labels, np.arange(21) / 20)
    for others in (shares - 0.01, shares * 1.01):
        with pytest.warns(UserWarning, match="41 different labels, more than 32"):
            assert RelevanceScale.fitted(scores, others, groups) is None


def scale_of_steps(steps, is_line):
    n = len(steps[0])
    lines = np.array([[1.0, 0.5], [2.0, -1.0]])[: len(steps)]
    return RelevanceScale(
        np.arange(len(steps) + 1.0), np.arange(n + 0.0), np.array(steps), lines, np.array(is_line)
    )


def test_a_threshold_is_the_lowest_score_above_which_the_share_is_reached():
    scale = scale_of_steps([[0.125, 0.25, 0.5, 0.75]], [False])
    # The means of the last 4, 3, 2 and 1 of them.
    means = [0.40625, 0.5, 0.625, 0.75]
    assert [scale.threshold(mean, 1) for mean in means] == [0, 1, 2, 3]
    assert [scale.threshold(mean - 1e-9, 1) for mean in means] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"precision must be at most 0.750, which the highest"):
        scale.threshold(0.7501, 1)


def test_log_odds_are_those_of_lines_alone():
    scale = scale_of_steps([[0.5, 0.5], [0.25, 0.5]], [True, False])
    assert scale.log_odds(1).tolist() == [[1.0, 0.5]]
    with pytest.raises(ValueError, match="of at least 2 must be linear in the score"):
        scale.log_odds(2)
    scale = scale_of_steps([[0.5, 0.5], [0.25, 0.5]], [True, True])
    assert scale.log_odds(1.5).tolist() == [[1.0, 0.5], [2.0, -1.0]]


@pytest.mark.parametrize("name", ["labels", "scores", "steps"])
def test_curves_in_a_file_rise_and_belong_to_labels(calibrated, name):
    state = calibrated[0].get_state()
    curves = state["relevance_scale"]
    TreeDirectRanker(LightGBMTrees()).set_state(state)
    falling = dict(curves, **{name: curves[name][..., ::-1].copy()})
    with pytest.raises(ValueError, match="must rise"):
        TreeDirectRanker(LightGBMTrees()).set_state(state | {"relevance_scale": falling})
    more = dict(curves, labels=np.append(curves["labels"], 9.0))
    with pytest.raises(ValueError, match="must be one more than its curves"):
        TreeDirectRanker(LightGBMTrees()).set_state(state | {"relevance_scale": more})


@pytest.mark.parametrize(("zero", "expected"), [(1.0, 1.0), (2.0, 2.0), (7.9, 8.0), (8.0, 8.0)])
def test_the_search_of_a_slope_doubles_until_the_loss_rises(zero, expected):
    scores = np.array([4.0, 5.0, 6.0])  # at most 1 from their mean
    assert calibration._too_steep(lambda slope: slope - zero, scores) == expected


def test_scores_that_are_all_0_and_a_fit_without_folds_choose_what_is_simplest():
    with pytest.warns(UserWarning, match="no better than chance"):
        assert fit_calibration_slope([0.0, 0.0], [1, 0]) == 0
    one_query = QueryGroups.from_qid(np.zeros(6))
    scale = RelevanceScale.fitted(np.arange(6.0), np.array([0.0, 1, 0, 1, 1, 1]), one_query)
    assert scale.is_line.tolist() == [True]
