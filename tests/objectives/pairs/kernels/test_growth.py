"""Closed forms visit no pair: a query whose pairs would take minutes takes a moment."""

import time

import numba
import numpy as np
import pytest

from treerank.objectives import make_objective
from treerank.objectives.pairs.rules import Pairs

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="slow as plain Python")


@pytest.mark.slow
@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize("loss", ["half_squared", "exponential", "hinge", "squared_hinge"])
def test_a_long_query_takes_no_time_for_its_pairs(loss, adjacent):
    scores = np.random.default_rng(0).normal(size=400_000)  # of 8e10 pairs
    for n in (10, len(scores)):  # compile first
        for n_levels in (5, n // 2):
            objective = make_objective(
                np.arange(n) % n_levels, loss=loss, pairs=Pairs(adjacent=adjacent)
            )
            start = time.perf_counter()
            _, gradient, _ = objective(scores[:n])
            seconds = time.perf_counter() - start
            assert gradient.any()
    assert seconds < 8
