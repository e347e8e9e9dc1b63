"""Warnings of what is surely wrong in many documents, and may be a toy in few."""

import warnings

import numpy as np
import pytest

from treerank.baselines import RankSVM
from treerank.documents.features import check_documents, warn_without_qid

random = np.random.default_rng(0)


@pytest.mark.parametrize("n_documents", [999, 1000])
def test_copies_of_the_labels_and_missing_queries_are_told_from_1000_documents_on(n_documents):
    X, y = random.normal(size=(n_documents, 2)), random.integers(3, size=n_documents)
    X[:, 1] = y
    with warnings.catch_warnings(record=True, action="always") as caught:
        check_documents(RankSVM(), X, y, reset=True)
        warn_without_qid(None, n_documents)
    told = [str(each.message) for each in caught]
    assert len(told) == (2 if n_documents == 1000 else 0)
    if told:
        assert "equals y in all rows" in told[0]
        assert "all 1000 documents are taken for one query" in told[1]


def test_documents_to_score_are_not_compared_with_labels():
    X, y = random.normal(size=(1000, 2)), random.integers(3, size=1000)
    ranker = RankSVM()
    check_documents(ranker, X, y, reset=True)
    X[:, 1] = y
    check_documents(ranker, X, y, reset=False)  # without a warning, which would be an error
