import numpy as np
import pytest

from treerank.clicks import regression_propensities, simulate_clicks

pytestmark = pytest.mark.slow


def fixed_rankings(severity, n_queries=300):
    """Return a log in which each document keeps its position, features and the truth."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(5 * n_queries, 2)), np.repeat(np.arange(n_queries), 5)
    y, old = 2.0 * (X[:, 0] > 0), X.sum(axis=1)
    shown = {"n_sessions": 50, "exploration": 0.0, "random_state": 0}
    log = simulate_clicks(y, qid, old, severity=severity, **shown)
    return log, (X, qid, np.arange(len(X))), np.arange(1.0, 6.0) ** -severity


@pytest.mark.parametrize("severity", [0.0, 1.0, 2.0])
def test_features_tell_positions_from_relevance_where_rankings_never_change(severity):
    log, features, truth = fixed_rankings(severity)
    found = regression_propensities(log, features, random_state=0)
    assert found == pytest.approx(truth, abs=0.05)
    counts = log.counts()
    rates = counts.by_slot(counts.clicked) / counts.by_slot(counts.shown)
    assert np.abs(rates / rates[0] - truth).max() > 2 * np.abs(found - truth).max()


def test_sums_of_a_log_and_documents_it_never_shows_change_nothing():
    log, (X, qid, document), _ = fixed_rankings(0.0, n_queries=60)
    log = log.with_clicks(log.clicked & ((log.position != 2) | (log.session % 4 == 0)))
    options = {"feature_part": "line", "random_state": 0}
    found = regression_propensities(log, (X, qid, document), **options)
    more = np.vstack([X, X[:1]]), np.append(qid, 0), np.append(document, -1)
    assert (regression_propensities(log.counts(), more, **options) == found).all()
    falling = regression_propensities(log, more, monotone=True, **options)
    assert (np.diff(found) > 0).any()
    assert (np.diff(falling) <= 0).all()


def test_bad_input_of_a_regression_is_named():
    log, features, _ = fixed_rankings(1.0, n_queries=5)
    never = log.with_clicks(log.clicked & (log.position < 5))
    with pytest.raises(ValueError, match=r"position must have a click .* got none at \[5\]\."):
        regression_propensities(never, features)
    with pytest.raises(ValueError, match="features must have a row for each document of the log"):
        regression_propensities(log, tuple(column[:1] for column in features))
