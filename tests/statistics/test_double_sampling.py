import numpy as np
import pandas as pd
import pytest
from scipy import stats

from treerank.statistics import prediction_powered_mean
from treerank.statistics.double_sampling import regression_estimate

RNG = np.random.default_rng(0)
LLM = RNG.normal(size=200)
TRUTH = 0.5 + 0.8 * LLM + 0.4 * RNG.normal(size=200)
HUMAN = np.where(np.arange(200) < 40, TRUTH, np.nan)


def in_plain_python(y, f, f_all, level=0.95):
    """Return estimate, bounds and variance by leaving out one query after the other."""
    n, n_all = len(y), len(f_all)

    def line(some):
        u, v = [f[i] for i in some], [y[i] for i in some]
        mean_u, mean_v = sum(u) / len(u), sum(v) / len(v)
        products = sum((a - mean_u) * (b - mean_v) for a, b in zip(u, v, strict=True))
        squares = sum((a - mean_u) ** 2 for a in u)
        slope = products / squares if squares else 0.0
        return mean_v - slope * mean_u, slope

    everything = range(n)
    level_at, slope = line(everything)
    estimate = level_at + slope * sum(f_all) / n_all
    without = [line([j for j in everything if j != i]) for i in everything]
    errors = [y[i] - a - b * f[i] for i, (a, b) in enumerate(without)]
    mean = sum(y) / n
    spread = sum((v - mean) ** 2 for v in y) / (n - 1)
    variance = sum(e * e for e in errors) / n / (n - 1) * (1 - n / n_all) + spread / n_all
    half = stats.t.ppf((1 + level) / 2, n - 2) * variance**0.5
    return estimate, estimate - half, estimate + half, variance


def test_the_estimate_is_that_of_a_regression_that_leaves_out_each_query():
    """HC3 residuals are those of fits without the query."""
    found = prediction_powered_mean(human=HUMAN, llm=LLM, level=0.9)
    y, f = HUMAN[:40].tolist(), LLM[:40].tolist()
    *expected, variance = in_plain_python(y, f, LLM.tolist(), level=0.9)
    interval = found.interval
    assert [interval.estimate, interval.low, interval.high] == pytest.approx(expected)
    assert found.standard_error == pytest.approx(variance**0.5)
    assert found.effective_n == pytest.approx(np.var(y, ddof=1) / variance)
    line = stats.linregress(f, y)
    assert (found.slope, found.correlation) == pytest.approx((line.slope, line.rvalue))
    assert (found.n_human, found.n_llm) == (40, 200)
    assert 60 < found.effective_n < 200


def test_hand_worked_values():
    y, f = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0])
    estimate, variance, slope = regression_estimate(y, f, 3.0, n_all=8)
    assert (estimate, slope) == pytest.approx((3.4, 1.3))
    # Residuals .2 -.1 -.4 .3 over 1 - leverage .3 .7 .7 .3, and the variance 35/12 of y.
    squares = (2 / 3) ** 2 + (1 / 7) ** 2 + (4 / 7) ** 2 + 1
    assert variance == pytest.approx(squares / 12 / 2 + 35 / 12 / 8)


def test_an_llm_without_any_information_leaves_the_mean_of_people():
    with pytest.warns(UserWarning, match=r"correlation with human labels is 0.00, below 0.4"):
        found = prediction_powered_mean(human=HUMAN, llm=np.full(200, 0.3))
    few = HUMAN[:40]
    assert found.interval.estimate == pytest.approx(few.mean())
    of_few = few.var(ddof=1) / 40 * (40 / 39) ** 2 * (1 - 40 / 200)  # HC3 of a mean alone
    assert found.standard_error == pytest.approx(np.sqrt(of_few + few.var(ddof=1) / 200))
    # Where f differs once, nothing is known of a slope without that query.
    with pytest.warns(UserWarning, match="below 0.4"):
        once = prediction_powered_mean(human=HUMAN, llm=np.eye(200)[7])
    *expected, variance = in_plain_python(few.tolist(), [*np.eye(40)[7]], np.eye(200)[7].tolist())
    assert once.interval.estimate == pytest.approx(expected[0])
    assert once.standard_error == pytest.approx(variance**0.5)


def test_a_judge_that_is_always_right_leaves_the_draw_of_queries():
    few = HUMAN[:40]
    found = prediction_powered_mean(human=HUMAN, llm=np.append(few, np.full(160, few.mean())))
    assert found.interval.estimate == pytest.approx(few.mean())
    assert found.standard_error == pytest.approx(np.sqrt(few.var(ddof=1) / 200))
    assert found.effective_n == pytest.approx(200)


def test_a_query_in_which_the_llm_finds_nothing_is_not_left_out():
    missing = np.where(np.arange(200) % 7 == 0, np.nan, LLM)
    found = prediction_powered_mean(human=HUMAN, llm=missing)
    filled = np.where(np.isnan(missing), np.nanmean(missing), missing)
    expected = prediction_powered_mean(human=HUMAN, llm=filled)
    assert found.interval.low == pytest.approx(expected.interval.low)
    assert found.effective_n == pytest.approx(expected.effective_n)
    assert (found.n_human, found.n_llm) == (40, 200)


