"""Protobuf: messages as bytes, as far as ONNX needs them.

A message is a list of fields ``(number, value)``: a whole number, bytes, a text, a list of whole
numbers or another message.
"""

from typing import Any

import numpy as np


def message(*fields: tuple[int, Any]) -> bytes:
    r"""Return the bytes of a message.

    Examples
    --------
    >>> message((1, 150), (2, "ab"), (3, [1, 2]))
    b'\x08\x96\x01\x12\x02ab\x1a\x02\x01\x02'
    """
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, list):
        value = b"".join(map(_varint, value))
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    if value < 128:
        return bytes((value,))
    parts = []
    while value >= 128:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


_KINDS = {"float32": 1, "uint8": 2, "int64": 7, "float64": 11}


def tensor(array: np.ndarray, name: str = "") -> bytes:
    r"""Return an array as a ``TensorProto`` of ONNX.

    Examples
    --------
    >>> tensor(np.zeros(1, dtype=np.uint8))
    b'\n\x01\x01\x10\x02J\x01\x00'
    """
    little = array.astype(array.dtype.newbyteorder("<"))
    named = ((8, name),) if name else ()
    return message(
        (1, list(array.shape)), (2, _KINDS[array.dtype.name]), *named, (9, little.tobytes())
    )
