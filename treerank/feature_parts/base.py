"""What a feature part is: any function approximator with ``fit`` and ``transform``.

A feature part sees features and an objective, never labels or queries. The head weighs its
outputs and compares two documents; see :mod:`treerank.rankers.head`.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from treerank.objectives.base import Objective

#: ``(X_val, metric)`` with ``metric(scores) -> float``, higher better.
Validation = tuple[Any, Callable[[np.ndarray], float]]


class FeaturePart(Protocol):
    """A function from documents to numbers that can be fitted to an objective.

    Constructor arguments only assign; the ranker clones the part before fitting it. After
    ``fit`` it has ``n_outputs_``, and those that train step by step have ``evals_result_``,
    ``{"validation": {name of the metric: one value per step}}`` (empty without validation), and
    ``best_iteration_``, the number of steps kept. ``X`` is an ndarray or a
    :class:`~treerank.feature_parts.rows.Rows`.
    """

    def fit(self, X, objective: Objective, *, validation: Validation | None = None):
        """Fit; row ``i`` of ``X`` earns score ``i`` of ``objective``."""
        ...

    def transform(self, X) -> np.ndarray:
        """Return f(x), one row per document, of shape (n_documents, n_outputs_)."""
        ...

    def get_state(self) -> dict[str, Any]:
        """Return the fitted state as plain JSON values, strings and arrays, for ``save``."""
        ...

    def set_state(self, state: dict[str, Any]):
        """Restore what ``get_state`` returned; predictions are equal bit for bit."""
        ...
