"""Balanced pairs: each two levels of a query weigh the same, against sums in plain Python."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from treerank import TreeDirectRanker, load
from treerank.documents.queries import QueryGroups
from treerank.feature_parts import HistogramTrees
from treerank.objectives import Pairs, make_objective
from treerank.objectives.batches import taken
from treerank.objectives.pairs.rules import PAIRS

RNG = np.random.default_rng(0)
#: A query of four levels, one of two, one of a single level, and one of a single document.
QID = RNG.permutation(np.repeat([3, 1, 2, 4], [12, 7, 4, 1]))
Y = np.where(QID == 3, RNG.choice([0, 0, 0, 1, 1, 2, 5], 24), RNG.integers(2, size=24)) * 1.0
Y[QID == 2] = 1
SCORES = RNG.normal(size=24)
WEIGHT = RNG.uniform(0.5, 2, 24)
WEIGHT[np.flatnonzero(QID == 1)[0]] = 0


def logistic(margin):
    return np.log1p(np.exp(-margin)), -expit(-margin), expit(margin) * expit(-margin)


def half_squared(margin):
    return (1 - margin) ** 2 / 2, margin - 1, 1.0


def hinge(margin):
    return max(0, 1 - margin), -1.0 * (margin < 1), 1.0 * (margin < 1)


LOSSES = {"logistic": logistic, "half_squared": half_squared, "hinge": hinge}
OF_PAIR = {
    "uniform": lambda upper, lower: 1,
    "label": lambda upper, lower: upper,
    "label_gap": lambda upper, lower: upper - lower,
}


def pairs_of_levels(weight, adjacent):
    """Return by query and two levels the pairs (better row, worse row, weight)."""
    found = {}
    for query in np.unique(QID):
        rows = np.flatnonzero(query == QID)
        levels = np.unique(Y[rows])
        below = {
            levels[n]: levels[n - 1 : n] if adjacent else levels[:n] for n in range(len(levels))
        }
        for i, j in itertools.permutations(rows, 2):
            if Y[i] > Y[j] and Y[j] in below[Y[i]]:
                found.setdefault(query, {}).setdefault((Y[i], Y[j]), []).append(
                    (i, j, weight[i] * weight[j])
                )
    return found


def expected(loss, weight_name, weight, adjacent):
    value, gradient, hessian = 0.0, np.zeros(24), np.zeros(24)
    for levels in pairs_of_levels(weight, adjacent).values():
        total = sum(w for pairs in levels.values() for *_, w in pairs)
        for pairs in levels.values():
            factor = total / len(levels) / sum(w for *_, w in pairs)
            for i, j, w in pairs:
                w *= factor * OF_PAIR[weight_name](Y[i], Y[j])
                of_pair, slope, curvature = LOSSES[loss](SCORES[i] - SCORES[j])
                value += w * of_pair
                gradient[i] += w * slope
                gradient[j] -= w * slope
                hessian[[i, j]] += w * curvature
    return value, gradient, hessian


@pytest.mark.parametrize("adjacent", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", OF_PAIR)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_each_two_levels_weigh_the_same_in_every_kernel(adjacent, loss, weight, is_weighted):
    document = WEIGHT if is_weighted else np.ones(24)
    sample_weight = WEIGHT if is_weighted else None
    pairs = Pairs(balanced=True, adjacent=adjacent)
    objective = make_objective(
        Y, QID, loss=loss, weight=weight, pairs=pairs, sample_weight=sample_weight
    )
    wanted = expected(loss, weight, document, adjacent)
    for found, expectation in zip(objective(SCORES), wanted, strict=True):
        np.testing.assert_allclose(found, expectation, rtol=1e-12, atol=1e-12)
    for found, expectation in zip(objective.derivatives(SCORES), wanted[1:], strict=True):
        np.testing.assert_allclose(found, expectation, rtol=1e-5, atol=1e-6)
    top = make_objective(
        Y, QID, loss=loss, weight=weight, sample_weight=sample_weight,
        pairs=Pairs(balanced=True, adjacent=adjacent, top=100),
    )  # fmt: skip
    for found, expectation in zip(top(SCORES), wanted, strict=True):
        np.testing.assert_allclose(found, expectation, rtol=1e-12, atol=1e-12)


def test_values_by_hand():
    # Levels of 4, 1 and 2 documents: 4 and 2 pairs of neighbors become 3 and 3.
    y = [0, 0, 0, 0, 1, 2, 2]
    objective = make_objective(y, pairs="balanced", loss="half_squared")
    pull = np.array([0.75, 0.75, 0.75, 0.75, -3 + 3, -1.5, -1.5])
    np.testing.assert_allclose(objective(np.zeros(7))[1], pull)
    assert PAIRS["balanced"] == Pairs(adjacent=True, balanced=True)


def test_the_weights_of_a_query_keep_their_sum():
    plain, balanced = (
        make_objective(Y, QID, pairs=pairs, sample_weight=WEIGHT, loss="half_squared")
        for pairs in ("adjacent", "balanced")
    )
    # The value of each pair is 1/2 at equal scores.
    assert balanced(np.zeros(24))[0] == pytest.approx(plain(np.zeros(24))[0], rel=1e-12)
    even = make_objective([0, 0, 1, 1, 2, 2], pairs="balanced")
    assert even(SCORES[:6])[0] == pytest.approx(
        make_objective([0, 0, 1, 1, 2, 2], pairs="adjacent")(SCORES[:6])[0]
    )


def test_pieces_of_a_query_keep_the_factors_of_all_its_documents():
    rows = np.flatnonzero(QID == 3)
    whole = make_objective(Y, QID, pairs="balanced")
    piece = taken(whole, rows[:5])
    np.testing.assert_array_equal(piece.balance, whole.balance[rows[:5]])
    assert whole.convex().balance is whole.balance
    listwise = whole.with_loss(make_objective(Y, QID, loss="listnet").loss)
    np.testing.assert_array_equal(
        listwise(SCORES)[1], make_objective(Y, QID, loss="listnet")(SCORES)[1]
    )


def test_no_order_of_rows_changes_a_bit():
    order = RNG.permutation(24)
    settings = {"pairs": Pairs(balanced=True), "loss": "hinge"}
    whole = make_objective(Y, QID, sample_weight=WEIGHT, **settings)
    shuffled = make_objective(Y[order], QID[order], sample_weight=WEIGHT[order], **settings)
    np.testing.assert_array_equal(shuffled.balance, whole.balance[order])


def test_where_no_levels_meet_nothing_changes():
    for y in ([1, 1, 1], [2.0]):
        objective = make_objective(y, pairs="balanced")
        np.testing.assert_array_equal(objective.balance, 1)
        assert not objective.has_anything_to_learn()
    groups = QueryGroups.from_qid([1, 1, 2, 2])
    weightless = make_objective([0, 1, 0, 1], groups, pairs="balanced", sample_weight=[0, 1, 2, 2])
    np.testing.assert_allclose(weightless.derivatives(np.zeros(4))[0], [0, 0, 2, -2])


def test_other_losses_and_given_pairs_refuse_it():
    with pytest.raises(ValueError, match=r"pairs must be None for loss='listnet'"):
        make_objective(Y, QID, loss="listnet", pairs="balanced")
    with pytest.raises(ValueError, match="pairs must be None or 'all' when given_pairs lists them"):
        make_objective(
            Y, QID, pairs=Pairs(balanced=True), given_pairs=[np.flatnonzero(QID == 3)[:2]]
        )
    with pytest.raises((TypeError, ValueError), match="balanced must be"):
        Pairs(balanced="yes")


def test_rankers_fit_save_and_clone_it(tmp_path):
    X = np.column_stack([Y + RNG.normal(size=24), RNG.normal(size=24)])
    trees = HistogramTrees(n_estimators=3, min_child_samples=2)
    ranker = TreeDirectRanker(
        trees, weight="uniform", pairs=Pairs(balanced=True, adjacent=True), random_state=0
    )
    assert clone(ranker).pairs == ranker.pairs
    ranker.fit(X, Y, QID)
    by_name = clone(ranker).set_params(pairs="balanced").fit(X, Y, QID)
    np.testing.assert_array_equal(by_name.predict(X), ranker.predict(X))
    plain = clone(ranker).set_params(pairs="adjacent").fit(X, Y, QID)
    assert (plain.predict(X) != ranker.predict(X)).any()
    ranker.save(tmp_path / "ranker")
    again = load(tmp_path / "ranker")
    assert again.pairs == ranker.pairs
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert pickle.loads(pickle.dumps(ranker)).pairs == ranker.pairs


def test_of_one_list_it_is_the_class_weights_of_scikit_learn_but_for_a_factor():
    """So Figure 5c of the DirectRanker paper, measured with these weights, is that of the pairs."""
    y = RNG.choice([0, 1, 2, 3], 200, p=[0.6, 0.3, 0.08, 0.02])
    scores = RNG.normal(size=200)
    weight = compute_sample_weight("balanced", y)
    by_weight = make_objective(y, pairs="adjacent", sample_weight=weight)(scores)
    balanced = make_objective(y, pairs="balanced")(scores)
    factor = balanced[0] / by_weight[0]
    for found, wanted in zip(balanced, by_weight, strict=True):
        np.testing.assert_allclose(found, factor * np.asarray(wanted), rtol=1e-9, atol=1e-12)
