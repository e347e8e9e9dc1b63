from decimal import localcontext

import numpy as np
import pytest

from tests.corpus.make import propensities
from treerank.baselines import RankSVM
from treerank.reranking import sample_lists
from treerank.reranking.sampling import position_probabilities


@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0, 300.0])
def test_probabilities_are_those_of_all_orders(scale):
    logits = scale * np.array([0.3, -1.0, 0.0, 0.9, 0.35])
    with localcontext(prec=400):
        expected = propensities({"scores": logits.tolist(), "temperature": 1.0, "k": 4})
    np.testing.assert_allclose(position_probabilities(logits, 4), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("n", [30, 100])
def test_each_document_stands_somewhere_and_each_place_is_taken(n, scale):
    found = position_probabilities(np.random.default_rng(0).normal(size=n) * scale, n)
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (50, 10), (50, 50), (100, 100), (300, 10), (300, 200), (5000, 3)]
)
def test_documents_of_equal_scores_are_equally_likely_at_each_position(n, k):
    lists = sample_lists(np.zeros(n), k=k, random_state=0)
    np.testing.assert_allclose(lists.propensity, 1 / n, rtol=1e-12)


def test_propensities_are_those_of_all_documents_and_positions():
    scores = np.random.default_rng(0).normal(size=40)
    lists = sample_lists(scores, k=30, random_state=0)
    expected = position_probabilities(scores - scores.min(), 30)[lists.row, lists.position - 1]
    np.testing.assert_allclose(lists.propensity, expected, rtol=1e-13)


@pytest.mark.slow
def test_draws_are_as_likely_as_they_say():
    logits, n = np.array([1.0, 0.0, -1.5, 0.5]), 20_000
    drawn = sample_lists(np.tile(logits, n), np.repeat(np.arange(n), 4), k=3, random_state=0)
    expected = position_probabilities(logits, 3)
    counts = np.zeros((4, 3))
    np.add.at(counts, (drawn.row % 4, drawn.position - 1), 1)
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(counts / n - expected) < 4 * error).all()
    likely = expected[drawn.row[:3], [0, 1, 2]]
    np.testing.assert_allclose(drawn.propensity[:3], likely, rtol=1e-12)


def test_cold_lists_are_in_the_order_of_the_scores_and_hot_ones_in_any():
    ranker = RankSVM().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 2, 3])
    X, qid = [[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"]
    cold = ranker.sample(X, qid, temperature=1e-6, random_state=0)
    assert cold.row.tolist() == [3, 0, 2, 1]
    assert cold.position.tolist() == [1, 2, 1, 2]
    coldest = sample_lists([3.0, 1.0, 2.0, 1.0], temperature=1e-30, random_state=0)
    assert coldest.row[:2].tolist() == [0, 2]
    np.testing.assert_allclose(coldest.propensity, [1, 1, 0.5, 0.5])
    hot = ranker.sample(X, temperature=1e9, k=1, random_state=0)
    np.testing.assert_allclose(hot.propensity, 0.25)


def test_the_seed_decides():
    drawn = [sample_lists(np.zeros(30), random_state=seed).row.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(ValueError, match="temperature must be"):
        sample_lists([1.0], temperature=0.0)


@pytest.mark.parametrize("far", [1e17, 1.7e308])
def test_scores_that_are_far_apart_are_in_their_order(far):
    lists = sample_lists([-far, far + 1.0, 0.0], temperature=0.5, random_state=0)
    assert lists.row.tolist() == [1, 2, 0]
    np.testing.assert_allclose(lists.propensity, 1.0)
    assert sample_lists([far, far], random_state=0).propensity == pytest.approx([0.5, 0.5])
