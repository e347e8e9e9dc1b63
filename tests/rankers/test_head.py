from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.feature_parts.head_fitting import fit_head
from treerank.objectives import make_objective
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
