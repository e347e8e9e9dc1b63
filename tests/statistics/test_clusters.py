"""Clusters of queries: the same tests and intervals, over whole clusters."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from treerank.documents.queries import QueryGroups
from treerank.statistics.clusters import ClusterSums, clusters_by_query, standard_error
from treerank.statistics.randomization import (
    bootstrap_interval,
    mean_interval,
    randomization_interval,
    randomization_test,
)

A = [0.5, 0.75, 0.25, 1.0, 0.5, 0.75, 0.25, 1.0, 0.5, 0.25]
B = [0.25, 0.5, 0.5, 0.5, 0.25, 0.75, 0.0, 0.25, 0.75, 0.0]
USERS = ["d", "a", "d", "b", "b", "c", "a", "b", "f", "e"]


def by_cluster(values, clusters):
    """Return a list of values for each cluster."""
    lists = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        lists[cluster].append(value)
    return list(lists.values())


def mean_of(lists):
    values = [value for each in lists for value in each]
    return math.fsum(values) / len(values)


def p_value_of_flips(a, b, clusters):
    """Return the exact p-value: all ways to exchange the two rankers in whole clusters."""
    lists = by_cluster([x - y for x, y in zip(a, b, strict=True)], clusters)
    observed, n_extreme = abs(mean_of(lists)), 0
    signs = [*itertools.product([1, -1], repeat=len(lists))]
    for pattern in signs:
        flipped = [[s * d for d in each] for s, each in zip(pattern, lists, strict=True)]
        n_extreme += abs(mean_of(flipped)) >= observed - 1e-12
    return n_extreme / len(signs)


def test_the_test_exchanges_the_rankers_in_whole_clusters():
    result = randomization_test(A, B, clusters=USERS)
    assert result.p_value == pytest.approx(p_value_of_flips(A, B, USERS))
    assert result.p_value != randomization_test(A, B).p_value
    assert (result.n, result.n_clusters) == (10, 6)
    assert result.difference == pytest.approx(0.2)
    assert "over 10 pairs of 6 clusters" in str(result)


def test_the_interval_holds_the_differences_that_the_test_does_not_reject():
    level = 0.875
    interval = randomization_interval(A, B, clusters=USERS, level=level)
    assert math.isfinite(interval.low)
    for shift, inside in (
        (interval.low + 1e-9, True),
        (interval.low - 1e-9, False),
        (interval.high - 1e-9, True),
        (interval.high + 1e-9, False),
    ):
        p_value = p_value_of_flips(A, [value + shift for value in B], USERS)
        assert (p_value > 1 - level) == inside


def test_the_bootstrap_draws_whole_clusters():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    values = rng.gamma(1.0, size=40)[clusters] + 0.1 * rng.normal(size=len(clusters))
    lists = by_cluster(values, clusters)
    means = np.array(
        [mean_of([lists[i] for i in draw]) for draw in rng.integers(40, size=(2000, 40))]
    )
    jackknife = [mean_of(lists[:i] + lists[i + 1 :]) for i in range(40)]
    off = np.mean(jackknife) - np.array(jackknife)
    acceleration = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    bias = stats.norm.ppf(np.mean(means < mean_of(lists)))
    bounds = []
    for z in stats.norm.ppf([0.05, 0.95]):
        bounds.append(stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))))
    interval = bootstrap_interval(values, clusters=clusters, level=0.9)
    assert interval.estimate == pytest.approx(values.mean())
    np.testing.assert_allclose([interval.low, interval.high], np.quantile(means, bounds), atol=0.03)
    alone = bootstrap_interval(values, level=0.9)
    assert interval.high - interval.low > 1.3 * (alone.high - alone.low)


def test_the_standard_error_is_that_of_a_ratio_of_sums():
    lists, n = by_cluster(A, USERS), len(A)
    rest = [math.fsum(each) - len(each) * mean_of(lists) for each in lists]
    expected = math.sqrt(6 / 5 * math.fsum(r * r for r in rest)) / n
    codes = np.unique(USERS, return_inverse=True)[1]
    assert standard_error(np.array(A), codes) == pytest.approx(expected)
    assert standard_error(np.array(A)) == pytest.approx(np.std(A, ddof=1) / math.sqrt(n))
    assert math.isnan(standard_error(np.array([1.0])))


@given(st.integers(0, 100), st.sampled_from([5, 9, 30]))
def test_one_query_in_each_cluster_changes_nothing(seed, n):
    rng = np.random.default_rng(seed)
    a, b, clusters = rng.random(n), rng.random(n), rng.permutation(n)
    few = {"n_resamples": 300}
    alone, one = (randomization_test(a, b, clusters=c, **few) for c in (None, clusters))
    assert (alone.p_value, alone.statistic) == (one.p_value, one.statistic)
    pair = [randomization_interval(a, b, clusters=c, **few) for c in (None, clusters)]
    assert pair[0] == pair[1]
    pair = [bootstrap_interval(a, clusters=c, **few).ends for c in (None, clusters)]
    np.testing.assert_allclose(pair[0], pair[1], rtol=1e-12)
    assert standard_error(a, clusters) == pytest.approx(standard_error(a))


@given(st.integers(0, 100))
def test_only_which_queries_share_a_cluster_matters(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 40))
    codes = rng.integers(12, size=40)
    names = [f"user {rng.permutation(12)[0]}-{code}" for code in range(12)]
    few = {"n_resamples": 300, "random_state": seed}
    results = [
        (
            randomization_test(a, b, clusters=clusters, **few),
            randomization_interval(a, b, clusters=clusters, **few),
            bootstrap_interval(a, clusters=clusters, **few),
        )
        for clusters in (codes, 7.5 * codes, [names[c] for c in codes], [(c, "x") for c in codes])
    ]
    assert all(result == results[0] for result in results)
    interval, p_value = results[0][1], results[0][0].p_value
    assert (interval.low > 0 or interval.high < 0) == (p_value <= 0.05 + 1e-12)


def test_queries_with_nothing_to_find_are_left_out_with_their_cluster():
    nan = math.nan
    a, b, users = [*A, nan, nan], [*B, nan, nan], [*USERS, "a", "z"]
    assert randomization_test(a, b, clusters=users) == randomization_test(A, B, clusters=USERS)
    assert bootstrap_interval(a, clusters=users) == bootstrap_interval(A, clusters=USERS)


def test_a_mean_without_variation_between_clusters_has_no_width():
    values, clusters = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0, 0, 1, 1])
    assert mean_interval(values, clusters=clusters).ends == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match=r"differ between clusters; got equal means of all 2"):
        bootstrap_interval(values, clusters=clusters)


def test_means_of_clusters_that_differ_by_rounding_are_equal():
    values, clusters = np.full(6, 0.1), np.array([0, 1, 1, 1, 2, 2])  # 0.1 + 0.1 + 0.1 is above 0.3
    interval = mean_interval(values, clusters=clusters)
    assert interval.low == interval.high == pytest.approx(0.1)
    varied = np.array([0.1, 0.0, 0.1, 0.2, 0.05, 0.15])
    assert mean_interval(varied, clusters=clusters).low == pytest.approx(0.1)
    with pytest.raises(ValueError, match=r"differ between clusters; got equal means of all 3"):
        bootstrap_interval(varied, clusters=clusters)
    interval = mean_interval(np.full(2003, 0.1), clusters=np.repeat([0, 1, 2], [1, 2, 2000]))
    assert interval.low == interval.high == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: randomization_test(A, B, clusters=USERS[:-1]),
            "clusters must have an entry for each of the 10 values; got 9",
        ),
        (
            lambda: randomization_interval(A, B, clusters=["a"] * 10),
            "clusters must be at least two, which are independent of each other; got one, 'a'",
        ),
        (
            lambda: bootstrap_interval(A, clusters=[None, *USERS[1:]]),
            "clusters must not be missing; got None in row 0",
        ),
        (
            lambda: clusters_by_query(["a", "b"], QueryGroups.from_qid([7, 7]), [7, 7]),
            "constant within a query; got 'a' and 'b' in query 7. If these are two queries, make",
        ),
        (
            lambda: clusters_by_query(pd.Series(["a", "a"]), QueryGroups.from_qid([7, 8])),
            "at least two, which are independent of each other; got one, 'a'",
        ),
    ],
)
def test_wrong_clusters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def drawn(rng, n_clusters=60, effect=0.7):
    """Return differences whose true mean is 0, and their clusters, of which each has an effect."""
    clusters = np.repeat(np.arange(n_clusters), rng.integers(1, 9, n_clusters))
    noise = rng.laplace(size=len(clusters))
    return effect * rng.normal(size=n_clusters)[clusters] + noise, clusters


@pytest.mark.slow
def test_intervals_by_clusters_hold_the_truth_as_often_as_they_say_and_others_do_not():
    rng, n_draws = np.random.default_rng(0), 1000
    held = {"flips": 0, "bootstrap": 0, "queries": 0}
    p_values = []
    for _ in range(n_draws):
        values, clusters = drawn(rng)
        zeros = np.zeros(len(values))
        few = {"n_resamples": 999}
        intervals = {
            "flips": randomization_interval(values, zeros, clusters=clusters, **few),
            "bootstrap": bootstrap_interval(values, clusters=clusters, **few),
            "queries": randomization_interval(values, zeros, **few),
        }
        for name, interval in intervals.items():
            held[name] += interval.low <= 0 <= interval.high
        p_values.append(randomization_test(values, zeros, clusters=clusters, **few).p_value)
    low, high = stats.binom.ppf([0.001, 0.999], n_draws, 0.95)
    assert low <= held["flips"] <= high
    assert low - 0.01 * n_draws <= held["bootstrap"] <= high  # a little too short, as without
    assert held["queries"] < 0.9 * n_draws
    n_found = np.count_nonzero(np.array(p_values) <= 0.05)
    assert n_found <= stats.binom.ppf(0.999, n_draws, 0.05)


def test_sums_are_in_the_order_in_which_clusters_occur():
    units = ClusterSums.of(np.array(A), np.array(USERS))
    assert [each[0] for each in by_cluster(USERS, USERS)] == ["d", "a", "b", "c", "f", "e"]
    np.testing.assert_allclose(units.sums, [math.fsum(each) for each in by_cluster(A, USERS)])
    assert units.sizes.tolist() == [2, 2, 3, 1, 1, 1]
