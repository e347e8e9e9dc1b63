"""Graph of ONNX: nodes and constants, collected one after the other."""

from collections.abc import Iterable
from itertools import starmap
from typing import Any

import numpy as np

from treerank.exports.protobuf import message, tensor

FLOAT, DOUBLE = 1, 11
_IR_VERSION, _OPSET, _ML_OPSET = 10, 21, 5
_Attributes = Iterable[tuple[str, Any]]


class Graph:
    """Nodes and constants of a graph from doubles ``X`` to ``scores``."""

    def __init__(self) -> None:
        self._nodes: list[list[bytes]] = []
        self._constants: list[list[bytes]] = []

    def add(self, kind: str, *inputs: Any, target: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output; arrays among the inputs are constants."""
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        return self._add_node(kind, names, target, attributes.items())

    def add_trees(self, values: str, attributes: _Attributes, target: str = "") -> str:
        """Add a ``TreeEnsemble`` and return the name of its output."""
        return self._add_node("TreeEnsemble", [values], target, attributes, "ai.onnx.ml")

    def _add_node(
        self, kind: str, names: list[str], target: str, attributes: _Attributes, domain: str = ""
    ) -> str:
        target = target or f"{kind.lower()}{len(self._nodes)}"
        self._nodes.append(
            message(
                *((1, name) for name in names),
                (2, target),
                (4, kind),
                *((5, each) for each in starmap(_attribute, attributes)),
                (7, domain),
            )
        )
        return target

    def model(self, names: list[str]) -> list[bytes]:
        """Return the pieces of the model of the graph, with the names of the features."""
        graph = message(
            *((1, node) for node in self._nodes),
            (2, "treerank"),
            *((5, constant) for constant in self._constants),
            (11, _documents("X", len(names))),
            (12, _documents("scores", 1)),
        )
        opsets = [message((1, ""), (2, _OPSET)), message((1, "ai.onnx.ml"), (2, _ML_OPSET))]
        entry = message((1, "feature_names"), (2, "\n".join(names)))
        return message(
            (1, _IR_VERSION),
            (2, "treerank"),
            (7, graph),
            *((8, each) for each in opsets),
            (14, entry),
        )

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
