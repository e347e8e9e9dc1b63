"""Pairwise objectives: which pairs count, how much, and by which kernel."""

import numba
import numpy as np
import pytest

from treerank.documents.queries import QueryGroups
from treerank.objectives import make_objective
from treerank.objectives.pairs.losses import PAIR_LOSSES, logistic
from treerank.objectives.pairs.objective import choose_kernel
from treerank.objectives.pairs.rules import PAIRS, GivenPairs, Pairs, get_pairs
from treerank.objectives.pairs.weights import PAIR_WEIGHTS

pytestmark = pytest.mark.slow

Y = np.array([2.0, 0, 1, 1, 0, 0, 3, 1, 0])
QID = np.array(["a", "a", "b", "a", "a", "b", "b", "b", "c"])
SCORES = np.array([0.3, -0.2, 0.7, 0.3, 1.1, -0.4, 0.0, 0.7, 5.0])
QUERIES = [np.flatnonzero(QID == name) for name in "abc"]


def assert_same(actual, expected, **tolerance):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


@pytest.mark.parametrize("loss", ["logistic", "half_squared", "hinge"])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_weighing_a_row_twice_is_repeating_it(loss, pairs):
    sample_weight = np.array([1.0, 2, 1, 1, 3, 1, 1, 0, 1])
    rows = np.repeat(np.arange(len(Y)), sample_weight.astype(int))
    weighted = make_objective(Y, QID, loss=loss, pairs=pairs, sample_weight=sample_weight)
    repeated = make_objective(Y[rows], QID[rows], loss=loss, pairs=pairs)
    value, gradient, hessian = repeated(SCORES[rows])
    sums = [np.bincount(rows, d, minlength=len(Y)) for d in (gradient, hessian)]
    assert_same(weighted(SCORES), (value, *sums), rtol=1e-10, atol=1e-10)
    assert_same(weighted.derivatives(SCORES), sums, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("weight", ["uniform", "ndcg"])
def test_equal_normalization_gives_each_query_the_weights_of_a_typical_one(weight):
    # At sigma -> 0 every logistic pair has hessian 1/4 sigma^2 for each of its two documents.
    sigma = 1e-6
    objective = make_objective(Y, QID, weight=weight, query_normalization="equal", sigma=sigma)
    _, hessian = objective.derivatives(SCORES)
    totals = [hessian[q].sum() / (2 * sigma**2 / 4) for q in QUERIES]
    np.testing.assert_allclose(totals, [len(Y) / 3, len(Y) / 3, 0], rtol=1e-5)


@pytest.mark.parametrize("loss", PAIR_LOSSES)
def test_closed_forms_visit_no_pair_and_miss_none(loss):
    # A top that holds everybody changes nothing, but only the kernel over pairs knows tops.
    rng = np.random.default_rng(0)
    y, qid, scores = rng.integers(12, size=90), rng.integers(3, size=90), rng.normal(size=90)
    for adjacent in (False, True):
        closed = make_objective(y, qid, loss=loss, pairs=Pairs(adjacent=adjacent))
        visiting = make_objective(y, qid, loss=loss, pairs=Pairs(adjacent=adjacent, top=100))
        assert_same(closed(scores), visiting(scores), rtol=1e-10, atol=1e-10)


def test_adjacent_pairs_are_those_of_neighboring_levels():
    objective = make_objective([0, 1, 3, 3], pairs="adjacent", loss="half_squared")
    # Levels 0, 1, 3: 1 over 0, and both 3s over 1; margins 0, so each pulls by 1.
    np.testing.assert_allclose(objective(np.zeros(4))[1], [1, -1 + 2, -1, -1])


def test_top_pairs_have_a_document_in_the_top_by_chance_if_it_ties():
    scores = np.array([3.0, 2, 2, 1])
    objective = make_objective([0, 1, 0, 2], pairs=Pairs(top=2), loss="half_squared")
    # In the top 2 with chances 1, 1/2, 1/2, 0. Pairs (1,0): 1; (1,2), tied: 1, for one of
    # the two is in; (3,0): 1; (3,1), (3,2): 1/2. Each pulls by 1 - margin.
    pulls = {(1, 0): 2.0, (1, 2): 1.0, (3, 0): 3.0, (3, 1): 0.5 * 2, (3, 2): 0.5 * 2}
    gradient = np.zeros(4)
    for (i, j), pull in pulls.items():
        gradient[[i, j]] += -pull, pull
    np.testing.assert_allclose(objective(scores)[1], gradient)


def test_ties_ask_for_probability_one_half():
    objective = make_objective([1, 1], pairs="with_ties")
    np.testing.assert_allclose(objective([0.0, 0.0])[1], [0, 0])
    value, gradient, hessian = objective([2.0, 0.0])
    p = 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(value, -(np.log(p) + np.log(1 - p)) / 2)
    np.testing.assert_allclose(gradient, [p - 1 / 2, 1 / 2 - p])
    np.testing.assert_allclose(hessian, [p * (1 - p)] * 2)


def test_given_pairs_are_taken_whatever_the_labels_say():
    table = [[1, 0, 2.0, 0.75], [7, 2, 1.0, 1.0]]
    objective = make_objective(Y, QID, given_pairs=table)
    value, gradient, _ = objective(SCORES)
    ahead, back = logistic(SCORES[1] - SCORES[0]), logistic(SCORES[0] - SCORES[1])
    other = logistic(SCORES[7] - SCORES[2])
    price = 2 * (0.75 * ahead[0] + 0.25 * back[0]) + other[0]
    np.testing.assert_allclose(value, price)
    expected, slope = np.zeros(9), 2 * (0.75 * ahead[1] - 0.25 * back[1])
    expected[[1, 0, 7, 2]] = slope, -slope, other[1], -other[1]
    np.testing.assert_allclose(gradient, expected)
    assert objective.n_pairs == 2


@pytest.mark.parametrize("row", [[0, 1], [3, 2, 0.5], [1, 0, 0.0, 0.0]])
def test_a_given_pair_has_weight_and_target_one_unless_they_are_given(row):
    given = GivenPairs.from_table([row], QueryGroups.from_qid([0, 0, 1, 1]))
    assert given.table().tolist() == [row + [1.0] * (4 - len(row))]


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ([0.5, 1], "rows must be integers"),
        ([-1, 0], "rows must be integers"),
        ([0, 2], "i and j must be of one query"),
        ([1, 1], "i and j must differ"),
        ([0, 4], "rows must be integers"),
        ([0, 1, np.inf], "weights must be finite"),
        ([0, 1, 1, -0.1], "targets must be in"),
        ([0, 1, 1, np.nan], "targets must be in"),
    ],
)
def test_the_first_given_pair_that_is_wrong_is_named(row, rule):
    table = [[0, 1, 1, 1][: len(row)], row]
    with pytest.raises(ValueError, match=rf"given_pairs: {rule}.* got \[.*\] in row 1\."):
        GivenPairs.from_table(table, QueryGroups.from_qid([0, 0, 1, 1]))


