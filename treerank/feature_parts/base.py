"""Feature part: a function of the features of one document, fitted to an objective.

A feature part sees features and an objective, never labels or queries. The head weights the outputs
of the feature part and compares two documents, see :mod:`treerank.rankers.head`. To add a feature
part, write a class with the members of :class:`FeaturePart` (inheriting from it is not needed) and
the members of :class:`PartTraits` that apply to it, and list the class in
:mod:`treerank.feature_parts.registry`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from treerank.checks import has_methods, quote
from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.objectives.base import Objective

if TYPE_CHECKING:
    from treerank.feature_parts.components import Components

#: ``(X_val, metric)`` with ``metric(scores) -> float``; higher values are better.
Validation = tuple[Any, Callable[[np.ndarray], float]]


class FeaturePart(Protocol):
    """A function from documents to numbers that can be fitted to an objective.

    ``X`` is a matrix of numbers, in which missing values are NaN and categories are codes. A part
    that :class:`PartTraits` says to accept rows gets :class:`~treerank.documents.rows.Rows`
    instead. ``fit`` may do without ``validation``; then a ranker refuses an ``eval_set``.

    Notes
    -----
    What else a feature part may have is in :class:`PartTraits`. Rankers fit a copy, which
    :func:`copy_of` makes. With ``get_params`` and ``set_params``, as scikit-learn's estimators have
    them, a search finds the parameters of a part. Of these, rankers set ``random_state``, where it
    is ``None``, to a seed of their own, and ``warm_start``, which a ranker with ``warm_start=True``
    needs: then ``fit`` goes on from the last fit. ``feature_importances_`` is the importance of
    each feature. With ``input_tags.sparse`` true in ``__sklearn_tags__()``, ``X`` may be a CSR
    matrix.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> class FirstFeature:
    ...     def fit(self, X, objective, validation=None):
    ...         gradient, _ = objective.derivatives(np.zeros(len(X)))
    ...         self.sign = -np.sign(gradient @ X[:, 0])
    ...
    ...     def transform(self, X):
    ...         return self.sign * X[:, 0]
    >>> X, y, qid = [[1.0], [3.0], [2.0], [4.0]], [1, 0, 1, 0], [1, 1, 2, 2]
    >>> TreeDirectRanker(FirstFeature()).fit(X, y, qid).rank(X, qid)
    array([1, 2, 1, 2])
    """

    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Any:
        """Fit to an objective; row ``i`` of ``X`` gets score ``i`` of ``objective``."""
        ...

    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), one row per document, of shape (n_documents, n_outputs)."""
        ...


@dataclass(frozen=True, eq=False)
class PartTraits:
    """Optional members of a feature part, besides those of :class:`FeaturePart`, with defaults.

    Attributes
    ----------
    accepts_rows : bool
        Whether ``fit`` and ``transform`` take :class:`~treerank.documents.rows.Rows`, which know
        names and categories of columns; others get a matrix.
    accepts_batches : bool
        Whether ``fit`` takes rows that are read in batches.
    takes_categories : bool
        Whether columns of categories count; a ranker warns of those that do not.
    fits_convex : bool
        Whether ``fit`` minimizes the convex form of the objective, as that of a linear model does;
        a ranker warns of settings that this form replaces.
    resumes : bool
        Whether ``fit`` saves its state, and goes on from it, inside of
        :func:`~treerank.files.checkpoint.checkpointing`. There, a ranker refuses other parts.
    settings_by_workers : dict or None
        Settings with which several workers fit it as one; ``None`` if they cannot.
    n_threads : int
        Largest number of threads.
    n_features_in_ : int or None
        Number of features that it was fitted to.
    n_outputs_ : int or None
        Number of columns of ``transform``, known after ``fit``; ``None`` lets them be counted.
    given_columns : sequence of Columns
        Columns of models that it was given, such as trees: their categories keep their codes.
    given_queries : sequence of TrainingQueries
        Queries that these models were trained on: the ranker remembers them as its own.
    head_weight_ : ndarray or None
        Weight of each output in the score, where ``fit`` has trained it, too. Otherwise the ranker
        fits the weights of several outputs afterwards.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per step}}``, empty without validation.
    best_iteration_ : int or None
        Number of steps kept.
    components : callable or None
        ``components(weight)`` returns the weighted sum of the outputs as
        :class:`~treerank.feature_parts.components.Components`, for exports and exact explanations.
    expected_components : callable or None
        ``expected_components(documents)`` returns components of the kind that ``fit`` to such
        documents gives, as :class:`~treerank.documents.rows.Rows` without a row, so that it is
        known before where a ranker can be exported to. Their numbers mean nothing.
    get_state, set_state : callable or None
        Return and restore what ``fit`` has learned, as a dict of plain JSON values, strings and
        arrays; needed by ``save`` and ``load``. Restored predictions are equal bit for bit.

    Examples
    --------
    >>> PartTraits().accepts_rows, PartTraits().n_threads
    (False, 1)
    """

    accepts_rows: bool = False
    accepts_batches: bool = False
    takes_categories: bool = True
    fits_convex: bool = False
    resumes: bool = False
    settings_by_workers: dict[str, Any] | None = None
    n_threads: int = 1
    n_features_in_: int | None = None
    n_outputs_: int | None = None
    given_columns: Sequence[Columns] = ()
    given_queries: Sequence[TrainingQueries] = ()
    head_weight_: np.ndarray | None = None
    evals_result_: dict[str, Any] = field(default_factory=dict)
    best_iteration_: int | None = None
    components: Callable[..., Any] | None = None
    expected_components: Callable[..., Any] | None = None
    get_state: Callable[..., Any] | None = None
    set_state: Callable[..., Any] | None = None


