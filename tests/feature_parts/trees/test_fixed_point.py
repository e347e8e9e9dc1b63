import math

import numpy as np
import pytest

from treerank.feature_parts.trees.fixed_point import FixedPointDerivatives, extremes, rounded

# Ten orders of magnitude: as plain float32, their sum in doubles depends on the order.
VALUES = np.random.default_rng(0).lognormal(0, 5, 20_000) * np.resize([1, -1, 1], 20_000)


def test_sums_are_exact_in_any_order():
    plain = VALUES.astype(np.float32).astype(np.float64)
    assert np.cumsum(plain)[-1] != np.cumsum(plain[::-1])[-1]
    fixed = rounded(VALUES, np.abs(VALUES).max())[0].astype(np.float64)
    assert np.cumsum(fixed)[-1] == np.cumsum(fixed[::-1])[-1] == math.fsum(fixed)


def test_nothing_moves_by_more_than_half_a_float32_step_of_the_largest():
    largest = np.abs(VALUES).max()
    fixed, *_ = rounded(VALUES, largest)
    assert fixed.dtype == np.float32
    assert np.abs(fixed - VALUES).max() <= largest * 2.0**-24


@pytest.mark.parametrize("largest", [1.0, 0.75, 2.0**-30, 1e30, 1e-38, 1e-300, 0.0])
def test_any_scale_is_rounded_on_its_own_grid(largest):
    fixed, *_ = rounded(np.array([largest, -largest / 3, 0.0]), largest)
    np.testing.assert_allclose(fixed, [largest, -largest / 3, 0.0], rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("largest", [1.0, 1 - 2.0**-26, 3.1, 2.0**127, 1e-38, 3e-44, 0.0])
def test_values_are_rounded_to_even_steps_and_their_magnitudes_are_summed(largest):
    shape = 50, 100
    values = largest * np.random.default_rng(1).uniform(-1, 1, size=shape)
    step = 2.0 ** max(math.frexp(largest)[1] - 24, -126)
    values[0, :4] = largest, -largest, *np.array([0.5, -1.5]) * min(step, largest)
    fixed, total, most = rounded(values, largest)
    assert fixed.dtype == np.float32
    assert fixed.shape == shape
    np.testing.assert_array_equal(fixed, np.round(values / step) * step)
    assert total == math.fsum(np.abs(fixed.ravel().tolist()))
    assert most == np.abs(fixed).max()


def test_extremes_are_the_largest_magnitude_and_the_most_negative_value():
    assert extremes(np.array([[1.0, -3.0], [2.0, 0.5]])) == (3.0, -3.0)
    assert extremes(np.array([[1.0, -3.0], [4.0, -0.5]])) == (4.0, -3.0)
    assert extremes(np.array([5e-324, -0.0])) == (5e-324, 0.0)
    assert extremes(np.empty(0)) == (0.0, 0.0)
    for odd in (np.nan, -np.nan, np.inf, -np.inf):
        assert extremes(np.array([1.0, odd, -2.0]))[0] == np.inf


class Squares:
    """An objective that keeps the scores it is asked about."""

    n_outputs = 1

    def derivatives(self, scores, *, iteration=0):
        self.kept = scores
        return scores - 1, np.ones_like(scores)


def test_the_objective_gets_a_copy_of_the_scores_that_it_may_keep():
    buffer, objective = np.zeros(3), Squares()
    derivatives = FixedPointDerivatives(objective, 3, start=5)
    derivatives(buffer)
    buffer[:] = 7
    assert not objective.kept.any()
    assert derivatives.iteration == 6


def test_magnitudes_are_sums_of_this_worker_and_maxima_of_all():
    derivatives = FixedPointDerivatives(
        Squares(), 3, largest=lambda values: np.maximum(values, [4.3, 5, 0])
    )
    gradient, _ = derivatives(np.array([0.0, 1.3, 3.0]))
    sums, largest = derivatives.magnitudes
    np.testing.assert_array_equal(sums, [3, np.abs(gradient).sum(dtype=np.float64), 3])
    np.testing.assert_array_equal(largest, [np.float32(4.3), 5])


def test_what_is_infinite_at_another_worker_is_refused_here_too():
    derivatives = FixedPointDerivatives(
        Squares(), 3, largest=lambda values: np.maximum(values, [np.inf, 1, 0])
    )
    with pytest.raises(ValueError, match=r"gradient .* got inf from Squares"):
        derivatives(np.zeros(3))
