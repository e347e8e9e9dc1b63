"""Soft trees as a feature part: trees whose splits are hyperplanes learned by gradient."""

from collections import OrderedDict
from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
import torch

from treerank.checks import check_count, check_number
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.networks import training
from treerank.feature_parts.networks.limits import check_n_weights
from treerank.feature_parts.networks.network_part import NetworkPart
from treerank.feature_parts.networks.soft_tree_layer import SoftTreeLayer
from treerank.files.states import check_state, count
from treerank.parameters import Count, Rule, Size

#: A tree with more levels would not fit into memory.
MOST_LEVELS = 20
Width = Annotated[float, Rule(check_number, above=0, at_most=1e9)]
#: Attributes of a layer from which a model file rebuilds it.
_SHAPE = {"n_trees": count(1), "depth": count(1, at_most=30)}


@estimator
class SoftTrees(NetworkPart):
    """A sum of soft trees, trained end to end.

    What a tree computes is described at
    :class:`~treerank.feature_parts.networks.soft_tree_layer.SoftTreeLayer`. Missing values become
    the mean of their feature, as in every network part.

    Splits start close to all rows (small ``spread``), so that f is smooth at first, and turn in
    training. With a narrow band (small ``gamma``) or many epochs, they fit the training queries
    more closely. Choose both by validation. The conditional computation of the paper, which skips
    subtrees behind splits that are exactly 0 or 1, is not implemented: after training, at most
    6 % of the splits of a row are.

    All other parameters and attributes are as in
    :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    Parameters
    ----------
    n_estimators : int, default=64
        Number of trees.
    depth : int, default=3
        Splits on a path; a tree has ``2**depth`` leaves.
    gamma : float, default=5.0
        Width, in units of the splits' distances, of the band in which a split is soft. The first
        weights are proportional to it, but Adam's steps are ``learning_rate`` long whatever the
        weights are: the wider the band, the slower splits move.
    spread : float, default=0.06
        Standard deviation of the first distances from the splits, in units of gamma. The smaller,
        the smoother f is at first, and the more splits turn.
    n_epochs : int, default=30
        Number of passes over the documents.
    average_weights : bool, default=True
        Whether the weights are averages over all steps, the later the heavier, instead of those of
        the last step. Averages fit the training queries less closely.

    Attributes
    ----------
    network_ : torch.nn.Sequential
        Its ``layer`` is a :class:`~treerank.feature_parts.networks.soft_tree_layer.SoftTreeLayer`.

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
    gamma: Width = 5.0
    spread: Width = 0.06
    n_epochs: Count = 30
    average_weights: bool = True

    def get_state(self) -> dict[str, Any]:
        """Return what ``fit`` has learned: the state of any network, and the shape of the trees."""
        return super().get_state() | {"shape": dict(self._shape)}

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and refuse anything else."""
        self._shape = {name: state["shape"][name] for name in _SHAPE}
        check_state(self._shape, _SHAPE)
        super().set_state(state)
        gamma = float(self.network_.get_buffer("layer.gamma"))
        check_number("gamma", gamma, at_least=float(np.finfo(np.float32).tiny))
        return self

    def _make_trainer(self, objective, device, seed):
        trainer = super()._make_trainer(objective, device, seed)
        if self.average_weights:
            trainer.average = training.averaged(trainer.model)
        return trainer

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        if X_sample is not None:
            n_weights = self.n_estimators * 2**self.depth * (n_features + n_outputs)
            check_n_weights("n_estimators and depth", (self.n_estimators, self.depth), n_weights)
            self._shape = {"n_trees": self.n_estimators, "depth": self.depth}
        layer = SoftTreeLayer(n_features, n_outputs, **self._shape)
        if X_sample is not None:
            layer.gamma.fill_(self.gamma)
            layer.draw(X_sample, self.spread, generator)
        return torch.nn.Sequential(OrderedDict(layer=layer))
