import numpy as np
import pytest
from random_logs import random_log

from treerank.clicks import ClickCounts, ClickLog, estimate_trust_bias, trust_bias


@pytest.fixture(scope="module")
def trusting():
    """A log of users who trust the first positions, and what they do."""
    log, rng = random_log(40_000, n_queries=20), np.random.default_rng(0)
    attraction = rng.beta(1, 3, size=len(log.items))
    examination, trust = np.array([[0.7, 0.4, 0.3, 0.2, 0.15], [0.3, 0.1, 0.03, 0.0, 0.0]])
    at = log.position - 1
    proba = examination[at] * attraction[log.item] + trust[at]
    return log.with_clicks(rng.random(len(at)) < proba), examination, trust


def test_trust_is_told_from_attraction(trusting):
    log, examination, trust = trusting
    found = estimate_trust_bias(log)
    assert found.trust == pytest.approx(trust, abs=0.03)
    assert found.examination == pytest.approx(examination, abs=0.05)


def test_the_likelihood_never_falls_until_little_changes(trusting):
    values = estimate_trust_bias(trusting[0]).log_posterior
    assert 10 < len(values) < 200
    assert np.diff(values).min() >= -1e-12
    assert len(estimate_trust_bias(trusting[0], tol=1e9).log_posterior) == 2


@pytest.fixture(scope="module")
def swapped():
    """Columns of a log whose sessions swap two neighbors of few documents, and the examination."""
    rng, n, slots = np.random.default_rng(0), 60_000, np.arange(15)
    lists, some = np.tile(slots, (n, 1)), np.flatnonzero(rng.random(n) < 0.3)
    at = rng.integers(0, 14, len(some))
    lists[some, at], lists[some, at + 1] = at + 1, at
    query, examination = rng.integers(0, 6, n), 1 / (slots + 1)
    relevance = 0.2 + 0.7 * rng.random((6, 15))[query[:, None], lists]
    proba = 0.9 * examination * relevance + 0.1 * (1 - slots / 14)
    click = rng.random(proba.shape) < proba
    ids = np.arange(n).repeat(15), query.repeat(15), lists.ravel()
    return (*ids, np.tile(slots + 1, n), click.ravel()), examination


def test_the_default_iterations_reach_the_maximum_however_many_impressions_there_are(swapped):
    columns, examination = swapped
    log = ClickLog.from_columns(*columns)
    found, longer = estimate_trust_bias(log), estimate_trust_bias(log, max_iter=5000, tol=1e-7)
    assert len(found.log_posterior) < 200
    gap = longer.log_posterior[-1] - found.log_posterior[-1]
    assert 0 <= gap * len(columns[0]) < 0.1
    assert found.examination / found.examination[0] == pytest.approx(examination, abs=0.1)


def test_the_order_of_impressions_changes_no_bit(swapped):
    columns = [column[: 15 * 2000] for column in swapped[0]]
    order = np.random.default_rng(0).permutation(len(columns[0]))
    logs = ClickLog.from_columns(*columns), ClickLog.from_columns(*(c[order] for c in columns))
    found, expected = map(estimate_trust_bias, logs)
    for name in ("examination", "trust"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.log_posterior == expected.log_posterior


def test_of_many_documents_some_find_the_start(trusting, monkeypatch):
    expected = estimate_trust_bias(trusting[0])
    monkeypatch.setattr(trust_bias, "_TRIAL_ITEMS", 50)
    found = estimate_trust_bias(trusting[0])
    assert found.trust == pytest.approx(expected.trust, abs=0.005)
    assert abs(found.log_posterior[-1] - expected.log_posterior[-1]) * len(trusting[0].item) < 0.1


def test_too_few_iterations_are_warned_of(trusting):
    with pytest.warns(UserWarning, match=r"not converged in 5 iter.*\(log, max_iter=50\)"):
        estimate_trust_bias(trusting[0], max_iter=5)


def test_documents_that_are_not_shown_have_no_say(trusting):
    log = trusting[0].taking(np.flatnonzero(trusting[0].query < 5))
    some = log.counts().of_items(np.unique(log.item))
    found, expected = (estimate_trust_bias(each, tol=1.0) for each in (some, log))
    assert (found.examination == expected.examination).all()


def test_a_position_that_shows_nothing_has_no_bias(trusting):
    counts = trusting[0].counts()
    table = {"query": counts.items.query[counts.item], "shown": counts.shown}
    table |= {"document": counts.items.document[counts.item], "clicked": counts.clicked}
    gaps = ClickCounts.from_table(table | {"position": 2 * counts.slot + 3})
    found, expected = (estimate_trust_bias(each, tol=1.0) for each in (gaps, counts))
    np.testing.assert_array_equal(found.trust[2::2], expected.trust)
    assert np.isnan(np.delete(found.examination, np.s_[2::2])).all()
