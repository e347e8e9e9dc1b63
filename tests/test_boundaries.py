"""Classes from comparisons: boundaries at peaks, thresholds on scores, |r| as a distance."""

import itertools
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from treerank.boundaries import (
    RankClassifier,
    RankDistance,
    compare_neighbors,
    discover_classes,
    find_boundaries,
)
from treerank.boundaries.classifier import best_thresholds
from treerank.datasets.synthetic import GaussianClasses
from treerank.files.states import array
from treerank.model_selection import QueryKFold
from treerank.rankers.ranker import Ranker
from treerank.rankers.tree_direct_ranker import TreeDirectRanker


class FirstFeature(Ranker):
    """Ranks by the first feature."""

    def __init__(self, head="identity"):
        self.head = head

    def _learn(self, data, validation, seed):
        pass

    def _scores(self, X):
        return np.nan_to_num(X[:, 0]).astype(np.float64)


class Line(Ranker):
    """Ranks along the direction in which the labels rise."""

    _learned: ClassVar = {"slopes_": array("float64", "n_features")}

    def _learn(self, data, validation, seed):
        X = np.nan_to_num(data.X[data.rows])
        self.slopes_ = np.linalg.lstsq(X - X.mean(axis=0), data.y - data.y.mean())[0]

    def _scores(self, X):
        return np.nan_to_num(X) @ self.slopes_


def clumps(n_each=(200, 200, 200), spread=0.2, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(n_each)), n_each)
    order = rng.permutation(len(labels))
    return (labels + spread * rng.normal(size=len(labels)))[order], labels[order]


@pytest.fixture
def ranker():
    return FirstFeature().fit([[0.0], [1.0]], [0, 1])


def test_neighbors_are_compared_from_best_to_worst(ranker):
    X = np.array([[1.0], [5.0], [2.0]])
    for given_X in (X, pd.DataFrame(X), X.tolist()):
        order, r = compare_neighbors(FirstFeature().fit(given_X, [0, 1, 0]), given_X)
        np.testing.assert_array_equal(order, [1, 2, 0])
        np.testing.assert_array_equal(r, [3.0, 1.0])


@pytest.mark.parametrize("n_each", [(200, 200), (100, 300, 200), (150,) * 6])
@pytest.mark.parametrize("n_classes", [None, "given"])
def test_boundaries_lie_between_clumps(n_each, n_classes):
    scores, labels = clumps(n_each, spread=0.1)
    n_classes = len(n_each) if n_classes else None
    found = find_boundaries(scores, n_classes=n_classes)
    np.testing.assert_array_equal(found.classes(scores), labels)
    np.testing.assert_array_equal(found.positions, np.cumsum(n_each[::-1])[:-1])
    assert found.r.shape == scores.shape
    assert (found.heights >= 2).all()


def test_an_even_list_has_no_boundary():
    scores = np.random.default_rng(0).uniform(size=2000)
    assert len(find_boundaries(scores).thresholds) == 0
    assert (find_boundaries(scores).classes(scores) == 0).all()


@given(st.integers(0, 1000), st.floats(0.01, 100), st.floats(-10, 10))
def test_boundaries_do_not_depend_on_scale_origin_or_order(seed, scale, shift):
    scores, _ = clumps()
    shuffled = np.random.default_rng(seed).permutation(scores) * scale + shift
    found, expected = find_boundaries(shuffled), find_boundaries(scores)
    np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_allclose(found.thresholds, expected.thresholds * scale + shift)
    np.testing.assert_allclose(found.r, expected.r, rtol=1e-6)


def test_discovered_classes_are_those_of_the_boundaries(ranker):
    scores, labels = clumps(spread=0.1)
    np.testing.assert_array_equal(discover_classes(ranker, scores[:, None], n_classes=3), labels)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_boundaries([1.0, 2.0]), r"at least three in one dimension; got shape \(2,\)"),
        (lambda: find_boundaries([1.0, 2.0, np.nan]), "scores must be finite; got NaN"),
        (lambda: find_boundaries([1.0, 1.0, 1.0]), "scores must not be all the same; got 1"),
        (
            lambda: find_boundaries([1, 2, 4], n_classes=1),
            "n_classes must be a whole number of at least 2",
        ),
        (
            lambda: find_boundaries([1, 2, 4], span=3),
            "span must be a .* of at least 1 and at most 2",
        ),
        (
            lambda: find_boundaries([1, 2, 4], least_height=0.5),
            "least_height must be .* of at least 1",
        ),
        (lambda: find_boundaries([1, 2, 4, 9], n_classes=3), "at most the number of peaks plus 1"),
        (
            lambda: RankClassifier(FirstFeature()).fit([[1], [2]], [1, 1]),
            r"two classes or more; got one class or none, \[1\]",
        ),
        (
            lambda: RankClassifier(FirstFeature(), thresholds="valleys").fit([[1], [2]], [0, 1]),
            "thresholds must be one of .*; got 'valleys'",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=9),
    st.tuples(*[st.sampled_from([1.0, 2.0, 5.0])] * 3),
)
def test_thresholds_are_the_best_there_are(documents, weight):
    scores, codes = np.array(documents).T
    weight = np.array(weight)

    def caught(thresholds):
        right = np.searchsorted(thresholds, scores, side="right") == codes
        return weight[codes][right].sum()

    cuts = np.append(np.arange(-0.5, 7), np.inf)
    best = max(caught(pair) for pair in itertools.combinations_with_replacement(cuts, 2))
    thresholds = best_thresholds(scores.astype(float), codes, weight)
    assert (thresholds[1:] >= thresholds[:-1]).all()
    assert caught(thresholds) == best


