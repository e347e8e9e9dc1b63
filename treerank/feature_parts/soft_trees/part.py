"""Soft trees as a feature part: trees whose splits are hyperplanes learned by gradient."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Self

import numpy as np
import torch

from treerank.checks import check_count, check_number
from treerank.feature_parts.networks.layers import array_of, layers_of
from treerank.feature_parts.networks.limits import check_n_weights
from treerank.feature_parts.networks.network_part import NetworkPart
from treerank.feature_parts.soft_trees.layer import SoftTreeLayer
from treerank.files.states import check_state, count, flag
from treerank.parameters import Rule, Size
from treerank.terms.network import Layer, SoftSplits

#: A tree of more levels would not fit into memory.
MOST_LEVELS = 20
Width = Annotated[float, Rule(check_number, above=0, at_most=1e9)]
#: Attributes of a layer that a model file needs to make the layer again.
_SHAPE = {"n_trees": count(1), "depth": count(1, at_most=30), "oblivious": flag}


class SoftTreeNetwork(torch.nn.Module):
    """Soft trees, a normalization in front of them, and a gamma that falls from epoch to epoch.

    Parameters
    ----------
    layer : SoftTreeLayer
        The trees.
    batch_norm : bool
        Whether inputs are normalized batch by batch.
    gamma, final_gamma : float
        Width of the soft band in the first and in the last epoch; it falls geometrically.

    Examples
    --------
    >>> network = SoftTreeNetwork(SoftTreeLayer(3), batch_norm=False, gamma=1.0, final_gamma=0.01)
    >>> network.start_epoch(1, n_epochs=3)
    >>> round(float(network.layer.gamma), 3)
    0.1
    """

    def __init__(self, layer: SoftTreeLayer, *, batch_norm: bool, gamma: float, final_gamma: float):
        super().__init__()
        features = layer.in_features
        self.normalization = (
            torch.nn.BatchNorm1d(features, affine=False) if batch_norm else torch.nn.Identity()
        )
        self.layer = layer
        self.gamma, self.final_gamma = gamma, final_gamma

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return f(x)."""
        return self.layer(self.normalization(x))

    def neutral_layers(self) -> list[Layer]:
        """Return the layers in neutral form."""
        layer = self.layer
        weight, bias, leaf = map(array_of, (layer.weight, layer.bias, layer.leaf))
        splits = SoftSplits(weight, bias, leaf, float(layer.gamma))
        return [*layers_of(self.normalization), splits]

    def start_epoch(self, epoch: int, n_epochs: int) -> None:
        """Set the gamma of an epoch, counted from 0."""
        time = min(1.0, epoch / max(1, n_epochs - 1))
        self.layer.set_gamma(self.gamma * (self.final_gamma / self.gamma) ** time)


@dataclass(eq=False, repr=False)
class SoftTrees(NetworkPart):
    """A sum of soft trees, trained end to end.

    What a tree computes is described at
    :class:`~treerank.feature_parts.soft_trees.layer.SoftTreeLayer`. Missing values become the mean
    of their feature, as in every network part.

    With a narrow band (small ``gamma``), splits move more in training and fit the training queries
    more closely. Choose ``gamma`` by validation.

    All other parameters and attributes are those of
    :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    Parameters
    ----------
    n_estimators : int, default=64
        Number of trees.
    depth : int, default=3
        Splits on a path; a tree has ``2**depth`` leaves.
    gamma : float, default=50.0
        Width, in units of the splits' distances, of the band in which a split is soft. The first
        weights are proportional to it, but Adam's steps are ``learning_rate`` long whatever the
        weights are: the wider the band, the slower splits move.
    final_gamma : float, default=None
        Width in the last epoch, which gamma approaches geometrically; None keeps gamma. The trees
        become hard where it is much smaller than gamma.
    oblivious : bool, default=False
        Whether a tree has one split per level instead of one per node.
    batch_norm : bool, default=False
        Whether features are normalized batch by batch, too, after ``standardize``.
    spread : float, default=0.2
        Standard deviation of the first distances from the splits, in units of gamma. The smaller,
        the smoother f is at first.

    Attributes
    ----------
    network_ : SoftTreeNetwork
        Its ``layer`` is the :class:`~treerank.feature_parts.soft_trees.layer.SoftTreeLayer`.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.objectives import make_objective
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> objective = make_objective(X[:, 0] * X[:, 1] > 0, np.repeat([0, 1, 2], 20))
    >>> part = SoftTrees(8, depth=3, n_epochs=50, learning_rate=0.02, random_state=0)
    >>> part = part.fit(X, objective)
    >>> part.transform(np.array([[1.0, 1.0], [1.0, -1.0]]))[:, 0].argmax()
    np.int64(0)
    """

    n_estimators: Size = 64
    _: KW_ONLY
    depth: Annotated[int, Rule(check_count, at_most=MOST_LEVELS)] = 3
    gamma: Width = 50.0
    final_gamma: Width | None = None
    oblivious: bool = False
    batch_norm: bool = False
    spread: Width = 0.2

    network_: SoftTreeNetwork = field(init=False)

    def get_state(self) -> dict[str, Any]:
        """Return what ``fit`` has learned: the state of any network, and the shape of the trees."""
        return super().get_state() | {"shape": self._shape}

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and refuse anything else."""
        check_state(state["shape"], _SHAPE)
        self._shape = state["shape"]
        super().set_state(state)
        gamma = float(self.network_.layer.gamma)
        check_number("gamma", gamma, at_least=float(np.finfo(np.float32).tiny))
        return self

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        if X_sample is None:
            layer = SoftTreeLayer(n_features, n_outputs, **self._shape)
        else:
            n_weights = self.n_estimators * 2**self.depth * (n_features + n_outputs)
            check_n_weights("n_estimators and depth", (self.n_estimators, self.depth), n_weights)
            options: dict[str, Any] = {"oblivious": self.oblivious, "gamma": self.gamma}
            options |= {"n_trees": self.n_estimators, "depth": self.depth}
            layer = SoftTreeLayer(n_features, n_outputs, **options)
            layer.reset_parameters(generator)
            layer.place_splits(X_sample, spread=self.spread, generator=generator)
        self._shape = {name: getattr(layer, name) for name in _SHAPE}
        final_gamma = self.gamma if self.final_gamma is None else self.final_gamma
        gammas = {"gamma": self.gamma, "final_gamma": final_gamma}
        return SoftTreeNetwork(layer, batch_norm=self.batch_norm, **gammas)
