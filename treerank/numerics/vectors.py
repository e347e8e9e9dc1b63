"""Vectors of numbers in kernels, by instructions of LLVM for which numba has no words."""

from typing import Any

import numpy as np
from llvmlite import ir

_LINE = 8  # doubles of a cache line


def aligned(n_rows: int, n_columns: int) -> np.ndarray:
    """Return an empty matrix of doubles whose first one begins a cache line.

    A vector that lies in two lines takes twice as long to load; NumPy aligns to quarters of them.
    """
    memory = np.empty(n_rows * n_columns + _LINE)
    first = -(memory.ctypes.data // memory.itemsize) % _LINE
    return memory[first : first + n_rows * n_columns].reshape(n_rows, n_columns)


def copies(builder: Any, value: Any, n: int) -> Any:
    """Return an LLVM vector of ``n`` copies of a value, where an intrinsic of numba is built."""
    kind, index = ir.VectorType(value.type, n), ir.IntType(32)
    first = builder.insert_element(kind(ir.Undefined), value, index(0))
    return builder.shuffle_vector(first, first, ir.VectorType(index, n)(None))
