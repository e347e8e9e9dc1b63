"""Bits of numbers: kernels and Python see the same, and every number comes back."""

import struct

import numpy as np
import pytest

from treerank.numerics.bits import bits_of, number_of
from treerank.numerics.compiling import njit

NUMBERS = [0.0, -0.0, 1.0, -2.5, 5e-324, 1e308, np.inf, -np.inf]
compiled_bits = njit(lambda number: bits_of(number))
compiled_number = njit(lambda bits: number_of(bits))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_bits_are_those_in_memory(number):
    (expected,) = struct.unpack("<q", struct.pack("<d", number))
    assert bits_of(number) == compiled_bits(number) == expected
    for back in (number_of(expected), compiled_number(expected)):
        assert struct.pack("<d", back) == struct.pack("<d", number)


@pytest.mark.parametrize("number", [np.nan, -np.nan])
def test_a_nan_keeps_its_sign(number):
    assert compiled_bits(number) == bits_of(number)
    assert np.signbit(compiled_number(bits_of(number))) == np.signbit(number)
