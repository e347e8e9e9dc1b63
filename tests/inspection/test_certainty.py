"""Certainty: the share of fits with the same first documents, by counting sets."""

import numpy as np
import pytest

from treerank import TreeDirectRanker, make_web_search
from treerank.inspection import top_certainty

X, Y, QID = make_web_search(30, documents_per_query=12, n_features=5, random_state=0)


@pytest.fixture(scope="module")
def ranker():
    return TreeDirectRanker(["linear", "histogram"], random_state=0).fit(X, Y, QID)


@pytest.mark.parametrize("k", [1, 3, 100])
def test_it_is_the_share_of_fits_with_the_same_set_of_first_documents(ranker, k):
    part = ranker.feature_part_
    weight = part.head_weight_

    def first(parts, rows):
        scores = sum(w * one.transform(X)[rows, 0] for w, one in zip(weight, parts, strict=True))
        return {int(row) for row in rows[np.argsort(-scores, kind="stable")[:k]]}

    expected = []
    for query in np.unique(QID):
        rows = np.flatnonzero(query == QID)
        whole = {int(row) for row in rows[np.argsort(-ranker.predict(X)[rows], kind="stable")[:k]]}
        expected.append(np.mean([first(parts, rows) == whole for parts in part.bags_]))
    found = top_certainty(ranker, X, QID, k=k)
    np.testing.assert_allclose(found, expected)
    assert (k == 100) == (found.min() == 1)


def test_the_order_of_rows_changes_nothing(ranker):
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = top_certainty(ranker, X[order], QID[order])
    np.testing.assert_array_equal(shuffled, top_certainty(ranker, X, QID))


def test_documents_that_tie_with_the_last_are_at_the_top_in_any_order_of_rows():
    rounded = np.round(X, -1)
    ranker = TreeDirectRanker(["histogram", "lightgbm"], random_state=0).fit(rounded, Y, QID)
    found = top_certainty(ranker, rounded, QID)
    np.testing.assert_array_equal(top_certainty(ranker, rounded[::-1], QID[::-1]), found)
    alike = np.full((12, 5), rounded[0])  # all tie in all models, so that their tops are equal
    assert top_certainty(ranker, alike).tolist() == [1.0]


def test_rankers_of_a_single_fit_are_refused():
    ranker = TreeDirectRanker("histogram").fit(X, Y, QID)
    with pytest.raises(ValueError, match=r"ranker must have an ensemble of several fits, as Tree"):
        top_certainty(ranker, X, QID)
