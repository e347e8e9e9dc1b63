import math

import numpy as np
import pytest
from ranking_sample import make_ranking_sample

from treerank.baselines.linear.adarank import AdaRank, WeakRankerChoice
from treerank.baselines.query_measure import measurable
from treerank.documents.rows import Rows
from treerank.documents.training_set import training_set
from treerank.metrics import NDCG, get_metric

pytestmark = pytest.mark.usefixtures("one_thread")
X, y, qid = DATA = make_ranking_sample(n_queries=8, random_state=1)


def plain_adarank(X, y, qid, n_rounds, start):
    """AdaRank in plain Python: every round recomputes every weak ranker on every query."""
    queries = np.unique(qid)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    weak = [(j, sign) for sign in (1, -1) for j in range(X.shape[1])]
    weight, scores, coef = start / start.sum(), np.zeros(len(y)), np.zeros(X.shape[1])

    def measure(scores):
        return np.array([NDCG(k=10)(y[qid == q], scores[qid == q]) for q in queries])

    for _ in range(n_rounds):
        values = [weight @ measure(sign * Z[:, j]) for j, sign in weak]
        j, sign = weak[int(np.argmax(values))]
        alpha = 0.5 * math.log((1 + max(values)) / (1 - max(values)))
        coef[j] += sign * alpha
        scores += sign * alpha * Z[:, j]
        weight = start * np.exp(-measure(scores))
        weight /= weight.sum()
    return coef / X.std(axis=0)


@pytest.mark.parametrize("weight", [np.ones(8), np.arange(1.0, 9.0)], ids=["equal", "weighted"])
def test_weights_are_those_of_a_plain_adarank(weight):
    ranker = AdaRank(n_estimators=12, tolerance=None, max_consecutive=None)
    ranker.fit(*DATA, query_weight=weight[qid])
    np.testing.assert_allclose(ranker.coef_, plain_adarank(X, y, qid, 12, weight), atol=1e-10)
    assert ranker.best_iteration_ == 12


def test_scores_are_weighted_sums_and_a_missing_value_counts_as_the_mean():
    ranker = AdaRank(n_estimators=20).fit(X, y, qid)
    np.testing.assert_allclose(ranker.predict(X), (X - ranker.mean_) @ ranker.coef_, atol=1e-12)
    holes, filled = X.copy(), X.copy()
    holes[3], filled[3] = np.nan, ranker.mean_
    np.testing.assert_array_equal(ranker.predict(holes), ranker.predict(filled))
    assert np.isfinite(AdaRank().fit(holes, y, qid).predict(holes)).all()


def test_a_constant_feature_gets_no_weight():
    more = np.column_stack([X, np.full(len(X), 0.1), np.full(len(X), np.nan)])
    assert (AdaRank().fit(more, y, qid).coef_[5:] == 0).all()
    with pytest.warns(UserWarning, match="documents get the same score: no feature varies"):
        alone = AdaRank().fit(more[:, 5:], y, qid)
    assert (alone.coef_ == 0).all()


def test_a_function_may_be_the_metric():
    def first(y, scores, qid=None):
        return get_metric("ndcg@1")(y, scores, qid)

    own, named = (AdaRank(metric=metric, n_estimators=5).fit(*DATA) for metric in (first, "ndcg@1"))
    np.testing.assert_allclose(own.coef_, named.coef_)


def test_a_round_that_costs_more_than_the_tolerance_is_the_last_and_dropped():
    values = []
    for n_rounds in range(1, 30):
        scores = AdaRank(n_estimators=n_rounds, tolerance=None).fit(*DATA).predict(X)
        values.append(NDCG(k=10)(y, scores, qid))
    falls = np.flatnonzero(np.diff(values) <= -1e-6)
    assert len(falls), "the sample must have a fall to show it"
    stopped = AdaRank(n_estimators=30, tolerance=1e-6).fit(*DATA)
    assert stopped.best_iteration_ == falls[0] + 1


def test_a_weak_ranker_chosen_without_effect_is_excluded_until_another_was_chosen():
    choice, values = WeakRankerChoice(2), np.array([0.9, 0.8])
    picked = []
    for changed in (True, False, False, False, True, False):
        picked.append(choice.best(values.copy())[0])
        choice.note(picked[-1], changed=changed)
    assert picked == [0, 0, 0, 1, 0, 0]


def test_queries_without_two_kinds_of_documents_are_left_out():
    dull = np.isin(qid, [2, 5])
    relabeled = np.where(dull, np.where(qid == 2, 0, 1), y)
    rest = training_set(Rows(X[~dull]), y[~dull].astype(float), qid[~dull])
    kept = measurable(training_set(Rows(X), relabeled.astype(float), qid), NDCG())
    assert kept.groups.n_queries == 6
    np.testing.assert_array_equal(kept.y, rest.y)
