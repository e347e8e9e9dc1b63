"""Protobuf: messages as bytes, as far as ONNX needs them.

A message is made of fields ``(number, value)``: a whole number, bytes, a text, an array of whole
numbers or another message. It is a list of pieces of bytes, so that messages within messages are
not copied.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def message(*fields: tuple[int, Any]) -> list[bytes]:
    r"""Return the pieces of a message.

    Examples
    --------
    >>> b"".join(message((1, 150), (2, "ab"), (3, np.array([1, 300]))))
    b'\x08\x96\x01\x12\x02ab\x1a\x03\x01\xac\x02'
    """
    return [piece for number, value in fields for piece in _field(number, value)]


def _field(number: int, value: Any) -> list[bytes]:
    if isinstance(value, int):
        return [_varints([number << 3, value])]
    if isinstance(value, str):
        value = value.encode()
    elif isinstance(value, np.ndarray):
        value = [_varints(value[i : i + _BLOCK]) for i in range(0, len(value), _BLOCK)]
    pieces = [value] if isinstance(value, bytes) else value
    return [_varints([number << 3 | 2, sum(map(len, pieces))]), *pieces]


def _varints(numbers: ArrayLike) -> bytes:
    """Return whole numbers as groups of seven bits, the lowest first; 128 says that more follow."""
    rest = np.asarray(numbers)
    n_groups = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))
    groups = np.empty((len(rest), n_groups), dtype=np.uint8)
    for i in range(n_groups):
        groups[:, i] = rest & 127 | (rest > 127) * 128
        rest = rest >> 7
    is_needed = np.ones(groups.shape, dtype=bool)
    is_needed[:, 1:] = groups[:, :-1] > 127
    return groups[is_needed].tobytes()


_BLOCK = 4096  # numbers that are written together
_KINDS = {"float32": 1, "uint8": 2, "int64": 7, "float64": 11}


def tensor(array: np.ndarray, name: str = "") -> list[bytes]:
    r"""Return an array as a ``TensorProto`` of ONNX.

    Examples
    --------
    >>> b"".join(tensor(np.zeros(1, dtype=np.uint8)))
    b'\n\x01\x01\x10\x02J\x01\x00'
    """
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    named = ((8, name),) if name else ()
    shape = np.array(array.shape, dtype=np.int64)
    return message((1, shape), (2, _KINDS[array.dtype.name]), *named, (9, little.tobytes()))
