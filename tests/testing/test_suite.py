"""What the conformance suite promises: it passes what is right and finds what is wrong."""

from typing import ClassVar
from unittest import SkipTest

import numba
import numpy as np
import pytest
from ranker_mutants import MUTANTS, Honest
from sklearn.base import BaseEstimator

from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.testing import (
    LAWS,
    LawResult,
    check_ranker,
    make_ranking_sample,
    parametrize_with_laws,
)

pytestmark = pytest.mark.slow

# One thread each: on a busy machine, engines wait for their threads longer than they grow trees.
TREES = {"n_estimators": 4, "n_jobs": 1}
RANKERS = [TreeDirectRanker(LightGBMTrees(**TREES)), TreeDirectRanker(XGBoostTrees(**TREES))]
# Noise and drawn rows, which are the same wherever the rows stand.
DRAWING_RANKERS = [
    TreeDirectRanker(LightGBMTrees(**TREES, subsample=0.6, subsample_freq=1), smoothing=1.0),
    TreeDirectRanker(XGBoostTrees(**TREES, subsample=0.6), smoothing=1.0),
]


@parametrize_with_laws(RANKERS)
def test_direct_rankers_keep_every_law_and_skip_none(estimator, law):
    try:
        law(estimator)
    except SkipTest as reason:
        pytest.fail(f"skipped: {reason}")


@parametrize_with_laws(DRAWING_RANKERS, laws=["row_order", "query_order", "query_names", "refit"])
def test_what_is_drawn_at_random_does_not_depend_on_the_order_of_rows(estimator, law):
    law(estimator)


def test_an_honest_ranker_keeps_every_law_and_is_never_fitted_itself():
    ranker = Honest()
    assert check_ranker(ranker) == [LawResult(name, passed=True) for name in LAWS]
    assert vars(ranker) == {"random_state": None}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_fails_the_law_it_breaks_and_no_other(mutant):
    if mutant.__name__ == "DependsOnThreads" and numba.config.NUMBA_NUM_THREADS == 1:
        pytest.skip("numba has but one thread here")
    law, entailed = MUTANTS[mutant]
    results = check_ranker(mutant(), on_fail="report")
    failed = {result.name for result in results if result.message}
    assert failed == {law} | entailed, [result.message for result in results if result.message]


def test_every_law_has_a_mutant():
    assert {law for law, _ in MUTANTS.values()} == set(LAWS)


def test_messages_say_what_should_hold_what_was_done_and_what_came_of_it():
    mutants = {law: mutant for mutant, (law, _) in MUTANTS.items()}
    expected = {
        "query_names": r"query_names: Other query ids change no score. After the queries were "
        r"renamed, \d+ of \d+ scores changed, by up to .*, and the range of all scores is",
        "string_qids": r"Query ids may be strings. The test raised ValueError: could not convert",
        "ties": r"score is 1.0000 if the relevant rows come first and 0\.\d+ if they come last",
        "totality": r"r\(a, b\) = nan and r\(b, a\) = nan",
        "cloning": r"fit changed the parameters \['random_state'\]",
        "equal_labels": r"After a fit to labels all 0, \d+ of \d+ scores are NaN",
    }
    for law, message in expected.items():
        with pytest.raises(AssertionError, match=message):
            check_ranker(mutants[law](), laws=[law])


class Bare(BaseEstimator):
    """No more than fit and predict."""

    __metadata_request__fit: ClassVar = {"qid": True}

    def fit(self, X, y, qid):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(np.float64)


def test_laws_on_what_a_ranker_has_not_are_skipped_and_say_so():
    reasons = {result.name: result.skipped for result in check_ranker(Bare())}
    assert {name for name, reason in reasons.items() if reason} == {
        *("antisymmetry", "transitivity", "totality", "comparing_agrees_with_predict"),
        *("pair_probabilities", "even_probability", "pseudometric", "saving"),
        *("ranks_are_permutations", "ranks_agree_with_predict", "top_k_agrees_with_rank"),
        *("score_in_unit_interval", "score_is_ndcg", "ties", "shifted_scores"),
    }
    assert reasons["antisymmetry"] == "it has no compare"
    assert reasons["shifted_scores"] == "it has no make_objective"


def test_a_score_without_qid_is_not_judged():
    class ScoresBlindly(Bare):
        def score(self, X, y):
            return 0.0

    (result,) = check_ranker(ScoresBlindly(), laws=["ties"])
    assert result == LawResult("ties", passed=False, skipped="its score takes no qid")


def test_laws_of_your_own_get_the_ranker_and_the_data():
    seen = []

    def own_law(ranker, data):
        """Mine holds."""
        seen.append((ranker, data))

    def skipped_law(ranker, data):
        raise SkipTest("not today")

    ranker, data = Honest(), make_ranking_sample(n_queries=2)
    results = check_ranker(ranker, laws={"own": own_law, "other": skipped_law}, data=data)
    assert results == [
        LawResult("own", passed=True),
        LawResult("other", passed=False, skipped="not today"),
    ]
    assert seen == [(ranker, data)]


def test_unknown_laws_and_ways_to_fail_are_refused():
    with pytest.raises(ValueError, match=r"laws must be one of \['antisymmetry', .*; got 'tides'"):
        check_ranker(Honest(), laws=["tides"])
    with pytest.raises(ValueError, match=r"on_fail must be one of .*; got 'warn'"):
        check_ranker(Honest(), on_fail="warn")


def test_samples_are_fair_to_every_engine():
    data = make_ranking_sample(n_queries=30, random_state=3)
    np.testing.assert_array_equal(data.X, data.X.astype(np.float32))
    assert np.unique(data.y).tolist() == [0, 1, 2, 3]
    for rows in data.rows_by_query:
        assert data.y[rows].max() > data.y[rows].min() == 0
    again = make_ranking_sample(n_queries=30, random_state=3)
    np.testing.assert_array_equal(data.X, again.X)