@pytest.mark.parametrize("thresholds", ["labels", "peaks"])
def test_classifier_names_the_classes_as_they_were(thresholds):
    scores, labels = clumps(spread=0.1)
    names = np.array(["a", "b", "c"])[labels]
    classifier = RankClassifier(FirstFeature(), thresholds=thresholds)
    assert classifier.fit(scores[:, None], names).score(scores[:, None], names) == 1.0


def test_balanced_thresholds_spare_small_classes():
    scores, labels = clumps((1000, 20), spread=0.6)
    plain, balanced = (
        RankClassifier(FirstFeature(), class_weight=weight).fit(scores[:, None], labels)
        for weight in (None, "balanced")
    )
    assert balanced.thresholds_[0] < plain.thresholds_[0]


@parametrize_with_checks([RankClassifier(Line())])
def test_classifier_is_scikit_learns(estimator, check):
    check(estimator)


def test_classifier_takes_queries_from_a_search():
    scores, labels = clumps(spread=0.1)
    qid = np.arange(600) % 5
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            RankClassifier(FirstFeature()), {"thresholds": ["labels", "peaks"]}, cv=QueryKFold(3)
        )
        assert search.fit(scores[:, None], labels, qid=qid).best_score_ == 1.0


@pytest.mark.parametrize("head", ["identity", "tanh"])
def test_distance_is_a_pseudometric_for_scikit_learn(head):
    scores, labels = clumps((20, 20, 20), spread=0.05)
    X = np.column_stack([scores, np.zeros(60)])
    distance = RankDistance(FirstFeature(head).fit(X, labels))
    matrix = distance.pairwise(X)
    np.testing.assert_allclose(pairwise_distances(X, metric=distance), matrix, atol=1e-15)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert (np.diag(matrix) == 0).all()
    assert (matrix[:, :, None] <= matrix[:, None, :] + matrix.T[None, :, :] + 1e-12).all()
    np.testing.assert_array_equal(distance.pairwise(X[:3], X), matrix[:3])
    assert distance(X[0], X[1]) == np.abs(distance.ranker.compare(X[:1], X[1:2]))[0]


def test_distance_serves_neighbors_and_clusters():
    scores, labels = clumps((20, 20, 20), spread=0.05)
    X = scores[:, None]
    distance = RankDistance(FirstFeature().fit(X, labels))
    assert KNeighborsClassifier(3, metric=distance).fit(X, labels).score(X, labels) == 1.0
    found = DBSCAN(eps=0.3, metric=distance).fit_predict(X)
    assert adjusted_rand_score(labels, found) == 1.0
    precomputed = DBSCAN(eps=0.3, metric="precomputed").fit_predict(distance.pairwise(X))
    np.testing.assert_array_equal(found, precomputed)


def scores_of_network(seed):
    """Scores of a small network on the paper's data."""
    classes = GaussianClasses.drawn(random_state=seed)
    X, y, _ = classes.sample(15_000, random_state=10 + seed)
    X_test, y_test, _ = classes.sample(3000, random_state=20 + seed)
    center, scale = X.mean(axis=0), X.std(axis=0)
    network = MLPRegressor(
        hidden_layer_sizes=(70, 5), activation="tanh", early_stopping=True, random_state=0
    )
    network.fit((X - center) / scale, y)
    return network.predict((X_test - center) / scale), y_test


@pytest.mark.slow
def test_peaks_find_the_classes_of_the_papers_data():
    """Figure 6a: at least 90 % of the boundaries, each within 3 % of the list."""
    found, n_boundaries = 0, 0
    for seed in range(2):
        scores, y = scores_of_network(seed)
        cuts = len(y) - np.cumsum(np.bincount(y))[:-1]
        positions = find_boundaries(scores).positions
        assert len(positions) <= 5
        found += np.count_nonzero(np.abs(cuts[:, None] - positions).min(axis=1) <= 0.03 * len(y))
        n_boundaries += len(cuts)
    assert found >= 0.9 * n_boundaries


@pytest.mark.slow
def test_merged_classes_are_rediscovered_better_than_chance():
    """By the network of pairs, that is: it need not send a class to one point."""
    pytest.importorskip("torch")
    from treerank.feature_parts.networks.mlp import MLP

    network = MLP((70, 5), start="glorot", n_epochs=8, batch_size=500, learning_rate=2e-3)
    settings = {"loss": "half_squared_tanh", "weight": "uniform", "smoothing": 0.0}
    ranker = TreeDirectRanker(network, **settings, random_state=0)
    rng, truth, chance = np.random.default_rng(0), [], []
    for seed in range(2):
        classes = GaussianClasses.drawn(random_state=seed)
        X, y, qid = classes.sample(30_000, documents_per_query=100, random_state=10 + seed)
        X_test, y_test, _ = classes.sample(5000, random_state=20 + seed)
        scores = ranker.fit(X, (y + 1) // 2, qid).predict(X_test)
        for pair in ((1, 2), (3, 4)):
            merged = np.isin(y_test, pair)
            found = find_boundaries(scores[merged], n_classes=2).classes(scores[merged])
            truth.append(adjusted_rand_score(y_test[merged], found))
            chance.append(adjusted_rand_score(rng.permutation(y_test[merged]), found))
    assert np.mean(truth) > 0.01 > 2 * np.max(np.abs(chance))
