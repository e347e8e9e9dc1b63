"""Extent: the least and the largest of any numbers, compiled or not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.numerics.compiling import njit
from treerank.numerics.extent import extent

compiled = njit(lambda values: extent(values))
anything = st.lists(st.floats(allow_nan=False), min_size=1).map(np.array)


@given(anything)
def test_it_is_the_least_and_the_largest(values):
    assert extent(values) == compiled(values) == (values.min(), values.max())


@pytest.mark.parametrize("nan", [np.nan, -np.nan])
@pytest.mark.parametrize("place", [0, 1, 20])
def test_numbers_that_are_none_lie_beyond_all(nan, place):
    values = np.insert(np.append(np.linspace(-3, 3, 20), np.inf), place, np.copysign(np.nan, nan))
    assert np.isnan(compiled(values)).any()
    assert np.isnan(extent(values)).any()


def test_of_nothing_the_least_is_the_largest_number():
    assert extent(np.empty(0)) == compiled(np.empty(0)) == (np.inf, -np.inf)
