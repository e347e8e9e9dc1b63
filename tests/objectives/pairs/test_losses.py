"""Every pair loss obeys the same laws; a new one is tested by being listed."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from treerank.objectives.pairs.losses import PAIR_LOSSES, upset_probability

every_loss = pytest.mark.parametrize("loss", PAIR_LOSSES.values(), ids=PAIR_LOSSES)
every_shape = pytest.mark.parametrize(
    "loss",
    [loss for loss in PAIR_LOSSES.values() if loss.shape],
    ids=[name for name, loss in PAIR_LOSSES.items() if loss.shape],
)
margins = st.floats(-30, 30)


def slope_of(f, x, eps=1e-5):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


@every_loss
@given(margin=margins)
def test_gradient_is_the_derivative_of_the_value(loss, margin):
    assume(abs(margin - 1) > 1e-4)  # the kink of the hinge
    numerical = slope_of(lambda m: loss.of_margin(m)[0], margin)
    np.testing.assert_allclose(loss.of_margin(margin)[1], numerical, rtol=1e-4, atol=1e-8)


@every_loss
@given(margin=margins)
def test_hessian_is_the_derivative_of_the_gradient_unless_it_says_otherwise(loss, margin):
    assume(abs(margin - 1) > 1e-4)
    if not loss.approximate_hessian:
        numerical = slope_of(lambda m: loss.of_margin(m)[1], margin)
        np.testing.assert_allclose(loss.of_margin(margin)[2], numerical, rtol=1e-4, atol=1e-8)


@every_loss
@given(margin=st.floats(-1e150, 1e150))
def test_is_finite_and_curves_upward_everywhere(loss, margin):
    value, _, hessian = loss.of_margin(margin)
    assert np.isfinite(loss.of_margin(margin)).all()
    assert value >= 0
    assert hessian >= 0


@every_loss
@given(margin=margins)
def test_falls_as_the_margin_grows_up_to_one(loss, margin):
    assume(margin < 1)
    assert loss.of_margin(margin)[1] <= 0


@every_loss
def test_only_the_likelihood_of_a_pair_has_log_odds_for_margins(loss):
    def is_likelihood(margin):
        upset = loss.of_margin(margin)[0], loss.of_margin(-margin)[0]
        return math.isclose(sum(math.exp(-value) for value in upset), 1.0)

    assert loss.is_likelihood == all(is_likelihood(margin) for margin in (0.0, 0.5, 3.0))


@every_shape
@given(margin=margins)
def test_the_shape_is_the_same_loss(loss, margin):
    shape = loss.shape
    u, p = (upset_probability(sign * shape.steepness * margin) for sign in (1, -1))
    slope, curvature = shape.of_upset(u, p, 1.0)
    expected = slope * shape.gradient_factor, curvature * shape.hessian_factor
    np.testing.assert_allclose(expected, loss.of_margin(margin)[1:], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "margin", "expected"),
    [
        ("logistic", 0.0, (math.log(2), -1 / 2, 1 / 4)),
        ("half_squared", 3.0, (2, 2, 1)),
        ("half_squared_tanh", 0.0, (1 / 2, -1, 1)),
        ("squared_sigmoid", 0.0, (1 / 4, -1 / 4, 1 / 8)),
        ("fidelity", 0.0, (1 - math.sqrt(1 / 2), -math.sqrt(1 / 2) / 4, 1 / 16)),
        ("exponential", 1.0, (1 / math.e, -1 / math.e, 1 / math.e)),
        ("hinge", -1.0, (2, -1, 1)),
        ("hinge", 2.0, (0, 0, 0)),
        ("squared_hinge", -1.0, (4, -4, 2)),
    ],
)
def test_values_worked_by_hand(name, margin, expected):
    np.testing.assert_allclose(PAIR_LOSSES[name].of_margin(margin), expected, rtol=1e-12)
