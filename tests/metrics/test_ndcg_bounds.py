"""Bounds of NDCG over the labels of unjudged documents: every labeling is tried."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank.metrics import NDCG, ndcg_bounds

LABEL = st.one_of(st.none(), st.integers(0, 2))
DOCUMENTS = st.lists(st.tuples(LABEL, st.integers(0, 3)), min_size=1, max_size=6)


def values_of_all_labels(y, scores, k, gain, highest):
    free = np.flatnonzero(np.isnan(y))
    for labels in itertools.product(range(highest + 1), repeat=len(free)):
        filled = y.copy()
        filled[free] = labels
        if filled.max() > 0:
            yield NDCG(k=k, gain=gain)(filled, scores)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3, None])
@pytest.mark.parametrize("gain", ["exponential", "linear"])
@settings(max_examples=60)
@given(documents=DOCUMENTS, more=st.integers(0, 1))
def test_bounds_are_the_least_and_largest_of_all_labelings(k, gain, documents, more):
    labels, scores = zip(*documents, strict=True)
    y = np.array([np.nan if label is None else label for label in labels], dtype=float)
    highest = int(np.nanmax([*y, 0])) + more
    values = list(values_of_all_labels(y, np.array(scores), k, gain, highest))
    lower, upper = ndcg_bounds(y, scores, k=k, gain=gain, highest=highest)
    expected = (min(values), max(values)) if values else (np.nan, np.nan)
    np.testing.assert_allclose([lower[0], upper[0]], expected, rtol=1e-12, atol=1e-15)


def test_a_list_without_labels_is_bounded_by_a_given_highest_label_alone():
    lower, upper = ndcg_bounds([np.nan, np.nan], [1.0, 0.0], highest=3)
    assert (lower, upper) == (pytest.approx(1 / np.log2(3)), 1)
    with pytest.raises(ValueError, match="y must hold a label in some row; got NaN"):
        ndcg_bounds([np.nan, np.nan], [1.0, 0.0])


def test_queries_are_bounded_alone_and_judged_ones_have_their_ndcg():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 60).astype(float), rng.integers(0, 9, 60).astype(float)
    qid = rng.permutation(np.repeat(["a", "b", "c"], 20))
    metric = NDCG(k=5).per_query(y, scores, qid)
    for bound in ndcg_bounds(y, scores, qid, k=5):
        np.testing.assert_allclose(bound, metric, rtol=1e-12)
    y[rng.random(60) < 0.3] = np.nan
    bounds = np.array(ndcg_bounds(y, scores, qid, k=5, highest=2))
    alone = [ndcg_bounds(y[qid == q], scores[qid == q], k=5, highest=2) for q in "abc"]
    np.testing.assert_array_equal(bounds, np.array(alone)[:, :, 0].T)
    assert (bounds[0] < bounds[1]).all()
    order = rng.permutation(60)
    moved = ndcg_bounds(y[order], scores[order], qid[order], k=5, highest=2)
    np.testing.assert_array_equal(moved, bounds)
