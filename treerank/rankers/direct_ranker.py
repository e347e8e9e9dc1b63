"""Direct ranker: a feature part fitted to an objective, under an antisymmetric head.

Most rankers of the literature are such a pair. To add one, derive a class from
:class:`DirectRanker`: a class attribute fixes a setting, a parameter of ``__init__`` leaves it to
the user, and ``feature_part`` may be a property that makes the part from other parameters.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_column, has_methods, quote, warn_user
from treerank.documents.columns import Columns, indicator_advice
from treerank.documents.eval_set import EvalSet
from treerank.documents.features import shown_names
from treerank.documents.labels import labels_with_weight
from treerank.documents.queries import ByRow, QueryGroups
from treerank.documents.reading import Accepts, read_documents
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.documents.training_set import TrainingSet
from treerank.feature_parts.base import (
    check_fitted_part,
    components_of,
    expected_components_of,
    fit_part,
    importances_of,
    n_outputs_of,
    outputs_of,
    params_of,
    takes_validation,
    traits_of,
)
from treerank.feature_parts.part_list import PartList
from treerank.feature_parts.registry import is_auto, make_feature_part, reads_sparse
from treerank.files.states import count, history, optional
from treerank.objectives.base import Objective
from treerank.objectives.factory import Loss, get_loss
from treerank.objectives.lists.objective import ListwiseLoss
from treerank.objectives.pairs.losses import PAIR_LOSSES, PairLoss
from treerank.objectives.pairs.settings import PairSettings
from treerank.objectives.pairs.weights import Weight
from treerank.objectives.sums import SomeRows, weighted_sum
from treerank.parameters import NotNegative, check_parameters, is_given
from treerank.rankers.head import AntisymmetricHead
from treerank.rankers.ranker import Ranker
from treerank.rankers.training_objective import objective_of
from treerank.spelling import has_spelling, spelled

if TYPE_CHECKING:
    from treerank.feature_parts.components import Components

#: What "auto" stands for under losses over pairs; other losses have no such settings.
AUTO_FOR_PAIRS: dict[str, Any] = {"weight": "ndcg", "smoothing": 1.0}
#: Weights that are 0 for two documents of equal labels.
GAPS = ("label_gap", "ndcg", "map", "mrr", "err")
#: Settings of the objective that a fit may replace.
_MAY_BE_UNUSED = ("loss", "weight", "pairs", "k", "smoothing")
#: With fewer documents, default trees may find no split.
_FEW = 200
#: With weights of a smaller mean, default trees may find no split, either.
_SMALL = 0.5
#: Number of documents that are scored at a time to see whether all get the same score.
_BATCH_SIZE = 1000


def _of_equal_scores(held_out: EvalSet, recorded: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded metrics of a fit whose head has weight 0, so that all scores are equal.

    The feature part did record a curve, which is of no score that the ranker gives. Each of its
    values is replaced by the metric of equal scores, here and in ``held_out.metric.history``.
    ``recorded`` is returned unchanged if it has no values.
    """
    (curve,) = recorded.get("validation", {"": []}).values()
    if not curve:
        return recorded
    metric: Any = held_out.metric
    value = metric(np.zeros(len(held_out.y)))
    metric.history.extend(metric.history[-1:] * (len(curve) - 1))
    return {"validation": {metric.name: [value] * len(curve)}}


def _advice_on_leaves(ranker: Any) -> str:
    """Return a sentence on smaller leaves of trees; "" where a user cannot set them, or has."""
    if not has_spelling("min_child_samples"):
        return ""
    smallest: dict[str, Any] = {"min_child_samples": 1, "min_child_weight": 0}
    for one in (ranker, ranker.feature_part_):  # LambdaMART has the parameters of its trees
        given = params_of(one)
        for name in smallest.keys() & given.keys():
            if given[name] == smallest[name]:
                return ""
        for name, value in smallest.items():
            if name in given:
                return f". {type(one).__name__}({name}={value}) learns from few"
    return ". LightGBMTrees(min_child_samples=1) learns from few"


