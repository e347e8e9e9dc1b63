"""Blocks of ties: what is found for all at once is what is found for each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.numerics.compiling import njit
from treerank.numerics.ties import end_of_block, extent, has_ties, mean_and_gap, means_and_gaps

SIZES = {
    "none": [],
    "no ties": [1] * 7,
    "one block": [9],
    "some of each": [1, 3, 1, 1, 2, 40, 1],
    "far below": [1] * 100_000 + [2, 1, 3],
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_all_blocks_at_once_have_the_means_and_gaps_of_each(sizes):
    falling = -np.repeat(np.arange(len(sizes)), sizes).astype(float)
    values = 1 / np.log2(2.0 + np.arange(len(falling)))
    working = np.full((3, len(falling)), np.nan)
    shifted = np.concatenate([[7.0, falling[0] if sizes else 0.0], falling, falling[-1:]])
    means_and_gaps(values, shifted, 2, 2 + len(falling), working)
    start = 0
    for block, size in enumerate(sizes):
        assert end_of_block(start, falling, len(falling)) == start + size
        expected = mean_and_gap(values, start, start + size) if size > 1 else (values[start], 0)
        np.testing.assert_allclose(working[:2, block], expected, rtol=1e-9)
        start += size
    assert has_ties(shifted, 2, 2 + len(falling)) == (max(sizes, default=1) > 1)


compiled = njit(lambda values: extent(values, 0, len(values)))


@given(st.lists(st.floats(allow_nan=False), min_size=1).map(np.array))
def test_it_is_the_least_and_the_largest(values):
    assert extent(values, 0, len(values)) == compiled(values) == (values.min(), values.max())


@pytest.mark.parametrize("nan", [np.nan, -np.nan])
@pytest.mark.parametrize("place", [0, 1, 20])
def test_numbers_that_are_none_lie_beyond_all(nan, place):
    values = np.insert(np.append(np.linspace(-3, 3, 20), np.inf), place, np.copysign(np.nan, nan))
    assert np.isnan(compiled(values)).any()
    assert np.isnan(extent(values, 0, len(values))).any()


def test_of_nothing_the_least_is_the_largest_number():
    assert extent(np.empty(0), 0, 0) == compiled(np.empty(0)) == (np.inf, -np.inf)


def test_only_a_part_is_looked_at():
    assert extent(np.array([9.0, 2.0, -1.0, -9.0]), 1, 3) == (-1.0, 2.0)
