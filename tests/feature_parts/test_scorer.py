import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from drawn_forests import drawn_documents, drawn_forest, one_leaf
from scipy.sparse import csr_matrix

from treerank import MLP, LightGBMTrees, TreeDirectRanker
from treerank.feature_parts.components import Components
from treerank.feature_parts.scorer import Scorer
from treerank.forests.scoring import forest_leaves, forest_scores
from treerank.rankers import ForestRanker


def scores_by_leaves(forest, X):
    """Return scores that are added one after the other, given the leaves."""
    add = np.float32 if forest.sum_dtype == "float32" else np.float64
    scores = np.full(len(X), forest.constant[0])
    for leaves in forest_leaves(forest, X).T:
        scores = add(scores + forest.values[leaves, 0]).astype(np.float64)
    return scores


def assert_scored(forest, X):
    expected = scores_by_leaves(forest, X)
    np.testing.assert_array_equal(Scorer(Components(forest))(X), expected)
    np.testing.assert_array_equal(forest_scores(forest, X)[:, 0], expected)


@pytest.mark.parametrize("rule", [None, "exact", "truncated", "single"])
@pytest.mark.parametrize("sum_dtype", ["float64", "float32"])
def test_scores_are_the_sums_of_leaves_bit_for_bit(rule, sum_dtype):
    random = np.random.default_rng(0)
    for zeros in (False, True):
        options = {"rule": rule, "zeros": zeros, "sum_dtype": sum_dtype, "constant": True}
        huge = sum_dtype == "float64"
        small = drawn_forest(random, n_trees=30, most_splits=63, huge=huge, **options)
        large = drawn_forest(random, n_trees=5, most_splits=300, **options)
        assert small.bitvectors is not None
        assert large.bitvectors is None
        for forest in (small, large, one_leaf(4)):
            for n in (0, 1, 2, 8, 9, 127, 128, 300):
                assert_scored(forest, drawn_documents(random, large, n))


@pytest.mark.parametrize("n_leaves", [64, 65])
def test_trees_of_a_whole_word_and_of_one_leaf_more_are_scored(n_leaves):
    random = np.random.default_rng(1)
    forest = one_leaf(4)
    while forest.is_leaf.sum() != n_leaves:
        forest = drawn_forest(random, n_trees=1, most_splits=n_leaves - 1)
    assert_scored(forest, drawn_documents(random, forest, 300))


@pytest.mark.parametrize("n", [1, 5, 200])
def test_a_scorer_takes_and_refuses_what_predict_does(n):
    random = np.random.default_rng(0)
    ranker = ForestRanker(drawn_forest(random, n_trees=3))
    X = random.normal(size=(n, 4))
    X[:, 1] = np.nan
    for rows in (X, X * np.nan, np.asfortranarray(X), X.astype(np.float32), X.tolist()):
        np.testing.assert_array_equal(ranker.scorer()(rows), ranker.predict(rows))
    for infinite in (np.inf, -np.inf):
        wrong = X.copy()
        wrong[-1, 3] = infinite
        for rows in (wrong, np.asfortranarray(wrong), wrong.astype(np.float32), wrong.tolist()):
            with pytest.raises(ValueError, match=f"got {infinite} in row {n - 1}, column 3"):
                ranker.scorer()(rows)
            with pytest.raises(ValueError, match="must not hold infinity"):
                ranker.predict(rows)
    twice = pd.DataFrame(X).rename(columns=lambda name: f"f{name // 2}")
    for rows in (np.ma.array(X, mask=X > 0), X.astype("M8[s]"), X + 1j, csr_matrix(X), twice):
        with pytest.raises((TypeError, ValueError), match=r"X( must |: Exp)"):
            ranker.scorer()(rows)


def test_several_threads_share_a_scorer():
    random = np.random.default_rng(0)
    forest = drawn_forest(random, n_trees=200, rule="exact")
    X = drawn_documents(random, forest, 640)
    scorer = pickle.loads(pickle.dumps(ForestRanker(forest).scorer()))
    parts = [X[i : i + 64] for i in range(0, 640, 64)] * 20
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(scorer, parts))
    np.testing.assert_array_equal(np.concatenate(found[:10]), forest_scores(forest, X)[:, 0])
    for i, scores in enumerate(found):
        np.testing.assert_array_equal(scores, found[i % 10])


def test_what_cannot_be_scored_is_refused():
    scorer = Scorer(Components(one_leaf(4)))
    for X in (np.zeros(4), np.zeros((2, 3)), np.zeros((1, 2, 4))):
        with pytest.raises(ValueError, match="X must have 4 columns; got an array of shape"):
            scorer(X)
    with pytest.raises(ValueError, match="not fitted"):
        TreeDirectRanker(LightGBMTrees()).scorer()
    random = np.random.default_rng(0)
    network = TreeDirectRanker(MLP((2,), n_epochs=1), random_state=0)
    network.fit(random.normal(size=(40, 2)), np.arange(40) % 2)
    with pytest.raises(ValueError, match=r"got \['network'\]. Write ranker.predict\(X\)"):
        network.scorer()


def test_a_scorer_takes_dicts_whose_categories_are_text():
    random = np.random.default_rng(0)
    shop = random.choice(["a", "b", "c"], size=120)
    frame = pd.DataFrame({"price": random.normal(size=120), "shop": shop})
    frame.loc[::9, "price"], frame.loc[::7, "shop"] = np.nan, None
    y, qid = (shop == "b") * 1 + (frame["price"] > 0), np.arange(120) // 10
    ranker = TreeDirectRanker(LightGBMTrees(5, min_child_samples=5, n_jobs=1), random_state=0)
    ranker.fit(frame, y, qid)
    scores = ranker.predict(frame)
    np.testing.assert_array_equal(ranker.scorer()(frame.to_dict("records")), scores)
    new = [{"shop": "of training unknown", "price": 1, "url": object()}]
    np.testing.assert_array_equal(ranker.scorer()(new), ranker.predict(pd.DataFrame(new)))
    missing = [{"shop": None, "price": None}]
    expected = ranker.predict(pd.DataFrame({"price": [np.nan], "shop": [None]}))
    np.testing.assert_array_equal(ranker.scorer()(missing), expected)
