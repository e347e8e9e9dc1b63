import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from treerank.statistics.paired import adjust_holm, format_p
from treerank.statistics.randomization import (
    bootstrap_interval,
    mean_interval,
    randomization_interval,
    randomization_test,
)
from treerank.statistics.resampled import (
    Interval,
    corrected_interval,
    corrected_resampled_t_test,
    needed_text,
)

TESTS = {
    "corrected_t": partial(corrected_resampled_t_test, test_to_train=0.25),
    "randomization": partial(randomization_test, n_resamples=499),
}
every_test = pytest.mark.parametrize("name", TESTS)


def run(name, a, b):
    return TESTS[name](a, b)


def drawn(n=20, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=n)
    return b + rng.normal(shift, 1.0, size=n), b


def test_corrected_t_test_worked_by_hand():
    # differences 1, 2, 3: mean 2, variance 1, standard error sqrt(1/3 + 1/2)
    result = corrected_resampled_t_test([2, 4, 6], [1, 2, 3], test_to_train=0.5)
    assert result.statistic == pytest.approx(2 / math.sqrt(1 / 3 + 1 / 2))
    assert result.p_value == pytest.approx(2 * stats.t.sf(result.statistic, 2))


def test_tiny_differences_have_the_same_t_and_a_tiny_interval():
    a, b = drawn(n=8, shift=0.5)
    tiny = np.ldexp(a, -700), np.ldexp(b, -700)
    expected = corrected_resampled_t_test(a, b, test_to_train=0.25)
    found = corrected_resampled_t_test(*tiny, test_to_train=0.25)
    assert (found.statistic, found.p_value) == (expected.statistic, expected.p_value)
    ends = corrected_interval(a - b, test_to_train=0.25).ends
    assert corrected_interval(tiny[0] - tiny[1], test_to_train=0.25).ends == pytest.approx(
        np.ldexp(ends, -700), rel=1e-15, abs=0
    )


@given(st.integers(0, 200), st.sampled_from([0.5, 0.9, 0.99]))
def test_corrected_interval_leaves_out_zero_where_the_test_finds_a_difference(seed, level):
    a, b = drawn(n=8, shift=0.5, seed=seed)
    interval = corrected_interval(a - b, test_to_train=0.25, level=level)
    p_value = corrected_resampled_t_test(a, b, test_to_train=0.25).p_value
    assert (interval.low > 0 or interval.high < 0) == (p_value < 1 - level)
    assert interval.estimate == pytest.approx((interval.low + interval.high) / 2)
    with_gaps = corrected_interval([*(a - b), np.nan], test_to_train=0.25, level=level)
    assert with_gaps == interval


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
        ([1.0, np.inf], [1.0, 2.0], r"a must be at most 1e\+150 in size; got inf in row 1\."),
        ([[1.0]], [[2.0]], r"a must be one-dimensional; got shape \(1, 1\)\."),
    ],
)
def test_what_cannot_be_tested_is_refused_with_a_reason(name, a, b, message):
    with pytest.raises(ValueError, match=message):
        run(name, a, b)


def test_a_constant_difference_over_splits_has_no_t():
    with pytest.raises(ValueError, match=r"constant difference of 0\.1 in all 3\."):
        run("corrected_t", [1.1, 2.1, 0.3], [1.0, 2.0, 0.2])
    with pytest.raises(ValueError, match=r"constant difference of 0\.001 in all 3\."):
        run("corrected_t", [0.901, 1.801, 7.301], [0.9, 1.8, 7.3])


def test_a_constant_difference_over_splits_has_no_bounds():
    for values in ([0.1] * 3, [0.1, 0.1, np.nextafter(0.1, 1)]):
        interval = corrected_interval(values, test_to_train=0.25)
        assert interval.estimate == pytest.approx(0.1)
        assert np.isnan([interval.low, interval.high]).all()
        assert str(interval) == "0.1000"
    assert corrected_interval([0.0] * 3, test_to_train=0.25).ends == (0, 0, 0)


@every_test
def test_equal_rankers_do_not_differ(name):
    values = drawn()[0]
    result = run(name, values, values)
    assert (result.difference, result.statistic, result.p_value, result.n) == (0, 0, 1, 20)


def test_the_interval_of_equal_rankers_is_0_to_0():
    values = drawn()[0]
    interval = randomization_interval(values, values)
    assert (interval.estimate, interval.low, interval.high) == (0, 0, 0)


def test_values_that_differ_by_rounding_alone_have_no_bootstrap_interval():
    values = np.array([0.5] * 30 + [np.nextafter(0.5, 1)])
    with pytest.raises(
        ValueError, match=r"at least two that are not all equal; got 31 equal values\."
    ):
        bootstrap_interval(values)
    interval = mean_interval(values)
    assert interval.low == interval.high == pytest.approx(0.5)
    assert np.isfinite(bootstrap_interval([0.5] * 30 + [0.5 + 1e-6]).ends).all()


def test_a_single_value_does_not_tell_how_wide_its_interval_is():
    estimate, low, high = mean_interval(np.array([0.25])).ends
    assert estimate == 0.25
    assert np.isnan([low, high, *mean_interval(np.array([])).ends]).all()
    assert str(mean_interval(np.array([0.25]))) == "0.2500"


