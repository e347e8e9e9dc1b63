"""Recoded trees score documents in other columns, with other codes, as the trees scored them."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_forests import drawn_forest

from treerank.documents.columns import Columns
from treerank.forests.building import GrowingForest
from treerank.forests.forest import CategorySets
from treerank.forests.recoding import recoded
from treerank.forests.scoring import forest_scores

LEVELS = [f"shop {number}" for number in range(40)]


def drawn_case(seed, rule, zeros):
    """Return trees, other columns, and documents as both have them."""
    random = np.random.default_rng(seed)
    forest = drawn_forest(random, rule=rule, zeros=zeros)
    forest = replace(forest, feature_names=tuple("abcd"), levels={3: LEVELS})
    known = random.permutation(LEVELS)[: random.integers(1, 41)]
    levels = random.permutation([*known, *(f"new {number}" for number in range(5))]).tolist()
    names = random.permutation([*"abcd", "e"]).tolist()
    n, shop = 200, names.index("d")
    new = random.normal(size=(n, 5))
    new[random.random((n, 5)) < 0.2] = np.nan
    new[:, shop] = random.integers(len(levels), size=n)
    new[random.random(n) < 0.1, shop] = np.nan
    old = new[:, [names.index(name) for name in "abcd"]]
    code = {level: float(number) for number, level in enumerate(LEVELS)}
    codes = np.array([code.get(level, np.nan) for level in levels])
    old[:, 3] = [np.nan if np.isnan(number) else codes[int(number)] for number in old[:, 3]]
    return forest, Columns({shop: levels}, names=tuple(names)), old, new


@pytest.mark.parametrize("rule", [None, "exact", "truncated", "single"])
@pytest.mark.parametrize("zeros", [False, True])
def test_scores_stay_whatever_columns_and_codes_there_are(rule, zeros):
    n_refused = 0
    for seed in range(40):
        forest, columns, old, new = drawn_case(seed, rule, zeros)
        try:
            found = recoded(forest, columns, 5)
        except ValueError:
            n_refused += 1
            continue
        expected, scores = forest_scores(forest, old), forest_scores(found, new)
        np.testing.assert_array_equal(scores, expected, err_msg=f"seed {seed}")
        assert (found.feature_names, found.levels) == (columns.names, columns.categories)
    assert (n_refused > 0) == (rule == "single" and zeros)
    assert n_refused < 40


def test_the_same_columns_change_no_array():
    forest, _, _, _ = drawn_case(3, "truncated", False)
    found = recoded(forest, Columns({3: LEVELS}, names=tuple("abcd")), 4)
    for name in ("feature", "threshold", "left", "right", "missing_left", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(forest, name))
    assert found.categories is forest.categories


def test_columns_that_no_split_reads_may_be_missing():
    forest, _, old, _ = drawn_case(3, "exact", False)
    narrow = replace(
        forest,
        n_features=5,
        feature_names=(*"abcd", "unused"),
        levels={3: LEVELS, 4: ["x"]},
    )
    found = recoded(narrow, Columns({3: LEVELS}, names=tuple("abcd")), 4)
    np.testing.assert_array_equal(forest_scores(found, old), forest_scores(forest, old))


def test_two_columns_of_one_name_are_refused():
    forest, columns, _, _ = drawn_case(3, "exact", False)
    twice = replace(forest, feature_names=("a", "a", "c", "d"))
    with pytest.raises(ValueError, match="'a' is not the only one in"):
        recoded(twice, columns, 5)


def test_columns_are_found_in_a_time_that_is_not_the_square_of_their_number():
    n_compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal n_compared
            n_compared += 1
            return str.__eq__(self, other)

    n = 300
    growing = GrowingForest()
    for j in range(n):
        left, right = growing.split(growing.add_tree(), j, 0.0, False)
        growing.values[left], growing.values[right] = 1.0, -1.0
    names = [tuple(Name(f"column {j}") for j in range(n)) for _ in range(2)]
    forest = replace(growing.forest(n), feature_names=names[0])
    n_compared = 0
    found = recoded(forest, Columns({}, names=names[1][::-1]), n)
    assert n_compared < 10 * n
    np.testing.assert_array_equal(found.feature[::3], np.arange(n)[::-1])


def one_split(codes):
    """Return a tree of XGBoost on a sparse matrix: 0 is a missing value, and goes right."""
    growing = GrowingForest()
    left, right = growing.split(growing.add_tree(), 0, 0.0, False)
    growing.values[left], growing.values[right] = 1.0, -1.0
    of_node = np.array([0, -1, -1], dtype=np.int32)
    sets = CategorySets(of_node, np.array([0, len(codes)]), np.array(codes, dtype=float), "single")
    return replace(growing.forest(1, missing_up_to=0.0), categories=sets, levels={0: list("xyz")})


def test_the_first_category_of_a_sparse_column_is_a_missing_value():
    found = recoded(one_split([0, 1]), Columns({0: list("xzy")}), 1)
    scores = forest_scores(found, np.array([[0.0], [1.0], [2.0]]))  # x, z, y
    assert scores[:, 0].tolist() == [-1, -1, 1]
    with pytest.raises(ValueError, match="trees must not take 0 for a missing value where categor"):
        recoded(one_split([1]), Columns({0: list("yxz")}), 1)
