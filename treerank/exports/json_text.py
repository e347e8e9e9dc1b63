"""JSON in pieces, so that large documents take little memory."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

_BLOCK = 4096  # numbers that become a text together


def json_pieces(value: Any) -> Iterator[str]:
    """Yield a document as JSON.

    Parameters
    ----------
    value : dict, ndarray, iterator over str, or what ``json`` takes
        Arrays are lists of numbers, where infinite ones are the texts "inf" and "-inf". The texts
        of an iterator are JSON already; they become a list.

    Examples
    --------
    >>> ends = np.array([0.5, np.inf])
    >>> "".join(json_pieces({"names": ["a"], "ends": ends, "trees": iter(["{}", "[2]"])}))
    '{"names": ["a"], "ends": [0.5, "inf"], "trees": [{}, [2]]}'
    """
    if isinstance(value, Mapping):
        yield "{"
        for i, (name, each) in enumerate(value.items()):
            yield f"{', ' * (i > 0)}{json.dumps(name)}: "
            yield from json_pieces(each)
        yield "}"
    elif isinstance(value, np.ndarray | Iterator):
        yield "["
        yield from separated(_blocks(value) if isinstance(value, np.ndarray) else value, ", ")
        yield "]"
    else:
        yield json.dumps(value)


def separated(pieces: Iterable[str], between: str) -> Iterator[str]:
    """Yield pieces with a text between any two of them.

    Examples
    --------
    >>> "".join(separated("abc", ", "))
    'a, b, c'
    """
    for i, piece in enumerate(pieces):
        if i:
            yield between
        yield piece


def _blocks(array: np.ndarray) -> Iterator[str]:
    for begin in range(0, len(array), _BLOCK):
        block = array[begin : begin + _BLOCK]
        numbers = block.tolist()
        if array.dtype == bool or not np.isfinite(block).all():
            texts = [each if math.isfinite(each) else str(each) for each in numbers]
            yield json.dumps(texts)[1:-1]
        elif block.tobytes() == bytes(block.nbytes):  # zeros, repeated, take less time
            yield ", ".join([repr(numbers[0])] * len(numbers))
        else:
            yield repr(numbers)[1:-1]  # takes half the time of json
