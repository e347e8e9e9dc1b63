"""Layers of torch as layers in neutral form.

A module without a rule here has a method ``neutral_layers()`` that returns its layers.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from treerank.checks import quote
from treerank.feature_parts.network_component import Affine, Function, Layer


def layers_of(module: nn.Module) -> list[Layer]:
    """Return the layers of a trained network as arrays; refuse modules without a rule here.

    Examples
    --------
    >>> [type(layer).__name__ for layer in layers_of(nn.Sequential(nn.Linear(2, 1), nn.Tanh()))]
    ['Affine', 'Function']
    """
    if hasattr(module, "neutral_layers"):
        return list(cast(Any, module).neutral_layers())
    if type(module) not in _RULES:
        raise ValueError(f"network_ must be of layers that can be exported; got {quote(module)}.")
    return _RULES[type(module)](module)


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor as an array of doubles."""
    numbers: np.ndarray = tensor.detach().cpu().double().numpy()
    return numbers


def _linear(module: Any) -> list[Layer]:
    weight = array_of(module.weight)
    return [Affine(weight, np.zeros(len(weight)) if module.bias is None else array_of(module.bias))]


_RULES: dict[type, Callable[[Any], list[Layer]]] = {
    nn.Dropout: lambda module: [],
    nn.Identity: lambda module: [],
    nn.Linear: _linear,
    nn.ReLU: lambda module: [Function("relu")],
    nn.Sequential: lambda module: [layer for child in module for layer in layers_of(child)],
    nn.Sigmoid: lambda module: [Function("sigmoid")],
    nn.Tanh: lambda module: [Function("tanh")],
}
