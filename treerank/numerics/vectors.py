"""Vectors of numbers in kernels, by instructions of LLVM for which numba has no words."""

from math import prod
from typing import Any

import numpy as np
from llvmlite import ir

_LINE = 64  # bytes of a cache line


def aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Return an empty array that begins with a cache line.

    A vector that lies in two lines takes twice as long to load; NumPy aligns to quarters of them.

    Examples
    --------
    >>> aligned((3, 8)).ctypes.data % 64
    0
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + _LINE, dtype=np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype).reshape(shape)


def copies(builder: Any, value: Any, n: int) -> Any:
    """Return an LLVM vector of ``n`` copies of a value, where an intrinsic of numba is built."""
    kind, index = ir.VectorType(value.type, n), ir.IntType(32)
    first = builder.insert_element(kind(ir.Undefined), value, index(0))
    return builder.shuffle_vector(first, first, ir.VectorType(index, n)(None))
