"""UBJSON: the binary form of JSON in which XGBoost stores models, read without trust.

The reader takes only what XGBoost writes: objects, arrays, typed arrays, texts, numbers and
constants. It compares every length with the number of remaining bytes before it allocates memory,
and the number of values with the number of bytes. So the memory is bounded by the size of the file.
"""

import re
from typing import Any, NoReturn

import numpy as np

_MOST_DEPTH = 32
#: Least number of bytes for each value, on average: an empty text or array has more.
_BYTES_PER_VALUE = 8
_FEW_VALUES = 256
_NUMBERS = {"i": "i1", "U": "u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}


def is_ubjson(data: bytes) -> bool:
    """Return whether some bytes begin like an object of UBJSON, and not like one of JSON.

    Examples
    --------
    >>> is_ubjson(b'{L'), is_ubjson(b'{ "depth": 6}')
    (True, False)
    """
    return data.startswith(b"{") and not re.match(rb'\{\s*["}]', data[:64])


def read_ubjson(data: bytes) -> Any:
    r"""Return the value that some bytes hold, with typed arrays as ndarrays.

    Examples
    --------
    >>> read_ubjson(b"{L" + (5).to_bytes(8, "big") + b"depthU\x06}")
    {'depth': 6}
    """
    reader = _Reader(bytes(data))
    value = reader.value(0)
    if reader.position != len(data):
        reader.refuse("nothing after the first value")
    return value


class _Reader:
    """A parser: some bytes, and the position up to which they have been read."""

    def __init__(self, data: bytes):
        self.data, self.position = data, 0
        self.n_values, self.most_values = 0, _FEW_VALUES + len(data) // _BYTES_PER_VALUE

    def refuse(self, rule: str) -> NoReturn:
        raise ValueError(f"A model of XGBoost must have {rule}, at byte {self.position}.")

    def value(self, depth: int) -> Any:
        self.n_values += 1
        if depth > _MOST_DEPTH or self.n_values > self.most_values:
            self.refuse("fewer values within values, and fewer values for its size")
        marker = self.take(1).decode("latin-1")
        if marker == "{":
            return self.object(depth)
        if marker == "[":
            return self.array(depth)
        if marker == "S":
            return self.text()
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        return self.numbers(marker, 1).tolist()[0]

    def object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not self.skips("}"):
            name = self.text()
            if name in values:
                self.refuse("no name twice in an object")
            values[name] = self.value(depth + 1)
        return values

    def array(self, depth: int) -> Any:
        if self.skips("$"):
            marker = self.take(1).decode("latin-1")
            return self.numbers(marker, self.length_after("#"))
        if self.skips("#"):
            return [self.value(depth + 1) for _ in range(self.length_after(""))]
        values = []
        while not self.skips("]"):
            values.append(self.value(depth + 1))
        return values

    def numbers(self, marker: str, n: int) -> np.ndarray:
        if marker not in _NUMBERS:
            self.refuse("values of known types")
        dtype = np.dtype(_NUMBERS[marker])
        array = np.frombuffer(self.take(n * dtype.itemsize), dtype=dtype)
        return array.astype(dtype.newbyteorder("="))

    def text(self) -> str:
        try:
            return self.take(self.length_after("")).decode("utf-8")
        except UnicodeDecodeError:
            self.refuse("texts in UTF-8")

    def length_after(self, sign: str) -> int:
        if self.take(len(sign) + 1) != sign.encode() + b"L":
            self.refuse("lengths of 64 bits")
        length = int.from_bytes(self.take(8), "big", signed=True)
        if length < 0:
            self.refuse("no negative lengths")
        return length

    def skips(self, sign: str) -> bool:
        """Move past ``sign`` if it comes next; return whether it did."""
        is_next = self.data[self.position : self.position + 1] == sign.encode()
        self.position += is_next
        return is_next

    def take(self, n: int) -> bytes:
        if not 0 <= n <= len(self.data) - self.position:
            self.refuse("all bytes that its lengths announce")
        self.position += n
        return self.data[self.position - n : self.position]
