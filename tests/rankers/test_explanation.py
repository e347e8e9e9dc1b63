import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_forests import drawn_documents, drawn_forest
from scipy.sparse import csr_matrix

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.baselines import RankSVM
from treerank.forests.scoring import forest_scores
from treerank.forests.shapley import margin_parts
from treerank.rankers.explanation import (
    _changes_of_score,
    interactions_of,
    interactions_of_pairs,
    sampled_parts,
)
from treerank.rankers.ranker import Ranker

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6)).round(1)
y = ((X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 0)).astype(int)
QID = np.repeat(np.arange(10), 20)


@pytest.fixture(scope="module")
def trees():
    part = LightGBMTrees(n_estimators=20, min_child_samples=5, n_jobs=1)
    return TreeDirectRanker(part, random_state=0).fit(X, y, QID)


def shapley_by_all_coalitions(scores_of, a, b):
    """Return the mean change of the score over all orders, from the scores of all coalitions."""
    n = len(a)
    has = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1
    scores = scores_of(np.where(has, a, b))
    sizes = has.sum(axis=1)
    share = np.array([math.factorial(k) * math.factorial(n - k - 1) for k in range(n)])
    parts = np.empty(n)
    for j in range(n):
        without = np.flatnonzero(~has[:, j])
        gains = scores[without + 2**j] - scores[without]
        parts[j] = (share[sizes[without]] * gains).sum() / math.factorial(n)
    return parts


def assert_parts(parts, forest, X_a, X_b):
    """Check the parts of each pair of documents by all coalitions."""
    for found, a, b in zip(parts, X_a, X_b, strict=True):
        expected = shapley_by_all_coalitions(lambda X: forest_scores(forest, X)[:, 0], a, b)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("part", [LightGBMTrees, XGBoostTrees, HistogramTrees])
def test_parts_of_trees_are_exact(part):
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    coded = np.column_stack([holes, RNG.integers(0, 5, len(X))])
    frame = pd.DataFrame(coded).astype({6: "category"})
    trees = part(n_estimators=20, min_child_weight=0.01, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=0).fit(frame, y + (coded[:, 6] == 2), QID)
    forest = replace(ranker.forest(), sum_dtype="float64")
    parts = ranker.explain(frame[:4], frame[4:8])
    assert_parts(parts, forest, coded[:4], coded[4:8])


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_drawn_trees_are_exact_beyond_one_word_of_pairs(seed):
    random = np.random.default_rng(seed)
    rule = (None, "exact", "truncated", "single")[seed % 4]
    forest = drawn_forest(random, rule=rule, zeros=seed > 3)
    a, b = drawn_documents(random, forest, 130).reshape(2, 65, 4)
    parts = margin_parts(forest, a, b)
    np.testing.assert_array_equal(parts, -margin_parts(forest, b, a))
    assert_parts(parts, forest, a, b)


def test_what_does_not_differ_does_nothing(trees):
    a, b = X[:1].copy(), X[1:2].copy()
    b[0, 2] = a[0, 2]
    assert trees.explain(a, b)[0, 2] == 0
    (named,) = trees.explain(a, b).by_name()
    assert 0 not in named.values()
    a[0, 2] = b[0, 2] = np.nan
    assert trees.explain(a, b)[0, 2] == 0


def test_two_that_work_together_share_by_half():
    a, b = np.array([[1.0, 3.0, 0]]), np.zeros((1, 3))
    parts, errors = sampled_parts(lambda X: X[:, 0] * X[:, 1], a, b)
    assert parts.tolist() == [[1.5, 1.5, 0.0]]
    assert not errors.any()  # both directions of any order give half of them


def test_sampled_parts_have_the_mean_of_all_orders_and_the_errors_of_repeated_draws():
    def scores_of(X):
        return X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3] * X[:, 1]

    a, b = np.array([[1.0, 3.0, 2.0, 1.0]]), np.zeros((1, 4))
    drawn = [sampled_parts(scores_of, a, b, 8, seed) for seed in range(300)]
    parts, errors = (np.concatenate(each) for each in zip(*drawn, strict=True))
    np.testing.assert_allclose((errors**2).mean(axis=0) ** 0.5, parts.std(axis=0), rtol=0.15)
    expected = shapley_by_all_coalitions(scores_of, a[0], b[0])
    np.testing.assert_allclose(parts.mean(axis=0), expected, atol=0.1)


def test_one_feature_that_differs_alone_has_all_of_a_sampled_margin():
    parts, _ = sampled_parts(lambda X: X @ [1, 2], np.array([[3.0, 1.0]]), np.array([[3.0, 0.0]]))
    assert parts.tolist() == [[0.0, 2.0]]


def test_trees_and_a_line_are_explained_exactly():
    trees = LightGBMTrees(n_estimators=5, min_child_samples=5, n_jobs=1)
    exact = TreeDirectRanker(["linear", trees], random_state=0).fit(X, y, QID)
    parts, errors = exact.explain(X[:3], X[3:6], with_errors=True)
    assert not errors.any()
    pairs = zip(X[:3], X[3:6], strict=True)
    expected = [shapley_by_all_coalitions(exact.predict, a, b) for a, b in pairs]
    np.testing.assert_allclose(parts, expected, rtol=0, atol=1e-12)


