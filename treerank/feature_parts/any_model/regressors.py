"""Newton boosting: any regressor of scikit-learn as a feature part, fitted to derivatives."""

from dataclasses import KW_ONLY
from functools import partial
from itertools import repeat
from typing import Annotated, Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.checks import has_methods, quote
from treerank.feature_parts.any_model.models import (
    calling,
    in_blocks,
    refuse_to_save,
    seeded_copy,
    weight_argument,
)
from treerank.feature_parts.base import Validation, check_validation
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.indicators import IndicatorColumns
from treerank.feature_parts.registry import is_foreign_ranker, is_model_for, reads_sparse
from treerank.feature_parts.rows import as_rows
from treerank.objectives.base import Objective, as_objective, check_derivative
from treerank.parameters import (
    Auto,
    Count,
    LearningRate,
    Rule,
    Seed,
    check_parameters,
)
from treerank.progress import Progress, patience_of

#: Least hessian of a document, over the mean: a target is -gradient / hessian.
_LEAST_HESSIAN = 1e-3


def _check_regressor(name: str, value: Any) -> None:
    """Refuse a value that is no regressor, such as a classifier or a ranker."""
    # Some regressors, such as a StackingRegressor, have predict only once they are fitted.
    fits_and_predicts = has_methods(value, "fit", "predict") or (
        has_methods(value, "fit", "get_params") and is_model_for("regressor", value)
    )
    if not fits_and_predicts or has_methods(value, "rank"):
        raise ValueError(
            f"{name} must be a regressor with fit(X, y) and predict(X), such as "
            f"ExtraTreesRegressor(); got {quote(value)}."
        )
    if is_foreign_ranker(value):
        raise ValueError(
            f"{name} must be a regressor, which sees no queries; got the ranker {quote(value)}. "
            "Write its regressor, or compare(rankers, data), which takes it as it is."
        )
    if is_model_for("classifier", value):
        raise ValueError(
            f"{name} must predict numbers; got the classifier {quote(value)}. Write its regressor."
        )


