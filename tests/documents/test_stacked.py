"""Stacked matrices are read as the matrix of all their rows would be."""

import gc
import weakref

import numpy as np
import pytest

from treerank.documents.canonical_order import row_hashes
from treerank.documents.rows import Rows
from treerank.documents.stacked import StackedMatrix
from treerank.feature_parts.histogram.binning import bin_rows, find_bins
from treerank.numerics.threads import kernel_threads
from treerank.workers import Workers

RNG = np.random.default_rng(0)
SIZES = (300, 0, 1, 700)


def parts_of(n_features=11):
    """Matrices of every layout and precision."""
    matrices = [RNG.normal(size=(n, n_features)).round(1) for n in SIZES]
    matrices[0] = np.asfortranarray(matrices[0], dtype=np.float32)
    matrices[3][::7, 2] = np.nan
    return matrices


def stacked(parts):
    return StackedMatrix(parts, parts[0].shape[1], np.dtype(float))


@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(5, 800, 3),
        np.array([900, 3, 3, 300, 299, 301]),
        np.array([], dtype=np.int32),
        RNG.random(sum(SIZES)) < 0.5,
        (slice(None), 2),
        (np.array([4, 999]), 1),
        (slice(None, None, 100), slice(1, 4)),
    ],
)
def test_rows_and_columns_are_read_by_any_key(key):
    parts = parts_of()
    values = stacked(parts)[key]
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.vstack(parts).astype(float)[key])


def test_rows_of_a_stacked_matrix_are_those_of_the_whole():
    parts = parts_of()
    matrix, whole = stacked(parts), np.vstack(parts).astype(float)
    assert (matrix.shape, len(matrix), np.ndim(matrix)) == (whole.shape, len(whole), 2)
    np.testing.assert_array_equal(row_hashes(matrix), row_hashes(whole))
    order = RNG.permutation(len(whole))[:600]
    for of_rows in (None, order):
        view, expected = Rows(matrix, of_rows), Rows(whole, of_rows)
        np.testing.assert_array_equal(view.array(), expected.array())
        np.testing.assert_array_equal(view.batch(2, 9), expected.batch(2, 9))
        np.testing.assert_array_equal(view.hashes(), expected.hashes())
    none = StackedMatrix([], 3, np.dtype(np.float32))
    assert (none.shape, row_hashes(none).shape, none[:].shape) == ((0, 3), (0,), (0, 3))


class Several(Workers):
    """The only worker that has rows, of several."""

    world_size = 3


@pytest.mark.parametrize("n_threads", [1, 2])
def test_bins_are_those_of_the_whole_and_workers_drop_the_rows(n_threads):
    parts = parts_of()
    whole = np.vstack(parts).astype(float)
    bins = find_bins(Rows(whole))
    order = RNG.permutation(len(whole))[:900]
    is_alive = [weakref.ref(part) for part in parts]
    matrix = stacked(parts)
    del parts
    with kernel_threads(n_threads):
        for of_rows in (order, None):
            expected = bin_rows(Rows(whole, of_rows), bins)
            for _ in range(2):  # alone, a fit may read the rows again
                np.testing.assert_array_equal(bin_rows(Rows(matrix, of_rows), bins), expected)
        of_worker = Rows(matrix, order, workers=Several())
        expected = bin_rows(Rows(whole, order), bins)
        np.testing.assert_array_equal(bin_rows(of_worker, bins), expected)
    gc.collect()
    assert not any(reference() is not None for reference in is_alive)
    assert of_worker.shape == (900, 11)
    with pytest.raises(ValueError, match="must not be read once they are taken"):
        of_worker.array()


def test_parts_are_taken_one_by_one():
    parts = parts_of()
    whole, matrix = np.vstack(parts).astype(float), stacked(parts)
    reference = weakref.ref(parts[0])
    del parts
    taken = matrix.take_parts()
    start, first = next(taken)
    assert (start, first.shape) == (0, (300, 11))
    del first
    gc.collect()
    assert reference() is None
    assert [(start, len(part)) for start, part in taken] == [(300, 0), (300, 1), (301, 700)]
    again = stacked(parts_of())
    values = again[:]
    np.testing.assert_array_equal(again.joined(), values)
    with pytest.raises(ValueError, match="taken"):
        again.joined()
    assert whole.shape == matrix.shape
