import tracemalloc

import numpy as np
import pytest

from treerank.documents.canonical_order import row_hashes
from treerank.documents.rows import Rows

VALUES = np.random.default_rng(0).normal(size=(50, 3))
ORDER = np.random.default_rng(1).permutation(50)[:40]
LAYOUTS = {
    "C": VALUES,
    "F": np.asfortranarray(VALUES),
    "strided": np.repeat(VALUES, 2, axis=1)[:, ::2],
    "float32": VALUES.astype(np.float32),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", [None, ORDER], ids=["as they are", "permuted"])
def test_every_way_of_reading_gives_the_gathered_rows(layout, order):
    values = LAYOUTS[layout]
    rows = Rows(values, order)
    expected = values if order is None else values[order]
    assert rows.shape == expected.shape
    assert len(rows) == len(expected)
    assert rows.array().dtype == expected.dtype
    np.testing.assert_array_equal(rows.array(), expected)
    np.testing.assert_array_equal(rows.batch(5, 17), expected[5:17])
    np.testing.assert_array_equal(rows.batch(30, 1000), expected[30:])
    np.testing.assert_array_equal(rows.take(np.array([3, 3, 1])).array(), expected[[3, 3, 1]])


@pytest.mark.parametrize("order", [None, ORDER], ids=["as they are", "permuted"])
def test_rows_that_are_taken_keep_their_global_indices_of_those_of_all_workers(order):
    rows = Rows(VALUES, order)
    assert rows.take(np.array([3, 1])).global_indices is None
    shared = Rows(VALUES, order, global_indices=7 * np.arange(len(rows)))
    assert shared.take(np.array([3, 1])).global_indices.tolist() == [21, 7]


def test_hashes_of_more_rows_than_are_read_at_a_time_are_those_of_the_matrix():
    values = np.random.default_rng(2).normal(size=(70_000, 1))
    order = np.random.default_rng(3).permutation(70_000)[:66_000]
    hashes = row_hashes(values)
    np.testing.assert_array_equal(Rows(values).hashes(), hashes)
    np.testing.assert_array_equal(Rows(values, order).hashes(), hashes[order])


def test_the_order_of_the_values_hands_over_the_array_itself():
    assert Rows(VALUES).array() is VALUES
    assert Rows(VALUES, np.arange(50)).order is None
    assert Rows(VALUES, np.arange(49)).order is not None


def test_a_batch_costs_no_more_memory_than_its_rows():
    for values in (np.zeros((20_000, 20)), np.zeros((20_000, 20), order="F")):
        rows = Rows(values, np.arange(20_000)[::-1])
        tracemalloc.start()
        rows.batch(100, 300)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2 * values[100:300].nbytes
