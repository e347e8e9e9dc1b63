"""Keyed random numbers: what a key gives never changes, and looks random in every direction."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import stats

from treerank.numerics.random_keys import (
    _FEW,
    _stream_output,
    log_of,
    uniform,
    uniforms,
)

words = st.integers(0, 2**63 - 1)


@njit
def table(seed, n_iterations, n_documents):
    """Numbers of the keys of one seed."""
    numbers = np.empty((n_iterations, n_documents))
    for iteration in range(n_iterations):
        for document in range(n_documents):
            numbers[iteration, document] = uniform(seed, iteration, document)
    return numbers


def splitmix64(state):
    """Steele, Lea and Flood's generator, as published: a state that steps, and a mixer."""
    wrap = 2**64
    while True:
        state = (state + 0x9E3779B97F4A7C15) % wrap
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % wrap
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % wrap
        yield z ^ (z >> 31)


def test_streams_are_those_of_splitmix64():
    stream = splitmix64(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    outputs = [next(stream) for _ in range(3)]
    assert outputs == published
    assert [int(_stream_output(1234567, index)) for index in range(3)] == published


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ((0, 0, 0), 0.13870941014555427),
        ((7, 3, 2**40), 0.7722278302058304),
        ((2**63 - 1, 5, 1), 0.38359176756078683),
    ],
)
def test_known_keys_keep_their_numbers(key, expected):  # also without a compiler, as CI runs it
    assert uniform(*key) == expected


@given(seed=words, iteration=words, document=words)
def test_numbers_lie_strictly_between_zero_and_one(seed, iteration, document):
    assert 0 < uniform(seed, iteration, document) < 1


@njit
def logs(numbers):
    found = np.empty(len(numbers))
    for i in range(len(numbers)):
        found[i] = log_of(numbers[i])
    return found


def test_logarithms_are_those_of_the_c_library():
    halves = 2.0 ** -np.arange(1.0, 54)
    near_root = np.float64(0.5**0.5) * (1 + np.arange(-3, 4) * 2.0**-52)
    numbers = [halves, 1 - halves, near_root, 2 * near_root, np.linspace(2**-52, 40, 9_999)]
    numbers = np.concatenate([*numbers, [1.0, np.finfo(float).tiny, np.finfo(float).max]])
    expected = np.array([math.log(number) for number in numbers])
    np.testing.assert_allclose(logs(numbers), expected, rtol=2.1 * 2.0**-52, atol=0)
    without_a_compiler = getattr(log_of, "py_func", log_of)
    assert [without_a_compiler(number) for number in numbers] == logs(numbers).tolist()


def test_seeds_are_uniform_too():
    numbers = [uniform(seed, 0, 0) for seed in range(2_000)]
    assert stats.kstest(numbers, "uniform").pvalue > 0.001


@pytest.mark.parametrize("lag", [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)])
def test_neighboring_keys_are_independent(lag):
    numbers = table(3, 200, 200)
    here = numbers[: 200 - lag[0], : 200 - lag[1]].ravel()
    there = numbers[lag[0] :, lag[1] :].ravel()
    counts = np.histogram2d(here, there, bins=10, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 0.001


@given(seed=words, iteration=words, documents=st.lists(words, min_size=1, max_size=5))
def test_few_numbers_are_those_of_their_keys(seed, iteration, documents):
    found = uniforms(seed, iteration, np.array(documents))
    assert found.tolist() == [uniform(seed, iteration, document) for document in documents]


def test_many_numbers_are_those_of_their_keys():
    documents = np.arange(_FEW + 1)
    few = uniforms(5, 7, documents[:_FEW])
    assert uniforms(5, 7, documents).tolist() == [*few, uniform(5, 7, _FEW)]
