import numpy as np
import pytest

from treerank import get_metric, make_web_search
from treerank.baselines import AdaRank, CoordinateAscent, ESRank, SortNet

X, Y, QID = make_web_search(30, documents_per_query=12, n_features=5, random_state=0)
NAMED = get_metric("map(threshold=2)")
CLIMBERS = [
    AdaRank(n_estimators=5),
    CoordinateAscent(n_restarts=1, n_sweeps=2, random_state=0),
    ESRank(n_generations=50, random_state=0),
]


def undefined_without_relevant(y, scores, qid):
    values = NAMED.per_query(y, scores, qid)
    return np.nan if np.isnan(values).all() else float(np.nanmean(values))


def nowhere(y, scores, qid):
    return np.nan


def correlation(y, scores, qid):
    return np.nan if np.ptp(scores) == 0 else float(np.corrcoef(y, scores)[0, 1])


@pytest.mark.parametrize("ranker", CLIMBERS, ids=repr)
def test_queries_for_which_a_function_is_nan_are_left_out(ranker):
    assert np.isnan(NAMED.per_query(Y, Y, QID)).any()
    named, own = (
        ranker.set_params(metric=metric).fit(X, Y, QID).predict(X)
        for metric in (NAMED, undefined_without_relevant)
    )
    np.testing.assert_array_equal(own, named)


@pytest.mark.parametrize("ranker", CLIMBERS, ids=repr)
def test_a_function_that_is_nan_for_all_queries_is_refused(ranker):
    rule = "metric 'nowhere' must return a number for a query with two different labels; got NaN "
    with pytest.raises(ValueError, match=rule):
        ranker.set_params(metric=nowhere).fit(X, Y, QID)


def test_a_function_that_is_nan_for_some_rankings_of_a_query_is_refused():
    drawn = np.random.default_rng(0).normal(size=X.shape)
    AdaRank(metric=correlation, n_estimators=3).fit(drawn, Y, QID)
    drawn[QID == 3, 0] = 0.0  # a feature that does not rank query 3
    with pytest.raises(ValueError, match=r"metric 'correlation' must .* got NaN for some rankings"):
        AdaRank(metric=correlation, n_estimators=3).fit(drawn, Y, QID)


def test_a_metric_of_all_queries_that_is_nan_is_refused():
    rule = "metric 'nowhere' must return a number; got nan"
    for eval_set in (None, 0.3):
        with pytest.raises(ValueError, match=rule):
            SortNet(metric=nowhere, max_iter=1, n_epochs=1).fit(X, Y, QID, eval_set=eval_set)
    ascent = CoordinateAscent(n_restarts=1, n_sweeps=1)
    with pytest.raises(ValueError, match=rule):
        ascent.fit(X, Y, QID, eval_set=0.3, eval_metric=nowhere)
