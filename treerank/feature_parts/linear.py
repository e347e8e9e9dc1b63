"""LinearModel: a weighted sum of the features, fitted by convex optimization, without torch."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.documents.rows import Rows
from treerank.feature_parts.base import Validation
from treerank.feature_parts.components import Components, no_trees
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.head_fitting import fit_head
from treerank.feature_parts.linear_component import LinearComponent
from treerank.feature_parts.rows import as_rows
from treerank.feature_parts.standardization import Standardization
from treerank.files.states import array, check_state, unshared
from treerank.objectives.base import Objective, as_objective
from treerank.parameters import NotNegative, check_parameters

#: What ``fit`` has learned, with the rules of a model file.
_STATE = {
    name: array("float64", "n_features") for name in ("coef_", "mean_", "feature_importances_")
}


@estimator
class LinearModel(BaseEstimator):
    """A linear model (a weighted sum of the features), fitted by convex optimization.

    It minimizes the convex form of the objective plus a penalty, for features that are shifted and
    scaled to mean 0 and standard deviation 1. For a pair loss the convex form is the logistic loss
    of the same pairs. The fit uses no random numbers and does not need torch, unlike
    :class:`~treerank.feature_parts.networks.mlp.MLP` without hidden layers.

    A missing value counts as the mean of its feature. Columns of categories are left out, because
    the order of their codes means nothing. In an ensemble or in stages, trees can learn from them.
    If no part of a ranker learns from these columns, the ranker warns.

    Parameters
    ----------
    alpha : float, default=0.1
        Strength of the penalty, which has no unit; see
        :func:`~treerank.feature_parts.head_fitting.fit_head`.
    positive : bool, default=False
        Whether no weight may be negative, as search engines need it for hybrid queries.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weight of each feature, in the units of ``X``.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature over the training rows.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of the weights of the scaled features; they sum to 1.
    n_features_in_, n_outputs_ : int
        Number of columns of X and of ``transform``, which has one.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> X = np.array([[1.0, 0.0], [0.0, 0.1], [1.0, 0.3], [0.0, 0.2]])
    >>> objective = make_objective([1, 0, 1, 0], ["a", "a", "b", "b"])
    >>> LinearModel().fit(X, objective).coef_.round(1) + 0.0
    array([2.9, 0. ])
    """

    accepts_rows: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = False
    fits_convex: ClassVar[bool] = True
    n_outputs_: ClassVar[int] = 1

    alpha: NotNegative = 0.1
    _: KW_ONLY
    positive: bool = False

    @all_or_nothing
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Fit the weights; row ``i`` of ``X`` gets score ``i`` of ``objective``.

        ``validation`` changes nothing, because there is nothing to stop early.
        """
        check_parameters(self)
        rows = as_rows(X)
        scale = Standardization.of(rows)
        features = scale(rows, np.float64)
        features[:, [*rows.columns.categories]] = 0
        convex = as_objective(objective).convex_or_itself()
        weight = fit_head(features, convex, alpha=self.alpha, positive=self.positive)
        self.coef_, self.mean_ = weight / scale.scale, scale.mean
        size = np.abs(weight)
        self.feature_importances_ = size / max(size.sum(), np.finfo(np.float64).tiny)
        return self

    @np.errstate(all="ignore")  # what is too large becomes a score that is refused
    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), of shape (n_documents, 1)."""
        check_is_fitted(self)
        rows = as_rows(X, self.n_features_in_)
        features = Standardization(self.mean_, np.ones_like(self.mean_))(rows, np.float64)
        return (features * self.coef_).sum(axis=1, keepdims=True)

    def components(self, weight: np.ndarray) -> Components:
        """Return the linear model times a weight."""
        check_is_fitted(self)
        linear = LinearComponent.centered(self.coef_, self.mean_)
        return Components(no_trees(self.n_features_in_), linear).scaled(weight[0])

    def expected_components(self, documents: Rows) -> Components:
        """Return a linear model of the kind that ``fit`` to such documents gives."""
        n_features = documents.shape[1]
        coef = np.full(n_features, 1.0 if self.positive else -1.0)
        coef[[*documents.columns.categories]] = 0
        linear = LinearComponent.centered(coef, np.zeros(n_features))
        return Components(no_trees(n_features), linear)

    def get_state(self) -> dict[str, Any]:
        """Return the fitted weights, means and importances."""
        check_is_fitted(self)
        return unshared({name: getattr(self, name) for name in _STATE})

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and refuse anything else."""
        check_state(state, _STATE)
        for name in _STATE:
            setattr(self, name, state[name])
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        check_is_fitted(self)
        return len(self.coef_)
