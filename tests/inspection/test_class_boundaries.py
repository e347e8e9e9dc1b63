"""Boundaries of classes: values worked by hand, lists without classes, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from small_rankers import DATA, made

from treerank import TreeDirectRanker
from treerank.inspection import boundaries
from treerank.inspection.class_boundaries import find_peaks_of_r
from treerank.rankers import ColumnRanker
from treerank.registry import RANKERS


def clumps(n_each=(200, 200, 200), spread=0.1, seed=0):
    """Return scores in clumps, in random order, and the number of the clump of each."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(n_each)), n_each)
    order = rng.permutation(len(labels))
    return (labels + spread * rng.normal(size=len(labels)))[order], labels[order]


def first_column(X):
    """Return a ranker whose score is the first column."""
    X = np.asarray(X)
    return ColumnRanker(0).fit(X, np.arange(len(X)) % 2)


def test_a_list_worked_by_hand():
    # Differences of neighbors: 1 1 6 1 1 4 1; the two peaks are after 3 and after 6 documents.
    scores = np.array([20.0, 19, 18, 12, 11, 10, 6, 5])
    found = find_peaks_of_r(scores[::-1], n_classes=3)
    assert found.positions.tolist() == [3, 6]
    assert found.thresholds.tolist() == [8.0, 15.0]
    np.testing.assert_allclose(found.heights, [6, 4])
    np.testing.assert_allclose(found.r, [1, 1, 6, 1, 1, 4, 1, 1])
    assert found.classes(scores).tolist() == [2, 2, 2, 1, 1, 1, 0, 0]
    assert find_peaks_of_r(scores, n_classes=2).positions.tolist() == [3]


@pytest.mark.parametrize("n_each", [(200, 200), (100, 300, 200), (150,) * 6])
@pytest.mark.parametrize("given_number", [True, False])
def test_boundaries_lie_between_clumps(n_each, given_number):
    scores, labels = clumps(n_each)
    X = scores[:, None]
    found = boundaries(first_column(X), X, len(n_each) if given_number else None)
    np.testing.assert_array_equal(found.classes, labels)
    np.testing.assert_array_equal(found.positions, np.cumsum(n_each[::-1])[:-1])
    np.testing.assert_array_equal(found.predict(X), labels)
    assert found.r.shape == scores.shape
    assert (found.heights >= 2).all()


@pytest.mark.parametrize("draw", ["uniform", "normal", "exponential"])
@pytest.mark.parametrize("n_documents", [20, 100, 400, 3000])
def test_a_list_without_classes_is_mostly_a_single_class(draw, n_documents):
    rng = np.random.default_rng(0)
    lists = [getattr(rng, draw)(size=n_documents) for _ in range(60)]
    n_wrong = sum(len(find_peaks_of_r(scores).positions) > 0 for scores in lists)
    assert n_wrong <= 8  # of 60, where 5 % are 3


@given(st.integers(0, 1000), st.sampled_from([2.0**-60, 0.5, 8.0]))
def test_no_order_and_no_scale_changes_the_classes(seed, scale):
    scores, labels = clumps(seed=3)
    order = np.random.default_rng(seed).permutation(len(scores))
    found, expected = find_peaks_of_r(scores[order] * scale), find_peaks_of_r(scores)
    np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_array_equal(found.thresholds, expected.thresholds * scale)
    np.testing.assert_array_equal(found.r, expected.r)
    np.testing.assert_array_equal(found.classes(scores[order] * scale), labels[order])


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=200), st.integers(1, 4))
def test_equal_scores_are_of_one_class_and_positions_count_the_classes(scores, n_classes):
    scores = np.array(scores, dtype=float)
    try:
        found = find_peaks_of_r(scores, n_classes=n_classes)
    except ValueError as error:
        assert "n_classes must be at most" in str(error)  # noqa: PT017
        return
    classes = found.classes(scores)
    assert (np.diff(found.positions) > 0).all()
    assert (np.diff(found.thresholds) > 0).all()
    above = [np.count_nonzero(classes >= c) for c in range(n_classes - 1, 0, -1)]
    assert found.positions.tolist() == above
    for score in np.unique(scores):
        assert len(set(classes[scores == score])) == 1


def test_neighbors_in_floating_point_are_kept_apart():
    low = np.float64(1.0)
    high = np.nextafter(low, 2)
    scores = np.repeat([high, low], 5)
    assert find_peaks_of_r(scores, n_classes=2).classes(scores).tolist() == [1] * 5 + [0] * 5
    huge = np.repeat([1e308, -1e308], 5)
    assert find_peaks_of_r(huge).classes(huge).tolist() == [1] * 5 + [0] * 5


def test_one_class_and_equal_scores_have_no_boundary():
    X = np.ones((50, 1))
    ranker = first_column(X)
    for found in (boundaries(ranker, X), boundaries(ranker, X, 1), boundaries(ranker, X[:1], 1)):
        assert len(found.positions) == len(found.thresholds) == len(found.heights) == 0
        assert (found.classes == 0).all()
        assert found.predict([[7.0]]).tolist() == [0]
    with pytest.raises(ValueError, match=r"n_classes must be at most 1, .*50 documents; got 2"):
        boundaries(ranker, X, 2)


def test_what_cannot_be_found_is_refused():
    X = np.arange(20.0)[:, None]
    ranker = first_column(X)
    with pytest.raises(ValueError, match="X must have at least 4 documents; got 3"):
        boundaries(ranker, X[:3])
    with pytest.raises(ValueError, match="X must have at least 4 documents; got 0"):
        boundaries(ranker, X[:0], 2)
    with pytest.raises(ValueError, match="n_classes must be at most 1, one more than the number"):
        boundaries(ranker, X, 5)
    with pytest.raises(ValueError, match=r"n_classes must be .*; got 0"):
        boundaries(ranker, X, 0)
    with pytest.raises(TypeError, match=r"ranker must be"):
        boundaries("linear", X)


def test_frames_gaps_and_categories_are_read_as_by_predict():
    scores, labels = clumps((120, 120))
    frame = pd.DataFrame({"kind": np.array(["a", "b"])[labels], "gaps": scores})
    frame["gaps"] = np.nan
    frame.loc[::7, "gaps"] = 1.0
    ranker = TreeDirectRanker("histogram", random_state=0).fit(frame, labels)
    found = boundaries(ranker, frame, 2)
    np.testing.assert_array_equal(found.classes, labels)
    np.testing.assert_array_equal(found.predict(frame.iloc[::-1]), labels[::-1])
    X = csr_matrix(scores[:, None])
    ranker = TreeDirectRanker("histogram", random_state=0).fit(X, labels)
    np.testing.assert_array_equal(boundaries(ranker, X, 2).classes, labels)


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_has_classes_by_its_scores(name):
    ranker = made(name)
    if name != "ForestRanker":
        ranker.fit(*DATA)
    X = DATA[0]
    scores = ranker.predict(X)
    found = boundaries(ranker, X)
    np.testing.assert_array_equal(found.classes, (scores[:, None] >= found.thresholds).sum(axis=1))
    np.testing.assert_array_equal(found.predict(X), found.classes)