def traits_of(part: Any) -> PartTraits:
    """Return the traits of a feature part: its own members, or else the defaults.

    Examples
    --------
    >>> from treerank import HistogramTrees
    >>> traits_of(HistogramTrees(n_jobs=2)).n_threads, traits_of("no part").n_threads
    (2, 1)
    """
    absent = object()
    members: dict[str, Any] = {f.name: getattr(part, f.name, absent) for f in fields(PartTraits)}
    return PartTraits(**{name: value for name, value in members.items() if value is not absent})


def copy_of(part: Any) -> Any:
    """Return an unfitted copy of a feature part; one without ``get_params`` is copied as it is."""
    try:
        return clone(part, safe=False)
    except TypeError as error:
        if "pickle" not in str(error):
            raise
        raise TypeError(
            "feature_part must be of objects that copy.deepcopy copies, or that have get_params; "
            f"got {quote(part)}: {error}. Let the class inherit from BaseEstimator of "
            "scikit-learn, which copies parameters alone."
        ) from error


def params_of(part: Any) -> dict[str, Any]:
    """Return the parameters of a feature part by name; there are none without ``get_params``.

    Examples
    --------
    >>> params_of("no part")
    {}
    """
    return dict(part.get_params(deep=False)) if has_methods(part, "get_params") else {}


def takes_validation(part: Any) -> bool:
    """Tell whether the ``fit`` of a feature part accepts validation data for early stopping."""
    try:
        signature(part.fit).bind("X", "objective", validation=None)
    except TypeError:
        return False
    return True


def fit_part(part: Any, X: Any, objective: Objective, validation: Validation | None = None) -> Any:
    """Fit a feature part to documents, as rows or as a matrix as it takes them, and return it.

    ``validation`` is ``(X, metric)`` or None; a part whose ``fit`` takes none gets none.
    """
    if not takes_validation(part):
        part.fit(_as_taken(part, X), objective)
    elif validation is None:
        part.fit(_as_taken(part, X), objective, validation=None)
    else:
        watched, metric = validation
        part.fit(_as_taken(part, X), objective, validation=(_as_taken(part, watched), metric))
    return part


def outputs_of(part: Any, X: Any, columns: Columns | None = None) -> np.ndarray:
    """Return f(x) of a fitted feature part, of shape (n_documents, n_outputs).

    A part of the user's own may return a single output without a second axis. ``columns`` are those
    of ``X`` where a message is to name them.

    Examples
    --------
    >>> class Sum:
    ...     def transform(self, X):
    ...         return X.sum(axis=1)
    >>> outputs_of(Sum(), np.ones((2, 3)))
    array([[3.],
           [3.]])
    """
    outputs = np.asarray(part.transform(_as_taken(part, X)))
    if outputs.ndim == 1:
        outputs = outputs.reshape(-1, 1)
    n_documents = X.shape[0] if hasattr(X, "shape") else len(X)
    is_matrix = outputs.ndim == 2 and len(outputs) == n_documents and outputs.shape[1] > 0
    if not is_matrix or outputs.dtype.kind not in "biuf":
        raise ValueError(
            f"feature_part must return a row of numbers for each of {n_documents} documents from "
            f"transform; got shape {outputs.shape} and {outputs.dtype} from {quote(part)}."
        )
    if not getattr(part, "accepts_rows", False) and not np.isfinite(outputs).all():
        known = X.columns if isinstance(X, Rows) else columns
        raise ValueError(
            "feature_part must return finite numbers from transform; got others from "
            f"{quote(part)}.{_advice_on_nan(_as_taken(part, X), known)}"
        )
    return outputs


