"""Fast pairs: what is laid out for speed must not change a sum.

The exact kernel, which has tests of its own, visits all pairs of places as they are.
"""

import itertools

import numba
import numpy as np
import pytest

from treerank.objectives import Pairs, make_objective
from treerank.objectives.pairs.fast_pairs import WIDTH, copies_top, is_narrow, rounded_up, width_for

pytestmark = pytest.mark.slow

COMPILED = not numba.config.DISABLE_JIT
#: Every kernel takes seconds to compile; without a compiler all weights are tried.
RANKED = ("ndcg",) if COMPILED else ("ndcg", "map", "mrr", "err")
#: Longer than short tops by far, one longer than columns of fixed length; and a short query.
SIZES = (70, 3, 131) if not COMPILED else (70, 3, 131, WIDTH + 5)


def make_task(sizes, *, tied):
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.integers(0, 4, len(qid)).astype(float)
    scores = rng.normal(size=len(qid))
    return y, qid, np.round(scores, 1) if tied else scores


def assert_fast_is_exact(objective, scores):
    _, gradient, hessian = objective(scores)
    scale = np.abs(gradient).max()
    assert scale > 0
    fast = objective.derivatives(scores)
    np.testing.assert_allclose(fast[0], gradient, rtol=2e-5, atol=2e-6 * scale)
    np.testing.assert_allclose(fast[1], hessian, rtol=2e-5, atol=2e-6 * scale)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weight", RANKED)
@pytest.mark.parametrize("sizes", [SIZES[:3], SIZES], ids=["narrow", "wide"])
def test_meeting_only_the_documents_within_reach_misses_no_pair(sizes, weight, tied):
    y, qid, scores = make_task(sizes, tied=tied)
    objective = make_objective(y, qid, weight=weight, k=4)
    assert copies_top(objective)
    assert_fast_is_exact(objective, scores)


@pytest.mark.parametrize("middle", [-1024, 1024])
def test_scores_far_from_zero_have_the_same_derivatives(middle):
    y, qid, scores = make_task(SIZES[:3], tied=False)
    scores = np.round(8 * scores) / 8  # the sums below are exact
    objective = make_objective(y, qid, weight="uniform")
    near, far = objective.derivatives(scores), objective.derivatives(scores + middle)
    np.testing.assert_array_equal(near, far)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weight", ["uniform"] if COMPILED else ["uniform", "map", "err"])
@pytest.mark.parametrize("adjacent", [False, True])
def test_pairs_with_the_top_are_the_same_when_the_top_stands_twice(weight, tied, adjacent):
    y, qid, scores = make_task(SIZES[:3], tied=tied)
    rules = {"weight": weight, "query_normalization": "log"}
    rules |= {"sample_weight": np.random.default_rng(0).uniform(0, 2, len(y))}
    objective = make_objective(y, qid, pairs=Pairs(top=5, adjacent=adjacent), **rules)
    assert_fast_is_exact(objective, scores)


def test_scores_that_all_tie_are_all_within_reach():
    y, qid, _ = make_task(SIZES[:3], tied=False)
    assert_fast_is_exact(make_objective(y, qid, weight="ndcg", k=2), np.zeros(len(y)))


def test_long_queries_need_columns_of_their_own_length():
    y, qid, scores = make_task((WIDTH + 30, 20) if COMPILED else (70, 20), tied=False)
    assert_fast_is_exact(make_objective(y, qid, weight="ndcg"), scores)


def test_columns_of_fixed_length_hold_what_they_must():
    assert is_narrow(WIDTH, limited=False)
    assert not is_narrow(WIDTH + 1, limited=False)
    longest = next(n for n in range(WIDTH, 0, -1) if is_narrow(n, limited=True))
    assert 2 * int(rounded_up(longest)) <= WIDTH
    assert 2 * int(rounded_up(longest + 1)) > WIDTH


@pytest.mark.parametrize(("sizes", "pays"), [((80, 80), True), ((79, 79), False), ((2, 81), False)])
def test_standing_twice_pays_where_most_documents_are_in_long_queries(sizes, pays):
    # Of 2 and 81 documents, the average one has (4 + 6561) / 83 = 79.1 in its query.
    qid = np.repeat(np.arange(2), sizes)
    assert copies_top(make_objective(np.ones(len(qid)), qid, weight="ndcg", k=10)) == pays


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_a_query_of_infinite_gains_changes_no_other():
    # Longer than the next, which begins where it was, and its gains are infinite as float32.
    y = np.append(np.linspace(1e38, 1e39, 30), [0.0, 1.0, 2.0])
    scores, qid = np.linspace(0, 1, 33), np.repeat([0, 1], [30, 3])
    both = make_objective(y, qid, weight="label_gap").derivatives(scores)
    alone = make_objective(y[30:], weight="label_gap").derivatives(scores[30:])
    assert not np.isfinite(both[0][:30]).all()
    np.testing.assert_array_equal(np.array(both)[:, 30:], alone)


@pytest.mark.parametrize("length", [1, 16, 1104, 2032, 2033, 4096, 10**6])
def test_columns_that_change_lie_at_other_places_of_a_page_than_those_that_are_read(length):
    width = int(width_for(length))
    assert width >= int(rounded_up(length + 31))
    place = 4 * width * np.arange(12) % 4096  # of the first byte of each column
    for changing, other in itertools.product((2, 3), range(1, 12)):
        apart = (place[changing] - place[other]) % 4096
        assert changing == other or 320 <= apart <= 4096 - 320
