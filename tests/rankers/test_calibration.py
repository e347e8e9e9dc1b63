"""Pair probabilities add up to one, and their steepness is the most likely one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from treerank.rankers.calibration import fit_steepness, pair_probability

margins = st.floats(-1e6, 1e6)


@given(margins, st.floats(0, 1e3))
def test_the_two_directions_add_up_to_exactly_one(margin, steepness):
    there, back = pair_probability(np.array([margin, -margin]), steepness)
    assert there + back == 1
    assert 0 <= there <= 1
    assert (there - 0.5) * margin * steepness >= 0


def test_values_worked_by_hand():
    np.testing.assert_allclose(pair_probability(np.log([1, 3, 1 / 3])), [1 / 2, 3 / 4, 1 / 4])
    np.testing.assert_allclose(pair_probability(np.log(3), steepness=2), 9 / 10)


def most_likely(scores, y, qid):
    """Maximize the mean over queries of the mean log likelihood of pairs, written out."""
    queries = []
    for q in set(qid):
        rows = [t for t in range(len(y)) if qid[t] == q]
        pairs = itertools.permutations(rows, 2)
        queries.append([scores[i] - scores[j] for i, j in pairs if y[i] > y[j]])
    queries = [np.array(margins) for margins in queries if margins]
    target = (len(queries) + 1) / (len(queries) + 2)

    def surprise(steepness):
        return sum(
            np.mean(
                target * np.logaddexp(0, -steepness * m)
                + (1 - target) * np.logaddexp(0, steepness * m)
            )
            for m in queries
        )

    return minimize_scalar(surprise, bounds=(0, 1e3), options={"xatol": 1e-9}, method="bounded").x


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_equals_the_definition_written_out(noise):
    rng = np.random.default_rng(0)
    qid, y = np.repeat(range(12), rng.integers(1, 9, 12)), None
    y = rng.integers(3, size=len(qid))
    scores = y + noise * rng.normal(size=len(y))
    assert fit_steepness(scores, y, qid) == pytest.approx(most_likely(scores, y, qid), rel=1e-4)


def test_recovers_the_steepness_that_made_the_outcomes():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=8000)
    first = rng.random(4000) < pair_probability(scores[::2] - scores[1::2], 1.7)
    y = np.column_stack([first, ~first]).ravel()
    assert fit_steepness(scores, y, np.arange(8000) // 2) == pytest.approx(1.7, rel=0.1)


def test_scaling_the_scores_changes_no_probability():
    scores, y = np.array([2.0, 1.0, 0.0, 0.5]), [1, 0, 0, 1]
    steepness = fit_steepness(scores, y)
    assert 1000 * fit_steepness(1000 * scores - 5, y) == pytest.approx(steepness)


def test_depends_neither_on_the_order_of_rows_nor_on_the_names_of_queries():
    rng = np.random.default_rng(0)
    scores, y, qid = rng.normal(size=50), rng.integers(3, size=50), rng.integers(5, size=50)
    shuffle = rng.permutation(50)
    names = np.array(["c", "a", "e", "b", "d"])[qid]
    shuffled = fit_steepness((scores + y)[shuffle], y[shuffle], names[shuffle])
    assert shuffled == fit_steepness(scores + y, y, qid)


def test_scores_worse_than_chance_say_nothing():
    with pytest.warns(UserWarning, match="no better than chance"):
        assert fit_steepness([0.0, 1.0], [1, 0]) == 0


def test_labels_without_a_pair_are_refused():
    with pytest.raises(ValueError, match="y must hold two different labels in some query"):
        fit_steepness([0.0, 1.0], [1, 0], [1, 2])