@estimator
class NewtonBoosting(BaseEstimator):
    r"""Boosting of any regressor: each copy is fitted to Newton steps on the objective.

    With gradient :math:`g` and hessian :math:`h` at the scores so far, a copy is fitted to
    :math:`-g_i / h_i` with weights :math:`h_i`, as the trees of LogitBoost are [1]_. Its
    predictions :math:`p` are a direction, along which the scores take a Newton step,
    :math:`-\sum_i g_i p_i / \sum_i h_i p_i^2`, times ``learning_rate``.

    So any regressor can rank: kernel ridge, nearest neighbors, forests, splines, Gaussian
    processes, pipelines. One whose ``fit`` takes no ``sample_weight`` is fitted to rows that are
    drawn with replacement in proportion to :math:`h_i`.

    Categorical columns are one-hot encoded, after the columns of numbers. Missing values stay NaN:
    put an imputer before a regressor that does not accept them.

    Parameters
    ----------
    regressor : regressor
        Copies of it are fitted. It is one of scikit-learn or any object with ``fit(X, y)`` and
        ``predict(X)``; without ``get_params``, it is copied as it is.
    n_estimators : int, default=20
        Number of copies.
    learning_rate : float, default=0.3
        Share of each Newton step that is taken.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Number of copies without a better value on ``validation`` after which the fit stops; the
        best number of them is kept. "auto" keeps the best of all, with ``validation``. None keeps
        all.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn rows, and of the copies where they have none. A number that is set in the
        regressor is the seed of the first copy, and each next one has the next number.

    Attributes
    ----------
    estimators_ : list of regressor
        The fitted copies that are kept.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Length of the step along the predictions of each copy; 0 where they lead nowhere, as
        constant predictions do.
    best_iteration_ : int
        Number of copies kept.
    evals_result_ : dict
        ``{"validation": {name of the metric: values}}``, one value per copy.
    n_features_in_, n_outputs_ : int
        Number of columns of X and of ``transform``, which has one.

    References
    ----------
    .. [1] Friedman, Hastie and Tibshirani (2000). Additive logistic regression: a statistical view
       of boosting. Annals of Statistics 28.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> X, y, qid = make_web_search(20, documents_per_query=10, n_features=5, random_state=0)
    >>> part = NewtonBoosting(ExtraTreesRegressor(20, max_depth=4), n_estimators=5)
    >>> ranker = TreeDirectRanker(part, random_state=0).fit(X, y, qid)
    >>> len(ranker.feature_part_.estimators_)
    5
    """

    accepts_rows: ClassVar[bool] = True
    n_outputs_: ClassVar[int] = 1

    regressor: Annotated[Any, Rule(_check_regressor)]
    _: KW_ONLY
    n_estimators: Count = 20
    learning_rate: LearningRate = 0.3
    early_stopping_rounds: Auto | Count | None = "auto"
    random_state: Seed = None

    @all_or_nothing
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Fit one copy after another; row ``i`` of ``X`` gets score ``i`` of ``objective``.

        The metric of ``validation`` is computed after every copy.
        """
        check_parameters(self)
        check_validation(self, validation)
        objective = as_objective(objective)
        if objective.n_outputs > 1:
            raise ValueError(
                "objective must have a single output for a regressor; got "
                f"{objective.n_outputs}. Boosted trees take several."
            )
        rows = as_rows(X, sparse=reads_sparse(self))
        self.n_features_in_ = rows.shape[1]
        self._columns = IndicatorColumns.of(rows, self.regressor)
        metric = validation and validation[1]
        progress = Progress(
            metric,
            patience_of(self.early_stopping_rounds, metric, self.n_estimators),
            total=self.n_estimators,
        )
        watched = None if validation is None else self._matrix(validation[0])
        self._boost(self._columns(rows.array()), objective, watched, progress)
        self.evals_result_ = progress.history()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), of shape (n_documents, 1)."""
        check_is_fitted(self)
        matrix = self._matrix(X)
        scores = np.zeros(matrix.shape[0])
        for model, weight in zip(self.estimators_, self.estimator_weights_, strict=True):
            if weight and len(scores):
                scores += weight * in_blocks(partial(self._predicted, model), matrix)
        return scores[:, None]

    def get_state(self) -> NoReturn:
        """Refuse to be saved: the copies are objects of another library."""
        refuse_to_save(self)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: X may be sparse if the regressor reads sparse matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = reads_sparse(self.regressor)
        return tags

    def _boost(self, matrix: Any, objective: Objective, watched: Any, progress: Progress) -> None:
        """Fit copies to ``matrix`` until there are enough, and keep the best number of them.

        ``watched`` is the matrix of the validation documents or None; ``progress`` records their
        metric and says when to stop.
        """
        rng = check_random_state(self.random_state)
        scores = np.zeros(matrix.shape[0])
        watched_scores = None if watched is None else np.zeros(watched.shape[0])
        models, weights = [], []
        for number in range(self.n_estimators):
            gradient, hessian = _derivatives(objective, scores, number)
            model = self._fitted_copy(number, matrix, gradient, hessian, rng)
            direction = self._predicted(model, matrix)
            weight = self.learning_rate * _newton_step(direction, gradient, hessian)
            models.append(model)
            weights.append(weight)
            scores = scores + weight * direction
            if watched_scores is not None:
                watched_scores = watched_scores + weight * self._predicted(model, watched)
                progress.measure(watched_scores)
            if progress.record(number + 1):
                break
        kept = progress.kept()
        self.best_iteration_ = len(models) if kept is None else kept
        self.estimators_ = models[: self.best_iteration_]
        self.estimator_weights_ = np.array(weights[: self.best_iteration_])

    def _fitted_copy(
        self,
        number: int,
        matrix: Any,
        gradient: np.ndarray,
        hessian: np.ndarray,
        rng: np.random.RandomState,
    ) -> Any:
        """Return copy ``number`` of the regressor, fitted to the Newton steps -gradient / hessian.

        Rows are weighed by their hessian, or drawn by it if ``fit`` takes no weights.
        """
        model = seeded_copy(self.regressor, number, rng)
        target, name = -gradient / hessian, weight_argument(model)
        fit_params = {} if name is None else {name: hessian / hessian.mean()}
        if name is None:
            n = len(target)
            drawn = np.sort(rng.choice(n, n, p=hessian / hessian.sum()))
            matrix, target = matrix[drawn], target[drawn]
        # By another routing, a pipeline would not take the weights of its last step by name.
        with (
            calling(self, self.regressor, matrix),
            config_context(enable_metadata_routing=False),
        ):
            model.fit(matrix, target, **fit_params)
        return model

    def _predicted(self, model: Any, matrix: Any) -> np.ndarray:
        """Return a prediction for each row.

        Refuse predictions that are not finite or not one per row.
        """
        with calling(self, self.regressor, matrix):
            predicted = np.asarray(model.predict(matrix), dtype=np.float64)
        n_rows = matrix.shape[0]
        if predicted.size != n_rows or not np.isfinite(predicted).all():
            raise ValueError(
                f"regressor must predict a finite number for each of {n_rows} documents; got shape "
                f"{predicted.shape} or numbers that are not finite from {quote(self.regressor)}."
            )
        return predicted.reshape(n_rows)

    def _matrix(self, X: Any) -> Any:
        rows = as_rows(X, self.n_features_in_, sparse=reads_sparse(self))
        return self._columns(rows.array())


def _derivatives(objective: Objective, scores: np.ndarray, iteration: int) -> Any:
    """Return ``(gradient, hessian)``; the hessian is at least a thousandth of its mean.

    Refuses derivatives that are of another shape or not finite, and a hessian that is nowhere
    positive. If both are 0, the hessian is 1.
    """
    derivatives = objective.derivatives(scores, iteration=iteration)
    gradient, hessian = map(
        check_derivative, ("gradient", "hessian"), derivatives, repeat(scores.shape)
    )
    if not np.isfinite(gradient).all() or not np.isfinite(hessian).all():
        raise ValueError(
            f"gradient and hessian must be finite; got others from {objective.name} in iteration "
            f"{iteration}. Lower learning_rate?"
        )
    mean = hessian.mean()
    if mean <= 0:
        if gradient.any():
            raise ValueError(
                f"hessian must be positive for some document; got none from {objective.name}. "
                "Return ones to take the gradient as it is."
            )
        return gradient, np.ones_like(gradient)
    return gradient, np.maximum(hessian, _LEAST_HESSIAN * mean)


def _newton_step(direction: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> float:
    """Return the length of the Newton step along ``direction``, the predictions of a copy.

    It is 0 if they are the same for all documents, or if the objective would rise.

    Examples
    --------
    >>> direction = np.array([2.0, -2.0])
    >>> _newton_step(direction, np.array([-1.0, 1.0]), np.ones(2))
    0.5
    >>> _newton_step(direction, np.array([1.0, -1.0]), np.ones(2))
    0.0
    """
    if len(direction) == 0 or np.ptp(direction) == 0:  # the same for all documents
        return 0.0
    # Not `@`: a threaded BLAS sums in an order that depends on the number of threads.
    slope, curvature = (gradient * direction).sum(), (hessian * direction**2).sum()
    return float(-slope / curvature) if slope < 0 < curvature else 0.0
