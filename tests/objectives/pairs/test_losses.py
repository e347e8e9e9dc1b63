"""Every pair loss obeys the same laws; the corpus has values, ``test_laws`` the derivatives."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from treerank.objectives.pairs.losses import PAIR_LOSSES

every_loss = pytest.mark.parametrize("loss", PAIR_LOSSES.values(), ids=PAIR_LOSSES)


@every_loss
@given(margin=st.floats(-1e150, 1e150))
def test_is_finite_and_curves_upward_everywhere(loss, margin):
    value, _, hessian = loss.of_margin(margin)
    assert np.isfinite(loss.of_margin(margin)).all()
    assert value >= 0
    assert hessian >= 0


@every_loss
@given(margin=st.floats(-30, 30))
def test_falls_as_the_margin_grows_up_to_one(loss, margin):
    assume(margin < 1)
    assert loss.of_margin(margin)[1] <= 0


@every_loss
def test_only_the_likelihood_of_a_pair_has_log_odds_for_margins(loss):
    def is_likelihood(margin):
        upset = loss.of_margin(margin)[0], loss.of_margin(-margin)[0]
        return math.isclose(sum(math.exp(-value) for value in upset), 1.0)

    assert loss.is_likelihood == all(is_likelihood(margin) for margin in (0.0, 0.5, 3.0))


@pytest.mark.parametrize("name", [name for name, loss in PAIR_LOSSES.items() if loss.shape])
@pytest.mark.parametrize("weight", [0.25, 1.0, 3.0])
def test_the_form_without_exponentials_is_the_loss_times_the_weight_of_the_pair(name, weight):
    loss = PAIR_LOSSES[name]
    shape = loss.shape
    for margin in (-2.0, -0.5, 0.0, 0.7, 3.0):
        upset = 1 / (1 + math.exp(shape.steepness * margin))
        gradient, hessian = shape.of_upset(upset, 1 - upset, weight)
        _, slope, curvature = loss.of_margin(margin)
        assert shape.gradient_factor * gradient == pytest.approx(weight * slope)
        assert shape.hessian_factor * hessian == pytest.approx(weight * curvature)


@pytest.mark.parametrize(("name", "just_below"), [("hinge", 1.0), ("squared_hinge", 2.0)])
def test_hinges_are_flat_from_a_margin_of_1_on(name, just_below):
    of_margin = PAIR_LOSSES[name].of_margin
    for margin in (1.0, 1.5):
        assert of_margin(margin) == (0.0, 0.0, 0.0)
    assert of_margin(np.nextafter(1, 0))[2] == just_below


@every_loss
def test_a_loss_is_shown_by_its_function_and_not_by_its_form(loss):
    assert f"is_likelihood={loss.is_likelihood})" in repr(loss)
    assert "shape" not in repr(loss)
