"""Feature part: a function of the features of one document, fitted to an objective.

A feature part sees features and an objective, never labels or queries. The head weighs the outputs
of the feature part and compares two documents, see :mod:`treerank.rankers.head`. To add a feature
part, write a class with the members of :class:`FeaturePart` (inheriting from it is not needed),
with those of :class:`PartTraits` that it has something to say about, and list the class in
:mod:`treerank.feature_parts.registry`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from treerank.checks import has_methods, quote
from treerank.documents.columns import Columns
from treerank.objectives.base import Objective

if TYPE_CHECKING:
    from treerank.feature_parts.terms import Terms

#: ``(X_val, metric)`` with ``metric(scores) -> float``; higher values are better.
Validation = tuple[Any, Callable[[np.ndarray], float]]


class FeaturePart(Protocol):
    """A function from documents to numbers that can be fitted to an objective.

    Rankers copy a feature part with :func:`sklearn.base.clone` before they fit the copy, so its
    ``__init__`` only assigns its arguments. ``X`` is an ndarray or a
    :class:`~treerank.documents.rows.Rows`.

    Attributes
    ----------
    n_outputs_ : int
        Columns of ``transform``, known after ``fit``.

    Notes
    -----
    What else a feature part may have is in :class:`PartTraits`. Of its parameters, rankers set
    ``random_state``, where it is ``None``, to a seed of their own, and ``warm_start``, which a
    ranker with ``warm_start=True`` needs: then ``fit`` goes on from the last fit.
    ``feature_importances_`` is the importance of each feature. With ``input_tags.sparse`` true in
    ``__sklearn_tags__()``, ``X`` may be a CSR matrix.
    """

    @property
    def n_outputs_(self) -> int:
        """Number of columns of :meth:`transform`."""
        ...

    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Fit to an objective; row ``i`` of ``X`` gets score ``i`` of ``objective``."""
        ...

    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), one row per document, of shape (n_documents, n_outputs_)."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor arguments by name, as scikit-learn's estimators do."""
        ...

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments by name, as scikit-learn's estimators do."""
        ...


@dataclass(frozen=True, eq=False)
class PartTraits:
    """What a feature part may have besides the members of :class:`FeaturePart`, and the defaults.

    Attributes
    ----------
    accepts_batches : bool
        Whether ``fit`` takes rows that are read in batches.
    settings_by_workers : dict or None
        Settings with which several workers fit it as one; ``None`` if they cannot.
    n_threads : int
        Largest number of threads.
    n_features_in_ : int or None
        Number of features that it was fitted to.
    given_columns : sequence of Columns
        Columns of models that it was given, such as trees: their categories keep their codes.
    head_weight_ : ndarray or None
        Weight of each output in the score, where ``fit`` has trained it, too. Otherwise the ranker
        fits the weights of several outputs afterwards.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per step}}``, empty without validation.
    best_iteration_ : int or None
        Number of steps kept.
    terms : callable or None
        ``terms(weight)`` returns the weighted sum of the outputs as
        :class:`~treerank.feature_parts.terms.Terms`, for exports and exact explanations.
    get_state, set_state : callable or None
        Return and restore what ``fit`` has learned, as a dict of plain JSON values, strings and
        arrays; needed by ``save`` and ``load``. Restored predictions are equal bit for bit.
    """

    accepts_batches: bool = False
    settings_by_workers: dict[str, Any] | None = None
    n_threads: int = 1
    n_features_in_: int | None = None
    given_columns: Sequence[Columns] = ()
    head_weight_: np.ndarray | None = None
    evals_result_: dict[str, Any] = field(default_factory=dict)
    best_iteration_: int | None = None
    terms: Callable[..., Any] | None = None
    get_state: Callable[..., Any] | None = None
    set_state: Callable[..., Any] | None = None


def traits_of(part: Any) -> PartTraits:
    """Return what a feature part has of the members of :class:`PartTraits`.

    Examples
    --------
    >>> from treerank import HistogramTrees
    >>> traits_of(HistogramTrees(n_jobs=2)).n_threads, traits_of("no part").n_threads
    (2, 1)
    """
    absent = object()
    found: dict[str, Any] = {f.name: getattr(part, f.name, absent) for f in fields(PartTraits)}
    return PartTraits(**{name: value for name, value in found.items() if value is not absent})


def check_validation(part: Any, validation: Validation | None) -> None:
    """Refuse a number of rounds for early stopping where nothing is measured."""
    if part.early_stopping_rounds not in (None, "auto") and validation is None:
        raise ValueError(
            "validation must be given where early_stopping_rounds is; got None. "
            "A ranker takes it as eval_set."
        )


def importances_of(part: Any) -> np.ndarray:
    """Return the importance of each feature to a fitted part, if it measures it.

    Examples
    --------
    >>> importances_of("a network")
    Traceback (most recent call last):
    ...
    AttributeError: feature_importances_ must come from trees or lines; str has none. \
permutation_importance(ranker, X, y, qid) of treerank.inspection measures any ranker.
    """
    name = "feature_importances_"
    # A list of parts has the attribute, and tells which of them has none.
    if not (hasattr(type(part), name) or name in getattr(part, "__dict__", {})):
        raise AttributeError(
            f"{name} must come from trees or lines; {type(part).__name__} has none. "
            "permutation_importance(ranker, X, y, qid) of treerank.inspection measures any ranker."
        )
    found: np.ndarray = part.feature_importances_
    return found


def check_fitted_part(name: str, part: Any, sizes: dict[str, int]) -> None:
    """Refuse what is no fitted feature part of so many features, as a rule of a state."""
    width, n_features = traits_of(part).n_features_in_, sizes["n_features"]
    if not has_methods(part, "transform") or width not in (None, n_features):
        raise ValueError(f"{name} must be a fitted feature part of {n_features} features.")


def terms_of(part: Any, weight: np.ndarray) -> "Terms":
    """Return the sum of the outputs of a fitted feature part, each times its weight.

    Examples
    --------
    >>> from treerank.feature_parts import LinearModel
    >>> from treerank.objectives import make_objective
    >>> part = LinearModel().fit(np.array([[1.0], [0.0]]), make_objective([1, 0]))
    >>> terms_of(part, np.array([2.0])).kinds
    ['linear']
    """
    terms = traits_of(part).terms
    if terms is None:
        raise ValueError(
            f"feature_part must be trees, a line, a network or several of these; got {quote(part)}."
        )
    found: Terms = terms(weight)
    return found
