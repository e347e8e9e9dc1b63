"""Member weights: the least of the objective among weights that are not negative."""

import numpy as np
import pytest
from ranking_sample import make_ranking_sample
from scipy.optimize import minimize, nnls

from treerank.feature_parts.ensembles.ensemble import fit_member_weights
from treerank.objectives import make_objective

DATA = make_ranking_sample()
Y, QID = DATA.y, DATA.qid
SCORES = np.random.default_rng(0).normal(size=(len(Y), 3)) + Y[:, None] * [1, 0.5, -1]


def test_squared_errors_are_least():
    objective = make_objective(Y, QID, loss="half_squared_error")
    expected = nnls(SCORES, Y - Y.mean())[0]
    np.testing.assert_allclose(fit_member_weights(SCORES, objective), expected, rtol=2e-3)
    assert (expected > 0).tolist() == [True, True, False]


def test_the_loss_is_that_of_the_best_weights():
    objective = make_objective(Y, QID, weight="query")
    weight = fit_member_weights(SCORES, objective)

    def loss(weight):
        value, gradient, _ = objective(SCORES @ weight)
        return value, SCORES.T @ gradient

    least = minimize(loss, np.ones(3), jac=True, bounds=[(0, None)] * 3).fun
    assert loss(weight)[0] - least < 1e-3 * loss(np.zeros(3))[0]
    assert weight[2] == 0


@pytest.mark.parametrize(("y", "scores"), [(np.ones(len(Y)), SCORES), (Y, 0 * SCORES)])
def test_weights_are_zero_where_there_is_nothing_to_weigh(y, scores):
    np.testing.assert_array_equal(fit_member_weights(scores, make_objective(y, QID)), 0)


def test_given_shares_count_as_25_queries():
    shares = np.array([1.0, 2.0, 2.0]) / 3
    away = np.eye(3) - np.outer(shares, shares)  # its own square
    pull = np.sqrt(25 / len(np.unique(QID)) * np.square(SCORES).sum() / 3)
    rows, goal = np.vstack([SCORES, pull * away]), np.append(Y - Y.mean(), [0, 0, 0])
    objective = make_objective(Y, QID, loss="half_squared_error")
    found = fit_member_weights(SCORES, objective, 6 * shares)
    np.testing.assert_allclose(found, nnls(rows, goal)[0], rtol=2e-3)
