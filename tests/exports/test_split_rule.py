"""Rules by which programs send values left, against the programs' own arithmetic one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank.exports import split_rule
from treerank.exports.adaptation import adapted_thresholds
from treerank.exports.split_rule import SplitRule
from treerank.forests.building import GrowingForest
from treerank.forests.thresholds import LIGHTGBM_ZERO

single = np.float32


def lightgbm_zero(x):
    return 0.0 if abs(x) <= LIGHTGBM_ZERO else x


#: What each program computes, for one value and one threshold.
ORACLES = {
    "AT_MOST": lambda x, t: x <= t,
    "AT_MOST_LIGHTGBM": lambda x, t: lightgbm_zero(x) <= t,
    "AT_MOST_OF_SINGLE": lambda x, t: float(single(x)) <= t,
    "AT_MOST_SINGLE": lambda x, t: single(x) <= single(t),
    "AT_MOST_WITH_SLACK": lambda x, t: single(x) <= single(t) + single(1e-6),
    "BELOW_SINGLE": lambda x, t: single(x) < single(t),
    "BELOW_SINGLE_THRESHOLD": lambda x, t: x < float(single(t)),
}
RULES = {name: value for name, value in vars(split_rule).items() if isinstance(value, SplitRule)}
numbers = st.floats(-1e30, 1e30) | st.sampled_from(
    [0.0, -0.0, 5e-324, -5e-324, 1e-45, 1e-40, 1e-36, 1e-35, -1e-35, 1e-6, 0.1, 1 + 1e-7, 2.0**24]
)
every_rule = pytest.mark.parametrize("name", RULES)
drawn = settings(deadline=None, derandomize=True, max_examples=40)


def neighbors(number):
    """Return doubles at, around and between the floats around a number."""
    floats = [single(number)]
    for towards in (np.inf, -np.inf):
        floats += [np.nextafter(floats[0], single(towards))]
    doubles = [number, *map(float, floats), (floats[0] + float(floats[1])) / 2]
    doubles += [float(floats[0]) / 2 + float(floats[2]) / 2, LIGHTGBM_ZERO, -LIGHTGBM_ZERO, 0.0]
    return sorted({float(np.nextafter(x, way)) for x in doubles for way in (x, np.inf, -np.inf)})


@every_rule
@given(number=numbers)
@drawn
def test_values_go_left_up_to_the_number_that_the_threshold_reaches(name, number):
    rule = RULES[name]
    threshold = np.array([number]).astype(rule.dtype)
    reached = rule.reaches(threshold)[0]
    for x in [*neighbors(number), *neighbors(float(np.clip(reached, -1e300, 1e300)))]:
        with np.errstate(over="ignore"):
            assert ORACLES[name](x, threshold[0]) == (x <= reached)


@every_rule
@given(number=numbers)
@drawn
def test_a_threshold_reaches_as_far_again_as_another_one_did(name, number):
    rule = RULES[name]
    reached = rule.reaches(np.array([number]).astype(rule.dtype))
    again = rule.reaches(rule.thresholds(reached))
    np.testing.assert_array_equal(again, reached)


@every_rule
@given(number=numbers, gap=st.sampled_from([0.5, 1e-3, 1e-5]))
@drawn
def test_a_threshold_parts_the_documents_beside_it(name, number, gap):
    rule = RULES[name]
    low, high = np.array([number]), np.array([number + gap * max(abs(number), 1)])
    for wanted in (low, (low + high) / 2):
        reached = rule.reaches(rule.thresholds(wanted, low, high))
        assert low[0] <= reached[0] < high[0]


@every_rule
@pytest.mark.parametrize("side", [-1, 1])
def test_documents_that_are_all_on_one_side_of_a_threshold_stay_there(name, side):
    rule, rng = RULES[name], np.random.default_rng(0)
    for wanted in rng.normal(size=200):
        growing = GrowingForest()
        for leaf in growing.split(growing.add_tree(), 0, wanted, False):
            growing.values[leaf] = leaf
        X = np.array([[wanted + side * 1e-12 * abs(wanted)]])
        reached = rule.reaches(adapted_thresholds(growing.forest(1), rule, X)[:1])
        assert (X[0] <= reached) == (side < 0)


@every_rule
def test_thresholds_are_finite_and_keep_all_finite_floats_on_one_side(name):
    rule, most = RULES[name], float(np.finfo(np.float32).max)
    thresholds = rule.thresholds(np.array([np.inf, -np.inf]))
    assert np.isfinite(thresholds).all()
    reached = rule.reaches(thresholds)
    assert reached[0] >= np.nextafter(most, 0) / 2
    assert reached[1] <= -np.nextafter(most, 0) / 2


def test_a_scale_below_the_slack_of_solr_has_no_threshold():
    rule = RULES["AT_MOST_WITH_SLACK"]
    low, high = np.array([1.0]), np.array([1.0 + 3e-8])  # equal once rounded
    reached = rule.reaches(rule.thresholds(low, low, high))
    assert not (low[0] <= reached[0] < high[0])
