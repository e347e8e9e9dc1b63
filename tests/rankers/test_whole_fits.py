import warnings

import numpy as np
import pytest
from example_rankers import ranking_data
from sklearn.base import clone
from small_rankers import NAMES, made

from treerank import TreeDirectRanker
from treerank.clicks import ClickLog, ClickRelevance
from treerank.feature_parts import Stages
from treerank.forests.building import some_trees


def stop(n_done, *_):
    if n_done > 4 or n_done == 1:
        raise KeyboardInterrupt


X, Y, QID = ranking_data()
#: Ways to fail, by what is said to ``fit``.
FAILURES = {
    "too few ids": {"qid": QID[:-1]},
    "eval_set of one column": {"eval_set": (X[:, :1], Y, QID)},
    "eval_set of one label": {"eval_set": (X[:, :3], np.zeros(len(Y)), QID)},
    "interrupted": {"callbacks": [stop]},
}


def fail(ranker, failure):
    """Fit to other columns, which fails; tell whether it did."""
    given = {"qid": QID} | FAILURES[failure]
    try:
        with warnings.catch_warnings(action="ignore"):  # fits without iterations call no callback
            ranker.fit(X[:, :3], Y, **given)
    except (ValueError, KeyboardInterrupt):
        return True
    return False


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("ForestRanker", "RefitTrees")])
def test_a_fit_that_fails_changes_no_ranker(name):
    ranker = made(name)
    failures, fresh = list(FAILURES), dict(vars(ranker))
    for failure in FAILURES:
        if fail(ranker, failure):
            assert vars(ranker) == fresh
        else:
            assert failure == "interrupted"  # it has no iterations
            failures.remove(failure)
    ranker.fit(X, Y, QID)
    before, scores = dict(vars(ranker)), ranker.predict(X)
    for failure in failures:
        assert fail(ranker, failure)
        assert all(vars(ranker)[each] is before[each] for each in before | vars(ranker))
    np.testing.assert_array_equal(ranker.predict(X), scores)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram", "streaming"])
def test_a_continued_fit_that_fails_leaves_the_earlier_one(name):
    part = made(name).feature_part
    ranker = TreeDirectRanker(part, warm_start=True, random_state=0).fit(X, Y, QID)
    scores = ranker.predict(X)
    ranker.set_params(feature_part__n_estimators=9)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, Y, QID, eval_set=(X, Y + 1, QID), callbacks=[stop])
    np.testing.assert_array_equal(ranker.predict(X), scores)
    again = ranker.fit(X, Y, QID).predict(X)
    whole = clone(ranker).fit(X, Y, QID)
    assert (np.abs(again - scores) > 0).any()
    if name != "streaming":  # which adds trees with each fit
        np.testing.assert_array_equal(again, whole.predict(X))


def test_relevance_of_clicks_stays_as_it_was():
    shown = {"session": [1, 1, 2, 2], "query": [1] * 4, "document": [*"abba"]}
    log = ClickLog.from_columns(**shown, position=[1, 2, 1, 2], click=[0, 1, 1, 0])
    relevance = ClickRelevance(random_state=0).fit(log, ([[0.0], [1.0]], [1, 1], ["a", "b"]))
    relevance.set_params(propensities=[1.0])  # of one position, where the log has two
    before = dict(vars(relevance))
    with pytest.raises(ValueError, match="propensities must"):
        relevance.fit(log, ([[0.0], [2.0]], [1, 1], ["a", "b"]))
    assert vars(relevance) == before


@pytest.mark.parametrize("name", ["linear", "ensemble", "stages"])
def test_a_part_that_cannot_continue_is_refused_before_the_first_fit(name):
    with pytest.raises(ValueError, match=r"warm_start must be False for feature_part="):
        TreeDirectRanker(name, warm_start=True).fit(X, Y, QID)


@pytest.mark.parametrize("name", ["lightgbm", "histogram", "streaming"])
def test_a_part_that_would_continue_in_a_ranker_that_does_not_is_refused(name):
    part = made(name).feature_part.set_params(warm_start=True)
    rule = r"warm_start must be False for .* write TreeDirectRanker\(\.\.\., warm_start=True\)\.$"
    for lost in (part, [part, "linear"], Stages(["linear", part])):
        with pytest.raises(ValueError, match=rule):
            TreeDirectRanker(lost).fit(X, Y, QID)
    assert TreeDirectRanker(part, warm_start=True).fit(X, Y, QID).predict(X).any()


def test_the_advice_on_a_model_to_start_from_keeps_its_trees():
    first = TreeDirectRanker(made("lightgbm").feature_part, random_state=0).fit(X, Y, QID)
    with pytest.raises(TypeError, match=r"write TreeDirectRanker\(warm_start=True\), or"):
        TreeDirectRanker().fit(X, Y, QID, init_model=first)
    before = first.forest()
    first.set_params(warm_start=True, feature_part__n_estimators=5).fit(X[::2], Y[::2], QID[::2])
    kept = some_trees(first.forest(), 0, before.n_trees)
    np.testing.assert_array_equal(kept.values, before.values)


def test_a_part_of_another_class_is_not_continued():
    ranker = TreeDirectRanker(made("lightgbm").feature_part, warm_start=True)
    ranker.fit(X, Y, QID).set_params(feature_part="histogram")
    with pytest.raises(ValueError, match=r"must stay LightGBMTrees .* got .*warm_start=False"):
        ranker.fit(X, Y, QID)
