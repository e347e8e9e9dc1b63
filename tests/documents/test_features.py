"""Warnings of what is surely wrong in many documents, and may be a toy in few."""

import warnings

import numpy as np
import pytest

from treerank.baselines import RankSVM
from treerank.documents.eval_set import parts_of_eval_set
from treerank.documents.positions import check_whole_positions

random = np.random.default_rng(0)


@pytest.mark.parametrize("n_documents", [999, 1000])
def test_copies_of_the_labels_and_missing_queries_are_told_from_1000_documents_on(n_documents):
    X, y = random.normal(size=(n_documents, 2)), random.integers(3, size=n_documents)
    X[:, 1] = y
    with warnings.catch_warnings(record=True, action="always") as caught:
        RankSVM().fit(X, y)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == (2 if n_documents == 1000 else 0)
    if messages:
        assert "equals y in all rows" in messages[0]
        assert "all 1000 documents are treated as one query" in messages[1]


def test_documents_to_score_are_not_compared_with_labels():
    X, y = random.normal(size=(1000, 2)), random.integers(3, size=1000)
    qid = np.arange(1000) // 10
    ranker = RankSVM().fit(X, y, qid)
    X[:, 1] = y
    ranker.score(X, y, qid)  # without a warning, which would be an error


ROWS = np.eye(3)


@pytest.mark.parametrize(
    ("eval_set", "got"),
    [
        (ROWS, "<class 'numpy.ndarray'>."),
        ({"X": ROWS}, "<class 'dict'>."),
        ((ROWS,), "<class 'tuple'> of 1."),
        ([ROWS] * 4, "<class 'list'> of 4."),
    ],
)
@pytest.mark.parametrize("name", ["eval_set", "new"])
def test_what_is_no_set_of_documents_is_refused_with_its_type_and_size(name, eval_set, got):
    with pytest.raises(ValueError, match=rf"^{name} must be \(X, y\) or \(X, y, qid\)") as caught:
        parts_of_eval_set(eval_set, name)
    assert str(caught.value).endswith(f"; got {got}")
    assert ("a list of such tuples" in str(caught.value)) == (name == "eval_set")


@pytest.mark.parametrize(
    ("position", "got", "advice"),
    [
        ([1, 2.5], r"2\.5 in row 1", ""),
        ([1, 1001], r"1001\.0 in row 1", ""),
        ([2, 0], r"0\.0 in row 1", " Add 1 to positions from 0."),
    ],
)
def test_positions_count_from_1_to_1000(position, got, advice):
    rule = rf"^position must be a whole number from 1 to 1000; got {got}\.{advice}$"
    with pytest.raises(ValueError, match=rule):
        check_whole_positions(position)
    assert check_whole_positions([1000, 1]).tolist() == [1000, 1]
