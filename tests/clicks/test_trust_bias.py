import numpy as np
import pytest
from random_logs import random_log

from treerank.clicks import ClickCounts, estimate_trust_bias


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
    found = estimate_trust_bias(log, max_iter=300)
    assert found.trust == pytest.approx(trust, abs=0.03)
    assert found.examination == pytest.approx(examination, abs=0.05)


def test_the_likelihood_never_falls_until_little_changes(trusting):
    values = estimate_trust_bias(trusting[0], max_iter=50).log_posterior
    assert 10 < len(values) < 50
    assert np.diff(values).min() >= -1e-12
    assert len(estimate_trust_bias(trusting[0], tol=0.1).log_posterior) == 2


def test_documents_that_are_not_shown_have_no_say(trusting):
    log = trusting[0].taking(np.flatnonzero(trusting[0].query < 5))
    some = log.counts().of_items(np.unique(log.item))
    found, expected = (estimate_trust_bias(each, max_iter=5) for each in (some, log))
    assert (found.examination == expected.examination).all()


def test_a_position_that_shows_nothing_has_no_bias(trusting):
    counts = trusting[0].counts()
    table = {"query": counts.items.query[counts.item], "shown": counts.shown}
    table |= {"document": counts.items.document[counts.item], "clicked": counts.clicked}
    gaps = ClickCounts.from_table(table | {"position": 2 * counts.slot + 3})
    found, expected = (estimate_trust_bias(each, max_iter=5) for each in (gaps, counts))
    np.testing.assert_array_equal(found.trust[2::2], expected.trust)
    assert np.isnan(np.delete(found.examination, np.s_[2::2])).all()
