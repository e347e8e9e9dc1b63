"""Graph of ONNX: nodes and constants, collected one after the other."""

import json
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
_IR_VERSION, _OPSETS = 10, {"": 21, "ai.onnx.ml": 5}


class Graph:
    """An ONNX graph under construction, from the features ``X`` to columns of scores.

    ``add`` adds a node and returns the name of its output; ``model`` returns the finished file. All
    numbers are doubles.
    """

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def add(
        self, kind: str, *inputs: Any, target: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add a node of the operator ``kind``, and return the name of its output.

        Inputs are names of outputs, or arrays, which become constants. ``target`` is the name of
        the output, by default a new one, and ``domain`` is the domain of the operator.
        """
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        target = target or f"{kind.lower()}{len(self._nodes)}"
        values = {name: _attribute(value) for name, value in attributes.items()}
        self._nodes.append(helper.make_node(kind, names, [target], domain=domain, **values))
        return target

    def model(
        self, names: list[str], outputs: list[str], categories: dict[str, list[Any]]
    ) -> bytes:
        """Return the file of the model.

        ``names`` are the feature names, ``outputs`` the output names, and ``categories``
        the categories by name of the feature.
        """
        X, *columns = (
            helper.make_tensor_value_info(name, DOUBLE, ["n_documents", width])
            for name, width in [("X", len(names)), *((output, 1) for output in outputs)]
        )
        graph = helper.make_graph(self._nodes, "treerank", [X], columns, self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        about: dict[str, Any] = {"producer_name": "treerank", "ir_version": _IR_VERSION}
        model = helper.make_model(graph, opset_imports=opsets, **about)
        properties = {"feature_names": "\n".join(names)}
        if categories:
            properties["categories"] = json.dumps(categories, ensure_ascii=False)
        helper.set_model_props(model, properties)
        return bytes(model.SerializeToString())

    def _constant(self, value: Any) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def _attribute(value: Any) -> Any:
    """Return an attribute as ONNX takes it: a number, a list of whole numbers, or a tensor.

    Arrays of signed whole numbers or booleans become lists, other arrays tensors.
    """
    if isinstance(value, int):
        return value
    is_list = value.dtype.kind in "bi"
    return value.astype(np.int64).tolist() if is_list else numpy_helper.from_array(value)