def test_given_pairs_of_some_rows_are_counted_anew():
    table = [[3, 1, 2.0, 0.5], [6, 5, 3.0, 1.0], [1, 2, 4.0, 0.0], [3, 7, 1, 1], [7, 3, 1, 1]]
    given = GivenPairs.from_table(table, QueryGroups.from_qid(None, 9))
    kept = given.taking(np.array([1, 8, 2, 3]))
    found = list(zip(kept.i, kept.j, kept.weight, kept.target, strict=True))
    assert found == [(3, 0, 2.0, 0.5), (0, 2, 4.0, 0.0)]
    assert len(given.taking(np.array([0])).i) == 0


def test_policies_come_by_name_and_are_their_own():
    assert get_pairs("top_10") == Pairs(top=10)
    given = GivenPairs.from_table([[0, 1]], QueryGroups.from_qid(None, 2))
    assert get_pairs(given) is given
    for wrong in ("some", ["all"], None):
        with pytest.raises(ValueError, match="pairs must be a Pairs or one of"):
            get_pairs(wrong)
    for settings, message in (
        ({"top": 2**63}, "top must be a whole number"),
        ({"top": 10**30}, "top must be a whole number"),
        ({"top": 2.0}, r"top must be a whole number of at least 1; got 2\.0"),
    ):
        with pytest.raises(ValueError, match=message):
            Pairs(**settings)


@pytest.mark.parametrize("spread", [30.0, 300.0, 3000.0])
@pytest.mark.parametrize("loss", ["logistic", "half_squared_tanh"])
def test_scores_in_the_hundreds_stay_exact_enough(loss, spread):
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 5, 40), rng.uniform(-spread, spread, 40)
    objective = make_objective(y, loss=loss)
    exact = objective(scores)[1:]
    assert_same(objective.derivatives(scores), exact, rtol=1e-4, atol=1e-5)
    assert np.isfinite(exact).all()


