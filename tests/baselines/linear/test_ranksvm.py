import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from treerank.baselines.linear.active_pairs import (
    PairSides,
    active_pairs,
    curvature_product,
    squared_hinges,
)
from treerank.baselines.linear.conjugate_gradients import conjugate_gradients
from treerank.baselines.linear.products import transposed_product
from treerank.baselines.linear.ranksvm import RankSVM
from treerank.rankers.training_set import training_set
from treerank.registry import load
from treerank.testing import check_ranker, make_ranking_sample

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.fixture(scope="module")
def data():
    sample = make_ranking_sample(n_queries=8, random_state=1)
    return sample.X, sample.y, sample.qid


def listed_pairs(y, qid, weight=None, query_weight=None, normalized=True):
    """Return i, j and the share in the mean of every pair, by two loops."""
    weight = np.ones(len(y)) if weight is None else weight
    query_weight = np.ones(len(y)) if query_weight is None else query_weight
    pairs = []
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        own = [(i, j, weight[i] * weight[j]) for i in rows for j in rows if y[i] > y[j]]
        mass = sum(w for _, _, w in own) if normalized else 1.0
        pairs += [(i, j, query_weight[i] * w / mass) for i, j, w in own]
    i, j, v = map(np.array, zip(*pairs, strict=True))
    return i, j, v / v.sum()


def minimized(X, C, pairs, weight=None):
    """Return the optimal weights of standard features, and the value, by a general solver."""
    i, j, v = pairs
    gaps = X[i] - X[j]

    def value(w):
        short = np.maximum(0, 1 - gaps @ w)
        return 0.5 * w @ w + C * v @ short**2, w - 2 * C * gaps.T @ (v * short)

    found = minimize(value, np.zeros(X.shape[1]), jac=True, options={"gtol": 1e-10})
    return found.x, found.fun


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_is_that_over_explicit_pairs(data, C, normalized):
    X, y, qid = data
    rng = np.random.default_rng(0)
    weight, by_query = 0.5 + rng.random(len(y)), rng.integers(1, 4, size=8).astype(float)[qid]
    ranker = RankSVM(C, normalized=normalized, tolerance=1e-12)
    ranker.fit(X, y, qid, sample_weight=weight, query_weight=by_query)
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    Z = (X - mean) / deviation
    expected, value = minimized(Z, C, listed_pairs(y, qid, weight, by_query, normalized))
    np.testing.assert_allclose(ranker.coef_ * deviation, expected, atol=1e-5)
    assert ranker.objective_ == pytest.approx(value)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3])
def test_the_value_is_within_the_tolerance_of_the_optimum(data, tolerance):
    optimum = RankSVM(100.0, tolerance=1e-12).fit(*data).objective_
    assert optimum <= RankSVM(100.0, tolerance=tolerance).fit(*data).objective_
    assert RankSVM(100.0, tolerance=tolerance).fit(*data).objective_ <= optimum * (1 + tolerance)


scores_and_labels = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(0, 4), st.integers(0, 2), st.integers(1, 3)),
    min_size=2,
    max_size=30,
)


