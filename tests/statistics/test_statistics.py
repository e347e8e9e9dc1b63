import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from treerank.statistics import PAIRED_TESTS, friedman_test, nemenyi_test, randomization_test
from treerank.statistics.paired import format_p, wilcoxon_test
from treerank.statistics.pairwise_tests import adjust_holm, pairwise_tests
from treerank.statistics.randomization import bootstrap_interval
from treerank.statistics.resampled import corrected_interval, corrected_resampled_t_test

SETTINGS = {"corrected_t": {"test_to_train": 0.25}, "randomization": {"n_resamples": 499}}
every_test = pytest.mark.parametrize("name", list(PAIRED_TESTS))

# Demsar (2006), Tables 2 and 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 data sets. The
# print rounds voting's 0.9755 to a tie that its ranks do not have.
DEMSAR = np.loadtxt(
    io.StringIO("""
    0.763 0.599 0.954 0.628 0.882 0.936 0.661 0.583 0.775 1.000 0.940 0.619 0.972 0.957
    0.768 0.591 0.971 0.661 0.888 0.931 0.668 0.583 0.838 1.000 0.962 0.666 0.981 0.978
    0.771 0.590 0.968 0.654 0.886 0.916 0.609 0.563 0.866 1.000 0.965 0.614 .9755 0.946
    0.798 0.569 0.967 0.657 0.898 0.931 0.685 0.625 0.875 1.000 0.962 0.669 0.975 0.970
    """)
).T


def run(name, a, b):
    return PAIRED_TESTS[name](a, b, **SETTINGS.get(name, {}))


def drawn(n=20, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=n)
    return b + rng.normal(shift, 1.0, size=n), b


def test_mean_ranks_are_as_published():
    result = friedman_test(DEMSAR)
    np.testing.assert_allclose(result.mean_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    chi_squared = stats.friedmanchisquare(*DEMSAR.T).statistic  # which corrects for ties
    assert result.f_statistic == pytest.approx(13 * chi_squared / (14 * 3 - chi_squared))
    assert result.f_p_value == pytest.approx(stats.f.sf(result.f_statistic, 3, 39))
    for alpha, published in [(0.05, 1.25), (0.10, 1.12)]:
        gap = np.full((2, 4), np.nan)  # which is left out
        found = nemenyi_test(np.vstack([gap, DEMSAR, gap]), alpha=alpha)
        assert round(found.critical_difference, 2) == published
        np.testing.assert_array_equal(found.mean_ranks, result.mean_ranks)
        gaps = np.abs(found.mean_ranks[:, None] - found.mean_ranks)
        np.testing.assert_array_equal(found.p_values < alpha, gaps > found.critical_difference)


def test_wilcoxon_is_as_published():
    result = wilcoxon_test(DEMSAR[:, 1], DEMSAR[:, 0])
    assert result.statistic == 12.0
    assert result.p_value < 0.05
    assert result.difference > 0


def test_wilcoxon_ties_what_differs_by_rounding_alone():
    a, b = np.array([3, 2, 7, 1, 9, 6, 5]), np.array([2, 1, 3, 2, 4, 7, 3])
    exact, rounded = wilcoxon_test(a, b), wilcoxon_test(a / 10, b / 10)
    assert len({*(a / 10 - b / 10)}) > len({*(a - b)})
    assert rounded.statistic == exact.statistic
    assert rounded.p_value == exact.p_value


def test_corrected_t_test_worked_by_hand():
    # differences 1, 2, 3: mean 2, variance 1, standard error sqrt(1/3 + 1/2)
    result = corrected_resampled_t_test([2, 4, 6], [1, 2, 3], test_to_train=0.5)
    assert result.statistic == pytest.approx(2 / math.sqrt(1 / 3 + 1 / 2))
    assert result.p_value == pytest.approx(2 * stats.t.sf(result.statistic, 2))


@given(st.integers(0, 200), st.sampled_from([0.5, 0.9, 0.99]))
def test_corrected_interval_leaves_out_zero_where_the_test_finds_a_difference(seed, level):
    a, b = drawn(n=8, shift=0.5, seed=seed)
    interval = corrected_interval(a - b, test_to_train=0.25, level=level)
    p_value = corrected_resampled_t_test(a, b, test_to_train=0.25).p_value
    assert (interval.low > 0 or interval.high < 0) == (p_value < 1 - level)
    assert interval.estimate == pytest.approx((interval.low + interval.high) / 2)
    with_gaps = corrected_interval([*(a - b), np.nan], test_to_train=0.25, level=level)
    assert with_gaps == interval


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=12))
def test_friedman_is_scipys(rows):
    values = np.array(rows, dtype=float)
    if (np.ptp(values, axis=1) == 0).all():
        return
    result = friedman_test(values)
    expected = stats.friedmanchisquare(*values.T)
    np.testing.assert_allclose(result.chi_squared, expected.statistic, rtol=1e-9)
    np.testing.assert_allclose(result.p_value, expected.pvalue, rtol=1e-9)


