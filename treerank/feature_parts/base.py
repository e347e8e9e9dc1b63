"""Feature part: a function of the features of one document, fitted to an objective.

A feature part sees features and an objective, never labels or queries. The head weighs the outputs
of the feature part and compares two documents, see :mod:`treerank.rankers.head`. To add a feature
part, write a class with the members of :class:`FeaturePart` (inheriting from it is not needed) and
list the class in :mod:`treerank.feature_parts.registry`.
"""

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np

from treerank.objectives.base import Objective

#: ``(X_val, metric)`` with ``metric(scores) -> float``; higher values are better.
Validation = tuple[Any, Callable[[np.ndarray], float]]
#: Stands for validation documents where parameters are checked without training.
NO_VALIDATION: Validation = (None, lambda scores: 0.0)


class FeaturePart(Protocol):
    """A function from documents to numbers that can be fitted to an objective.

    Rankers copy a feature part with :func:`sklearn.base.clone` before they fit the copy, so its
    ``__init__`` only assigns its arguments. ``X`` is an ndarray or a
    :class:`~treerank.feature_parts.rows.Rows`.

    Attributes
    ----------
    n_outputs_ : int
        Columns of ``transform``, known after ``fit``.

    Notes
    -----
    Rankers use the following members, too, where a feature part has them:

    ``get_state()`` and ``set_state(state)``
        Return and restore what ``fit`` has learned, as a dict of plain JSON values, strings and
        arrays; needed by ``save`` and ``load``. Restored predictions are equal bit for bit.
    ``random_state``
        Parameter; where it is ``None`` the ranker sets it to a seed of its own.
    ``warm_start``
        Parameter; with it, ``fit`` goes on from the last fit. Needed by a ranker with
        ``warm_start=True``.
    ``head_weight_``
        Weight of each output in the score, where ``fit`` has trained it, too. Otherwise the ranker
        fits the weights of several outputs afterwards.
    ``evals_result_``
        ``{"validation": {name of the metric: one value per step}}``, empty without validation.
    ``best_iteration_``
        Number of steps kept.
    ``feature_importances_``
        Importance of each feature.
    ``__sklearn_tags__()``
        With ``input_tags.sparse`` true, ``X`` may be a CSR matrix.
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
