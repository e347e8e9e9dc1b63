"""Every objective obeys the same laws; a loss or a weight is tested by being listed.

Kernels take seconds to compile, so compiled runs go through the tables once; without a compiler
(NUMBA_DISABLE_JIT=1) every loss meets every weight.
"""

import functools
import itertools
import pickle
from concurrent.futures import Future

import numba
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from shared_kernels import shared_by

from treerank.documents.queries import QueryGroups
from treerank.numerics import threads
from treerank.objectives import make_objective
from treerank.objectives.batches import query_batches
from treerank.objectives.factory import LOSSES, get_loss
from treerank.objectives.lists.losses import POINTWISE
from treerank.objectives.pairs.losses import PAIR_LOSSES
from treerank.objectives.pairs.rules import PAIRS
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.objectives.sums import SomeRows

pytestmark = pytest.mark.slow

# Queries of six, one, four, three and two documents, the last all equal; their rows are mixed.
QID = np.array([3, 1, 1, 2, 1, 4, 3, 1, 4, 3, 1, 3, 1, 5, 5, 5])
Y = np.array([2.0, 0, 1, 1, 1, 3, 0, 2, 3, 0, 0, 4, 1, 1, 2, 0])
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(16, 4))
WEIGHTS = {"sample_weight": RNG.uniform(0.5, 2, 16), "query_weight": np.sqrt(QID)}


def sum_of_two(y, qid, **weights):
    """A sum of a loss of pairs and one of lists."""
    pairs = make_objective(y, qid, loss="fidelity", **weights)
    return 0.7 * pairs + 0.3 * make_objective(y, qid, loss="listmle", **weights)


def drawn_sum(y, qid, **weights):
    """A sum with a loss that draws."""
    return make_objective(y, qid, **weights) + make_objective(y, qid, loss="xendcg", **weights)


def with_gaps(y, qid, **weights):
    """A loss of a label that some rows lack."""
    rows = np.flatnonzero(y != 2)
    some = {name: weight[rows] for name, weight in weights.items()}
    return SomeRows(make_objective(y[rows], qid[rows], **some), rows, QueryGroups.from_qid(qid))


def of(**settings):
    return functools.partial(make_objective, **settings)


BY_LOSS = {loss: of(loss=loss) for loss in LOSSES} | {"sum": sum_of_two}
ALL = BY_LOSS | {f"weight {weight}": of(weight=weight) for weight in PAIR_WEIGHTS}
ALL |= {f"pairs {name}": of(pairs=pairs) for name, pairs in PAIRS.items()}
ALL |= {"smoothed": of(weight="ndcg", smoothing=1.0), "drawn sum": drawn_sum}
ALL |= {"gaps": with_gaps}
if numba.config.DISABLE_JIT:
    both = itertools.product(PAIR_LOSSES, PAIR_WEIGHTS)
    ALL |= {f"{loss} {weight}": of(loss=loss, weight=weight) for loss, weight in both}
#: What is drawn for a document belongs to its row.
DRAWN = ("xendcg", "smoothed", "drawn sum")
every_objective = pytest.mark.parametrize("name", ALL)
#: Scores count from the mean of all labels under the others.
of_differences = pytest.mark.parametrize("name", [name for name in ALL if name not in POINTWISE])
every_loss = pytest.mark.parametrize("name", BY_LOSS)


def built(name, rows=slice(None), y=Y, qid=QID, weights=WEIGHTS):
    """Return an objective over some rows, and scores for it."""
    objective = ALL[name](y[rows], qid[rows], **{key: w[rows] for key, w in weights.items()})
    return objective, SCORES[rows] if objective.n_outputs > 1 else SCORES[rows, 0]


def assert_same(actual, expected, **tolerance):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


@every_loss
def test_the_gradient_is_the_derivative_of_the_value(name):
    objective, scores = built(name)
    numerical = approx_fprime(scores, lambda s: objective(s)[0])
    np.testing.assert_allclose(objective(scores)[1], numerical, rtol=1e-5, atol=2e-5)


#: Losses whose second derivative is negative or zero in places, where a bound is taken instead.
BOUNDED = ("half_squared_tanh", "squared_sigmoid", "hinge", "fidelity", "approx_ndcg")


@every_loss
def test_the_hessian_is_the_exact_diagonal_or_a_positive_number(name):
    objective, scores = built(name)
    hessian = objective(scores)[2]
    assert (hessian >= 0).all()
    if name in LOSSES and name not in BOUNDED:
        steps = 1e-5 * np.eye(len(scores))
        slopes = [objective(scores + s)[1] - objective(scores - s)[1] for s in steps]
        np.testing.assert_allclose(hessian, np.diag(slopes) / 2e-5, rtol=1e-5, atol=1e-7)


@every_objective
def test_the_fast_derivatives_are_those_of_the_call(name):
    objective, scores = built(name)
    for at in (scores, np.round(scores)):  # the latter with ties
        expected = objective(at, iteration=2)[1:]
        assert_same(objective.derivatives(at, iteration=2), expected, rtol=2e-5, atol=1e-6)