def test_noise_belongs_to_the_seed():
    first, again, other = (
        make_objective(Y, QID, weight="ndcg", smoothing=1.0, random_state=seed)(SCORES)[1]
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(again, first)
    assert (other != first).any()


def test_the_convex_form_is_logistic_and_keeps_weights_and_pairs_that_never_change():
    convex = make_objective(Y, QID, weight="label", pairs=Pairs(adjacent=True)).convex()
    assert convex.weight is PAIR_WEIGHTS["label"]
    assert convex.pairs == get_pairs("adjacent")
    convex = make_objective(Y, QID, loss="hinge", weight="ndcg", pairs="top_10").convex()
    assert convex.loss is PAIR_LOSSES["logistic"]
    assert (convex.weight, convex.pairs) == (PAIR_WEIGHTS["query"], Pairs())


def test_labels_are_refused_at_once_but_sorted_only_when_derivatives_are_asked_for():
    with pytest.raises(ValueError, match="y must not be negative"):
        make_objective([1, -1], weight="label")
    objective = make_objective(Y, QID, weight="ndcg")
    assert "labels" not in vars(objective)
    objective.derivatives(SCORES)
    assert "labels" in vars(objective)


@pytest.mark.parametrize(
    ("settings", "of_derivatives", "of_value"),
    [
        ({"given_pairs": [[0, 1]], "loss": "hinge"}, "listed_pairs", "listed_pairs"),
        ({"pairs": "with_ties", "loss": "exponential"}, "exact_pairs", "exact_pairs"),
        ({"pairs": "with_ties"}, "exact_pairs", "exact_pairs"),
        ({"pairs": "balanced"}, "fast_pairs", "exact_pairs"),
        ({"pairs": "balanced", "loss": "hinge"}, "closed_forms", "closed_forms"),
        ({"loss": "fidelity", "weight": "map"}, "fast_pairs", "exact_pairs"),
        ({"pairs": "top_10", "weight": "ndcg"}, "fast_pairs", "exact_pairs"),
        ({"loss": "half_squared", "weight": "label"}, "closed_forms", "closed_forms"),
        ({"loss": "exponential"}, "closed_forms", "closed_forms"),
        ({"loss": "squared_hinge", "pairs": "adjacent"}, "closed_forms", "closed_forms"),
        ({"loss": "hinge", "weight": "ndcg"}, "exact_pairs", "exact_pairs"),
        ({"loss": "exponential", "pairs": "top_10"}, "exact_pairs", "exact_pairs"),
    ],
)
def test_the_kernel_is_that_of_the_table(settings, of_derivatives, of_value):
    problem = make_objective([2, 1, 0], **settings)
    for with_value, name in ((False, of_derivatives), (True, of_value)):
        kernel = choose_kernel(problem, with_value=with_value)
        assert kernel.__name__.rpartition(".")[2] == name


@pytest.mark.parametrize("weight", ["uniform", "label_gap"])
@pytest.mark.parametrize("loss", PAIR_LOSSES if numba.config.DISABLE_JIT else ["logistic"])
def test_given_pairs_cost_their_weights_times_the_loss_of_both_orders_by_target(loss, weight):
    table = np.array([[0, 1, 2.0, 1.0], [1, 3, 0.5, 0.25], [7, 2, 1.5, 0.5], [6, 5, 1.0, 0.0]])
    sample_weight, query_weight = np.linspace(0.5, 2, 9), np.where(QID == "a", 1.0, 3.0)
    settings = {"sample_weight": sample_weight, "query_weight": query_weight, "sigma": 1.5}
    objective = make_objective(Y, QID, loss=loss, weight=weight, given_pairs=table, **settings)
    value, gradient, hessian = 0.0, np.zeros(9), np.zeros(9)
    for i, j, w, target in table:
        i, j = int(i), int(j)
        w *= query_weight[i] * sample_weight[i] * sample_weight[j]
        w *= 1.0 if weight == "uniform" else abs(Y[i] - Y[j])
        margin = 1.5 * (SCORES[i] - SCORES[j])
        ahead, behind = (PAIR_LOSSES[loss].of_margin(m) for m in (margin, -margin))
        value += w * (target * ahead[0] + (1 - target) * behind[0])
        slope = 1.5 * w * (target * ahead[1] - (1 - target) * behind[1])
        gradient[[i, j]] += slope, -slope
        hessian[[i, j]] += 1.5**2 * w * (target * ahead[2] + (1 - target) * behind[2])
    assert_same(objective(SCORES), (value, gradient, hessian), rtol=1e-10, atol=1e-12)


def test_names_of_pairs_stand_for_these_rules():
    assert PAIRS == {
        "all": Pairs(adjacent=False, top=None, ties=False, balanced=False),
        "adjacent": Pairs(adjacent=True),
        "balanced": Pairs(adjacent=True, balanced=True),
        "top_10": Pairs(top=10),
        "with_ties": Pairs(ties=True),
    }
