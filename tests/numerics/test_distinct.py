"""Distinct values, against NumPy's."""

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.numerics import distinct

DTYPES = [np.float64, np.float32, np.float16, np.int64, np.uint8, np.bool_]


def check(values):
    """Check the values found by the radix sort and by NumPy's."""
    numbers = values.astype(np.float64)
    expected, n_each = np.unique(numbers[numbers == numbers], return_counts=True)
    for few in (0, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distinct, "_FEW", few)
            found, counts = distinct.count_distinct(values)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(counts, n_each)
        assert not np.signbit(found[found == 0]).any()


@given(st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(dtype, st.integers(0, 40))))
def test_counted_as_numpy_counts_them(values):
    before = values.copy()
    check(values)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("n", [1, 2, 999, 1000, 70_000])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_many_values_of_every_size(n, scale):
    rng = np.random.default_rng(n)
    values = rng.normal(size=n) * scale
    check(values)
    check((values / scale).astype(np.float32))
    check(np.round(values / scale))
    check(np.where(rng.random(n) < 0.3, np.nan, values))


def test_edges():
    huge, tiny = np.finfo(float).max, np.nextafter(0, 1)
    values = [0.0, -0.0, tiny, -tiny, huge, -huge, np.inf, -np.inf, np.nan, -np.nan, 1.0]
    check(np.array(values * 3))
    check(np.array([np.nan, -np.nan]))
    check(np.array([]))
    check(np.arange(12.0).reshape(3, 4)[:, 1])  # not contiguous
