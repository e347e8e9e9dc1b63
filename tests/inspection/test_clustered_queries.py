"""Slices, importances and reports of queries that are not independent, such as a user's."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from treerank import report
from treerank.baselines import RankSVM
from treerank.inspection import permutation_importance, slices
from treerank.metrics import get_metric
from treerank.statistics.randomization import (
    bootstrap_interval,
    randomization_interval,
    randomization_test,
)

QUERY = ("user", "week")


@pytest.fixture(scope="module")
def table():
    rng, n = np.random.default_rng(0), 60 * 3 * 8
    frame = pd.DataFrame(
        {
            "user": np.repeat([f"user {i}" for i in range(60)], 24),
            "week": np.tile(np.repeat([1, 2, 3], 8), 60),
            "price": rng.normal(size=n),
            "sales": rng.normal(size=n),
        }
    )
    weight = np.repeat(rng.normal(1, 1.5, size=60), 24)
    frame["bought"] = (weight * frame.price + frame.sales + rng.gumbel(size=n) > 1.5).astype(float)
    return frame


@pytest.fixture(scope="module")
def ranker(table):
    return RankSVM().fit(table, "bought", QUERY)


def test_a_slice_is_tested_with_a_standard_error_by_cluster():
    values = [0.9, 0.5, 0.7, 0.2, 0.4, 0.1, 0.3, 0.8]
    inside = [True, True, True, True, False, False, False, False]
    clusters = ["a", "a", "b", "c", "c", "d", "e", "e"]
    parts = {
        side: [v for v, i in zip(values, inside, strict=True) if i == side]
        for side in (True, False)
    }
    means = {side: math.fsum(part) / len(part) for side, part in parts.items()}
    sums = dict.fromkeys(clusters, 0.0)
    for value, side, cluster in zip(values, inside, clusters, strict=True):
        sums[cluster] += (value - means[side]) / len(parts[side]) * (1 if side else -1)
    error = math.sqrt(3 / 2 * math.fsum(each**2 for each in sums.values()))
    gap = means[True] - means[False]
    columns = {"side": np.where(inside, "in", "out")}
    found = slices(values, columns, np.arange(8), clusters=clusters, at_least=3)
    first = next(one for one in found if one.values == "in")
    assert first.difference.estimate == pytest.approx(gap)
    half = error * stats.t.ppf(0.975, 2)
    assert first.difference.high == pytest.approx(gap + half)
    p_value = 2 * stats.t.sf(gap / error, 2)  # and by Holm for two slices, which mirror each other
    assert first.p_value == pytest.approx(min(1.0, 2 * p_value))


def test_a_slice_of_one_cluster_is_not_tested():
    values, clusters = np.arange(40.0), np.repeat([0, 1, 2, 3], 10)
    columns = {"n": np.where(clusters == 0, "one", "others")}
    assert slices(values, columns, np.arange(40), clusters=clusters, at_least=5) == []
    assert len(slices(values, columns, np.arange(40), at_least=5)) == 2


def test_slices_of_whole_clusters_find_no_more_in_pure_chance_than_their_level():
    rng, n_found, n_found_alone, n_draws = np.random.default_rng(0), 0, 0, 400
    for _ in range(n_draws):
        clusters = np.repeat(np.arange(40), rng.integers(1, 9, 40))
        values = rng.normal(size=40)[clusters] + 0.5 * rng.normal(size=len(clusters))
        columns = {"half": np.where(clusters < 20, "a", "b")}  # users of two countries
        qid = np.arange(len(values))
        by_cluster = slices(values, columns, qid, clusters=clusters)
        n_found += by_cluster[0].p_value / 2 <= 0.05
        n_found_alone += slices(values, columns, qid)[0].p_value / 2 <= 0.05
    assert n_found <= stats.binom.ppf(0.999, n_draws, 0.05)
    assert n_found_alone > 0.2 * n_draws


def test_importances_have_intervals_over_clusters(table, ranker):
    importances = permutation_importance(ranker, table, "bought", QUERY, clusters="user")
    alone = permutation_importance(ranker, table, "bought", QUERY)
    np.testing.assert_array_equal(importances.drops, alone.drops)
    group = importances.names.index("price")
    drops, measured = importances.drops[group], ~np.isnan(importances.drops[group])
    few = {"n_resamples": 999, "random_state": 0}
    expected = bootstrap_interval(drops, clusters=importances.clusters, **few)
    assert importances.interval(group) == expected
    assert np.ptp(expected.ends) > 1.1 * np.ptp(alone.interval(group).ends)
    assert measured.sum() < len(drops)


def test_reports_have_intervals_and_tests_over_clusters(table, ranker):
    settings = {"baseline": "sales", "metrics": ["map"], "n_examples": 1}
    html = report(ranker, table, "bought", QUERY, clusters="user", **settings).html
    text = re.sub(r"<[^>]+>", "", html)
    assert "documents of 180 queries of 60 clusters, compared with a baseline" in text
    assert "Queries of a cluster are correlated, so all intervals and tests resample" in text
    qid = [*zip(table.user, table.week, strict=True)]
    X = table[["price", "sales"]]
    metric = get_metric("map")
    a, b = (metric.per_query(table.bought, s, qid) for s in (ranker.predict(X), table.sales))
    users = [user for user, _ in sorted({*qid})]
    interval = randomization_interval(a, b, clusters=users)
    assert f"{interval.low:+.4f} to {interval.high:+.4f}" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert randomization_test(a, b, clusters=users).n_clusters <= 60
    assert html != report(ranker, table, "bought", QUERY, **settings).html
    by_row = report(
        ranker,
        X,
        table.bought,
        qid,
        clusters=table.user,
        **settings | {"baseline": table.sales.to_numpy()},
    )
    assert f"{interval.low:+.4f} to {interval.high:+.4f}" in re.sub(
        r"<[^>]+>", "", by_row.html
    ).replace("\N{NO-BREAK SPACE}", " ")


def test_a_report_of_a_metric_that_is_equal_for_all_queries_has_no_intervals(table, ranker):
    best = table.groupby([*QUERY]).sales.transform("max")
    one_bought = table.assign(bought=(table.sales == best) * 1.0)  # p@10 is 0.1 for all queries
    uneven = one_bought[(table.week == 1) | (table.user > "user 3")]
    settings = {"metrics": ["p@10"], "n_examples": 1, "baseline": "price"}
    html = report(ranker, uneven, "bought", QUERY, clusters="user", **settings).html
    text = re.sub(r"<[^>]+>", " ", html)
    assert re.search(r"p@10\s+0\.1000\s+baseline\s0\.1000", text)


def test_wrong_clusters_of_a_report_are_refused(table, ranker):
    with pytest.raises(ValueError, match="clusters must name a column of X; got 'usr'"):
        report(ranker, table, "bought", QUERY, clusters="usr")
    data = table[["price", "sales"]], table.bought, table.week
    with pytest.raises(ValueError, match=r"constant within a query; got 'user 0' and 'user 1'"):
        report(ranker, *data, clusters=table.user)
    unjudged = table.assign(bought=table.bought.where(table.user != "user 3"))
    with pytest.warns(UserWarning, match="fitted to 177"):
        page = report(ranker, unjudged, "bought", QUERY, clusters="user", n_examples=1)
    assert "of 59 clusters" in page.html
