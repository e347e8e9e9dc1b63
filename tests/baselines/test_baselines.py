import inspect
import re

import numpy as np
import pytest
from ranking_sample import make_ranking_sample

from treerank.baselines import BASELINES, RankBoost, RankSVM
from treerank.metrics import get_metric
from treerank.registry import ranker_class

X, Y, QID = make_ranking_sample(n_queries=8, random_state=1)


def small(name, **settings):
    """Return a ranker that needs little time."""
    usual = {"n_generations": 30, "n_restarts": 1, "n_sweeps": 2, "n_estimators": 20, "n_epochs": 2}
    known = inspect.signature(ranker_class(name)).parameters
    fitting = {key: value for key, value in usual.items() if key in known}
    return ranker_class(name)(**(fitting | settings))


STOPPING = [n for n in BASELINES if "early_stopping_rounds" in ranker_class(n)().get_params()]


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", STOPPING)
def test_the_best_on_the_eval_set_is_kept(name):
    rest = make_ranking_sample(n_queries=10, random_state=2)
    usual = {"n_epochs": 30, "n_estimators": 60, "n_generations": 300, "random_state": 4}
    usual = {key: value for key, value in usual.items() if key in ranker_class(name)().get_params()}
    ranker = ranker_class(name)(metric="ndcg@3", early_stopping_rounds=5, **usual)
    ranker.fit(X, Y, QID, eval_set=rest)
    values = ranker.evals_result_["validation"]["ndcg@3"]
    found = get_metric("ndcg@3")(rest.y, ranker.predict(rest.X), rest.qid)
    assert found == pytest.approx(max(values))
    if hasattr(ranker, "best_iteration_"):
        assert ranker.best_iteration_ == np.argmax(values) + 1
        assert len(values) in (ranker.best_iteration_ + 5, 30, 60)


@pytest.mark.parametrize("name", BASELINES)
def test_docstrings_have_references_and_examples_after_what_differs_from_the_base(name):
    headings = re.findall(r"^([A-Z]\w+)\n-+$", inspect.getdoc(ranker_class(name)), re.MULTILINE)
    assert headings[-2:] == ["References", "Examples"]
    assert headings[:-2] == [h for h in ("Parameters", "Attributes") if h in headings]


NO_EVAL_SET = ({"early_stopping_rounds": 5}, "eval_set must be given where early_stopping_rounds")
WRONG = [
    ("AdaRank", {"n_estimators": 0}, "n_estimators must be a whole number of at least 1; got 0"),
    ("AdaRank", {"tolerance": 0}, "tolerance must be a finite number above 0; got 0"),
    ("AdaRank", {"max_consecutive": 0.5}, "max_consecutive must be a whole number"),
    ("AdaRank", *NO_EVAL_SET),
    ("ESRank", {"n_generations": 0}, "n_generations must be a whole number of at least 1; got 0"),
    ("ESRank", {"metric": "nope"}, "metric must be one of"),
    ("ESRank", *NO_EVAL_SET),
    ("CoordinateAscent", {"n_steps": 0}, "n_steps must be a whole number of at least 1; got 0"),
    ("CoordinateAscent", {"tolerance": -1}, "tolerance must be a finite number of at least 0"),
    ("PRank", {"n_epochs": 0}, "n_epochs must be a whole number of at least 1; got 0"),
    ("PRank", {"early_stopping_rounds": None}, "early_stopping_rounds must be .* got None"),
    ("LargeMarginPRank", {"share": 0}, "share must be a finite number above 0 and of at most 1"),
    ("LargeMarginPRank", {"n_perceptrons": 1.5}, "n_perceptrons must be a whole number"),
    ("RankSVM", {"C": 0}, "C must be a finite number above 0; got 0"),
    ("RankSVM", {"C": np.inf}, "C must be a finite number above 0; got inf"),
    ("RankSVM", {"normalized": 1}, "normalized must be True or False; got 1"),
    ("RankBoost", {"n_estimators": 0}, "n_estimators must be a whole number of at least 1; got 0"),
    ("RankBoost", *NO_EVAL_SET),
    ("SortNet", {"learning_rate": "fast"}, "learning_rate must be a finite number above 0"),
]


