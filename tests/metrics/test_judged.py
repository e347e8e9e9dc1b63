"""Documents without a label: metrics leave them out, and say how many of the first are judged."""

import numpy as np
import pytest
from metric_cases import every_metric, make_judged

from treerank.metrics import Judged, Precision

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


@pytest.mark.parametrize("k", [1, 5, None])
@pytest.mark.parametrize("ties", ["average", "stable", "pessimistic"])
def test_judged_is_the_precision_of_having_a_label(ties, k):
    found = Judged(k=k, ties=ties).per_query(UNJUDGED, SCORES, QID)
    expected = Precision(k=k, ties=ties, no_relevant=0).per_query(KNOWN, SCORES, QID)
    if k is not None:  # by which precision divides short lists, too
        expected *= k / np.minimum(k, np.unique(QID, return_counts=True)[1])
    np.testing.assert_allclose(found, expected)
