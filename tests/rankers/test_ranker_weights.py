"""Weights of documents, queries and pairs count for what they say."""

import numpy as np
import pytest
from example_rankers import fitted_rankers, ranking_data, some_ranker
from sklearn.base import clone

from treerank.objectives.factory import make_objective

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data():
    return ranking_data()


@pytest.fixture(scope="module")
def fitted():
    return fitted_rankers()


def test_weights_matter(data, fitted):
    X, y, qid = data
    weight = np.where(X[:, 1] > 0, 1.0, 0.1)
    for name, values in {"sample_weight": weight, "query_weight": 1.0 + qid}.items():
        ranker = some_ranker().fit(X, y, qid, **{name: values})
        assert not np.array_equal(ranker.predict(X), fitted["lightgbm"].predict(X))


@pytest.mark.parametrize(("weight", "is_repetition"), [("uniform", True), ("ndcg", False)])
def test_a_weight_of_two_is_a_document_twice_where_ranks_play_no_part(weight, is_repetition):
    y, scores = np.array([2.0, 0, 1, 0]), np.array([0.3, 0.9, -0.2, 0.4])
    twice = np.array([0, 1, 2, 3, 1])
    weighted = make_objective(y, weight=weight, sample_weight=[1.0, 2, 1, 1])
    repeated = make_objective(y[twice], weight=weight)
    value, gradient, _ = weighted(scores)
    value_of_copies, gradients, _ = repeated(scores[twice])
    of_copies = np.bincount(twice, gradients)
    assert np.allclose(gradient, of_copies, rtol=1e-6) == is_repetition
    assert np.isclose(value, value_of_copies, rtol=1e-6) == is_repetition


def test_the_users_own_pairs_replace_those_of_the_labels():
    X = np.arange(40.0)[:, None]
    qid = np.repeat([0, 1], 20)
    i, j = np.nonzero((qid[:, None] == qid) & (X < X.T))  # the smaller is to win
    ranker = some_ranker(weight="uniform")
    ranker.fit(X, X[:, 0] // 10, qid, given_pairs=np.column_stack([i, j, np.ones(len(i))]))
    assert ranker.compare([[0.0]], [[39.0]]) > 0
    there_and_back = np.column_stack([j, i, np.ones(len(i)), np.zeros(len(i))])
    again = clone(ranker).fit(X, X[:, 0] // 10, qid, given_pairs=there_and_back)
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
