"""Stages: feature parts in sequence, each fitted to the residual of the stages before it."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.documents.rows import Rows
from treerank.feature_parts.base import (
    FeaturePart,
    Validation,
    check_validation,
    fit_part,
    importances_of,
    n_outputs_of,
    traits_of,
)
from treerank.feature_parts.components import Components, sum_of_components
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.part_list import (
    PartList,
    check_fitted_parts,
    check_outputs,
    mean_importances,
    weighed,
    weighed_components,
)
from treerank.feature_parts.registry import make_feature_part, reads_sparse
from treerank.feature_parts.rows import as_rows
from treerank.files.states import StateRule, array, count, size
from treerank.objectives.base import Objective, as_objective
from treerank.objectives.sums import FromStart
from treerank.parameters import Seed
from treerank.progress import description_of, name_of, values_of


@dataclass(frozen=True)
class _MetricFromStart:
    """A metric of ``start + scores``, where ``start`` are the scores of earlier stages.

    All members of the metric are forwarded.
    """

    metric: Callable[[np.ndarray], float]
    start: np.ndarray

    @property
    def name(self) -> str:
        return name_of(self.metric)

    @property
    def description(self) -> str:
        return description_of(self.metric)

    @property
    def history(self) -> list[list[float]] | None:
        return getattr(self.metric, "history", None)

    @property
    def latest(self) -> dict[str, float]:
        return getattr(self.metric, "latest", {})

    def values(self, scores: np.ndarray) -> list[float]:
        return values_of(self.metric, self.start + scores)

    def __call__(self, scores: np.ndarray) -> float:
        return float(self.metric(self.start + scores))


@estimator
class Stages(PartList):
    """Several feature parts whose scores are added, fitted one after another.

    The first part is fitted to the objective. The next one starts from its scores and learns the
    residual, as the trees of a boosted model do. So trees can start from a linear model, and a
    network or soft trees from boosted trees. To fit parts side by side, use an
    :class:`~treerank.feature_parts.ensemble.Ensemble`.

    Parameters
    ----------
    parts : sequence of str or feature part, default=("linear", "lightgbm")
        The feature parts in their order, by name or as instances, which are copied. Their
        parameters are named by their index:
        ``set_params(**{"1__num_leaves": 15})`` changes the second one.
    random_state : int, RandomState instance or None, default=None
        Seed of the parts that have no seed of their own.

    Attributes
    ----------
    parts_ : list of feature part
        The fitted parts.
    evals_result_ : dict
        Values of the metric after each step of the last part, given ``validation``. It measures the
        sum of the scores of all parts.
    best_iteration_ : int or None
        Number of steps of the last part that are kept.
    spread_ : ndarray of shape (n_parts,)
        Standard deviation of the scores of each part over the training documents.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importance over parts, weighted by their spread.
    n_features_in_, n_outputs_ : int
        Number of columns of X and of ``transform``, which has one.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + np.abs(X[:, 1]) > 1).astype(int)
    >>> ranker = TreeDirectRanker(Stages(["linear", "lightgbm"]), random_state=0).fit(X, y, qid)
    >>> ranker.transform(X).shape
    (200, 1)
    """

    _state: ClassVar[dict[str, StateRule]] = {
        "n_features_in_": size("n_features"),
        "n_outputs_": count(1, at_most=1),
        "parts_": check_fitted_parts,
        "spread_": array("float64", "n_parts", at_least=0),
    }

    parts: Sequence[str | FeaturePart] = ("linear", "lightgbm")
    _: KW_ONLY
    random_state: Seed = None

    n_outputs_ = 1

    @property
    def fits_convex(self) -> bool:
        """Whether all parts minimize the convex form of the objective."""
        return all(traits_of(make_feature_part(part)).fits_convex for part in self.parts)

    @all_or_nothing
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Fit one part after another; row ``i`` of ``X`` gets score ``i`` of ``objective``."""
        objective = as_objective(objective)
        self._check_parts(objective)
        check_validation(self, validation)
        rows = as_rows(X, sparse=reads_sparse(self))
        self.n_features_in_, self.parts_ = rows.shape[1], []
        start, spread = np.zeros(len(rows)), list[float]()
        for part in self._seeded_parts(check_random_state(self.random_state)):
            fit_part(part, rows, FromStart(objective, start), self._watched(validation))
            check_outputs(part, n_outputs_of(part, rows))
            self.parts_.append(part)
            scores = _score(part, rows)[:, 0]
            start = start + scores
            spread.append(float(scores.std()))
        self.spread_ = np.array(spread)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the sum of the scores of all parts, of shape (n_documents, 1)."""
        check_is_fitted(self)
        return reduce(np.add, (_score(part, X) for part in self.parts_))

    def components(self, weight: np.ndarray) -> Components:
        """Return the components of all parts, multiplied by a weight."""
        check_is_fitted(self)
        return sum_of_components(
            [weighed_components(part).scaled(weight[0]) for part in self.parts_]
        )

    def expected_components(self, documents: Rows) -> Components:
        """Return components of the kind that all parts have after a fit to such documents."""
        return self._expected_sum(documents)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature over parts, weighted by the spread of each part."""
        check_is_fitted(self)
        return mean_importances([importances_of(part) for part in self.parts_], self.spread_)

    @property
    def early_stopping_rounds(self) -> int | None:
        """Rounds of the first part that sets a number of them; None if no part does."""
        rounds = (getattr(part, "early_stopping_rounds", None) for part in self.parts)
        return next((number for number in rounds if number not in (None, "auto")), None)

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """Values of the metric of the sum, after each step of the last part."""
        check_is_fitted(self)
        return traits_of(self.parts_[-1]).evals_result_

    @property
    def best_iteration_(self) -> int | None:
        """Number of steps of the last part that are kept, or None where it has none."""
        check_is_fitted(self)
        kept: int | None = traits_of(self.parts_[-1]).best_iteration_
        return kept

    def _fitted_once(self) -> list[Any]:
        return self.parts_

    def _watched(self, validation: Validation | None) -> Validation | None:
        """Return ``(X, metric)``; the metric adds the scores of all parts so far."""
        if validation is None or not self.parts_:
            return validation
        X, metric = validation
        return X, _MetricFromStart(metric, self.transform(X)[:, 0])


def _score(part: Any, X: Any) -> np.ndarray:
    """Return the score of a fitted part, of shape (n_documents, 1)."""
    return weighed(part, X).sum(axis=1, keepdims=True)
