"""Direct ranker: a feature part that descends an objective, under an antisymmetric head.

A ranker of the literature is most often such a pair, and then a subclass is a dozen lines: what
is settled about the objective stands in class attributes, what the user may set in
``__init__``, and ``feature_part`` is a property that builds the part from that.
"""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from treerank.feature_parts.registry import make_feature_part, reads_sparse
from treerank.feature_parts.rows import Rows
from treerank.inputs.documents import check_features
from treerank.objectives.factory import make_objective
from treerank.rankers.head import AntisymmetricHead, check_penalty, fit_head
from treerank.rankers.ranker import Ranker

#: Weights and pairs that do not depend on the scores: a convex loss stays convex under them.
_FIXED_WEIGHTS = ("uniform", "query", "label", "label_gap")
_FIXED_PAIRS = ("all", "adjacent", "with_ties")


@dataclass(frozen=True)
class OfSum:
    """A metric of the sum of several outputs."""

    metric: Any

    @property
    def name(self):
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores):
        """Return the value."""
        return self.metric(scores.reshape(len(scores), -1).sum(axis=1))


class DirectRanker(TransformerMixin, Ranker):
    """A feature part fitted to an objective.

    The class attributes below are the settings of the objective, of the head and of the feature
    part; :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker` documents them.

    Attributes
    ----------
    feature_part_ : feature part
        The fitted feature part.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per iteration}}``, given an ``eval_set``.
    best_iteration_ : int
        Iterations that are kept.
    """

    _learned: ClassVar = ("feature_part_", "evals_result_", "best_iteration_")

    feature_part: Any = "lightgbm"
    loss: Any = "logistic"
    weight: Any = "uniform"
    pairs: Any = "all"
    sigma: Any = 1.0
    margin: Any = "unit"
    k: Any = None
    gain: Any = "exponential"
    threshold: Any = 1.0
    smoothing: Any = 0.0
    query_normalization: Any = None
    per_level: Any = False
    head_penalty: Any = "l2"
    head_alpha: Any = None
    warm_start: Any = False

    def set_params(self, **params):
        """Set parameters; a feature part that is but a name becomes one, if its own are set."""
        if any(name.startswith("feature_part__") for name in params):
            part = params.get("feature_part", self.feature_part)
            if isinstance(part, str):
                params = params | {"feature_part": make_feature_part(part)}
        return super().set_params(**params)

    def transform(self, X):
        """Return f(x), the outputs of the feature part, of shape (n_documents, n_outputs)."""
        check_is_fitted(self)
        return self._transform(check_features(self, X))

    @property
    def feature_importances_(self):
        """Importance of each feature, as the feature part measures it."""
        check_is_fitted(self)
        return self.feature_part_.feature_importances_

    def _learn(self, data, validation, seed):
        objective = self._make_objective(data, seed)
        if validation is not None and self.per_level:
            validation = validation[0], OfSum(validation[1])
        part = self._make_feature_part(seed)
        self.feature_part_ = part.fit(self._rows(data), objective, validation=validation)
        self.head_ = self._make_head(data, objective, seed)
        self.evals_result_ = getattr(part, "evals_result_", {})
        self.best_iteration_ = getattr(part, "best_iteration_", None)
        self.steepness_ = float(self.sigma) if self.loss == "logistic" else 1.0

    def _scores(self, X):
        return self.head_.score(self._transform(X))

    def dense_reader(self):
        """Return the name of the feature part if it reads no sparse ``X``, or ``None``."""
        part = self.feature_part
        if isinstance(part, str):
            part = make_feature_part(part)
        return None if reads_sparse(part) else type(part).__name__

    def _continues(self):
        return self.warm_start and hasattr(self, "feature_part_")

    def _check_settings(self):
        super()._check_settings()
        check_penalty(self.head_penalty, self.head_alpha)

    def _make_objective(self, data, seed, **changed):
        settings = {
            "loss": self.loss,
            "weight": self.weight,
            "pairs": None if self.pairs == "all" else self.pairs,
            "sigma": self.sigma,
            "margin": self.margin,
            "k": self.k,
            "gain": self.gain,
            "threshold": self.threshold,
            "smoothing": self.smoothing,
            "query_normalization": self.query_normalization,
            "per_level": self.per_level,
            "random_state": seed,
        }
        return make_objective(data.y, data.query, **(settings | changed), **data.weights())

    def _make_feature_part(self, seed):
        part = make_feature_part(self.feature_part)
        if "random_state" in part.get_params() and part.random_state is None:
            part.set_params(random_state=seed)
        if self._continues():
            params = part.get_params(deep=False) | {"warm_start": True}
            part = self.feature_part_.set_params(**params)
        return part

    def _rows(self, data):
        names = getattr(self, "feature_names_in_", None)
        return Rows(
            data.X,
            order=data.rows,
            feature_names=None if names is None else tuple(names),
            categorical=tuple(self.columns_.categories) or None,
        )

    def _make_head(self, data, objective, seed):
        part = self.feature_part_
        shape = (len(data.y), objective.n_outputs) if objective.n_outputs > 1 else len(data.y)
        if not np.any(objective.derivatives(np.zeros(shape))[0]):
            warnings.warn(
                "No pair of documents counts, since no query has two that differ in y and in what "
                f"weight={self.weight!r} sees: the model is constant.",
                UserWarning,
                stacklevel=4,
            )
            return AntisymmetricHead(np.zeros(part.n_outputs_), self.head)
        if hasattr(part, "head_weight_"):  # trained together with the outputs
            return AntisymmetricHead(part.head_weight_, self.head)
        if part.n_outputs_ == 1:
            return AntisymmetricHead(np.ones(1), self.head)
        convex = {
            "loss": "logistic",
            "weight": self.weight if self.weight in _FIXED_WEIGHTS else "query",
            "pairs": self.pairs if self.pairs in _FIXED_PAIRS else "all",
            "per_level": False,
        }
        objective = self._make_objective(data, seed, **convex)
        penalty = {"penalty": self.head_penalty, "alpha": self.head_alpha}
        weight = fit_head(self._transform(data.X[data.rows]), objective, **penalty)
        return AntisymmetricHead(weight, self.head)

    def _transform(self, X):
        features = self.feature_part_.transform(X)
        return features.reshape(-1, 1) if features.ndim == 1 else features
