"""Documents without a label: metrics leave them out, and say how many of the first are judged."""

import numpy as np
import pytest
from metric_cases import every_metric, make_judged

from treerank.metrics import Judged, get_metric

Y, SCORES, QID = make_judged()
UNJUDGED = np.where(np.random.default_rng(0).random(len(Y)) < 0.4, np.nan, Y)
UNJUDGED[QID == 3] = np.nan
KNOWN = ~np.isnan(UNJUDGED)


@every_metric
def test_metrics_are_those_of_the_judged_documents(metric):
    values = metric.per_query(UNJUDGED, SCORES, QID.astype(str))
    alone = metric.per_query(UNJUDGED[KNOWN], SCORES[KNOWN], QID[KNOWN].astype(str))
    queries = np.unique(QID.astype(str))
    assert np.isnan(values[queries == "3"]).all()
    np.testing.assert_array_equal(values[queries != "3"], alone)


def orders_of(scores, known, ties):
    """Return the orders that a policy for ties allows, or some of them."""
    if ties == "stable":
        return [np.argsort(-scores, kind="stable")]
    if ties == "pessimistic":
        return [np.lexsort((known, -scores))]
    draws = np.random.default_rng(0).random((400, len(scores)))
    return [np.lexsort((draw, -scores)) for draw in draws]


@pytest.mark.parametrize("k", [1, 5, None])
@pytest.mark.parametrize("ties", ["average", "stable", "pessimistic"])
def test_judged_is_the_share_of_known_labels(ties, k):
    found = Judged(k=k, ties=ties).per_query(UNJUDGED, SCORES, QID)
    for query, value in zip(np.unique(QID), found, strict=True):
        known = KNOWN[QID == query]
        orders = orders_of(SCORES[QID == query], known, ties)
        drawn = np.mean([known[order[:k]].mean() for order in orders])
        assert value == pytest.approx(drawn, abs=0.1 if ties == "average" else 1e-12)


def test_all_documents_of_labels_are_judged():
    assert get_metric("judged@3") == Judged(k=3)
    assert Judged(k=3)(Y, SCORES, QID) == 1
    assert Judged(k=3).prepared(Y, QID)(SCORES) == 1