@given(documents=scores_and_labels)
def test_sums_over_active_pairs_are_those_of_two_loops(documents):
    # Quarters put many margins at exactly 1, where a pair is not active.
    scores, y, qid, weight = np.array(documents, dtype=float).T
    X = np.column_stack([scores / 4, weight])
    data = training_set(X, y, qid, sample_weight=weight)
    sides, query = PairSides.of(data, False), data.groups.codes
    s, v = data.X[data.rows, 0], data.X[data.rows] @ [0.5, 2.0]
    value, slope, product, mass = 0.0, np.zeros(len(s)), np.zeros(len(s)), 0.0
    w = np.ones(len(s)) if data.sample_weight is None else data.sample_weight
    for i in range(len(s)):
        for j in range(len(s)):
            if query[i] == query[j] and data.y[i] > data.y[j]:
                mass += w[i] * w[j]
                short = max(0.0, 1 - s[i] + s[j])
                value += w[i] * w[j] * short**2
                force = 2 * w[i] * w[j] * short
                slope[[i, j]] += -force, force
                bend = 2 * w[i] * w[j] * (v[i] - v[j]) * (short > 0)
                product[[i, j]] += bend, -bend
    active = active_pairs(s, sides)
    found_value, found_slope = squared_hinges(s, sides, active)
    Z = np.ascontiguousarray(data.X[data.rows])
    found = curvature_product(Z, np.array([0.5, 2.0]), sides, active)
    mass = max(mass, 1.0)
    np.testing.assert_allclose(found_value, value / mass, atol=1e-9)
    np.testing.assert_allclose(found_slope, slope / mass, atol=1e-9)
    np.testing.assert_allclose(found, Z.T @ product / mass, atol=1e-9)


def test_products_in_blocks_are_products():
    rng = np.random.default_rng(0)
    Z, u = rng.normal(size=(500, 3)), rng.normal(size=500)
    np.testing.assert_allclose(transposed_product(Z, u), Z.T @ u)
    A = Z.T @ Z
    solution = conjugate_gradients(lambda v: A @ v, A @ np.array([1.0, 2.0, 3.0]), 1e-12)
    np.testing.assert_allclose(solution, [1.0, 2.0, 3.0])


def test_neither_the_unit_of_a_feature_nor_copies_of_queries_matter(data):
    X, y, qid = data
    expected = RankSVM(tolerance=1e-10).fit(X, y, qid)
    scaled = RankSVM(tolerance=1e-10).fit(X * 1000.0, y, qid)
    np.testing.assert_allclose(scaled.coef_ * 1000.0, expected.coef_, rtol=1e-5)
    twice = RankSVM(tolerance=1e-10).fit(np.tile(X, (2, 1)), np.tile(y, 2), np.append(qid, qid + 8))
    np.testing.assert_allclose(twice.coef_, expected.coef_, rtol=1e-5)


def test_a_weight_of_two_is_a_document_there_twice(data):
    X, y, qid = data
    weight = 1 + (np.arange(len(y)) % 2)
    weighted = RankSVM(tolerance=1e-10).fit(X, y, qid, sample_weight=weight)
    repeated = RankSVM(tolerance=1e-10).fit(*(np.repeat(a, weight, axis=0) for a in data))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5)


def test_too_few_steps_are_said(data):
    with pytest.warns(ConvergenceWarning, match="not certain to be within 1e-09"):
        RankSVM(1000.0, max_iter=1, tolerance=1e-9).fit(*data)


def test_a_saved_model_predicts_the_same(data, tmp_path):
    ranker = RankSVM().fit(*data)
    ranker.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict(data[0]), ranker.predict(data[0])
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C must be a finite number above 0; got 0"),
        ({"C": np.inf}, "C must be a finite number above 0; got inf"),
        ({"tolerance": -1}, "tolerance must be a finite number above 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1; got 0"),
    ],
)
def test_wrong_settings_are_named(data, settings, message):
    with pytest.raises(ValueError, match=message):
        RankSVM(**settings).fit(*data)


def test_given_pairs_are_refused_with_the_reason(data):
    with pytest.raises(
        ValueError, match=r"given_pairs must be None .*RankSVM, since it knows pairs"
    ):
        RankSVM().fit(*data, given_pairs=[[0, 1, 1.0]])


def test_nothing_to_learn_gives_a_constant_model_and_a_warning(data):
    X, y, qid = data
    with pytest.warns(UserWarning, match="No query has two different labels"):
        ranker = RankSVM().fit(X, np.ones(len(y)), qid)
    assert (ranker.predict(X) == 0).all()


def test_threads_change_no_bit():
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    check_ranker(RankSVM(), laws=["threads"])
    numba.set_num_threads(1)
