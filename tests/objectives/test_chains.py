"""Chained probabilities: the equations, the theorem and the lemma of the RankNet paper."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.objectives import chained_probabilities, make_objective

PROBABILITIES = st.lists(st.floats(0.05, 0.95), min_size=1, max_size=7)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_two_in_a_row_are_equation_5(p, q):
    expected = p * q / (1 + 2 * p * q - p - q)
    assert chained_probabilities([p, q])[0, 2] == pytest.approx(expected)


@given(PROBABILITIES)
def test_neighbors_stay_and_odds_multiply(neighbors):
    found = chained_probabilities(neighbors)
    np.testing.assert_allclose(np.diag(found, 1), neighbors)
    np.testing.assert_allclose(found + found.T, 1)
    np.testing.assert_array_equal(np.diag(found), 0.5)
    odds = found / (1 - found)
    for i, j, k in itertools.permutations(range(len(found)), 3):
        assert odds[i, k] == pytest.approx(odds[i, j] * odds[j, k])


@given(PROBABILITIES, st.randoms())
def test_the_theorem_neighbors_of_any_order_determine_the_same_probabilities(neighbors, random):
    found = chained_probabilities(neighbors)
    order = list(range(len(found)))
    random.shuffle(order)
    of_order = found[np.ix_(order, order)]
    np.testing.assert_allclose(chained_probabilities(np.diag(of_order, 1)), of_order)


@pytest.mark.parametrize("p", [0.3, 0.5, 0.75])
def test_the_lemma_confidence_grows_along_a_chain_of_equal_probabilities(p):
    along = chained_probabilities(np.full(9, p))[0, 1:]
    delta = p / (1 - p)
    np.testing.assert_allclose(along, delta ** np.arange(1, 10) / (1 + delta ** np.arange(1, 10)))
    assert (np.sign(np.diff(along)) == np.sign(p - 0.5)).all()


def test_certainty_and_complete_uncertainty_carry_over():
    np.testing.assert_array_equal(chained_probabilities([0.2, 1.0, 0.4])[0], [0.5, 0.2, 1, 1])
    np.testing.assert_array_equal(chained_probabilities([0.8, 0.0, 0.6])[0], [0.5, 0.8, 0, 0])
    np.testing.assert_array_equal(chained_probabilities([0.5, 0.5]), np.full((3, 3), 0.5))
    np.testing.assert_array_equal(chained_probabilities([1, 1])[2], [0, 0, 0.5])
    assert chained_probabilities([0.7]).tolist() == [[0.5, 0.7], [pytest.approx(0.3), 0.5]]


@given(PROBABILITIES)
def test_a_model_can_reach_them_the_gradient_of_ranknet_is_0_there(neighbors):
    targets = chained_probabilities(neighbors)
    n = len(targets)
    i, j = np.triu_indices(n, 1)
    pairs = np.column_stack([i, j, np.ones(len(i)), targets[i, j]])
    objective = make_objective(np.zeros(n), given_pairs=pairs)
    ideal = -np.append(0, np.cumsum(np.log(neighbors) - np.log1p(-np.array(neighbors))))
    np.testing.assert_allclose(objective(ideal)[1], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("neighbors", "message"),
    [
        ([0.5, 0.0, 0.5, 1.0], r"neighbors must not be certain of both orders.*0\.99"),
        ([0.5, 1.5], r"neighbors must be probabilities from 0 to 1; got 1\.5"),
        ([-0.1], r"neighbors must be probabilities from 0 to 1; got -0\.1"),
        ([0.5, np.nan], "neighbors must be"),
        ([[0.5]], "neighbors must be"),
    ],
)
def test_what_is_no_chain_is_refused(neighbors, message):
    with pytest.raises(ValueError, match=message):
        chained_probabilities(neighbors)
