"""Documents without a label: metrics leave them out, and say how many of the first are judged."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from metric_cases import every_metric, make_judged

from treerank.metrics import Judged, Precision
from treerank.metrics.judged import warn_of_unjudged
from treerank.spelling import spelling

Y, SCORES, QID = make_judged()
UNJUDGED = np.where(np.random.default_rng(0).random(len(Y)) < 0.4, np.nan, Y)
UNJUDGED[QID == 3] = np.nan
KNOWN = ~np.isnan(UNJUDGED)


QUERIES = [("ann", 1), ("ann", 1), ("bob", 2), ("bob", 3)]
FRAME = pd.DataFrame({"label": [1.0, np.nan, np.nan, 0.0], "query": [1, 1, 2, 3]})


@pytest.mark.parametrize(
    "qid",
    [
        QUERIES,
        pd.MultiIndex.from_tuples(QUERIES),
        np.array([1, 1, 2, 3]),
        pl.Series([1, 1, 2, 3]),
        pa.chunked_array([["a", "a", "b"], ["c"]]),
        FRAME["query"],
    ],
)
@pytest.mark.parametrize(
    "labels",
    [
        [1, None, None, 0],
        np.array([1, np.nan, np.nan, 0]),
        pl.Series([1, None, None, 0]),
        pa.array([1, None, None, 0]),
        FRAME["label"],
    ],
)
def test_the_advice_on_unjudged_documents_works_for_any_labels_and_queries(labels, qid):
    with pytest.warns(UserWarning, match="Where y and qid name columns of X, take these") as caught:
        warn_of_unjudged(0.5)
    code = str(caught[0].message).partition("queries alone: ")[2].partition(", or unjudged")[0]
    names = {"np": np, "y": labels, "qid": qid}
    exec(code, names)
    np.testing.assert_array_equal(names["y"], [1, 0, np.nan, 0])


def test_the_advice_on_unjudged_documents_is_no_code_in_the_shell():
    with (
        spelling({"label": "--label"}),
        pytest.warns(UserWarning, match=r"write 0 for them in judged queries alone\.$"),
    ):
        warn_of_unjudged(0.5)


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
