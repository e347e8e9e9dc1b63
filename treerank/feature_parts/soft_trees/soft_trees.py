"""Soft trees: trees whose splits are hyperplanes learned by gradient, as a feature part."""

import copy
from numbers import Real

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_choice, check_count, check_number
from treerank.feature_parts.networks.network_part import NetworkPart
from treerank.feature_parts.networks.training import one_thread
from treerank.feature_parts.rows import Rows
from treerank.feature_parts.soft_trees.soft_tree_conditional import (
    conditional_outputs,
    conditional_pays,
)
from treerank.feature_parts.soft_trees.soft_tree_layer import SoftTreeLayer
from treerank.feature_parts.soft_trees.soft_tree_start import start_layer

#: Rows that tell whether conditional evaluation pays, and rows that it takes at a time.
_SAMPLE, _BLOCK = 256, 4096
_CONDITIONAL = ("auto", "always", "never")


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
    """

    def __init__(self, layer, *, batch_norm, gamma, final_gamma):
        super().__init__()
        features = layer.in_features
        self.normalization = (
            torch.nn.BatchNorm1d(features, affine=False) if batch_norm else torch.nn.Identity()
        )
        self.layer = layer
        self.gamma, self.final_gamma = gamma, final_gamma

    def forward(self, x):
        """Return f(x)."""
        return self.layer(self.normalization(x))

    def start_epoch(self, epoch, n_epochs):
        """Set the gamma of an epoch, counted from 0."""
        time = min(1.0, epoch / max(1, n_epochs - 1))
        self.layer.set_gamma(self.gamma * (self.final_gamma / self.gamma) ** time)


class SoftTrees(NetworkPart):
    """A sum of soft trees, trained end to end.

    What a tree computes is described at
    :class:`~treerank.feature_parts.soft_trees.soft_tree_layer.SoftTreeLayer`. Missing values become the
    mean of their feature, as in every network part. Once trained, trees that are deep and hard
    are evaluated along the nodes that a document can reach, which gives the same scores sooner.

    Parameters
    ----------
    n_trees : int, default=64
        Trees.
    depth : int, default=3
        Splits on a path; a tree has ``2**depth`` leaves.
    gamma : float, default=50.0
        Width, in units of the splits' distances, of the band in which a split is soft. Weights
        start in proportion to it, but Adam's steps are ``learning_rate`` long whatever they are:
        the wider the band, the slower splits move.
    final_gamma : float, default=None
        Width in the last epoch, which gamma approaches geometrically; None keeps gamma. What
        hardens trees is its ratio to gamma.
    oblivious : bool, default=False
        One split per level of a tree instead of one per node.
    batch_norm : bool, default=False
        Whether features are normalized batch by batch too, on top of ``standardize``.
    spread : float, default=0.2
        Standard deviation of the first distances from the splits, in units of gamma. The smaller,
        the smoother f is at first.
    init_model : fitted LightGBMTrees or XGBoostTrees, default=None
        Trees to start from: their splits and leaves take the place of ``n_trees`` and ``depth``.
        Rows with missing values may go other ways than there.
    softness : float, default=0.2
        With ``init_model``, share of documents in the soft band of each split; with 0 the first
        scores are those of the model.
    conditional : {"auto", "always", "never"}, default="auto"
        Whether ``transform`` follows only the nodes that a document can reach. "auto" decides
        at the end of ``fit``, by what is less work.
    **training
        See :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    Attributes
    ----------
    conditional_ : bool
        Whether ``transform`` follows only the nodes that a document can reach.
    network_ : SoftTreeNetwork
        Its ``layer`` is the :class:`~treerank.feature_parts.soft_trees.soft_tree_layer.SoftTreeLayer`.

    Notes
    -----
    With a narrow band, splits move and fit the training queries: with ``depth=5, gamma=1,
    spread=0.5`` distances from them changed by .66 to .80 bands in 50 epochs, now by .03 to .04.
    NDCG@10 of the last epoch was lower then by .021 ± .007 on MQ2008, .083 ± .017 on OHSUMED,
    .052 ± .010 on ClueWeb09 and .087 ± .009 on synthetic web search (five folds, error over
    folds; ``benchmarks/bench_network_defaults.py``); stopped early, no difference was shown.
    Against LightGBMTrees no difference was shown on MQ2008 and ClueWeb09; soft trees were better
    on OHSUMED (.448 against .409), where linear functions are good, too, and worse on synthetic
    web search (.476 against .500), where a NormalTransformer before them helped (by .025 on two
    folds, with ``gamma=100``).

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

    network_: SoftTreeNetwork

    def __init__(
        self,
        n_trees=64,
        *,
        depth=3,
        gamma=50.0,
        final_gamma=None,
        oblivious=False,
        batch_norm=False,
        spread=0.2,
        init_model=None,
        softness=0.2,
        conditional="auto",
        **training,
    ):
        super().__init__(**training)
        self.n_trees = n_trees
        self.depth = depth
        self.gamma = gamma
        self.final_gamma = final_gamma
        self.oblivious = oblivious
        self.batch_norm = batch_norm
        self.spread = spread
        self.init_model = init_model
        self.softness = softness
        self.conditional = conditional

    def transform(self, X):
        """Return f(x), of shape (n_documents, n_outputs_)."""
        check_is_fitted(self)
        if not self.conditional_:
            return super().transform(X)
        rows = self._rows_of_width(X)
        with one_thread():
            parts = [
                self._follow(rows.batch(start, start + _BLOCK))
                for start in range(0, len(rows), _BLOCK)
            ]
        return np.concatenate([np.zeros((0, self.n_outputs_)), *parts])

    def get_state(self):
        """Return the fitted state: that of any network, and what its shape is."""
        return super().get_state() | {"shape": self._shape, "conditional": self.conditional_}

    def set_state(self, state):
        """Restore what :meth:`get_state` returned."""
        self._shape, self.conditional_ = dict(state["shape"]), bool(state["conditional"])
        return super().set_state(state)

    def __sklearn_clone__(self):
        """Clone, but do not unfit ``init_model``: its trees are what it is there for."""
        params = self.get_params(deep=False)
        kept = {"init_model": params.pop("init_model")}
        return type(self)(**kept, **{name: clone(v, safe=False) for name, v in params.items()})

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        if X_sample is None:
            layer = SoftTreeLayer(n_features, n_outputs, **self._shape)
        elif self.init_model is None:
            shape = {"n_trees": self.n_trees, "depth": self.depth, "oblivious": self.oblivious}
            layer = SoftTreeLayer(n_features, n_outputs, **shape, gamma=self.gamma)
            layer.reset_parameters(generator)
            layer.place_splits(X_sample, spread=self.spread, generator=generator)
        else:
            layer = self._started_layer(n_outputs, X_sample, generator)
        names = ("n_trees", "depth", "oblivious")
        self._shape = {name: getattr(layer, name) for name in names}
        final_gamma = self.gamma if self.final_gamma is None else self.final_gamma
        return SoftTreeNetwork(
            layer, batch_norm=self.batch_norm, gamma=self.gamma, final_gamma=final_gamma
        )

    def _started_layer(self, n_outputs, X_sample, generator):
        layer = start_layer(
            self.init_model,
            X_sample,
            mean=self._standardization.mean,
            scale=self._standardization.scale,
            gamma=self.gamma,
            softness=self.softness,
            generator=generator,
        )
        if layer.out_features != n_outputs:
            raise ValueError(
                f"init_model must have as many outputs as f, {n_outputs}; got {layer.out_features}."
            )
        return layer

    def _train(self, rows, objective, validation, n_epochs):
        super()._train(rows, objective, validation, n_epochs)
        sample = torch.from_numpy(self._standardization(Rows(rows.batch(0, _SAMPLE))))
        with one_thread(), torch.inference_mode():
            sample = self.network_.normalization(sample)
            pays = self.conditional == "auto" and conditional_pays(self.network_.layer, sample)
        self.conditional_ = self.conditional == "always" or pays
        return self

    def _follow(self, values):
        """Return f of some rows along reachable nodes, rounded as any network's outputs are."""
        network = self._in_double()
        with torch.inference_mode():
            x = torch.from_numpy(self._standardization(Rows(values), np.float64))
            outputs = conditional_outputs(network.layer, network.normalization(x))
        return outputs.float().double().numpy()

    def _in_double(self):
        if self._double_network is None:
            self._double_network = copy.deepcopy(self.network_).cpu().double().eval()
        return self._double_network

    def _check_parameters(self, validation):
        super()._check_parameters(validation)
        check_count("n_trees", self.n_trees)
        check_count("depth", self.depth)
        for name in ("gamma", "spread"):
            _check_positive(name, getattr(self, name))
        if self.final_gamma is not None:
            _check_positive("final_gamma", self.final_gamma)
        check_number("softness", self.softness, at_least=0, at_most=1)
        check_choice("conditional", self.conditional, _CONDITIONAL)
        if self.init_model is not None and (self.oblivious or self.batch_norm):
            raise ValueError(
                "init_model must be None with oblivious or batch_norm, which cannot hold its "
                f"splits; got {self.init_model!r}."
            )


def _check_positive(name, value):
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
