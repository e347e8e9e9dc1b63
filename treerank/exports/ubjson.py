"""UBJSON: the binary form of JSON in which XGBoost keeps models, as far as it needs them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

_ARRAYS = {
    "uint8": (b"U", ">u1"),
    "int32": (b"l", ">i4"),
    "int64": (b"L", ">i8"),
    "float32": (b"d", ">f4"),
}


def ubjson(value: Any) -> bytes:
    r"""Return texts, whole numbers, lists, dicts and arrays of numbers as bytes.

    Examples
    --------
    >>> from treerank.forests.ubjson import read_ubjson
    >>> read_ubjson(ubjson({"size": 2, "names": ["a", "b"]}))
    {'size': 2, 'names': ['a', 'b']}
    """
    return b"".join(_parts(value))


def _parts(value: Any) -> list[bytes]:
    if isinstance(value, np.ndarray):
        mark, dtype = _ARRAYS[value.dtype.name]
        return [b"[$" + mark + b"#" + _length(value), value.astype(dtype).tobytes()]
    if isinstance(value, Mapping):
        inner = [part for key, each in value.items() for part in (_text(key), *_parts(each))]
        return [b"{", *inner, b"}"]
    if isinstance(value, list):
        return [b"[#" + _length(value), *(part for each in value for part in _parts(each))]
    return [b"S" + _text(value)] if isinstance(value, str) else [b"L" + _number(value)]


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def _length(value: Any) -> bytes:
    return b"L" + _number(len(value))


def _text(text: str) -> bytes:
    data = text.encode()
    return _length(data) + data
