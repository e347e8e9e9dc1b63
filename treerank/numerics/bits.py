"""The bits of numbers of double precision, in kernels.

Each conversion is one instruction, and none that must be compiled as a function of its own, as
numba's ``x.view(np.int64)`` is, which takes as long as a small kernel.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable


def bits_of(number: Any) -> Any:
    """Return the 64 bits of a float64 as an int64.

    Examples
    --------
    >>> hex(bits_of(np.float64(1.0)))
    '0x3ff0000000000000'
    """
    return np.float64(number).view(np.int64)


def number_of(bits: Any) -> Any:
    """Return the float64 that has the 64 bits of an int64.

    Examples
    --------
    >>> float(number_of(bits_of(np.float64(-2.5))))
    -2.5
    """
    return np.int64(bits).view(np.float64)


@type_callable(bits_of)
def _type_of_bits(context):
    return lambda number: types.int64 if number == types.float64 else None


@type_callable(number_of)
def _type_of_number(context):
    return lambda bits: types.float64 if bits == types.int64 else None


@lower_builtin(bits_of, types.float64)
def _compile_bits(context, builder, signature, arguments):
    return builder.bitcast(arguments[0], ir.IntType(64))


@lower_builtin(number_of, types.int64)
def _compile_number(context, builder, signature, arguments):
    return builder.bitcast(arguments[0], ir.DoubleType())
