import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, vstack

from treerank.documents.rows import Rows
from treerank.documents.stacked import StackedMatrix
from treerank.feature_parts.histogram.binning import WIDTH, bin_rows, find_bins
from treerank.feature_parts.rows import as_rows
from treerank.feature_parts.trees.bin_sample import SAMPLE_SIZE

RNG = np.random.default_rng(0)


def bins_of(X, **options):
    rows = as_rows(np.asarray(X, dtype=float))
    bins = find_bins(rows, **options)
    return bins, bin_rows(rows, bins)


def unpacked(binned):
    """Bins by row and feature, as they lie in the bytes of the blocks."""
    return binned.view(np.uint8).reshape(len(binned), WIDTH * binned.shape[1])


def test_few_different_values_have_a_bin_each_with_bounds_half_way():
    bins, binned = bins_of([[1.0], [4.0], [2.0], [2.0]])
    np.testing.assert_array_equal(bins.bounds[0, :3], [1.5, 3.0, np.inf])
    np.testing.assert_array_equal(unpacked(binned)[:, 0], [0, 2, 1, 1])


def test_many_values_share_bins_evenly():
    X = np.random.default_rng(0).normal(size=(20_000, 1))
    bins, binned = bins_of(X, most=50)
    sizes = np.bincount(unpacked(binned)[:, 0])
    assert len(sizes) == bins.columns["n_values"][0] == 50
    assert sizes.min() >= 350
    assert sizes.max() <= 450


def test_a_frequent_value_has_a_bin_almost_to_itself():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((5000, 1)) < 0.4, 0.0, rng.normal(size=(5000, 1)))
    _, binned = bins_of(X, most=20)
    codes = unpacked(binned)[:, 0]
    own = np.unique(codes[X[:, 0] == 0])
    assert len(own) == 1
    assert (X[codes == own[0]] == 0).mean() > 0.95
    assert np.bincount(codes[X[:, 0] != 0]).max() < 0.1 * len(X)


@given(st.lists(st.floats(width=32), min_size=1, max_size=60), st.integers(2, 20))
def test_a_bin_is_how_many_bounds_lie_below_the_value(values, most):
    X = np.array(values)[:, None]
    bins, binned = bins_of(X, most=most)
    if binned.shape == (len(X), 0):
        assert (X == X[0]).all()
        return
    n = bins.columns["n_values"][0]
    bounds = bins.bounds[0, : n - 1]
    assert n <= most
    assert (np.diff(bounds) > 0).all()
    expected = np.searchsorted(bounds, X[:, 0])
    expected[np.isnan(X[:, 0])] = n
    np.testing.assert_array_equal(unpacked(binned)[:, 0], expected)


def test_values_at_each_of_many_bounds_and_beside_it_have_their_bins():
    rows = Rows(RNG.normal(size=(4000, 3)).cumsum(axis=1))
    bins = find_bins(rows)
    at = bins.bounds[:, :254].T
    X = np.vstack([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf), np.zeros((2, 3))])
    X = np.vstack([X, -X[-1:], np.full((1, 3), np.inf), np.full((1, 3), -np.inf)])
    binned = unpacked(bin_rows(Rows(X), bins))
    for f in range(3):
        np.testing.assert_array_equal(binned[:, f], np.searchsorted(at[:, f], X[:, f]))


def test_neighboring_floats_are_told_apart():
    X = np.array([1.0, np.nextafter(1.0, 2), -np.inf, np.inf, np.finfo(float).max])[:, None]
    _, binned = bins_of(X)
    np.testing.assert_array_equal(unpacked(binned)[:, 0], [1, 2, 0, 4, 3])


def test_the_most_frequent_codes_are_categories_and_others_are_missing():
    codes = np.repeat([7.0, 3.0, 9.0, 1.0], [5, 4, 1, 3])[:, None]
    bins, binned = bins_of(codes, most=3, categorical=[0])
    np.testing.assert_array_equal(bins.bounds[0, :4], [1, 3, 7, np.inf])
    expected = np.repeat([2, 1, 3, 0], [5, 4, 1, 3])
    np.testing.assert_array_equal(unpacked(binned)[:, 0], expected)


def test_constant_features_have_no_place_but_one_that_is_sometimes_missing_has():
    X = np.random.default_rng(0).normal(size=(50, 11))
    X[:, 2] = 5.0
    X[:, 4], X[3, 4] = 1.0, np.nan
    X[:, 5] = np.nan
    bins, binned = bins_of(X)
    assert (unpacked(binned)[:, 4] == 1).all()
    features = [0, 1, *range(3, 11), *[-1] * 6]
    np.testing.assert_array_equal(bins.columns["feature"], features)


