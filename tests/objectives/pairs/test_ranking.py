"""Ranking inside training: every way to sort gives the order of the scores."""

import itertools

import numba
import numpy as np
import pytest

from tests.corpus.make import orders
from treerank.numerics.random_keys import stream
from treerank.objectives import make_objective
from treerank.objectives.pairs.ranking import add_noise, chance_in_top, sort_queries

_RNG = np.random.default_rng(0)
KEYS = {
    "one": np.array([3.0]),
    "equal": np.zeros(50),
    "few values": _RNG.integers(0, 4, 300).astype(float),
    "bell": _RNG.normal(size=1000),
    "an outlier, so that all others share a bin": np.append(1e9, _RNG.normal(size=2000)),
    "both extremes of the range": np.array([1e308, -1e308, 0.0, 1.0]),
    "backwards": np.arange(500.0),
    "hardly apart": np.append(np.zeros(30), 5e-324),
}


def sorted_by(key, sort=sort_queries):
    """Return the order of the keys, and the keys in that order."""
    order, falling = np.empty(len(key), np.int32), np.empty(len(key))
    sort(0, 1, key, np.array([0, len(key)]), order, falling)
    return order, falling


@pytest.mark.parametrize("name", KEYS)
def test_the_order_falls(name):
    key = KEYS[name]
    with np.errstate(over="ignore"):  # the gap of both extremes is infinite
        order, falling = sorted_by(key)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(key)))
    np.testing.assert_array_equal(falling, key[order])
    np.testing.assert_array_equal(falling, np.sort(key)[::-1])


@pytest.mark.parametrize("top", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "scores", [[4, 3, 2, 1], [3, 3, 2, 2], [5, 2, 2, 2, 2], [2, 2, 2, 1, 1, 0]]
)
def test_the_chance_to_be_in_the_top_is_the_share_of_orders(scores, top):
    n = len(scores)
    inside, tie = np.empty((2, n))
    chance_in_top(np.arange(n), np.array(scores, dtype=float), top, inside, tie)
    tops = [set(order[:top]) for order in orders(scores)]
    np.testing.assert_allclose(inside, [np.mean([i in kept for kept in tops]) for i in range(n)])
    for i, j in itertools.permutations(range(n), 2):
        if scores[i] == scores[j]:
            assert tie[i] == pytest.approx(np.mean([bool({i, j} & kept) for kept in tops]))


def noisy_order(scores, names, iteration, *, smoothing=0.5, seed=0):
    n = len(scores)
    order, falling = np.arange(n, dtype=np.int32), np.empty(n)
    x, names = np.array(scores, dtype=float), np.array(names, dtype=int)
    indptr, keys = np.array([0, n]), np.empty(n)
    state = np.uint64(stream(seed, iteration))
    add_noise(0, 1, x, names, indptr, state, smoothing, keys)
    sort_queries(0, 1, keys, indptr, order, falling)
    return order.tolist()


def test_scores_that_are_no_numbers_write_nowhere_else():
    scores = np.append(np.random.default_rng(0).normal(size=100), [np.nan, np.nan])
    assert sorted(noisy_order(scores, np.arange(102), 0)) == list(range(102))


def test_a_query_may_be_empty():
    assert noisy_order([], [], 0) == []


def test_noise_draws_the_order_of_plackett_and_luce():
    scores, smoothing, n_draws = [0.5, 0.0, -0.5], 0.7, 4000
    first = [noisy_order(scores, [0, 1, 2], t, smoothing=smoothing)[0] for t in range(n_draws)]
    odds = np.exp(np.array(scores) / smoothing)
    shares = np.bincount(first, minlength=3) / n_draws
    np.testing.assert_allclose(shares, odds / odds.sum(), atol=4 * 0.5 / np.sqrt(n_draws))


def test_noise_goes_by_the_name_of_a_document_and_not_by_its_place():
    scores, names = [0.0, 0.3, 0.1, 0.2, 0.0], [7, 3, 9, 4, 5]
    shuffle = np.array([2, 0, 4, 1, 3])
    for t in range(20):
        order = noisy_order(np.array(scores)[shuffle], np.array(names)[shuffle], t)
        assert shuffle[order].tolist() == noisy_order(scores, names, t)


def test_a_part_of_the_queries_is_sorted_alone():
    uneven = np.append(1e9, _RNG.normal(size=200)), np.append(_RNG.normal(size=300), -1e12)
    keys = [_RNG.normal(size=7), uneven[0], np.zeros(0), _RNG.normal(size=50), uneven[1]]
    indptr = np.append(0, np.cumsum([len(key) for key in keys]))
    for first in range(5):
        for last in range(first, 6):
            order, falling = np.full(indptr[-1], -1, np.int32), np.full(indptr[-1], 7.5)
            sort_queries(first, last, np.concatenate(keys), indptr, order, falling)
            for q, key in enumerate(keys):
                rows = slice(indptr[q], indptr[q + 1])
                if first <= q < last:
                    np.testing.assert_array_equal(falling[rows], np.sort(key)[::-1])
                    np.testing.assert_array_equal(key[order[rows]], falling[rows])
                else:
                    assert (order[rows] == -1).all()
                    assert (falling[rows] == 7.5).all()


def test_one_compiled_kernel_fills_in_the_ranks_of_ndcg_for_all_losses():
    problem = make_objective([0, 1], weight="ndcg")
    kernels, types = [], []
    for single in (False, True):
        _, _, calls = problem.ranking(np.zeros(2), 0, single=single)
        kernels.append(calls[-1][0])
        types.append([numba.typeof(argument) for argument in calls[-1][1:]])
    assert types[0] == types[1]
    assert kernels[0] is kernels[1]
