"""QuickScorer and traversal find the leaves that plain Python finds."""

import pickle

import numpy as np
import pytest

from treerank.feature_parts.histogram import predicting
from treerank.feature_parts.histogram.forest import Forest
from treerank.feature_parts.histogram.predicting import add_scores, find_leaves

N_FEATURES, N_CODES = 5, 6


def random_forest(rng, n_trees=7, most_leaves=20, n_outputs=1, thresholds=None, with_sets=False):
    """Grow trees without any data: every split anywhere, on anything."""
    nodes, starts = [], [0]
    for _ in range(n_trees):
        tree = [None]
        for _ in range(rng.integers(0, most_leaves)):
            leaf = rng.choice([i for i, first in enumerate(tree) if first is None])
            tree[leaf] = len(tree)
            tree += [None, None]
        shift = starts[-1]
        nodes += [shift + (i if first is None else first) for i, first in enumerate(tree)]
        starts.append(len(nodes))
    n, first = len(nodes), np.array(nodes, dtype=np.uint32)
    is_split = first != np.arange(n)
    feature = rng.integers(0, N_FEATURES, n).astype(np.uint32)
    grid = np.append(np.arange(-2.0, 3.0), np.inf) if thresholds is None else thresholds
    is_set = is_split & (feature == 0) & with_sets
    n_sets = np.count_nonzero(is_set)
    tables = np.full((1, 256), np.inf)
    tables[0, :N_CODES] = np.arange(-2, N_CODES - 2)
    return Forest(
        N_FEATURES,
        np.array(starts),
        feature,
        np.where(is_split & ~is_set, rng.choice(grid, n), np.inf),
        is_split & ~is_set & rng.integers(0, 2, n).astype(bool),
        first,
        np.zeros(n),
        np.where(is_split[:, None], 0.0, rng.normal(size=(n, n_outputs))),
        np.where(is_set, np.cumsum(is_set) - 1, -1).astype(np.int32),
        rng.integers(0, 2, (n_sets, 256)).astype(np.uint8),
        np.zeros(n_sets, dtype=np.int64),
        tables,
        np.array([N_CODES]),
    )


def goes_right(forest, node, x):
    which = forest.set_of_node[node]
    if which < 0:
        return bool(forest.missing_right[node]) if np.isnan(x) else x > forest.threshold[node]
    codes = forest.tables[forest.table_of_set[which]][:N_CODES]
    place = list(codes).index(x) if x in codes else N_CODES
    return forest.sets[which, place] == 0


def leaves_by_hand(forest, X):
    leaves = np.empty((len(X), forest.n_trees), dtype=np.int64)
    for i, tree in np.ndindex(leaves.shape):
        node = forest.starts[tree]
        while forest.first[node] != node:
            right = goes_right(forest, node, X[i, forest.feature[node]])
            node = int(forest.first[node]) + right
        leaves[i, tree] = node - forest.starts[tree]
    return leaves


def some_documents(rng, n, grid=5):
    """Documents on and off the thresholds, with missing and infinite values among them."""
    X = rng.integers(-grid, grid + 1, (n, N_FEATURES)) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.05] = np.inf
    X[rng.random(X.shape) < 0.05] = -np.inf
    return X


def assert_as_by_hand(forest, X):
    leaves = leaves_by_hand(forest, X)
    scores = np.ones((len(X), forest.n_outputs))
    expected = scores.copy()
    for tree, start in enumerate(forest.starts[:-1]):
        expected += forest.values[start + leaves[:, tree]]
    add_scores(forest, X, scores)
    np.testing.assert_array_equal(find_leaves(forest, X), leaves)
    np.testing.assert_array_equal(scores, expected)  # tree after tree, so to the bit


@pytest.fixture(params=["quickscorer", "traversal"])
def way(request, monkeypatch):
    """Take both ways, whatever the size of the trees."""
    monkeypatch.setattr(predicting, "_MOST_LEAVES", 2000 if request.param == "quickscorer" else 0)


@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_documents_find_the_leaves_they_find_by_hand(way, seed, with_sets):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, with_sets=with_sets, n_outputs=1 + seed % 2)
    assert_as_by_hand(forest, some_documents(rng, 70))


@pytest.mark.parametrize("n", [1, 7, 63, 64, 65, 129])
def test_any_number_of_documents_will_do(way, n):
    rng = np.random.default_rng(n)
    assert_as_by_hand(random_forest(rng, n_trees=3), some_documents(rng, n))


def test_more_thresholds_than_codes_will_do(way):
    rng = np.random.default_rng(0)
    grid = np.arange(-400.0, 400.0)
    forest = random_forest(rng, n_trees=12, most_leaves=600, thresholds=grid)
    assert max(np.bincount(forest.quickscorer.columns["feature"])) > 1
    assert_as_by_hand(forest, some_documents(rng, 40, grid=820))


def test_trees_without_a_split_add_their_value(way):
    rng = np.random.default_rng(0)
    assert_as_by_hand(random_forest(rng, most_leaves=1), some_documents(rng, 3))


def test_threads_and_the_type_and_layout_of_values_change_no_bit():
    rng = np.random.default_rng(0)
    forest, X = random_forest(rng), some_documents(rng, 5000)
    scores = {}
    for name, data in {"double": X, "single": X.astype(np.float32), "columns": X.copy("F")}.items():
        for n_threads in (1, 3):
            scores[name, n_threads] = np.zeros((len(X), 1))
            add_scores(forest, data, scores[name, n_threads], n_threads=n_threads)
    first, *others = scores.values()
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_a_pickle_does_not_hold_what_follows_from_the_rest():
    forest = random_forest(np.random.default_rng(0))
    before = pickle.dumps(forest)
    assert len(forest.quickscorer.words)
    assert pickle.dumps(forest) == before
    assert_as_by_hand(pickle.loads(before), some_documents(np.random.default_rng(1), 5))
