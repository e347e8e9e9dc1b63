"""A weighted sum of objectives is an objective, and everything that trains by one takes it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_objective import Flat, HalfSquare
from small_rankers import PART_SETTINGS

from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.objectives import make_objective
from treerank.objectives.batches import taken
from treerank.objectives.factory import LOSSES
from treerank.objectives.sums import WeightedSum, weighted_sum

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
QID = rng.permutation(np.repeat(np.arange(6), 15))
RELEVANCE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5, 1.2])
MARGIN = np.digitize(X[:, 1] - 0.5 * X[:, 0], [-0.5, 0.5, 1.2])
SCORES = rng.normal(size=90)

OTHER = make_objective(MARGIN, QID, weight="query")
THREE = HalfSquare(np.zeros((90, 3)), groups=OTHER.groups)
TERMS = {
    **{loss: make_objective(RELEVANCE, QID, loss=loss) for loss in LOSSES},
    "ranks": make_objective(RELEVANCE, QID, weight="ndcg", smoothing=1.0, random_state=3),
    "drawn": make_objective(RELEVANCE, QID, pairs="top_10", sigma=2.0, sample_weight=X[:, 2] ** 2),
    "sum": 0.5 * make_objective(RELEVANCE, QID) + 2 * make_objective(MARGIN, QID, loss="listnet"),
}
every_term = pytest.mark.parametrize("term", TERMS.values(), ids=TERMS)
factors = st.floats(1e-30, 1e3) | st.just(0.0)


def assert_same_bits(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def plain_sum(parts, weights):
    return [
        sum(w * np.asarray(part) for w, part in zip(weights, column, strict=True))
        for column in zip(*parts, strict=True)
    ]


def assert_is_weighted_sum(total, terms, weights, scores):
    for iteration, method in itertools.product((0, 4), ("__call__", "derivatives")):
        found, *parts = (getattr(o, method)(scores, iteration=iteration) for o in (total, *terms))
        for got, want in zip(found, plain_sum(parts, weights), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-200)


@every_term
@settings(max_examples=15)
@given(factors, factors)
def test_value_and_derivatives_are_the_weighted_sums_of_the_terms(term, a, b):
    assert_is_weighted_sum(a * term + b * OTHER, [term, OTHER], [a, b], SCORES)


@every_term
def test_one_times_an_objective_and_nothing_of_another_has_its_bits(term):
    for t in (0, 3):
        assert_same_bits((1.0 * term)(SCORES, iteration=t), term(SCORES, iteration=t))
        slopes = (term * 1 + 0 * OTHER).derivatives(SCORES, iteration=t)
        assert_same_bits(slopes, term.derivatives(SCORES, iteration=t))


def test_sums_of_sums_are_flat_and_their_factors_multiply():
    a, b, c = TERMS["logistic"], TERMS["listnet"], OTHER
    total = 2 * (0.5 * a + b * 3) + np.float64(0.25) * (weighted_sum([c, a]) * 4)
    assert total.terms == (a, b, c, a)
    assert total.factors == (1.0, 6.0, 1.0, 1.0)
    assert (a + b).factors == (1.0, 1.0)
    assert sum([c, c]).terms == (np.float64(2) * c + c).terms == (c, c)
    assert not any(isinstance(term, WeightedSum) for term in total.terms)


def test_the_convex_form_is_the_sum_of_the_convex_forms():
    terms = [TERMS["hinge"], TERMS["ranks"]]
    total = weighted_sum(terms, [2, 3]).convex()
    assert_is_weighted_sum(total, [term.convex() for term in terms], [2, 3], SCORES)


def test_a_sum_of_one_term_has_the_outputs_and_the_queries_of_the_term():
    term = TERMS["listnet"]
    assert (2 * term).n_outputs == term.n_outputs
    assert (2 * term).groups is term.groups


def test_the_steepness_is_that_of_the_terms_if_they_agree():
    steep = [make_objective(y, QID, sigma=2.0) for y in (RELEVANCE, MARGIN)]
    assert (0.3 * steep[0] + steep[1]).steepness == 2.0
    assert (1 * steep[0] + 0 * OTHER).steepness == 2.0
    assert (steep[0] + OTHER).steepness == 1.0
    assert (1 * TERMS["listnet"]).steepness == 1.0


def test_an_objective_of_the_users_own_is_added_without_a_plus():
    own = Flat(OTHER.groups)
    total = weighted_sum([own, OTHER], [0.1, 1])
    assert_is_weighted_sum(total, [own, OTHER], [0.1, 1], SCORES)
    first, second = (OTHER + own).terms
    assert (first, second.objective) == (OTHER, own)
    rows = np.flatnonzero(QID == 1)[::2]  # a piece of a query
    parts = [taken(term, rows) for term in (own, OTHER)]
    assert_is_weighted_sum(taken(total, rows), parts, [0.1, 1], SCORES[rows])


def outputs(name, objective):
    part = feature_part_class(name)(**PART_SETTINGS.get(name, {}))
    for key, value in {"random_state": 0, "n_epochs": 2, "batch_size": 32}.items():
        if key in part.get_params():
            part.set_params(**{key: value})
    return np.asarray(part.fit(X, objective).transform(X))


@pytest.mark.parametrize("name", FEATURE_PARTS)
def test_every_feature_part_is_trained_by_a_sum(name):
    alone = make_objective(RELEVANCE, QID, weight="query")
    whole, halves = outputs(name, alone), outputs(name, 0.5 * alone + 0.5 * alone)
    assert np.ptp(whole) > 0
    np.testing.assert_allclose(halves, whole, rtol=1e-5, atol=1e-6)
    assert not np.allclose(outputs(name, 0.5 * alone + 0.5 * OTHER), whole, atol=1e-4)


class WithoutTaking:
    """Has derivatives, but those of some rows alone cannot be had."""

    groups, n_outputs = OTHER.groups, 1

    def derivatives(self, scores, *, iteration=0):
        return scores, np.ones_like(scores)


@pytest.mark.parametrize("other", [1, 0.5, "text", None, np.ones(90), WithoutTaking()])
def test_only_objectives_are_added(other):
    for add in (lambda: OTHER + other, lambda: other + OTHER):
        with pytest.raises(TypeError):
            add()
    with pytest.raises(ValueError, match="factor must be a finite number"):
        np.ones(90) * OTHER


@pytest.mark.parametrize("factor", [-1, -1e-9, np.nan, np.inf, "2", None, True])
def test_factors_are_finite_and_not_negative(factor):
    with pytest.raises(ValueError, match="factor must be a finite number of at least 0; got"):
        OTHER * factor


@pytest.mark.parametrize(
    ("objectives", "weights", "message"),
    [
        ([], None, "objectives must be one or more, with a factor each; got 0 and 0 factors"),
        ([OTHER], [1, 2], "objectives must be one or more, .* got 1 and 2 factors"),
        ([OTHER, make_objective([1, 0])], None, "must be over the same documents and queries"),
        ([OTHER, make_objective(MARGIN)], None, "must be over the same documents and queries"),
        ([OTHER, THREE], None, "equally many .* 1 and 3"),
    ],
)
def test_only_objectives_over_the_same_scores_can_be_added(objectives, weights, message):
    with pytest.raises(ValueError, match=message):
        weighted_sum(objectives, weights)