def interactions_by_all_coalitions(scores_of, a, b):
    """Return half of what each feature does more if another one is that of ``a`` than of ``b``."""
    matrix = np.zeros((len(a), len(a)))
    for j, is_j in enumerate(np.eye(len(a), dtype=bool)):
        with_a = shapley_by_all_coalitions(scores_of, a, np.where(is_j, a, b))
        with_b = shapley_by_all_coalitions(scores_of, np.where(is_j, b, a), b)
        matrix[:, j] = (with_a - with_b) / 2
    np.fill_diagonal(matrix, shapley_by_all_coalitions(scores_of, a, b) - matrix.sum(axis=1))
    return matrix


def test_interactions_of_drawn_trees_are_exact():
    random = np.random.default_rng(0)
    forest = drawn_forest(random)
    a, b = drawn_documents(random, forest, 20).reshape(2, 10, 4)
    for i in range(10):
        found = interactions_of(lambda *pair: margin_parts(forest, *pair), a[i], b[i])
        scores_of = lambda X: forest_scores(forest, X)[:, 0]  # noqa: E731
        expected = interactions_by_all_coalitions(scores_of, a[i], b[i])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_interactions_add_up_to_the_parts(trees):
    matrices = trees.explain_interactions(X[:1], X[1:3])
    np.testing.assert_allclose(matrices.sum(axis=2), trees.explain(X[:1], X[1:3]), atol=1e-12)
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))


def test_a_linear_ranker_is_explained_by_its_weights():
    ranker = RankSVM().fit(X, y, QID)
    expected = (X[:3] - X[3:6]) * ranker.coef_
    np.testing.assert_allclose(ranker.explain(X[:3], X[3:6], n_orders=1), expected, atol=1e-12)


def test_sparse_rows_and_frames_are_explained_alike(trees):
    dense = trees.explain(X[:2], X[2:4])
    frame = pd.DataFrame(X, columns=list("abcdef"))
    of_frame = TreeDirectRanker(trees.feature_part, random_state=0).fit(frame, y, QID)
    np.testing.assert_array_equal(of_frame.explain(frame[:2], frame[2:4]), dense)
    sparse = trees.explain(csr_matrix(X[:2]), csr_matrix(X[2:4]))
    np.testing.assert_allclose(sparse, dense, atol=1e-12)


def test_bad_arguments_are_named(trees):
    for others, settings, message in (
        (X[:3], {}, r"X_a and X_b must have equally many rows.*2 and 3"),
        (X[:2], {"n_orders": 0}, r"n_orders must be .*got 0"),
        (X[:2], {"n_orders": 1, "with_errors": True}, r"n_orders must be .*2.*got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            trees.explain(X[:2], others, **settings)


def volume(X):
    return X[:, 0] * X[:, 1] * X[:, 2]


def test_orders_of_sampled_parts_are_16_of_seed_0_unless_said_otherwise():
    a, b = X[:3], X[3:6]
    parts, errors = sampled_parts(volume, a, b)
    for n, more in enumerate((16, 0)):
        np.testing.assert_array_equal(parts, sampled_parts(volume, a, b, *(16, 0)[: n + 1])[0])
        other = sampled_parts(volume, a, b, *{16: (17,), 0: (16, 1)}[more])[0]
        assert (other != parts).any()
    changes = _changes_of_score(volume, a[1], b[1], 16, 0)
    np.testing.assert_allclose(parts[1], changes.mean(axis=0))
    deviation = np.sqrt(((changes - changes.mean(axis=0)) ** 2).sum(axis=0) / 15)
    np.testing.assert_allclose(errors[1], deviation / np.sqrt(16))


class Product(Ranker):
    """A ranker that is no sum of components, so that its parts are sampled."""

    def _learn(self, data, held_out, seed):
        pass

    def _scores(self, X):
        return volume(X)


def test_rankers_sample_16_orders_of_seed_0_unless_said_otherwise():
    ranker = Product().fit(X, y, QID)
    parts, errors = sampled_parts(volume, X[:2], X[2:4], 16, 0)
    np.testing.assert_array_equal(ranker.explain(X[:2], X[2:4]), parts)
    with_errors = ranker.explain(X[:2], X[2:4], with_errors=True)
    np.testing.assert_array_equal(with_errors[1], errors)
    expected = interactions_of_pairs(ranker, X[:2], X[2:4], 16, 0)
    np.testing.assert_array_equal(ranker.explain_interactions(X[:2], X[2:4]), expected)
    assert (expected != interactions_of_pairs(ranker, X[:2], X[2:4], 16, 1)).any()
    one = ranker.explain(X[:2], X[2:4], n_orders=1)
    np.testing.assert_allclose(one.sum(axis=1), volume(X[:2]) - volume(X[2:4]))
    assert ranker.explain(X[:2], X[2:4], n_orders=2, with_errors=True)[1].shape == (2, 6)