def _advice_on_nan(matrix: Any, columns: Columns | None) -> str:
    """Return advice on NaN in a matrix: what it stands for, in which columns, if these are known.

    There is no count, since a part is tried with the first row alone.
    """
    if issparse(matrix):
        return ""
    with_nan = np.flatnonzero(np.isnan(np.asarray(matrix, np.float64)).any(axis=0)).tolist()
    if not with_nan:
        return ""
    causes, where = "missing values", ""
    if columns is None or any(column in columns.categories for column in with_nan):
        causes += " or categories that fit has not seen"
    if columns is not None and columns.names is not None:
        where = f" in {quote([columns.names[column] for column in with_nan])}"
    return f" X has {causes}{where}, which are NaN: fill them in before."


def _as_taken(part: Any, X: Any) -> Any:
    """Return documents as a feature part takes them: as rows, or as a matrix."""
    return X.array() if isinstance(X, Rows) and not getattr(part, "accepts_rows", False) else X


def n_outputs_of(part: Any, X: Any) -> int:
    """Return the number of outputs of a fitted feature part.

    If the part does not tell, it is counted on the first row of ``X``.
    """
    n_outputs = traits_of(part).n_outputs_
    return outputs_of(part, X.batch(0, 1)).shape[1] if n_outputs is None else n_outputs


def check_validation(part: Any, validation: Validation | None) -> None:
    """Refuse a number of ``early_stopping_rounds`` of a part without ``validation``."""
    rounds = getattr(part, "early_stopping_rounds", None)
    if rounds not in (None, "auto") and validation is None:
        raise ValueError(
            f"validation must be given where early_stopping_rounds is, {rounds}; got None. "
            "A ranker takes it as eval_set, as in fit(X, y, qid, eval_set=0.2)."
        )


def importances_of(part: Any) -> np.ndarray:
    """Return the importance of each feature to a fitted part, if it measures it.

    Examples
    --------
    >>> importances_of("a network")
    Traceback (most recent call last):
    ...
    AttributeError: feature_importances_ must come from trees or linear models; str has none. \
permutation_importance(ranker, X, y, qid) of treerank.inspection measures any ranker.
    """
    name = "feature_importances_"
    # A list of parts has the attribute, and tells which of them has none.
    if not (hasattr(type(part), name) or name in getattr(part, "__dict__", {})):
        raise AttributeError(
            f"{name} must come from trees or linear models; {type(part).__name__} has none. "
            "permutation_importance(ranker, X, y, qid) of treerank.inspection measures any ranker."
        )
    importances: np.ndarray = part.feature_importances_
    return importances


def check_fitted_part(name: str, part: Any, sizes: dict[str, int]) -> None:
    """Refuse a value that is no fitted feature part of ``sizes["n_features"]`` features."""
    width, n_features = traits_of(part).n_features_in_, sizes["n_features"]
    if not has_methods(part, "transform") or width not in (None, n_features):
        raise ValueError(f"{name} must be a fitted feature part of {n_features} features.")


def components_of(part: Any, weight: np.ndarray) -> "Components":
    """Return the sum of the outputs of a fitted part, times their weights, as components.

    Refuses a part that is no sum of trees, linear models and networks.

    Examples
    --------
    >>> from treerank.feature_parts import LinearModel
    >>> from treerank.objectives import make_objective
    >>> part = LinearModel().fit(np.array([[1.0], [0.0]]), make_objective([1, 0]))
    >>> components_of(part, np.array([2.0])).kinds
    ['linear']
    """
    components = traits_of(part).components
    if components is None:
        raise _no_components(part)
    weighted_sum: Components = components(weight)
    return weighted_sum


def expected_components_of(part: Any, documents: Rows) -> "Components":
    """Return components of the kind that an unfitted part has after a fit to such documents.

    Refuses a part that has none.

    Examples
    --------
    >>> from treerank.feature_parts import LinearModel
    >>> expected_components_of(LinearModel(), Rows(np.empty((0, 2)))).kinds
    ['linear']
    """
    expected_components = traits_of(part).expected_components
    if expected_components is None:
        raise _no_components(part)
    components: Components = expected_components(documents)
    return components


def _no_components(part: Any) -> ValueError:
    return ValueError(
        "feature_part must be trees, a linear model, a network or several of these; got "
        f"{quote(part)}."
    )
