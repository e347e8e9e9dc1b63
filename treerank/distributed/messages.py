"""Messages between workers: JSON, with the memory of arrays after it. Reading one runs no code."""

import json
from collections.abc import Generator
from typing import Any

import numpy as np


def bytes_of(values: np.ndarray) -> np.ndarray:
    """Return the memory of an array as bytes."""
    return values.reshape(-1).view(np.uint8)


def written(value: Any) -> list[np.ndarray]:
    """Return the arrays to send for a value of JSON, tuples, bytes and arrays.

    They are the size of the JSON text, the text, and the memory of each array. What JSON does not
    know is an object in the text with one entry, whose key starts with ``$``.

    Examples
    --------
    >>> [len(part) for part in written({"a": np.zeros(2)})]
    [1, 42, 16]
    """
    arrays: list[np.ndarray] = []
    tree = _pack(value, arrays)
    text = json.dumps([[array.size for array in arrays], tree]).encode()
    return [np.array([len(text)]), np.frombuffer(text, dtype=np.uint8), *arrays]


def incoming() -> Generator[np.ndarray, None, Any]:
    """Yield arrays, each to be filled before the next one is asked for; return what was sent.

    Of a named tuple, that is a plain one.

    Examples
    --------
    >>> def read(message):
    ...     found.append((yield from incoming()))
    >>> message, found = written(("x", b"y", np.arange(2))), []
    >>> for room, part in zip(read(message), [*message, None]):
    ...     room[:] = part
    >>> found
    [('x', b'y', array([0, 1]))]
    """
    size = np.empty(1, dtype=np.int64)
    yield size
    text = np.empty(size[0], dtype=np.uint8)
    yield text
    sizes, tree = json.loads(text.tobytes())
    arrays = [np.empty(each, dtype=np.uint8) for each in sizes]
    yield from arrays
    return _unpack(tree, arrays)


def _pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a value of JSON, and add the memory of its arrays to a list."""
    if isinstance(value, dict):
        return {name: _pack(each, arrays) for name, each in value.items()}
    if isinstance(value, list):
        return [_pack(each, arrays) for each in value]
    if isinstance(value, tuple):
        return {"$tuple": _pack(list(value), arrays)}
    if isinstance(value, np.generic):
        return _pack(value.item(), arrays)
    if isinstance(value, bytes):
        arrays.append(np.frombuffer(value, dtype=np.uint8))
        return {"$bytes": len(arrays) - 1}
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("arrays that workers exchange must hold numbers or texts of one size.")
        arrays.append(bytes_of(np.ascontiguousarray(value)))
        kind = _pack(np.lib.format.dtype_to_descr(value.dtype), arrays)
        return {"$array": [len(arrays) - 1, kind, list(value.shape)]}
    return value


def _unpack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return the value of which ``_pack`` has made a value of JSON."""
    if isinstance(value, list):
        return [_unpack(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$tuple": values}:
            return tuple(_unpack(values, arrays))
        case {"$bytes": number}:
            return arrays[number].tobytes()
        case {"$array": [number, kind, shape]}:
            dtype = np.lib.format.descr_to_dtype(_unpack(kind, arrays))
            return arrays[number].view(dtype).reshape(shape)
    return {name: _unpack(each, arrays) for name, each in value.items()}
