"""Graph of ONNX: nodes and constants, collected one after the other.

Protobuf: messages as bytes, as far as ONNX needs them.

A message is made of fields ``(number, value)``: a whole number, bytes, a text, an array of whole
numbers or another message. It is a list of pieces of bytes, so that messages within messages are
not copied.
"""

from collections.abc import Iterable
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


FLOAT, DOUBLE = 1, 11
_IR_VERSION, _OPSETS = 10, {"": 21, "ai.onnx.ml": 5}
_Attributes = Iterable[tuple[str, Any]]


class Graph:
    """Nodes and constants of a graph from doubles ``X`` to ``scores``."""

    def __init__(self) -> None:
        self._nodes: list[list[bytes]] = []
        self._constants: list[list[bytes]] = []

    def add(self, kind: str, *inputs: Any, target: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output; arrays among the inputs are constants."""
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        return self.add_node(kind, names, attributes.items(), target)

    def add_node(
        self, kind: str, inputs: list[str], attributes: _Attributes, target: str, domain: str = ""
    ) -> str:
        """Add a node with attributes that are made one after the other."""
        target = target or f"{kind.lower()}{len(self._nodes)}"
        names = [(1, name) for name in inputs]
        others = [(5, _attribute(name, value)) for name, value in attributes]
        self._nodes.append(message(*names, (2, target), (4, kind), *others, (7, domain)))
        return target

    def model(self, names: list[str]) -> list[bytes]:
        """Return the pieces of the model of the graph, with the names of the features."""
        nodes, constants = [(1, each) for each in self._nodes], [(5, c) for c in self._constants]
        ends = (11, _documents("X", len(names))), (12, _documents("scores", 1))
        graph = message(*nodes, (2, "treerank"), *constants, *ends)
        opsets = [(8, message((1, domain), (2, version))) for domain, version in _OPSETS.items()]
        entry = message((1, "feature_names"), (2, "\n".join(names)))
        return message((1, _IR_VERSION), (2, "treerank"), (7, graph), *opsets, (14, entry))

    def _constant(self, value: Any) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(tensor(np.asarray(value), name))
        return name


def _attribute(name: str, value: Any) -> list[bytes]:
    """Return an attribute: a whole number, an array of signed ones, or a tensor."""
    if isinstance(value, int):
        return message((1, name), (3, value), (20, 2))
    if value.dtype.kind in "bi":
        return message((1, name), (8, value), (20, 7))
    return message((1, name), (5, tensor(value)), (20, 4))


def _documents(name: str, width: int) -> list[bytes]:
    """Return the type of doubles of shape ("n_documents", width)."""
    shape = message((1, message((2, "n_documents"))), (1, message((1, width))))
    return message((1, name), (2, message((1, message((1, DOUBLE), (2, shape))))))
