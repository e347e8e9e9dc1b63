"""A forest is what it says, and scores are those of plain Python and of the engines."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from forest_cases import (
    ENGINES,
    FITTED,
    documents_for,
    drawn_forest,
    engine_scores,
    fitted_part,
    scores_by_hand,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

from treerank.forests.building import joined, some_trees
from treerank.forests.forest import CategorySets
from treerank.forests.scoring import forest_leaves, forest_scores


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_scores_of_drawn_forests_are_those_of_plain_python(seed, n_outputs):
    forest = drawn_forest(np.random.default_rng(seed), n_outputs)
    rows = documents_for(forest, n=40, seed=seed)
    assert forest_scores(forest, rows).tobytes() == scores_by_hand(forest, rows).tobytes()


@pytest.mark.parametrize("name", ENGINES)
def test_scores_are_those_of_the_engine_bit_for_bit(name):
    part = fitted_part(name)
    forest = part.forest()
    rows = documents_for(forest)
    with np.errstate(over="ignore"):
        layouts = rows, np.asfortranarray(rows), rows.astype(np.float32), rows[:1]
    for X in layouts:
        with np.errstate(over="ignore"):
            expected = engine_scores(part, X)
        assert forest_scores(forest, X).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ENGINES)
def test_scores_of_a_sparse_matrix_are_those_of_the_engine(name):
    part = fitted_part(name)
    forest = part.forest()
    rows = np.where(np.abs(rows := documents_for(forest)) < 1e-30, 0, rows)  # LightGBM differs
    X = csr_matrix(np.where(np.random.default_rng(1).random(rows.shape) < 0.3, 0, rows))
    with np.errstate(over="ignore"):
        assert forest_scores(forest, X).tobytes() == engine_scores(part, X).tobytes()


@pytest.mark.parametrize("name", FITTED)
def test_outputs_are_those_of_the_forest_and_pickles_do_not_hold_it(name):
    part = pickle.loads(pickle.dumps(fitted_part(name)))  # a copy whose trees were not read yet
    before = pickle.dumps(part)
    forest, rows = part.forest(), documents_for(part.forest())
    with np.errstate(over="ignore"):
        assert part.transform(rows).tobytes() == scores_by_hand(forest, rows).tobytes()
    assert pickle.dumps(part) == before
    assert len(pickle.dumps(forest)) == len(pickle.dumps(replace(forest)))


def test_scores_do_not_depend_on_threads():
    part = fitted_part("histogram, NaN")
    forest, rows = part.forest(), documents_for(part.forest(), n=5000)
    expected = forest_scores(forest, rows)
    assert forest_scores(forest, rows, n_threads=3).tobytes() == expected.tobytes()


def test_leaves_are_nodes_whose_values_add_up():
    part = fitted_part("lightgbm, categories")
    forest = part.forest()
    leaves = forest_leaves(forest, documents_for(forest))
    assert forest.is_leaf[leaves].all()
    scores = np.add.accumulate(forest.values[leaves, 0], axis=1)[:, -1]  # tree after tree
    np.testing.assert_array_equal(scores, engine_scores(part, documents_for(forest))[:, 0])


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram"])
def test_an_unfitted_feature_part_has_no_forest(name):
    with pytest.raises(NotFittedError):
        FITTED[name][0]().forest()


@pytest.mark.parametrize("seed", range(20))
def test_trees_that_are_taken_apart_and_joined_are_the_same_trees(seed):
    rng = np.random.default_rng(seed)
    forest = drawn_forest(rng, 1 + seed % 3)
    rows, middle = documents_for(forest, n=40), forest.n_trees // 2
    parts = [some_trees(forest, 0, middle), some_trees(forest, middle, forest.n_trees)]
    if any(part.n_trees == 0 for part in parts):
        parts = [forest]
    for part in parts:
        n_sets = 0 if part.categories is None else len(part.categories.starts) - 1
        assert n_sets == (0 if n_sets == 0 else (part.categories.of_node >= 0).sum())
        assert forest_scores(part, rows).tobytes() == scores_by_hand(part, rows).tobytes()
    again = joined(parts)
    assert forest_scores(again, rows).tobytes() == forest_scores(forest, rows).tobytes()
    copy = type(forest).of_state(forest.as_state())
    assert forest_scores(copy, rows).tobytes() == forest_scores(forest, rows).tobytes()


def test_scoring_refuses_another_number_of_columns():
    with pytest.raises(ValueError, match="X must have 4 columns"):
        forest_scores(drawn_forest(np.random.default_rng(0)), np.zeros((2, 3)))


def two_splits(**fields):
    """Return a tree of nodes 0 to 4, where 0 and 2 are splits."""
    forest = drawn_forest(np.random.default_rng(0))
    columns = {
        "feature": np.array([0, -1, 1, -1, -1], dtype=np.int32),
        "left": np.array([1, -1, 3, -1, -1], dtype=np.int32),
        "right": np.array([2, -1, 4, -1, -1], dtype=np.int32),
        "threshold": np.zeros(5),
        "missing_left": np.zeros(5, dtype=bool),
        "values": np.ones((5, 1)),
        "roots": np.zeros(1, dtype=np.int32),
        "tree_output": np.zeros(1, dtype=np.int32),
        "constant": np.zeros(1),
        "categories": None,
    }
    return replace(forest, **columns | fields)


def changed(name, place, value):
    array = getattr(two_splits(), name).copy()
    array[place] = value
    return {name: array}


def with_sets(of_node=(0, -1, 1, -1, -1), starts=(0, 2, 3), codes=(1.0, 2.0, 0.0), rule="exact"):
    of_node = np.array(of_node, dtype=np.int32)
    sets = CategorySets(of_node, np.array(starts, dtype=np.int64), np.array(codes), rule)
    return {"categories": sets}


DAMAGES = {
    "gains of other nodes": {"gain": np.zeros(4)},
    "a node with two parents": changed("left", 2, 1),
    "a child that does not exist": changed("left", 2, 5),
    "a negative child": changed("right", 2, -2),
    "a leaf with a child": changed("left", 1, 3),
    "a split without a child": changed("left", 2, -1),
    "a root that is a child": changed("roots", 0, 1),
    "no root": {"roots": np.zeros(0, np.int32), "tree_output": np.zeros(0, np.int32)},
    "a feature that does not exist": changed("feature", 0, 4),
    "a threshold that is NaN": changed("threshold", 0, np.nan),
    "a value that is NaN": changed("values", 1, np.nan),
    "values that overflow": {"values": np.full((5, 1), 1e38), "sum_dtype": "float32"}
    | {"constant": np.full(1, 3e38)},
    "an output that does not exist": changed("tree_output", 0, 1),
    "values for too many outputs": {"values": np.zeros((5, 2))},
    "no outputs": {"constant": np.zeros(0)},
    "another type": {"threshold": np.zeros(5, dtype=np.float32)},
    "another size": {"missing_left": np.zeros(4, dtype=bool)},
    "names of other features": {"feature_names": ("a", "b")},
    "an unknown sum": {"sum_dtype": "float16"},
    "a set that does not exist": with_sets(of_node=(2, -1, 1, -1, -1)),
    "sets that overlap": with_sets(starts=(0, 4, 3)),
    "sets that end early": with_sets(starts=(0, 1, 2)),
    "codes out of order": with_sets(codes=(2.0, 1.0, 0.0)),
    "a code that is NaN": with_sets(codes=(1.0, 2.0, np.nan)),
    "an unknown rule": with_sets(rule="rounded"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_forest_refuses(damage):
    with pytest.raises(ValueError, match="must"):
        two_splits(**DAMAGES[damage])


def test_a_forest_refuses_a_cycle_that_no_root_reaches():
    n = 7  # 1 and 4 are the children of each other, and leaves are below them
    nodes = {
        "feature": np.array([-1, 0, -1, -1, 0, -1, -1], dtype=np.int32),
        "left": np.array([-1, 4, -1, -1, 1, -1, -1], dtype=np.int32),
        "right": np.array([-1, 2, -1, -1, 3, -1, -1], dtype=np.int32),
        "roots": np.array([0, 5, 6], dtype=np.int32),
        "tree_output": np.zeros(3, dtype=np.int32),
        "threshold": np.zeros(n),
        "missing_left": np.zeros(n, dtype=bool),
        "values": np.zeros((n, 1)),
    }
    with pytest.raises(ValueError, match="without cycles"):
        two_splits(**nodes)
