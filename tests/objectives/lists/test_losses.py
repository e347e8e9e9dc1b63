"""Every listwise objective obeys the same laws; a new one is tested by being listed."""

import math

import numpy as np
import pytest

from treerank.documents.queries import QueryGroups
from treerank.numerics.random_keys import uniform
from treerank.objectives import make_objective
from treerank.objectives.batches import taken
from treerank.objectives.lists.losses import LISTWISE, ApproxNDCG, ListNetLoss

pytestmark = pytest.mark.slow

# Queries of five, one, four and two documents, the last all equal; their rows are mixed.
QID = np.array([3, 1, 1, 2, 1, 4, 3, 1, 4, 3, 1, 3])
Y = np.array([2.0, 0, 1, 1, 1, 3, 0, 2, 3, 0, 0, 4])
GROUPS = QueryGroups.from_qid(QID)
SCORES = np.random.default_rng(0).normal(size=12)
WEIGHTS = {
    "sample_weight": np.random.default_rng(1).uniform(0.5, 2, 12),
    "query_weight": np.array([1.0, 2.0, 0.5, 3.0])[GROUPS.codes],
}
every_objective = pytest.mark.parametrize("name", LISTWISE)


@every_objective
@pytest.mark.parametrize("scale", [30, 300, 1e4])
def test_extreme_scores_stay_finite(name, scale):
    objective = make_objective(Y, GROUPS, loss=name)
    for scores in (scale * SCORES, scale * np.sign(SCORES), -scale * Y, scale * Y):
        value, gradient, hessian = objective(scores)
        assert np.isfinite([value, *gradient, *hessian]).all()
        assert (hessian >= 0).all()
        np.testing.assert_allclose(np.bincount(QID, gradient), 0, atol=1e-9)


@pytest.mark.parametrize("name", ["xendcg", "approx_ndcg"])
def test_the_largest_labels_that_have_gains_stay_finite(name):
    value, gradient, hessian = make_objective(np.where(Y > 0, 999, 0), GROUPS, loss=name)(SCORES)
    assert np.isfinite([value, *gradient, *hessian]).all()
    assert gradient.any()


@pytest.mark.parametrize("name", ["listmle", "approx_ndcg"])
def test_equal_labels_cost_nothing(name):
    for label in (0.0, 2.0):
        priced = make_objective([label] * 4, QueryGroups.from_qid([0] * 4), loss=name)(SCORES[:4])
        assert not any(np.any(part) for part in priced)


def test_equal_labels_pull_scores_together_under_listnet():
    groups = QueryGroups.from_qid([0, 0])
    assert make_objective([1, 1], groups, loss=ListNetLoss())([0.0, 0.0])[1].tolist() == [0, 0]
    gradient = make_objective([1, 1], groups, loss=ListNetLoss())([1.0, 0.0])[1]
    assert gradient[0] > 0 > gradient[1]


@pytest.mark.parametrize("temperature", [0.5, 4.0])
def test_slopes_under_approx_ndcg_are_in_units_of_the_temperature(temperature):
    value, gradient, hessian = make_objective(Y, GROUPS, loss=ApproxNDCG(1.0))(SCORES)
    objective = make_objective(Y, GROUPS, loss=ApproxNDCG(temperature))
    scaled_value, scaled_gradient, scaled_hessian = objective(temperature * SCORES)
    assert scaled_value == pytest.approx(value)
    np.testing.assert_allclose(scaled_gradient * temperature, gradient)
    np.testing.assert_allclose(scaled_hessian * temperature**2, hessian)


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def oracle_listnet(y, s, w):
    return -(w * softmax(y) * np.log(softmax(s))).sum()


def oracle_listmle(y, s, w):
    value = 0.0
    for level in set(y.tolist()) - {y.min()}:
        tied, rest = np.flatnonzero(y == level), y <= level
        for stage in range(len(tied)):
            placed = stage / len(tied) * np.exp(s[tied]).sum()
            value += w[tied].mean() * math.log(np.exp(s[rest]).sum() - placed)
        value -= (w[tied] * s[tied]).sum()
    return value


def oracle_xendcg(y, s, w, rows):
    mass = np.array([2**label - uniform(0, 0, row) for label, row in zip(y, rows, strict=True)])
    return -(w * mass / mass.sum() * np.log(softmax(s))).sum()


def oracle_approx_ndcg(y, s, w):
    if len(set(y.tolist())) == 1:
        return 0.0
    ideal = sum((2**label - 1) / math.log2(i + 2) for i, label in enumerate(sorted(y)[::-1]))
    dcg = 0.0
    for i in range(len(y)):
        rank = 1 + sum(1 / (1 + math.exp(s[i] - s[j])) for j in range(len(y)) if j != i)
        dcg += w[i] * (2 ** y[i] - 1) / math.log2(1 + rank)
    return 1 - dcg / ideal


ORACLES = {"listnet": oracle_listnet, "listmle": oracle_listmle}
ORACLES |= {"xendcg": oracle_xendcg, "approx_ndcg": oracle_approx_ndcg}


@every_objective
def test_value_equals_the_definition_written_out(name):
    (weight, query_weight), expected = WEIGHTS.values(), 0.0
    for q in range(4):
        rows = np.flatnonzero(q + 1 == QID)
        arguments = [Y[rows], SCORES[rows], weight[rows], *([rows] if name == "xendcg" else [])]
        expected += query_weight[rows[0]] * ORACLES[name](*arguments)
    actual = make_objective(Y, GROUPS, loss=name, **WEIGHTS)(SCORES)[0]
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


@every_objective
def test_no_query_at_all_costs_nothing(name):
    part = taken(make_objective(Y, GROUPS, loss=name, **WEIGHTS), GROUPS.order[:0])
    value, gradient, hessian = part(np.zeros(0))
    assert value == len(gradient) == len(hessian) == 0


def test_settings_are_checked_before_any_label_is_there():
    with pytest.raises(ValueError, match="temperature must be a finite number above 0; got 0"):
        ApproxNDCG(temperature=0)