@pytest.mark.parametrize(("name", "settings", "message"), WRONG)
def test_wrong_settings_are_named(name, settings, message):
    with pytest.raises(ValueError, match=message):
        ranker_class(name)(**settings).fit(X, Y, QID)


WEIGHTS = {"sample_weight": 1.0 + np.arange(len(Y)), "query_weight": 1.0 + QID}
WEIGHTS |= {"given_pairs": [[0, 1, 1.0]]}
WHOLE_QUERIES = ("AdaRank", "CoordinateAscent", "ESRank", "IESRRank", "IESVMRank")
REFUSED = [
    *[(name, "sample_weight", "since a metric of whole queries") for name in WHOLE_QUERIES],
    ("AdaRank", "given_pairs", "since a metric of"),
    *[("PRank", weight, "since documents are") for weight in ("sample_weight", "query_weight")],
    *[("SortNet", "given_pairs", "since it"), ("RankProp", "given_pairs", "")],
]


@pytest.mark.parametrize(("name", "weight", "reason"), REFUSED)
def test_weights_without_a_meaning_are_refused_with_the_reason(name, weight, reason):
    with pytest.raises(ValueError, match=f"{weight} must be None.*{reason}"):
        small(name).fit(X, Y, QID, **{weight: WEIGHTS[weight]})


@pytest.mark.parametrize("ranker", [RankBoost(n_estimators=5), RankSVM(normalized=False)])
def test_given_pairs_replace_those_of_labels(ranker):
    pairs = np.argwhere((QID[:, None] == QID) & (Y[:, None] > Y))
    by_label = ranker.fit(X, Y, QID).predict(X)
    by_list = ranker.fit(X, 0 * Y, QID, given_pairs=pairs).predict(X)
    np.testing.assert_allclose(by_list, by_label, rtol=1e-4, atol=1e-6)


def test_prank_refuses_too_many_levels():
    with pytest.raises(ValueError, match="y must have at most 1000 levels"):
        small("PRank").fit(np.zeros((1001, 1)), np.arange(1001.0), np.zeros(1001))


NOTHING = dict.fromkeys(WHOLE_QUERIES, "In no query does ndcg@10 depend on the order")
NOTHING |= dict.fromkeys(("PRank", "LargeMarginPRank", "QuadraticPRank"), "All labels are equal")
NOTHING |= dict.fromkeys(("FRank", "RankBoost"), "No stump lowers the loss")
NOTHING |= dict.fromkeys(("RankSVM", "SortNet"), "No query has two different labels")


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("name", "reason"), NOTHING.items())
def test_nothing_to_learn_gives_a_constant_model_and_a_warning(name, reason):
    with pytest.warns(UserWarning, match=reason):
        ranker = small(name).fit(X, np.ones(len(Y)), QID)
    assert (ranker.predict(X) == 0).all()


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", NOTHING)
def test_features_that_do_not_vary_give_equal_scores_and_a_warning(name):
    equal, message = np.ones_like(X), "get the same score: no feature varies|No stump lowers the"
    with pytest.warns(UserWarning, match=message):
        ranker = small(name).fit(equal, Y, QID)
    assert np.ptp(ranker.predict(equal)) == 0


@pytest.mark.usefixtures("one_thread")
def test_prank_keeps_the_first_epoch_if_none_is_better():
    def worst(y, scores, qid):
        return -np.inf

    train, held_out = QID < 6, QID >= 6
    ranker = small("PRank", metric=worst, random_state=0)
    ranker.fit(X[train], Y[train], QID[train], eval_set=(X[held_out], Y[held_out], QID[held_out]))
    first = small("PRank", n_epochs=1, random_state=0).fit(X[train], Y[train], QID[train])
    np.testing.assert_array_equal(ranker.coef_, first.coef_)


def test_pairs_of_a_ranker_that_chooses_its_own_are_refused():
    with pytest.raises(ValueError, match="given_pairs must be None for SortNet, since it chooses"):
        small("SortNet").fit(X, Y, QID, given_pairs=[[0, 1]])
