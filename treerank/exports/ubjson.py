"""UBJSON: the binary form of JSON in which XGBoost keeps models, as far as it needs them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_ARRAYS = {
    "uint8": (b"U", ">u1"),
    "int32": (b"l", ">i4"),
    "int64": (b"L", ">i8"),
    "float32": (b"d", ">f4"),
}


def ubjson_pieces(value: Any) -> Iterator[bytes]:
    r"""Yield texts, whole numbers, lists, dicts and arrays of numbers as bytes.

    In the place of a value, there may be a function that returns it.

    Examples
    --------
    >>> from treerank.forests.ubjson import read_ubjson
    >>> read_ubjson(b"".join(ubjson_pieces({"size": 2, "names": ["a", lambda: "b"]})))
    {'size': 2, 'names': ['a', 'b']}
    """
    if callable(value):
        yield from ubjson_pieces(value())
    elif isinstance(value, np.ndarray):
        mark, dtype = _ARRAYS[value.dtype.name]
        yield b"[$" + mark + b"#" + _length(value) + value.astype(dtype).tobytes()
    elif isinstance(value, Mapping):
        yield b"{"
        for key, each in value.items():
            yield _text(key)
            yield from ubjson_pieces(each)
        yield b"}"
    elif isinstance(value, list):
        yield b"[#" + _length(value)
        for each in value:
            yield from ubjson_pieces(each)
    else:
        yield b"S" + _text(value) if isinstance(value, str) else b"L" + _number(value)


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def _length(value: Any) -> bytes:
    return b"L" + _number(len(value))


def _text(text: str) -> bytes:
    data = text.encode()
    return _length(data) + data