@pytest.mark.filterwarnings("ignore:The LLM")
def test_queries_in_which_people_find_nothing_are_no_queries_that_nobody_judged():
    """The mean is over queries with something to find, and the LLM sees which ones these are."""
    rng, estimates = np.random.default_rng(1), []
    has = rng.random(20_000) < 0.6
    llm = rng.normal(size=20_000) + 2 * has
    truth = np.where(has, 1 + llm - 2 + rng.normal(size=20_000), np.nan)
    for _ in range(300):
        drawn = rng.choice(20_000, 400, replace=False)
        judged = np.arange(400) < 100
        human = np.where(judged, truth[drawn], np.nan)
        known = prediction_powered_mean(human=human, llm=llm[drawn], judged=judged)
        naive = prediction_powered_mean(human=human, llm=llm[drawn])
        estimates.append((known.interval.estimate, naive.interval.estimate))
    means = np.mean(estimates, axis=0)
    assert abs(means[0] - np.nanmean(truth)) < 0.03
    assert means[1] < np.nanmean(truth) - 0.3


def test_documents_of_a_query_are_alike():
    """The mean over 100 queries varies more than that of 1,000 documents of different ones."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(400):
        good = rng.beta(2, 2, size=100)
        y = (rng.random((100, 10)) < good[:, None]).astype(float)
        llm = np.where(rng.random((100, 10)) < 0.8, y, 1 - y).ravel()
        qid, y = np.repeat(np.arange(100), 10), y.ravel()
        human = np.where(np.isin(np.arange(1000), rng.choice(1000, 300, replace=False)), y, np.nan)
        found = prediction_powered_mean(human=human, llm=llm, qid=qid)
        hits += found.interval.low <= 0.5 <= found.interval.high
    assert 0.92 <= hits / 400 <= 0.985
    assert "300 human and 1,000 LLM-graded documents: as precise as" in str(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"human": HUMAN[:19], "llm": LLM[:19]}, "at least 20 queries.*got 19. Let people judge"),
        ({"human": HUMAN[1:], "llm": LLM}, "the same queries; got 199 and 200 values"),
        ({"human": HUMAN, "llm": np.full(200, np.nan)}, "llm must have values; got NaN alone"),
        ({"human": HUMAN, "llm": LLM, "judged": np.arange(200) < 39}, "got false in 39"),
        ({"human": HUMAN, "llm": LLM, "level": 1.0}, "level must be"),
        ({"human": HUMAN[:, None], "llm": LLM}, "human must be one-dimensional"),
    ],
)
def test_wrong_values_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        prediction_powered_mean(**arguments)


def test_few_values_and_a_weak_judge_are_warned_of():
    few = np.where(np.arange(200) < 29, TRUTH, np.nan)
    with pytest.warns(UserWarning, match="fewer than 30 human queries .* there are 29"):
        prediction_powered_mean(human=few, llm=LLM)
    with pytest.warns(UserWarning, match="add almost nothing: their correlation .* below 0.4"):
        prediction_powered_mean(human=HUMAN, llm=RNG.normal(size=200))


def test_documents_of_whole_queries_get_a_warning():
    """Their interval takes them for independent draws, so it is too narrow."""
    rng = np.random.default_rng(3)
    qid, llm = np.repeat(np.arange(100), 10), (rng.random(1000) < 0.4).astype(float)
    y = np.where(rng.random(1000) < 0.9, llm, 1 - llm)
    whole = np.where(np.isin(qid, rng.permutation(100)[:30]), y, np.nan)
    with pytest.warns(UserWarning, match="judged whole queries.*Pass values by query"):
        prediction_powered_mean(human=whole, llm=llm, qid=qid)
    drawn = np.where(np.isin(np.arange(1000), rng.permutation(1000)[:300]), y, np.nan)
    alone = np.where(np.isin(np.arange(1000), np.arange(0, 1000, 10)), y, np.nan)
    for human, ids in ((drawn, qid), (alone, qid), (whole, None), (y, qid), (drawn, range(1000))):
        prediction_powered_mean(human=human, llm=llm, qid=ids)  # warnings are errors


def test_values_that_pandas_calls_missing_are_of_documents_that_nobody_has_judged():
    rng = np.random.default_rng(5)
    qid, llm = np.repeat(np.arange(100), 10), (rng.random(1000) < 0.4).astype(float)
    y = np.where(rng.random(1000) < 0.9, llm, 1 - llm)
    human = np.where(rng.random(1000) < 0.3, y, np.nan)
    missing = pd.Series(human).astype("boolean")
    for ids in (None, qid):
        expected = prediction_powered_mean(human=human, llm=llm, qid=ids)
        for given in (missing, missing.astype(object)):
            assert prediction_powered_mean(human=given, llm=llm, qid=ids) == expected


def test_a_sample_says_where_the_grades_of_the_llm_added_nothing():
    rng = np.random.default_rng(4)
    truth = rng.random(200)
    human = np.where(np.arange(200) < 40, truth, np.nan)
    with pytest.warns(UserWarning, match="add almost nothing"):
        of_chance = prediction_powered_mean(human=human, llm=rng.random(200))
    assert of_chance.effective_n < 40.5
    assert "40 human and 200 LLM-graded queries: the LLM's grades added nothing" in str(of_chance)
    assert "as precise as" not in str(of_chance)
    good = prediction_powered_mean(human=human, llm=truth + 0.1 * rng.random(200))
    assert "as precise as" in str(good)
