"""Solr: lines and networks as its ``LinearModel`` and ``NeuralNetworkModel``, JSON documents.

Features are shifted and scaled by a ``StandardNormalizer`` before. Solr computes floats, adds one
product after the other, and takes a missing value as 0.
"""

import json
from typing import Any

import numpy as np

from treerank.exports.format import Lone
from treerank.terms.linear import LinearTerm
from treerank.terms.network import FUNCTIONS, Affine, Function, Network

_PACKAGE = "org.apache.solr.ltr"
#: Where Solr computes a function of a float, and where it computes one of a double.
_IN_DOUBLE = {"sigmoid", "tanh"}


def write_line(line: LinearTerm, names: list[str]) -> str:
    """Return the model of a line as JSON."""
    kept = line.features
    centers, chosen = line.center[kept], [names[j] for j in kept.tolist()]
    weights = dict(zip(chosen, line.coef[kept].tolist(), strict=True))
    return _model("LinearModel", chosen, centers, np.ones(len(kept)), {"weights": weights})


def line_scores(line: LinearTerm, X: np.ndarray) -> np.ndarray:
    """Return the sum of products."""
    kept = line.features
    weight, rows = _single(line.coef[kept]), _normalized(X[:, kept], line.center[kept], 1.0)
    return _added(np.zeros(len(X), dtype=np.float32), weight, rows).astype(np.float64)


def write_network(network: Network, names: list[str]) -> str:
    """Return the model of a network as JSON."""
    layers = [
        {"matrix": affine.weight.tolist(), "bias": affine.bias.tolist(), "activation": function}
        for affine, function in _layers(network)
    ]
    return _model(
        "NeuralNetworkModel", names, network.mean, 1 / network.inverse, {"layers": layers}
    )


def network_scores(network: Network, X: np.ndarray) -> np.ndarray:
    """Return the outputs of the last layer, up to the last bit of a function."""
    values = _normalized(X, network.mean, 1 / network.inverse)
    for affine, function in _layers(network):
        weight, bias = _single(affine.weight), _single(affine.bias)
        units = [_added(np.full(len(X), bias[i]), weight[i], values) for i in range(len(weight))]
        values = np.stack(units, axis=1)
        if function != "identity":
            wide = values.astype(np.float64) if function in _IN_DOUBLE else values
            values = FUNCTIONS[function](wide).astype(np.float32)
    return values[:, 0].astype(np.float64)


def _model(
    kind: str, names: list[str], average: np.ndarray, deviation: np.ndarray, params: Any
) -> str:
    norms = [
        {
            "class": f"{_PACKAGE}.norm.StandardNormalizer",
            "params": {"avg": repr(shift), "std": repr(scale)},
        }
        for shift, scale in zip(average.tolist(), deviation.tolist(), strict=True)
    ]
    features = [{"name": name, "norm": norm} for name, norm in zip(names, norms, strict=True)]
    whole = {"class": f"{_PACKAGE}.model.{kind}", "name": "treerank"}
    return json.dumps(whole | {"features": features, "params": params})


def _layers(network: Network) -> list[tuple[Affine, str]]:
    """Return weights and names of functions; refuse other layers.

    The weights of the outputs are the last layer, or part of it.
    """
    found: list[tuple[Affine, str]] = []
    for layer in (*network.layers, Affine(network.weight[None], np.zeros(1))):
        if isinstance(layer, Affine):
            if found and found[-1][1] == "identity":
                last = found.pop()[0]
                layer = Affine(layer.weight @ last.weight, layer.weight @ last.bias + layer.bias)
            found.append((layer, "identity"))
        elif isinstance(layer, Function) and found and found[-1][1] == "identity":
            found[-1] = found[-1][0], layer.name
        else:
            name = type(layer).__name__
            raise ValueError(f"format 'solr' has no words for a network with a layer {name} there.")
    return found


def _single(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.float32)


def _normalized(X: np.ndarray, average: np.ndarray, deviation: Any) -> np.ndarray:
    return (_single(X) - _single(average)) / np.asarray(deviation).astype(np.float32)


def _added(total: np.ndarray, weight: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Add products of weights and columns, one after the other."""
    for j in range(len(weight)):
        total = total + weight[j] * values[:, j]
    return total


LONE = {"line": Lone(write_line, line_scores), "network": Lone(write_network, network_scores)}
