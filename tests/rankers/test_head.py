from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_objective import HalfSquare

from treerank.feature_parts.head_fitting import fit_head
from treerank.objectives import make_objective
from treerank.objectives.base import as_objective
from treerank.objectives.sums import FromStart, weighted_sum
from treerank.rankers.head import TAUS, AntisymmetricHead

FEATURES = np.random.default_rng(0).normal(size=(24, 5)) * [1, 10, 1, 0.1, 1] + 3
TRUTH = FEATURES @ [1, 0.1, 0, 0, -0.5] + np.random.default_rng(1).normal(size=24)
OBJECTIVE = make_objective(TRUTH, np.repeat([0, 1, 2], 8), weight="uniform")


@pytest.mark.parametrize("tau", TAUS)
@given(st.floats(-1e300, 1e300))
def test_tau_keeps_the_sign_of_every_margin_and_is_odd(tau, margin):
    head = AntisymmetricHead(np.ones(1), tau)
    r = head.compare_scores(margin, 0.0)
    assert np.sign(r) == np.sign(margin)
    assert head.compare_scores(0.0, margin) == -r


def test_a_single_output_of_weight_one_is_the_score_itself():
    column, head = np.array([[0.1], [np.nextafter(0.1, 1)], [-0.0]]), AntisymmetricHead(np.ones(1))
    for outputs in (column, column[:, 0]):
        np.testing.assert_array_equal(head.score(outputs), column[:, 0])


def test_a_document_scores_the_same_whatever_company_it_keeps():
    rng = np.random.default_rng(0)
    f, head = rng.normal(size=(101, 37)), AntisymmetricHead(rng.normal(size=37))
    together = head.score(f)
    np.testing.assert_array_equal(together, np.concatenate([head.score(row[None]) for row in f]))
    np.testing.assert_array_equal(together, head.score(np.asfortranarray(f)))
    np.testing.assert_array_equal(together[50:], head.score(f[50:]))


exact_fit = partial(fit_head, tolerance=1e-6)


def relative_slope(weight):
    """Slope of L(Fw) / L(0) in the scaled weights, as the docstring of fit_head defines them."""
    scale = np.sqrt(FEATURES.var(axis=0).mean())
    start = OBJECTIVE(np.zeros(len(FEATURES)))[0]
    return FEATURES.T @ OBJECTIVE(FEATURES @ weight)[1] / (start * scale), weight * scale


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0])
def test_weights_are_optimal(alpha):
    slope, v = relative_slope(exact_fit(FEATURES, OBJECTIVE, alpha=alpha))
    np.testing.assert_allclose(slope, -alpha * v, atol=2e-6)


def test_alpha_means_the_same_in_any_unit_and_for_any_number_of_pairs():
    weight = exact_fit(FEATURES, OBJECTIVE, alpha=1e-2)
    in_millis = exact_fit(FEATURES * 1000, OBJECTIVE, alpha=1e-2)
    np.testing.assert_allclose(in_millis * 1000, weight, atol=1e-4)
    doubled = exact_fit(FEATURES, OBJECTIVE + OBJECTIVE, alpha=1e-2)
    np.testing.assert_allclose(doubled, weight, atol=1e-4)


def test_nothing_to_weigh_gives_zeros():
    np.testing.assert_array_equal(fit_head(np.ones((24, 2)), OBJECTIVE), 0)
    np.testing.assert_array_equal(fit_head(FEATURES, make_objective(np.zeros(24))), 0)


class Shifted(HalfSquare):
    """Half the squared distance to a target plus a constant, which no derivative sees."""

    constant = 0.0

    def __call__(self, scores, *, iteration=0):
        value, *derivatives = super().__call__(scores, iteration=iteration)
        return value + self.constant, *derivatives


@pytest.mark.parametrize("start", [None, np.linspace(0, 1, 24)])
@pytest.mark.parametrize("constant", ["zero", -100.0, 100.0])
def test_the_constant_of_a_users_objective_does_not_count(start, constant):
    target = TRUTH - TRUTH.mean()
    objectives = plain, shifted = HalfSquare(target), Shifted(target)
    shifted.constant = -plain(np.zeros(24))[0] if constant == "zero" else constant
    if start is not None:
        objectives = [FromStart(objective, start) for objective in objectives]
    expected, found = (
        exact_fit(FEATURES, as_objective(objective), alpha=0.1) for objective in objectives
    )
    assert (expected != 0).all()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_the_unit_of_half_the_squared_error_is_its_value_at_equal_scores():
    target, scaled = TRUTH - TRUTH.mean(), FEATURES / np.sqrt(FEATURES.var(axis=0).mean())
    weight = exact_fit(FEATURES, as_objective(HalfSquare(target)), alpha=0.1)
    penalty = 0.1 * (target @ target / 2) * np.eye(5)
    expected = np.linalg.solve(scaled.T @ scaled + penalty, scaled.T @ target)
    np.testing.assert_allclose(weight, expected / np.sqrt(FEATURES.var(axis=0).mean()), rtol=1e-3)


def test_a_sum_of_objectives_with_one_of_the_user_does_not_count_its_constant():
    shifted = Shifted(TRUTH, groups=OBJECTIVE.groups)
    shifted.constant = -1e3
    found = exact_fit(FEATURES, weighted_sum([OBJECTIVE, shifted]), alpha=0.1)
    plain = HalfSquare(TRUTH, groups=OBJECTIVE.groups)
    expected = exact_fit(FEATURES, weighted_sum([OBJECTIVE, plain]), alpha=0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_a_users_objective_without_finite_values_or_a_curvature_is_refused_by_name():
    shifted = Shifted(TRUTH)
    shifted.constant = np.nan
    message = "value, gradient and hessian must be finite for equal scores; got .* from Shifted"
    with pytest.raises(ValueError, match=message):
        fit_head(FEATURES, as_objective(shifted))
    flat = HalfSquare(TRUTH)
    flat.derivatives = lambda scores, *, iteration=0: (scores - TRUTH, np.zeros(24))
    message = "hessian must be positive for some document; got none from HalfSquare"
    with pytest.raises(ValueError, match=message):
        fit_head(FEATURES, as_objective(flat))
