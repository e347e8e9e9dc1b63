"""Networks and lines as nodes of an ONNX graph."""

from typing import Any

import numpy as np

from treerank.exports.onnx_graph import DOUBLE, FLOAT, Graph
from treerank.terms.linear import LinearTerm
from treerank.terms.network import Affine, Function, Network, Products, Scale, SoftSplits


def add_line(graph: Graph, line: LinearTerm) -> str:
    """Add what each feature of a line adds to the score; return columns."""
    features = line.features
    values = graph.add("Gather", "X", features, axis=1)
    products = graph.add("Mul", values, line.coef[features])
    shifted = graph.add("Add", products, line.offset[features])
    return graph.add("Where", graph.add("IsNaN", values), np.float64(0), shifted)


def add_network(graph: Graph, network: Network) -> str:
    """Add a network; return what each of its outputs adds to the score, as columns."""
    shifted = graph.add("Sub", "X", network.mean)
    standard = graph.add("Mul", shifted, network.inverse)
    values = graph.add("Where", graph.add("IsNaN", "X"), np.float64(0), standard)
    for layer in network.layers:
        values = _LAYERS[type(layer)](graph, values, layer)
    rounded = graph.add("Cast", graph.add("Cast", values, to=FLOAT), to=DOUBLE)
    return graph.add("Mul", rounded, network.weight)


def _function(graph: Graph, values: str, layer: Function) -> str:
    return graph.add(layer.name.capitalize(), values)


def _affine(graph: Graph, values: str, layer: Affine) -> str:
    products = graph.add("MatMul", values, np.ascontiguousarray(layer.weight.T))
    return graph.add("Add", products, layer.bias)


def _scale(graph: Graph, values: str, layer: Scale) -> str:
    return graph.add("Add", graph.add("Mul", values, layer.factor), layer.shift)


def _products(graph: Graph, values: str, layer: Products) -> str:
    powers = [values]
    for shorter, last in layer.pairs:
        factors = [
            graph.add("Gather", source, places.astype(np.int64), axis=1)
            for source, places in ((powers[-1], shorter), (values, last))
        ]
        powers.append(graph.add("Mul", *factors))
    return graph.add("Concat", *powers, axis=1)


def _soft_splits(graph: Graph, values: str, layer: SoftSplits) -> str:
    n_trees, n_splits, n_features = layer.weight.shape
    flat = Affine(layer.weight.reshape(-1, n_features), layer.bias.ravel())
    u = graph.add("Mul", _affine(graph, values, flat), np.float64(1 / layer.gamma))
    u = graph.add("Add", u, np.float64(0.5))
    u = graph.add("Clip", u, np.float64(0), np.float64(1))
    slope = graph.add("Sub", np.float64(3), graph.add("Mul", u, np.float64(2)))
    left = graph.add("Mul", graph.add("Mul", u, u), slope)
    left = graph.add("Reshape", left, np.array([-1, n_trees, n_splits]))
    reach = ""
    for level in range(layer.n_levels):
        places = np.arange(n_splits)[layer.splits_of(level)]
        here = graph.add("Gather", left, places, axis=2)
        goes_left = graph.add("Mul", reach, here) if reach else here
        rest = graph.add("Sub", reach or np.ones((1, 1, 1)), goes_left)
        reach = graph.add("Concat", goes_left, rest, axis=2)
    n_leaves, n_outputs = layer.leaf.shape[1:]
    arriving = graph.add("Reshape", reach, np.array([-1, n_trees * n_leaves]))
    return graph.add("MatMul", arriving, layer.leaf.reshape(-1, n_outputs))


_LAYERS: dict[type, Any] = {
    Affine: _affine,
    Function: _function,
    Products: _products,
    Scale: _scale,
    SoftSplits: _soft_splits,
}