class DirectRanker(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Ranker):
    """Base class of rankers that fit a feature part to an objective.

    A subclass sets the objective, the head and the feature part by parameters or class attributes,
    which are explained at :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`. Settings
    of pairs that a class does not have take the defaults of
    :func:`~treerank.objectives.factory.make_objective`. Further attributes are explained at
    :class:`~treerank.rankers.ranker.Ranker`.

    Attributes
    ----------
    feature_part_ : feature part
        The fitted feature part.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per iteration}}``, given an ``eval_set``;
        of iterations since a ``StreamingRanker`` last removed or shrunk trees.
    best_iteration_ : int or None
        Number of iterations that are kept; None for a feature part that has none, as a linear
        model, or that is made of several, as the default of a ``TreeDirectRanker``.

    Examples
    --------
    >>> class LinearByGap(DirectRanker):
    ...     feature_part, weight = "linear", "label_gap"
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> LinearByGap().fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    _learned: ClassVar = {
        "feature_part_": check_fitted_part,
        "evals_result_": history,
        "best_iteration_": optional(count()),
    }

    feature_part: Any = "lightgbm"
    loss: Loss = "logistic"
    weight: Literal["auto"] | Weight | None = "uniform"
    head_alpha: NotNegative = 10.0
    warm_start: bool = False

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ranker, and parameters of its feature part as ``feature_part__*``.

        To set a parameter of a feature part that is a name or a list, it is replaced by an
        instance.
        """
        if any(name.startswith("feature_part__") for name in params):
            part = params.get("feature_part", self.feature_part)
            if isinstance(part, str | list | tuple):
                params = params | {"feature_part": make_feature_part(part)}
            elif not has_methods(part, "set_params"):
                raise ValueError(
                    "feature_part must have get_params and set_params for its parameters to be "
                    f"set; got {quote(part)}."
                )
        return super().set_params(**params)

    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), the outputs of the feature part, of shape (n_documents, n_outputs)."""
        check_is_fitted(self)
        return outputs_of(self.feature_part_, read_documents(self, X)[0], self.columns_)

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and return the ranker; refuse anything else."""
        super().set_state(state)
        n_outputs, n_weights = traits_of(self.feature_part_).n_outputs_, len(self.head_.weight)
        if n_outputs not in (None, n_weights):
            raise ValueError(f"The head must have {n_outputs} weights; got {n_weights}.")
        return self

    def components(self) -> "Components":
        """Return the feature part and the head as a sum of trees, a linear model and networks."""
        check_is_fitted(self)
        components = components_of(self.feature_part_, self.head_.weight)
        return self._of_whole_codes(components, self.columns_)

    def _expected_components(self, documents: Rows) -> "Components":
        """Return components of the kind that the ranker has after a fit to such documents."""
        components = expected_components_of(make_feature_part(self.feature_part), documents)
        return self._of_whole_codes(components, documents.columns)

    def _of_whole_codes(self, components: "Components", columns: Columns) -> "Components":
        """Return components in which the codes of categories are what all engines take alike."""
        sets = components.forest.categories
        if sets is None or sets.rule != "whole":
            return components
        for feature in components.forest.features_by_set:
            if feature not in columns.categories:
                name = f"f{feature}" if columns.names is None else columns.names[feature]
                raise ValueError(
                    f"column {quote(name)} of X must be text or categories of a "
                    "data frame where parts are trees of several engines, which take a number that "
                    "is not whole for other categories; got numbers. Or take trees of one engine."
                )
        forest = replace(components.forest, categories=replace(sets, rule="exact"))
        return replace(components, forest=forest)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of ``transform``, to which scikit-learn gives names."""
        return len(self.head_.weight)

    def _diagram(self) -> str:
        """Return scikit-learn's diagram with the features of ``fit``, not the output's name."""
        diagram_ranker = copy(self)
        if "columns_" in vars(self):
            names = np.array(shown_names(self), dtype=object)
            diagram_ranker.__dict__["get_feature_names_out"] = lambda input_features=None: names
        return estimator_html_repr(diagram_ranker)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """The diagram for notebooks, unless scikit-learn's ``display`` option is "text"."""
        if get_config()["display"] != "diagram":
            raise AttributeError("_repr_html_ needs sklearn.set_config(display='diagram').")
        return self._diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return the text and the diagram, for notebooks."""
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._diagram()
        return bundle

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature, as the feature part measures it."""
        check_is_fitted(self)
        return importances_of(self.feature_part_)

    def _learn(self, data: TrainingSet, held_out: EvalSet | None, seed: int) -> None:
        objective = self._make_objective(data, seed)
        part = self._part_to_fit(self._part_for(data, held_out), seed)
        if held_out is not None and not takes_validation(part):
            raise ValueError(
                f"eval_set must be None for feature_part={quote(part)}, whose fit takes no "
                "validation to stop early by. Write fit(X, objective, validation=None), or "
                "calibrate(X, y, qid) after the fit."
            )
        if data.documents.columns.categories and not traits_of(part).takes_categories:
            names = [str(shown_names(self)[column]) for column in self.columns_.categories]
            warn_user(
                f"Columns {quote(names)} of X are categories, which {quote(part)} leaves out. Take "
                "trees, or an ensemble with trees, such as ['lightgbm', 'linear']; or write "
                f"columns of zeros and ones. {indicator_advice(names[0], self.columns_.library)}"
            )
        self._warn_of_unused_settings(part, data)
        if not traits_of(part).fits_convex:
            self._warn_of_equal_labels(data)
        is_quiet = self._continues() and not data.documents.any(objective.has_anything_to_learn())
        if is_quiet:  # new trees would be empty, and a head of weight 0 would forget the old ones
            self._warn_of_nothing_to_learn("the model stays as it is")
            return
        validation: Any = held_out and (held_out.X, held_out.metric)
        self.feature_part_ = fit_part(part, data.documents, objective, validation)
        self.head_ = AntisymmetricHead(self._head_weight(data, objective), self.tau)
        # Without anything to learn, it has been warned of the weight 0.
        has_weight = bool(self.head_.weight.any())
        if not data.documents.is_shard and (has_weight or objective.has_anything_to_learn()):
            self._warn_of_equal_scores(data)
        traits = traits_of(part)
        self.evals_result_, self.best_iteration_ = traits.evals_result_, traits.best_iteration_
        if held_out is not None and not self.head_.weight.any():
            self.evals_result_ = _of_equal_scores(held_out, traits.evals_result_)
        self.calibration_slope_, self._relevance_scale = objective.steepness, None

    def _warn_of_equal_scores(self, data: TrainingSet) -> None:
        """Warn if all documents get the same score; mostly, one batch suffices to see.

        Rows that are read in batches come in another order.
        """
        first_score = None
        for _, batch in data.documents.batches(_BATCH_SIZE):
            scores = self._scores(batch)
            first_score = scores[0] if first_score is None else first_score
            if (scores != first_score).any():
                return
        n = len(data.documents)
        reason = "none tells which documents are better"
        has_trees = traits_of(self.feature_part_).components is not None
        weights = [w for w in (data.sample_weight, data.query_weight) if w is not None]
        if has_trees and any(weight.mean() < _SMALL for weight in weights):
            reason = (
                "weights are too small for the smallest weight of a leaf. Multiply weights by a "
                "number, so that their mean is 1"
            )
        elif has_trees and n < _FEW:
            reason = f"trees need more documents{_advice_on_leaves(self)}"
        if n:
            warn_user(f"All {n} documents get the same score: no feature varies, or {reason}.")

    def _scores(self, X: Any) -> np.ndarray:
        return self.head_.score(outputs_of(self.feature_part_, X, self.columns_))

    @property
    def _n_threads(self) -> int:  # type: ignore[override]
        """Number of threads of the feature part."""
        return traits_of(self.feature_part_).n_threads

    @property
    def _given_columns(self) -> Sequence[Columns]:  # type: ignore[override]
        """Columns of the trees from which the feature part starts."""
        return traits_of(self._part_as_set()).given_columns

    @property
    def _given_queries(self) -> Sequence[TrainingQueries]:  # type: ignore[override]
        """Queries that the trees were trained on from which the feature part starts."""
        return traits_of(self._part_as_set()).given_queries

    @property
    def _resumes(self) -> bool:  # type: ignore[override]
        """Whether the feature part goes on from a checkpoint."""
        return traits_of(self._part_as_set()).resumes

    @property
    def _accepts(self) -> Accepts:  # type: ignore[override]
        """What the feature part reads, fitted or to be; several labels are a sum of objectives."""
        is_fitted = "feature_part_" in vars(self) and not self._starts_anew
        part = self.feature_part_ if is_fitted else self._part_as_set()  # set since, perhaps
        batches = traits_of(part).accepts_batches
        return Accepts(sparse=reads_sparse(part), batches=batches, several_labels=True)

    def _part_as_set(self) -> Any:
        """Return the parameter ``feature_part`` as an object, where it is a name or a list."""
        part = self.feature_part
        return make_feature_part(part) if isinstance(part, str | list | tuple) else part

    def _continues(self) -> bool:
        return self.warm_start and "feature_part_" in vars(self)

    def _refuse_lost_fits(self, part: Any) -> None:
        """Refuse a part, or one in a list, that is to go on from a fit, where a copy is fitted."""
        if isinstance(part, PartList):
            for one in part.parts:
                self._refuse_lost_fits(make_feature_part(one))
        elif params_of(part).get("warm_start"):
            raise ValueError(
                f"warm_start must be False for feature_part={quote(part)} of a ranker with "
                "warm_start=False, which fits a new part; got True. To go on from the last fit of "
                f"boosted trees alone, write {type(self).__name__}(..., warm_start=True)."
            )

    def _check_settings(self) -> None:
        """Refuse wrong settings of the ranker and of its feature part."""
        super()._check_settings()
        check_parameters(self.feature_part)  # before it is copied: not every wrong value can be
        part = make_feature_part(self.feature_part)
        if not self.warm_start:
            self._refuse_lost_fits(part)
            return
        if "warm_start" not in params_of(part):
            raise ValueError(
                f"warm_start must be False for feature_part={quote(part)}, whose fits start anew."
            )
        if self._continues() and type(part) is not type(self.feature_part_):
            fitted = type(self.feature_part_).__name__
            if is_auto(self.feature_part):
                raise ValueError(
                    f"warm_start must be True in the first fit, too, since 'auto' is {fitted} for "
                    "few queries otherwise, whose fits start anew; got True after a fit with "
                    "False. warm_start=False fits it anew."
                )
            raise ValueError(
                f"feature_part must stay {fitted} with warm_start=True; got {quote(part)}. "
                "warm_start=False fits it anew."
            )

    def _make_objective(self, data: TrainingSet, seed: int) -> Objective:
        """Return the objective of the label, or the weighted sum over several labels."""
        if data.labels is None:
            return self._objective_of(data, seed)
        objectives = [self._objective_of_some(data.labeled(name), seed) for name in data.labels]
        assert data.label_weights is not None
        return weighted_sum(objectives, [data.label_weights[name] for name in data.labels])

    def _objective_of_some(self, data: TrainingSet, seed: int) -> Objective:
        """Return the objective of one of several labels; some documents may not have this label."""
        judged = np.flatnonzero(~np.isnan(data.y))
        if len(judged) == len(data.y):
            return self._objective_of(data, seed)
        return SomeRows(self._objective_of(data.take(judged), seed), judged, data.groups)

    def _objective_of(self, data: TrainingSet, seed: int) -> Objective:
        """Return the objective of a single label."""
        return objective_of(data, seed, loss=self.loss, **self._pair_settings(data))

    def _pair_settings(self, data: TrainingSet) -> dict[str, Any]:
        """Return the settings of pairs by name, without "auto".

        "auto" does not weigh the user's own pairs by labels, which they may contradict.
        """
        defaults = {setting.name: setting.default for setting in fields(PairSettings)}
        settings = {name: getattr(self, name, value) for name, value in defaults.items()}
        automatic = AUTO_FOR_PAIRS if isinstance(get_loss(self.loss), PairLoss) else defaults
        if data.pairs is not None:
            automatic = automatic | {"weight": defaults["weight"]}
        return settings | {n: automatic[n] for n in AUTO_FOR_PAIRS if settings[n] == "auto"}

    def _warn_of_equal_labels(self, data: TrainingSet) -> None:
        """Warn of the user's own pairs that the weight does not count, as their gains are equal."""
        weight = self._pair_settings(data)["weight"]
        if data.pairs is None or weight not in GAPS:
            return
        labels = [data.y] if data.labels is None else data.labels.values()
        n_equal = int(min((y[data.pairs.i] == y[data.pairs.j]).sum() for y in labels))
        if n_equal:
            warn_user(
                f"{n_equal} of {len(data.pairs.i)} given_pairs do not count: their documents have "
                f"equal labels, for which weight={quote(weight)} is 0. Write "
                f"{spelled('weight', 'uniform')} to learn from all of them."
            )

    def _warn_of_unused_settings(self, part: Any, data: TrainingSet) -> None:
        """Warn of settings of the objective that are not the defaults and that the fit replaces.

        A part that minimizes the convex form of the objective replaces those without such a form.
        """
        loss, settings, is_convex = get_loss(self.loss), {}, traits_of(part).fits_convex
        used: dict[str, Any] = {}
        if isinstance(loss, PairLoss):
            settings = self._pair_settings(data)
            pairs = PairSettings(**settings)
            used |= vars(pairs.convex() if is_convex else pairs.as_read())
        if is_convex and isinstance(loss, PairLoss | ListwiseLoss):
            settings, used = settings | {"loss": loss}, used | {"loss": PAIR_LOSSES["logistic"]}
        names = [name for name in _MAY_BE_UNUSED if name in used and is_given(self, name)]
        replaced = [name for name in names if settings[name] != used[name]]
        if not replaced:
            return
        given = ", ".join(spelled(name, getattr(self, name)) for name in replaced)
        used["loss"] = "logistic"
        if isinstance(loss, ListwiseLoss):
            replaced, used["weight"] = [*replaced, "weight"], loss.head_weight
        instead = ", ".join(f"{spelled(name)}={used[name]!r}" for name in replaced)
        if is_convex:
            reason = f"of {self._shown_part()}, whose weights are fitted by convex optimization,"
            advice = f", or take trees, such as {spelled('feature_part', 'lightgbm')}"
        else:
            reason, advice = f"with weight={quote(settings['weight'])}, which ignores ranks,", ""
        warn_user(f"A fit {reason} replaces {given} by {instead}. Write {instead}{advice}.")

    def _shown_part(self) -> str:
        """Return the parameter ``feature_part`` for a message."""
        return spelled("feature_part", self.feature_part)

    def _part_for(self, data: TrainingSet, held_out: EvalSet | None) -> Any:
        """Return the feature part to fit a copy of: the parameter, unless the data decide."""
        return self.feature_part

    def _part_to_fit(self, feature_part: Any, seed: int) -> Any:
        """Return the feature part to fit: a new one, with ``seed`` if it has no seed of its own.

        If ``fit`` continues the last one, it is a copy of the fitted part with the present
        parameters.
        """
        part = make_feature_part(feature_part)
        if params_of(part).get("random_state", 0) is None:
            part.set_params(random_state=seed)
        if not self._continues():
            return part
        earlier = copy(self.feature_part_)  # it stays as it is, should this fit fail
        return earlier.set_params(**params_of(part) | {"warm_start": True})

    def _head_weight(self, data: TrainingSet, objective: Objective) -> np.ndarray:
        """Return the weight of each output of the feature part in the score.

        It is 0 if the objective has nothing to learn on any worker, with a warning; the weight that
        the part has trained with its outputs; 1 for a single output; otherwise it is fitted to the
        outputs.
        """
        part, documents = self.feature_part_, data.documents
        n_outputs = traits_of(part).n_outputs_
        if n_outputs is None:
            n_outputs = n_outputs_of(part, documents)
        if not documents.any(objective.has_anything_to_learn()):  # of any worker
            self._warn_of_nothing_to_learn("the model is constant")
            return np.zeros(n_outputs)
        trained = traits_of(part).head_weight_
        if (trained is not None or n_outputs == 1) and is_given(self, "head_alpha"):
            warn_user(
                f"head_alpha must be left out for {self._shown_part()}, the weights of whose "
                f"outputs the ranker does not fit; got {quote(self.head_alpha)}, which is not used."
            )
        if trained is not None:  # trained together with the outputs
            return trained
        if n_outputs == 1:
            return np.ones(1)
        from treerank.feature_parts.head_fitting import fit_head

        convex = objective.convex() or objective_of(data, 0, loss="logistic", weight="query")
        return fit_head(outputs_of(part, data.features), convex, alpha=self.head_alpha)

    def _warn_of_nothing_to_learn(self, consequence: str) -> None:
        """Warn that there is nothing to learn, and what follows for the model."""
        reason = "No query has two labels, and equal scores cost least"
        if isinstance(get_loss(self.loss), PairLoss):
            rule = f"no query has two that differ in y and in what weight={quote(self.weight)} sees"
            reason = f"No pair of documents counts, since {rule}"
        warn_user(f"{reason}: {consequence}.")


def objective_for_labels(ranker: DirectRanker, y: ArrayLike, qid: ByRow = None) -> Objective:
    """Return the objective that ``fit`` would lower for these labels, in the order of rows.

    Wrong settings of the ranker, and settings that contradict each other, are refused.
    """
    ranker._check_settings()
    labels, label_weights = labels_with_weight(ranker._labels_of(y), ranker.label_weights)
    first = check_column("y", y if labels is None else next(iter(labels.values())), or_table=True)
    groups = QueryGroups.from_qid(qid, len(first))
    documents = Rows(np.empty((len(first), 0)))
    data = TrainingSet(documents, first, groups, labels=labels, label_weights=label_weights)
    return ranker._make_objective(data, 0)