@pytest.mark.parametrize(("offset", "scale"), [(1.7e12, 100.0), (1e9, 0.01)])
def test_values_that_vary_about_a_large_number_have_an_interval(offset, scale):
    values = np.random.default_rng(0).normal(size=40)
    ends = bootstrap_interval(offset + scale * values).ends
    assert mean_interval(offset + scale * values).ends == ends
    expected = offset + scale * np.array(bootstrap_interval(values).ends)
    np.testing.assert_allclose(ends, expected, rtol=0, atol=0.01 * scale)


@given(st.integers(0, 300), st.sampled_from([5, 8, 14, 15, 40]), st.sampled_from([0.9, 0.95]))
def test_the_randomization_interval_excludes_0_where_its_test_rejects(seed, n, level):
    rng = np.random.default_rng(seed)
    a, b = rng.choice([0.0, 0.25, 0.5, 1.0], size=(2, n))  # many are equal, as metrics are
    a = np.minimum(a + rng.choice([0.0, 0.25], size=n), 1.0)
    settings = {"n_resamples": 499, "random_state": seed}
    interval = randomization_interval(a, b, level=level, **settings)
    p_value = randomization_test(a, b, **settings).p_value
    assert (interval.low > 0 or interval.high < 0) == (p_value <= 1 - level + 1e-12)
    back = randomization_interval(b, a, level=level, **settings)
    assert (back.low, back.high) == (-interval.high, -interval.low)


def test_the_randomization_interval_holds_what_its_exact_test_does_not_reject():
    a, b = drawn(n=8, shift=0.5)
    interval = randomization_interval(a, b, level=0.9)
    for shift, inside in (
        (interval.low + 1e-9, True),
        (interval.low - 1e-9, False),
        (interval.high - 1e-9, True),
        (interval.high + 1e-9, False),
    ):
        assert (randomization_test(a, b + shift).p_value > 0.1) == inside


def test_five_queries_bound_no_interval_of_95_percent():
    interval = randomization_interval([2, 3, 4, 5, 6], [1, 1, 1, 1, 1])
    assert (interval.low, interval.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("level", "fewest"), [(0.75, 3), (0.9, 5), (0.95, 6), (0.999, 11)])
def test_an_interval_without_bounds_tells_how_many_queries_give_it_bounds(level, fewest):
    for n in range(2, fewest + 1):
        interval = randomization_interval(np.arange(1.0, n + 1), np.zeros(n), level=level)
        assert np.isfinite(interval.ends).all() == (n == fewest)
        assert (needed_text(interval, n) == f"at least {fewest} queries") == (n < fewest)
    unbounded = Interval(1.0, -math.inf, math.inf, level=level)
    assert needed_text(unbounded, fewest) == ""  # more queries do not help


def test_the_randomization_interval_comes_near_the_t_interval_for_many_queries():
    a, b = drawn(n=400, shift=0.1)
    interval = randomization_interval(a, b, level=0.9)
    expected = stats.ttest_1samp(a - b, 0).confidence_interval(0.9)
    np.testing.assert_allclose([interval.low, interval.high], expected, atol=0.01)
    assert interval.low < interval.estimate < interval.high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adjust_holm([0.5, 1.5]), r"p_values must be between 0 and 1; got 1.5 in row 1"),
        (lambda: bootstrap_interval([1.0, 1.0]), "that are not all equal; got 2 equal values"),
        (lambda: bootstrap_interval([1.0, np.nan]), r"that are not all equal; got 1\."),
        (lambda: bootstrap_interval([1, 2], level=95), "above 0 and below 1; got 95"),
        (lambda: randomization_test([1, 2], [2, 1], n_resamples=0), "n_resamples must be a whole"),
        (lambda: corrected_interval([1, np.nan], test_to_train=1), "that are not NaN; got 1"),
        (lambda: corrected_interval([1, 2], test_to_train=0), "finite number above 0; got 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_p_values_are_said_with_three_decimals():
    found = [format_p(p_value) for p_value in (1.0, 0.0012, 0.001, 0.0009)]
    assert found == ["1.000", "0.001", "0.001", "< 0.001"]


def hold_outs(rng, n_queries=200, n_splits=15, share=0.2):
    """Means of per-query differences without any truth in them, over random test sets."""
    differences = rng.normal(size=n_queries)
    n_test = round(share * n_queries)
    sets = rng.permuted(np.tile(np.arange(n_queries), (n_splits, 1)), axis=1)[:, :n_test]
    return differences[sets].mean(axis=1)


def skewed_queries(rng, n=50):
    """Differences of two rankers that are equally good, many of them 0, with long tails."""
    return rng.choice([0.0, 1.0], p=[0.3, 0.7], size=n) * rng.laplace(size=n)


NULLS = {"corrected_t": (hold_outs, 15), "randomization": (skewed_queries, 50)}


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


def test_a_message_shows_the_beginning_of_a_long_text():
    with pytest.raises(TypeError, match=r"p_values must be numbers, .*got 'x{198}\.\.\.\. Pass"):
        adjust_holm("x" * 10**6)