def test_features_that_are_zero_in_the_same_rows_share_a_block():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 32))
    shared, rare = [1, 4, 8, 9, 17, 20, 25, 30], [0, 3, 31]
    X[np.ix_(rng.random(500) < 0.6, shared)] = 0
    X[:, rare] *= rng.random((500, 3)) < 0.5  # too few to fill a block
    bins, binned = bins_of(X)
    columns = bins.columns["feature"].tolist()
    blocks = [columns[at : at + WIDTH] for at in range(0, 32, WIDTH)]
    (block,) = (k for k, features in enumerate(blocks) if sorted(features) == shared)
    assert 0.5 < (binned[:, block] == bins.zeros[block]).mean() < 0.7
    others = [feature for feature in columns if feature not in shared]
    assert others == [feature for feature in range(32) if feature not in shared]
    assert columns != list(range(32))


def test_large_data_are_sampled():
    X = np.random.default_rng(0).normal(size=(2 * SAMPLE_SIZE, 2))
    rows = as_rows(X)
    bins = find_bins(rows, seed=3)
    share = (X[:, :1] <= bins.bounds[0, :254]).mean(axis=0)
    np.testing.assert_allclose(share, np.arange(1, 255) / 255, atol=0.01)
    assert (find_bins(rows, seed=4).bounds != bins.bounds).any()


@pytest.mark.parametrize("most", [2, 255])
def test_no_value_is_taken_for_a_missing_one(most):
    _, binned = bins_of(np.arange(2000.0)[:, None], most=most)
    assert unpacked(binned)[:, 0].max() == most - 1


@pytest.mark.parametrize("most", [4, 255])
def test_zeros_that_a_sparse_matrix_stores_and_those_it_does_not_are_counted_together(most):
    values = np.random.default_rng(0).integers(-3, 6, (500, 3)).clip(0) / 1.0
    values[::9, 1] = np.nan
    sparse = csr_matrix(np.where(values == 0, 7.0, values))  # which stores all values
    sparse.data[sparse.data == 7] = 0
    sparse = vstack([sparse, csr_matrix((100, 3))], format="csr")  # and some rows of none
    expected = find_bins(as_rows(sparse.toarray()), most=most)
    found = find_bins(as_rows(sparse, sparse=True), most=most)
    for ours, same in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, same)


def test_a_sparse_matrix_has_the_bins_of_the_array_that_it_stands_for():
    X = np.where(RNG.random((700, 11)) < 0.2, RNG.normal(size=(700, 11)), 0.0)
    X[:, 3] = RNG.integers(-2, 9, size=700)  # categories, of which two have a bin
    X[:20, 1], X[::7, 3], X[5:9, 4] = np.nan, np.nan, [-np.inf, np.inf, 1e-300, -0.0]
    X[:, 6] += 5.0  # no zero
    bins = find_bins(as_rows(X), most=2, categorical=[3])
    array, sparse = (bin_rows(Rows(kind(X)), bins) for kind in (np.asarray, csr_matrix))
    np.testing.assert_array_equal(sparse, array)
    np.testing.assert_array_equal(bins.zeros, bin_rows(as_rows(np.zeros((1, 11))), bins)[0])


@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 11])
def test_rows_in_any_order_have_their_bins_however_the_matrix_is_stored(share, dtype, n_features):
    X = RNG.normal(size=(1200, n_features)).round(1).astype(dtype)
    X[RNG.random(X.shape) < 0.1] = np.nan
    drawn = RNG.permutation(len(X))[: int(share * len(X))]
    for order in (drawn, np.append(drawn, drawn[:7])):  # some rows twice
        bins = find_bins(Rows(X))
        expected = bin_rows(Rows(X[order]), bins)
        by_column = np.asfortranarray(X)
        parts = [by_column[:500], X[500:500], X[500:501], by_column[501:]]
        stacked = StackedMatrix(parts, n_features, X.dtype)
        for stored in (X, by_column, np.repeat(X, 2, axis=1)[:, ::2], csr_matrix(X), stacked):
            if stored is stacked and order is not drawn:
                continue  # a worker's rows are never drawn twice
            rows = Rows(stored, order=order.astype(np.int32))
            np.testing.assert_array_equal(bin_rows(rows, bins), expected)
