"""Direct ranker: a feature part that descends an objective, under an antisymmetric head.

A ranker of the literature is most often such a pair, and then a subclass is a dozen lines: what
is settled about the objective stands in class attributes, what the user may set in
``__init__``, and ``feature_part`` is a property that builds the part from that.
"""

import warnings
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_column
from treerank.feature_parts.registry import make_feature_part, reads_sparse
from treerank.feature_parts.rows import Rows
from treerank.inputs.documents import check_eval_set, check_features
from treerank.metrics.registry import get_metric
from treerank.objectives.base import Objective
from treerank.objectives.factory import PairSettings, get_loss
from treerank.objectives.limited_sum import Factors, Limit, LimitedSum
from treerank.objectives.losses import PairLoss
from treerank.objectives.weighted_sum import weighted_sum
from treerank.rankers.head import AntisymmetricHead, check_penalty, fit_head
from treerank.rankers.held_out import HeldOut
from treerank.rankers.labels import MetricOfLabels, check_per_label, split_labels
from treerank.rankers.ranker import Ranker
from treerank.rankers.training_set import TrainingSet

#: Settings that only losses over pairs look at.
PAIR_SETTINGS = tuple(field.name for field in fields(PairSettings))


@dataclass(frozen=True)
class MetricOfSum:
    """A metric of the sum of several outputs.

    Attributes
    ----------
    metric : callable
        ``metric(scores)``, with a ``name``.
    """

    metric: Any

    @property
    def name(self) -> str:
        """Name of the metric."""
        return str(self.metric.name)

    def __call__(self, outputs: np.ndarray) -> float:
        """Return the value of the metric."""
        return float(self.metric(outputs.reshape(len(outputs), -1).sum(axis=1)))


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
    target_margin: Any = "unit"
    k: Any = None
    gain: Any = "exponential"
    threshold: Any = 1.0
    smoothing: Any = 0.0
    query_normalization: Any = None
    per_level: Any = False
    label_weights: Any = None
    label_limits: Any = None
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

    def _learn(self, data, held_out, seed):
        objective = self._make_objective(data, seed)
        if data.labels is not None and self.label_limits is not None:
            objective = self._limited(objective, data, held_out, seed)
        validation = held_out and held_out.validation
        if held_out is not None and objective.n_outputs > 1:
            validation = held_out.X, MetricOfSum(held_out.metric)
        part = self._make_feature_part(seed)
        self.feature_part_ = part.fit(self._rows(data), objective, validation=validation)
        self.head_ = self._make_head(data, objective)
        self.evals_result_ = getattr(part, "evals_result_", {})
        if held_out is not None and isinstance(held_out.metric, MetricOfLabels):
            self.evals_result_ = {"validation": held_out.metric.added_to(self.evals_result_)}
        self.best_iteration_ = getattr(part, "best_iteration_", None)
        self.steepness_ = float(getattr(objective, "steepness", 1.0))

    def _scores(self, X):
        return self.head_.score(self._transform(X))

    @property
    def _reads_sparse(self) -> bool:
        part = self.feature_part
        return reads_sparse(make_feature_part(part) if isinstance(part, str) else part)

    def _continues(self):
        return self.warm_start and hasattr(self, "feature_part_")

    def _check_settings(self):
        super()._check_settings()
        check_penalty(self.head_penalty, self.head_alpha)

    def _make_objective(self, data: TrainingSet, seed: int) -> Objective:
        """Return the objective of the label, or the weighted sum over several labels."""
        if data.labels is None:
            return self._objective_of(data, seed)
        weights = check_per_label("label_weights", self.label_weights, list(data.labels), 1.0)
        terms = [self._objective_of(data.labeled(name), seed) for name in data.labels]
        return weighted_sum(terms, [weights[name] for name in data.labels])

    def _limited(
        self, whole: Any, data: TrainingSet, held_out: HeldOut | None, seed: int
    ) -> LimitedSum:
        """Return the sum in which the limited labels have factors that training adapts."""
        labels, metric = list(data.labels or {}), get_metric(self.metric)
        shares = check_per_label("label_limits", self.label_limits, labels, None)
        terms = dict(zip(labels, zip(whole.terms, whole.factors, strict=True), strict=True))
        goal = [terms[name] for name in labels if name not in shares]
        if not goal or max(shares.values(), default=0.0) >= 1:
            raise ValueError(
                "label_limits must leave a label to raise, and be shares below 1; "
                f"got {self.label_limits!r} for {labels}."
            )
        limits = []
        for name, share in shares.items():
            alone = data.labeled(name)
            best = self._reached_alone(terms[name][0], alone, held_out, seed)
            limits.append(Limit(terms[name][0], alone.y, metric, (1 - share) * best))
        factors = Factors([terms[name][1] for name in shares])
        return LimitedSum(weighted_sum(*zip(*goal, strict=True)), tuple(limits), factors)

    def _reached_alone(
        self, objective: Objective, data: TrainingSet, held_out: HeldOut | None, seed: int
    ) -> float:
        """Return the quality that a feature part reaches under one label alone."""
        part = make_feature_part(self.feature_part)
        if "random_state" in part.get_params() and part.random_state is None:
            part.set_params(random_state=seed)
        part.fit(self._rows(data), objective, validation=held_out and held_out.validation)
        scores = np.asarray(part.transform(data.features)).reshape(len(data.y), -1).sum(axis=1)
        return float(get_metric(self.metric).prepared(data.y, data.groups)(scores))

    def _labels_of(self, y: Any, given_pairs: Any = None) -> dict[str, np.ndarray] | None:
        labels = split_labels(y)
        if labels is None:
            for name in ("label_weights", "label_limits"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} must be None for a single label y.")
            return None
        if given_pairs is not None:
            raise ValueError("given_pairs must be None where y has several labels.")
        return {name: check_column(f"y[{name!r}]", column) for name, column in labels.items()}

    def _held_out(self, data: TrainingSet, eval_set: Any) -> HeldOut:
        if data.labels is None:
            return super()._held_out(data, eval_set)
        is_set = isinstance(eval_set, tuple | list) and len(eval_set) > 1
        labels = split_labels(eval_set[1]) if is_set else None
        if labels is None or list(labels) != list(data.labels):
            raise ValueError(f"eval_set must have the labels of y, {list(data.labels)}.")
        first = next(iter(labels.values()))
        X, y, groups = check_eval_set(self, (eval_set[0], first, *eval_set[2:]))
        weights = check_per_label("label_weights", self.label_weights, list(labels), 1.0)
        metric = MetricOfLabels.of(self.metric, labels, groups, weights)
        return HeldOut(X, y, groups, metric)

    def _measured(self, scores, y, qid, sample_weight):
        labels = split_labels(y)
        if labels is None:
            return super()._measured(scores, y, qid, sample_weight)
        weights = check_per_label("label_weights", self.label_weights, list(labels), 1.0)
        values = [
            super(DirectRanker, self)._measured(scores, column, qid, sample_weight)
            for column in labels.values()
        ]
        return float(np.average(values, weights=[weights[name] for name in labels]))

    def _objective_of(self, data: TrainingSet, seed: int) -> Objective:
        loss = get_loss(self.loss)
        settings = {name: getattr(self, name) for name in PAIR_SETTINGS}
        automatic = self._automatic(loss)
        settings |= {name: automatic[name] for name, v in settings.items() if _is_auto(v)}
        settings["pairs"] = None if _is_named(settings["pairs"], "all") else settings["pairs"]
        return data.objective(seed, loss=self.loss, **settings)

    def _automatic(self, loss: Any) -> dict[str, Any]:
        """Return the settings that "auto" stands for under a loss."""
        if not isinstance(loss, PairLoss):
            return {"weight": None, "smoothing": 0.0}
        return {"weight": "ndcg", "smoothing": 1.0}

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

    def _make_head(self, data: TrainingSet, objective: Objective) -> AntisymmetricHead:
        part = self.feature_part_
        shape = (len(data.y), objective.n_outputs) if objective.n_outputs > 1 else len(data.y)
        if not np.any(objective.derivatives(np.zeros(shape))[0]):
            warnings.warn(
                "No pair of documents counts, since no query has two that differ in y and in what "
                f"weight={self.weight!r} sees: the model is constant.",
                UserWarning,
                stacklevel=4,
            )
            return AntisymmetricHead(np.zeros(part.n_outputs_), self.tau)
        if hasattr(part, "head_weight_"):  # trained together with the outputs
            return AntisymmetricHead(part.head_weight_, self.tau)
        if part.n_outputs_ == 1:
            return AntisymmetricHead(np.ones(1), self.tau)
        penalty = {"penalty": self.head_penalty, "alpha": self.head_alpha}
        weight = fit_head(self._transform(data.features), _convex(objective, data), **penalty)
        return AntisymmetricHead(weight, self.tau)

    def _transform(self, X):
        features = self.feature_part_.transform(X)
        return features.reshape(-1, 1) if features.ndim == 1 else features


def _convex(objective: Any, data: TrainingSet) -> Objective:
    """Return the convex form of an objective, or the logistic loss of all pairs, queries alike."""
    if hasattr(objective, "convex"):
        convex: Objective = objective.convex()
        return convex
    return data.objective(0, loss="logistic", weight="query")


def _is_auto(value: Any) -> bool:
    return _is_named(value, "auto")


def _is_named(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name
