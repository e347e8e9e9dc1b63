"""A limited sum adapts the factors of its limits, so that each label stays above its floor."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank.metrics import NDCG, get_metric
from treerank.objectives import make_objective
from treerank.objectives.batches import taken
from treerank.objectives.limited_sum import GROWTH, Factors, Limit, LimitedSum
from treerank.objectives.weighted_sum import weighted_sum

pytestmark = pytest.mark.usefixtures("one_thread")

rng = np.random.default_rng(0)
QID = np.repeat(np.arange(4), 10)
GOAL_LABEL, LIMITED_LABEL = rng.integers(0, 3, size=(2, 40)).astype(float)
SCORES = rng.normal(size=40)
GOAL = make_objective(GOAL_LABEL, QID)
LIMITED = make_objective(LIMITED_LABEL, QID, weight="query")


def limit(floor, objective=LIMITED, y=LIMITED_LABEL, metric="ndcg"):
    return Limit(objective, y, get_metric(metric), floor)


def limited_sum(*floors, factors=None):
    factors = Factors([1.0] * len(floors) if factors is None else factors)
    return LimitedSum(GOAL, tuple(limit(floor) for floor in floors), factors)


def assert_priced_as(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("by_derivatives", [False, True])
def test_a_factor_grows_below_the_floor_and_shrinks_above_it(by_derivatives):
    total = limited_sum(1.1, -0.1)  # NDCG is in [0, 1]: never kept, always kept
    for iteration in range(3):
        expected = [GROWTH ** (iteration + 1), GROWTH ** -(iteration + 1)]
        same = weighted_sum([GOAL, LIMITED, LIMITED], [1, *expected])
        if by_derivatives:
            actual, wanted = (o.derivatives(SCORES, iteration=iteration) for o in (total, same))
        else:
            actual, wanted = (o(SCORES, iteration=iteration) for o in (total, same))
        assert_priced_as(actual, wanted)
        np.testing.assert_allclose(total.factors.values, expected)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=12))
def test_an_iteration_adapts_once_however_often_it_is_asked_for(calls):
    total = limited_sum(1.1)
    for iteration, by_derivatives in sorted(calls):
        (total.derivatives if by_derivatives else total)(SCORES, iteration=iteration)
    n_iterations = len({iteration for iteration, _ in calls})
    assert total.factors.values == pytest.approx([GROWTH**n_iterations])


def test_a_quality_at_the_floor_keeps_the_limit():
    reached = NDCG()(LIMITED_LABEL, SCORES, QID)
    assert limit(reached).direction(SCORES) == -1
    assert limit(np.nextafter(reached, 1)).direction(SCORES) == 1


def test_rows_that_say_nothing_about_a_label_leave_its_factor():
    without_relevance = limit(1.1, objective=make_objective(np.zeros(40), QID), y=np.zeros(40))
    assert without_relevance.quality is None
    total = LimitedSum(GOAL, (without_relevance,), Factors([2.5]))
    total.derivatives(SCORES, iteration=0)
    assert total.factors.values == [2.5]


def test_parts_share_the_factors_of_the_whole_and_measure_their_own_rows():
    total = limited_sum(1.1)
    rows = np.flatnonzero(QID == 2)
    part = taken(total, rows)
    part.derivatives(SCORES[rows], iteration=0)
    assert total.factors.values == [GROWTH]
    total.derivatives(SCORES, iteration=0)  # the iteration that the part has adapted to already
    assert total.factors.values == [GROWTH]
    own = NDCG()(LIMITED_LABEL[rows], SCORES[rows])
    assert part.limits[0].quality(SCORES[rows]) == pytest.approx(own)
    expected = weighted_sum([GOAL, LIMITED], [1, GROWTH])
    assert_priced_as(part(SCORES[rows]), taken(expected, rows)(SCORES[rows]))


def test_the_quality_of_several_outputs_is_that_of_their_sum():
    goal, limited = (make_objective(y, QID, per_level=True) for y in (GOAL_LABEL, LIMITED_LABEL))
    scores = np.column_stack([SCORES, rng.normal(size=40)])
    reached = NDCG()(LIMITED_LABEL, scores.sum(axis=1), QID)
    for floor, factor in [(reached - 1e-9, 1 / GROWTH), (reached + 1e-9, GROWTH)]:
        total = LimitedSum(goal, (limit(floor, limited),), Factors([1.0]))
        gradient, _ = total.derivatives(scores, iteration=0)
        assert total.n_outputs == 2
        assert total.factors.values == pytest.approx([factor])
        expected = weighted_sum([goal, limited], [1, factor]).derivatives(scores)[0]
        np.testing.assert_allclose(gradient, expected)


def test_convex_form_and_steepness_are_those_of_the_sum_under_present_factors():
    goal, other = (make_objective(GOAL_LABEL, QID, sigma=2.0, weight=w) for w in ("ndcg", "query"))
    total = LimitedSum(goal, (limit(1.1, other),), Factors([1.0]))
    total.derivatives(SCORES, iteration=0)
    expected = weighted_sum([goal.convex(), other.convex()], [1, GROWTH])
    assert_priced_as(total.convex()(SCORES), expected(SCORES))
    assert total.factors.values == [GROWTH]
    assert total.steepness == 2.0
    assert limited_sum(1.1).steepness == 1.0


def test_a_limited_sum_survives_pickling_with_its_factors():
    total = limited_sum(1.1)
    total.derivatives(SCORES, iteration=4)
    again = pickle.loads(pickle.dumps(total))
    assert vars(again.factors) == vars(total.factors)
    assert_priced_as(again(SCORES, iteration=5), total(SCORES, iteration=5))
    assert again.factors.values == [GROWTH * GROWTH]


@pytest.mark.parametrize("factor", [0, -1.0, np.nan])
def test_a_factor_that_cannot_grow_is_refused(factor):
    with pytest.raises(ValueError, match="the factor of a limit must be a finite number above 0"):
        Factors([1.0, factor])