def test_randomization_of_few_queries_counts_all_sign_patterns():
    a, b = drawn(n=8, shift=0.5)
    signs = 1 - 2 * ((np.arange(256)[:, None] >> np.arange(8)) & 1)
    means = np.abs((signs * (a - b)).mean(axis=1))
    expected = np.mean(means >= abs((a - b).mean()) - 1e-12)
    assert randomization_test(a, b).p_value == pytest.approx(expected)


def test_interval_comes_near_the_t_interval_for_many_queries():
    values = drawn(n=400)[0]
    interval = bootstrap_interval(values, level=0.9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    np.testing.assert_allclose([interval.low, interval.high], expected, atol=0.01)
    assert interval.low < interval.estimate < interval.high
    assert bootstrap_interval([np.nan, *values, np.nan], level=0.9) == interval


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_steps_down_as_defined(p_values):
    adjusted = adjust_holm(p_values)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for alpha in (0.01, 0.05, 0.3):
        rejected = set()
        for step, i in enumerate(order):
            if p_values[i] * (len(p_values) - step) > alpha:
                break
            rejected.add(i)
        assert set(np.flatnonzero(adjusted <= alpha)) == rejected


def test_rankers_in_the_same_order_everywhere_are_as_different_as_can_be():
    values = np.arange(12.0).reshape(4, 3)
    result = friedman_test(values)
    assert result.chi_squared == pytest.approx(8.0)  # n (k - 1), the most there is
    assert result.f_statistic == math.inf
    assert result.f_p_value == 0.0


@every_test
def test_swapping_the_rankers_turns_the_difference_and_nothing_else(name):
    a, b = drawn(shift=0.4)
    forth, back = run(name, a, b), run(name, b, a)
    assert forth.p_value == back.p_value
    assert forth.difference == -back.difference > 0


@every_test
def test_a_large_difference_is_found_and_said(name):
    a, b = drawn(n=30, shift=3.0)
    result = run(name, a, b)
    assert result.p_value < 0.01
    assert f"{result.difference:+.4f} over 30 pairs" in str(result)


@every_test
def test_queries_with_nothing_to_find_are_left_out(name):
    a, b = drawn(shift=0.4)
    gap = [np.nan, np.nan]
    assert run(name, np.append(a, gap), np.append(b, gap)) == run(name, a, b)


@every_test
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 2.0], [1.0], r"a and b must be paired; got 2 and 1 values\."),
        ([1.0, np.nan, 2.0], [1.0, 2.0, 3.0], r"paired; got NaN in one of them alone, .* at 1\."),
        ([1.0], [2.0], r"at least two pairs; got 1\."),
        ([1.1, 2.1, 0.3], [1.0, 2.0, 0.2], r"constant difference of 0\.1 in all 3\."),
        ([1.0, np.inf], [1.0, 2.0], r"a must not be infinite; got inf\."),
        ([[1.0]], [[2.0]], r"a must have 1 dimension\(s\); got 2\."),
    ],
)
def test_what_cannot_be_tested_is_refused_with_a_reason(name, a, b, message):
    with pytest.raises(ValueError, match=message):
        run(name, a, b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman_test([[1, 2]]), "at least two rows and two rankers; got 1 rows and 2"),
        (lambda: friedman_test([[1], [2]]), "at least two rows and two rankers; got 2 rows and 1"),
        (lambda: nemenyi_test([[1, 1], [2, 2]]), "differ in some row; got 2 equal rankers in all"),
        (lambda: nemenyi_test([[1, np.nan], [2, 1]]), "paired; got NaN for some rankers but not"),
        (lambda: nemenyi_test([[1, 2], [2, 1]], alpha=1), "above 0 and below 1; got 1"),
        (lambda: adjust_holm([0.5, 1.5]), r"p_values must be between 0 and 1; got \[0.5, 1.5\]"),
        (lambda: bootstrap_interval([1.0, 1.0]), "at least two that are not all equal; got 2"),
        (lambda: bootstrap_interval([1, 2], level=95), "above 0 and below 1; got 95"),
        (lambda: randomization_test([1, 2], [2, 1], n_resamples=0), "n_resamples must be a whole"),
        (lambda: corrected_interval([1, np.nan], test_to_train=1), "that are not NaN; got 1"),
        (lambda: corrected_interval([1, 2], test_to_train=0), "finite number above 0; got 0"),
        (lambda: pairwise_tests([[1, 2], [2, 1]], test="sign"), "one of .*; got 'sign'"),
        (lambda: pairwise_tests([[1, 2], [2, 1]], ["a"]), "one per column of values; got"),
        (
            lambda: pairwise_tests([[1, 1], [2, 2]], ["a", "copy"]),
            "a and copy cannot be .* of 0 in",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_p_values_are_said_with_three_decimals():
    found = [format_p(p_value) for p_value in (1.0, 0.0012, 0.001, 0.0009)]
    assert found == ["1.000", "0.001", "0.001", "< 0.001"]


def test_all_pairs_are_the_single_tests():
    rng = np.random.default_rng(0)
    values = rng.normal([0, 0.3, 1], size=(30, 3))
    result = pairwise_tests(values, ["a", "b", "c"], adjust=False, random_state=3)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        single = randomization_test(values[:, i], values[:, j], random_state=3)
        assert result.p_values[i, j] == result.p_values[j, i] == single.p_value
        assert result.differences[i, j] == -result.differences[j, i] == single.difference
    raw = result.p_values[np.triu_indices(3, 1)]
    adjusted = pairwise_tests(values, test="randomization", random_state=3).p_values
    np.testing.assert_allclose(adjusted[np.triu_indices(3, 1)], adjust_holm(raw))
    assert np.isnan(np.diag(result.p_values)).all()
    assert str(result).splitlines()[0] == "p-values of the paired randomization test"


def hold_outs(rng, n_queries=200, n_splits=15, share=0.2):
    """Means of per-query differences without any truth in them, over random test sets."""
    differences = rng.normal(size=n_queries)
    n_test = round(share * n_queries)
    sets = rng.permuted(np.tile(np.arange(n_queries), (n_splits, 1)), axis=1)[:, :n_test]
    return differences[sets].mean(axis=1)


def skewed_queries(rng, n=50):
    """Differences of two rankers that are equally good, many of them 0, with long tails."""
    return rng.choice([0.0, 1.0], p=[0.3, 0.7], size=n) * rng.laplace(size=n)


NULLS = {
    "corrected_t": (hold_outs, 15),
    "randomization": (skewed_queries, 50),
    "wilcoxon": (skewed_queries, 50),
}


@pytest.mark.slow
@every_test
def test_no_test_finds_more_in_pure_chance_than_its_level(name):
    draw, n = NULLS[name]
    rng = np.random.default_rng(0)
    p_values = np.array([run(name, draw(rng), np.zeros(n)).p_value for _ in range(2000)])
    for alpha in (0.01, 0.05, 0.1):
        n_wrong = np.count_nonzero(p_values <= alpha)
        assert n_wrong <= stats.binom.ppf(0.999, 2000, alpha)
    assert np.count_nonzero(p_values <= 0.1) >= 0.07 * 2000  # nor is it blind
