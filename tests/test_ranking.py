"""Ranking inside training: every way to sort gives the order of the scores."""

import numpy as np
import pytest

from treerank.objectives.ranking import sort_by_score

_RNG = np.random.default_rng(0)
KEYS = {
    "one": np.array([3.0]),
    "equal": np.zeros(50),
    "few values": _RNG.integers(0, 4, 300).astype(float),
    "bell": _RNG.normal(size=1000),
    "an outlier, so that all others share a bin": np.append(1e9, _RNG.normal(size=2000)),
    "both extremes of the range": np.array([1e308, -1e308, 0.0, 1.0]),
    "backwards": np.arange(500.0),
}


@pytest.mark.parametrize("nearly_sorted", [True, False])
@pytest.mark.parametrize("name", KEYS)
def test_the_order_falls_from_any_start(name, nearly_sorted):
    key = KEYS[name]
    order = np.random.default_rng(1).permutation(len(key)).astype(np.int32)
    falling = sort_by_score(order, key, nearly_sorted)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(key)))
    np.testing.assert_array_equal(falling, key[order])
    np.testing.assert_array_equal(falling, np.sort(key)[::-1])