@of_differences
def test_only_differences_within_a_query_matter(name):
    objective, scores = built(name)
    exact = np.round(scores * 16) / 16
    shift = np.array([0.0, 64.0, -512.0, 8.0, 16.0, 1.0])[QID]  # keeps ties exact
    moved = (exact.T + shift).T
    expected = objective(exact, iteration=3)
    assert_same(objective(moved, iteration=3), expected, rtol=1e-9, atol=1e-10)
    for column in np.atleast_2d(expected[1].T):
        np.testing.assert_allclose(np.bincount(QID, column), 0, atol=1e-12)
    assert not expected[1][QID == 2].any()
    assert not expected[2][QID == 2].any()  # a single document has nothing to learn


@pytest.mark.parametrize("name", [name for name in ALL if name not in DRAWN])
def test_the_order_of_rows_does_not_matter(name):
    shuffle = np.random.default_rng(1).permutation(len(Y))
    objective, scores = built(name)
    value, gradient, hessian = objective(scores)
    shuffled, scores = built(name, shuffle)
    expected = value, gradient[shuffle], hessian[shuffle]
    assert_same(shuffled(scores), expected, rtol=1e-10, atol=1e-13)


@every_objective
def test_batches_of_whole_queries_add_up_to_the_whole(name):
    objective, scores = built(name)
    value, gradient, hessian = objective(scores, iteration=5)
    rest = value
    for batch in query_batches(objective, 8, np.random.default_rng(0)):
        part = batch.objective(scores[batch.rows], iteration=5)
        assert_same(part[1:], (gradient[batch.rows], hessian[batch.rows]), rtol=1e-9, atol=1e-12)
        rest -= part[0]
    assert rest == pytest.approx(0, abs=1e-9)


@of_differences
def test_the_weight_of_a_query_multiplies_it(name):
    plain, scores = built(name, weights={})
    weighted, _ = built(name, weights={"query_weight": np.where(QID == 3, 0.0, 2.0)})
    factor = np.where(QID == 3, 0.0, 2.0)
    for with_weight, without in zip(weighted(scores)[1:], plain(scores)[1:], strict=True):
        np.testing.assert_allclose(with_weight.T, factor * without.T, atol=1e-14)


@every_objective
def test_only_what_is_drawn_depends_on_the_iteration(name):
    objective, scores = built(name)
    gradients = [objective(scores, iteration=t)[1] for t in range(9)]
    assert np.any(np.ptp(gradients, axis=0)) == (name in DRAWN)
    np.testing.assert_array_equal(objective(scores)[1], gradients[0])
    first = objective.derivatives(scores, iteration=0)
    np.testing.assert_array_equal(objective.derivatives(scores), first)


@every_objective
def test_a_pickled_objective_gives_the_same_bits(name):
    objective, scores = built(name)
    restored = pickle.loads(pickle.dumps(objective))
    assert_same(restored(scores, iteration=1), objective(scores, iteration=1), rtol=0)


@every_objective
def test_scores_may_be_any_numbers_in_any_layout(name):
    objective, scores = built(name)
    whole = np.round(4 * scores)
    expected = [*objective(whole), *objective.derivatives(whole)]
    strided = np.repeat(whole, 2, axis=0)[::2]
    others = [whole.astype(dtype) for dtype in (int, np.float32, np.float16, object)]
    for given in (strided, np.asfortranarray(whole), *others):
        assert_same([*objective(given), *objective.derivatives(given)], expected, rtol=0)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss not in PAIR_LOSSES])
@every_loss
def test_with_another_loss_an_objective_is_the_same_as_one_made_with_it(name, loss):
    objective, scores = built(name)
    made, _ = built(loss)
    other = objective.with_loss(get_loss(loss))
    assert_same(other(scores, iteration=1), made(scores, iteration=1), rtol=1e-12, atol=1e-14)


def full_of_garbage(shape, dtype=float):
    """Stand in for ``np.empty``, whose memory is mostly 0 in a test."""
    return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 113, dtype=dtype)


class PoolOfTheLast:
    """Threads of which the first part of the queries comes last."""

    def submit(self, kernel, *arguments):
        kernel(*arguments)
        (call := Future()).set_result(None)
        return call


@pytest.mark.parametrize("name", [*ALL, "given pairs"])
def test_parts_of_queries_read_nothing_that_they_have_not_written(name, monkeypatch):
    if name == "given pairs":
        pairs = [[row, other] for row in (0, 6) for other in (9, 11)] + [[14, 13], [2, 4]]
        objective, scores = make_objective(Y, QID, given_pairs=pairs), SCORES[:, 0]
    else:
        objective, scores = built(name)
    expected = [*objective(scores, iteration=1), *objective.derivatives(scores, iteration=1)]
    monkeypatch.setattr(np, "empty", full_of_garbage)
    monkeypatch.setattr(threads, "FEW_DOCUMENTS", 0)
    monkeypatch.setattr(threads, "_pool", lambda n_threads: PoolOfTheLast())
    monkeypatch.setattr(numba, "get_num_threads", lambda: 4)
    actual = [*objective(scores, iteration=1), *objective.derivatives(scores, iteration=1)]
    assert_same(actual, expected, rtol=0)


@every_objective
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="threads are numba's")
def test_bits_do_not_depend_on_the_number_of_threads(name):
    rng, results = np.random.default_rng(2), []
    y, qid = rng.integers(0, 4, 900), rng.integers(0, 30, 900)
    objective = ALL[name](y, qid)
    scores = rng.normal(size=(900, objective.n_outputs)).squeeze()
    for n_threads in (1, 2):
        with shared_by(n_threads):
            results.append([*objective(scores), *objective.derivatives(scores)])
    assert_same(*results, rtol=0)
