"""Network component: layers of a trained network as arrays, without torch.

To add a layer, write a class that maps the outputs of the layer before it to its own outputs, and
add its export to :mod:`treerank.exports.onnx`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from treerank.feature_parts.linear_component import LinearComponent
from treerank.forests.scoring import doubles

_BLOCK = 1024  # documents computed at a time, which bounds the memory


#: Activation functions, by name.
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": expit,
    "tanh": np.tanh,
}


@dataclass(frozen=True, eq=False)
class Function:
    """An activation function, by its name in ``FUNCTIONS``."""

    name: str

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs for rows of inputs."""
        return FUNCTIONS[self.name](x)


@dataclass(frozen=True, eq=False)
class Affine:
    """Affine layer: ``x @ weight.T + bias``.

    Attributes
    ----------
    weight : ndarray of shape (n_outputs, n_inputs)
        Weights.
    bias : ndarray of shape (n_outputs,)
        Bias.
    """

    weight: np.ndarray
    bias: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs for rows of inputs."""
        return x @ self.weight.T + self.bias


@dataclass(frozen=True, eq=False)
class Products:
    """Layer of products of inputs: all inputs, then products of two, three and more of them.

    Attributes
    ----------
    pairs : tuple of ndarray of shape (2, n_products)
        One array for each number of factors from 2 on. A product is one of the products of one
        factor less, whose index is in the first row, times an input, whose index is in the second
        row.
    """

    pairs: tuple[np.ndarray, ...]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs for rows of inputs."""
        powers = [x]
        for shorter, last in self.pairs:
            powers.append(powers[-1][:, shorter] * x[:, last])
        return np.concatenate(powers, axis=1)


@dataclass(frozen=True, eq=False)
class SoftSplits:
    """Layer of soft trees, see :mod:`treerank.feature_parts.networks.soft_tree_layer`.

    Attributes
    ----------
    weight : ndarray of shape (n_trees, n_splits, n_features)
        Normals of the hyperplanes.
    bias : ndarray of shape (n_trees, n_splits)
        Offsets of the hyperplanes.
    leaf : ndarray of shape (n_trees, n_leaves, n_outputs)
        Values of the leaves.
    gamma : float
        Width of the band in which a split is soft.
    """

    weight: np.ndarray
    bias: np.ndarray
    leaf: np.ndarray
    gamma: float

    @property
    def n_levels(self) -> int:
        """Number of splits on a path."""
        return int(self.leaf.shape[1]).bit_length() - 1

    def splits_of(self, level: int) -> slice:
        """Return the slice of the splits of a level; level 0 is the root."""
        return slice(2**level - 1, 2 ** (level + 1) - 1)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs for rows of inputs."""
        n_trees, n_splits, n_features = self.weight.shape
        distance = x @ self.weight.reshape(-1, n_features).T + self.bias.ravel()
        u = np.clip(distance.reshape(-1, n_trees, n_splits) * (1 / self.gamma) + 0.5, 0, 1)
        left = u * u * (3 - 2 * u)
        reach = np.ones((len(x), n_trees, 1))
        for level in range(self.n_levels):
            goes_left = reach * left[:, :, self.splits_of(level)]
            reach = np.concatenate([goes_left, reach - goes_left], axis=2)
        return reach.reshape(len(x), -1) @ self.leaf.reshape(-1, self.leaf.shape[2])


Layer = Function | Affine | Products | SoftSplits


@dataclass(frozen=True, eq=False)
class Network:
    """Layers from standardized features to outputs, and the weights of the outputs in the score.

    Attributes
    ----------
    mean, inverse : ndarray of shape (n_features,)
        Each feature is ``(x - mean) * inverse``; a missing value becomes 0 after that.
    layers : tuple of Layer
        Functions that are applied one after the other, in double precision.
    weight : ndarray of shape (n_outputs,)
        Weight of each output, after it is rounded to single precision.

    Examples
    --------
    >>> affine = Affine(np.array([[1.0, 2.0]]), np.array([0.5]))
    >>> network = Network(np.zeros(2), np.ones(2), (affine, Function("relu")), np.array([10.0]))
    >>> network.scores(np.array([[1.0, 1.0], [-3.0, np.nan]]))
    array([35.,  0.])
    """

    mean: np.ndarray
    inverse: np.ndarray
    layers: tuple[Layer, ...]
    weight: np.ndarray

    def as_linear(self) -> LinearComponent | None:
        """Return the network as a linear model; None if it is not one, or has a constant."""
        if not all(isinstance(layer, Affine) for layer in self.layers):
            return None
        constant = self._outputs(np.zeros((1, len(self.mean))))[0] @ self.weight
        if constant != 0:
            return None
        coef = (self._outputs(np.eye(len(self.mean))) @ self.weight) * self.inverse
        return LinearComponent.centered(coef, self.mean)

    def scaled(self, factor: float) -> "Network":
        """Return the network with its output weights multiplied by a factor."""
        return replace(self, weight=self.weight * factor)

    def scores(self, X: Any) -> np.ndarray:
        """Return the score of each document."""
        scores = np.empty(X.shape[0])
        for begin in range(0, len(scores), _BLOCK):
            rows = (doubles(X, begin, begin + _BLOCK) - self.mean) * self.inverse
            outputs = self._outputs(np.where(np.isnan(rows), 0.0, rows))
            outputs = outputs.astype(np.float32).astype(np.float64)
            scores[begin : begin + _BLOCK] = (outputs * self.weight).sum(axis=1)
        return scores

    def _outputs(self, standard: np.ndarray) -> np.ndarray:
        """Return the outputs for standardized features."""
        for layer in self.layers:
            standard = layer(standard)
        return standard
