"""Fits: how an estimator gets queries, a validation set and the best hyperparameters.

An estimator needs ``fit(X, y)`` and ``predict(X)``. If its ``fit`` takes ``qid`` (rankers of this
package, your own), it gets one query id per row. Rankers of this package, of LightGBM, XGBoost and
CatBoost, and pipelines that end in one also get the validation set as ``eval_set``; see
:mod:`treerank.evaluation.engine_rankers` and :mod:`treerank.evaluation.pipelines`. A ranker that
was fitted before is only scored.
"""

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.model_selection import GridSearchCV

from treerank.datasets.folds import Split
from treerank.documents.queries import joined_ids
from treerank.documents.ranking_data import RankingData
from treerank.documents.reading import stacked_rows
from treerank.evaluation.engine_rankers import duplicate
from treerank.evaluation.labels import as_passed
from treerank.evaluation.pipelines import request_metadata, stops, takes_eval_set, takes_qid
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric, RankingScorer
from treerank.model_selection import QueryKFold


@dataclass(frozen=True, eq=False)
class Fitted:
    """The scores of a ranker on a test set, and how it was fitted.

    Attributes
    ----------
    scores : ndarray of shape (n_documents,)
        Scores of the test documents.
    best_params : dict
        Hyperparameters that the search chose.
    seconds : tuple of float
        Times of search, fit and predict; NaN for those that did not take place.
    watched : bool or None
        Whether a validation set was used for early stopping; None without one.
    """

    scores: np.ndarray
    best_params: dict[str, Any]
    seconds: tuple[float, float, float]
    watched: bool | None = None


@dataclass(frozen=True)
class Search:
    """A grid search by a metric in which training and test sets share no query.

    Attributes
    ----------
    grid : dict or list of dict
        Values of hyperparameters, as in scikit-learn's ``GridSearchCV``.
    metric : Metric or FunctionMetric
        Metric whose mean chooses.
    cv : int or splitter, default=3
        How to split the training set if there is no validation set: a number of folds of whole
        queries, or a splitter.
    """

    grid: Any
    metric: Metric | FunctionMetric
    cv: Any = 3

    def choose(
        self, ranker: Any, train: RankingData, validation: RankingData | None = None
    ) -> dict[str, Any]:
        """Return the best hyperparameters by name.

        They are chosen by cross-validation on the training set, or by the validation set if there
        is one.
        """
        X, y, qid = train
        cv = QueryKFold(self.cv) if isinstance(self.cv, int) else self.cv
        if validation is not None:
            (X, y, qid), cv = _stacked(train, validation)
        scorer = RankingScorer(self.metric.on_scale(float(np.max(y))))
        settings = {"scoring": scorer, "cv": cv, "refit": False, "error_score": "raise"}
        search = GridSearchCV(ranker, self.grid, **settings)
        return search.fit(X, y, qid=qid, **_eval_set(ranker, validation)).best_params_


def fit_and_predict(ranker: Any, split: Split, search: Search | None = None) -> Fitted:
    """Fit a copy of a ranker to the training set of a split, and score its test set.

    ``search`` chooses hyperparameters before the fit.
    """
    assert split.train is not None
    with sklearn.config_context(enable_metadata_routing=True):
        started = time.perf_counter()
        ranker = request_metadata(duplicate(ranker))
        train, validation = _judged(split.train), split.validation and _judged(split.validation)
        best = {} if search is None else search.choose(ranker, train, validation)
        ranker.set_params(**best)
        searched = time.perf_counter()
        metadata = {"qid": train.qid} if takes_qid(ranker) else {}
        ranker.fit(train.X, as_passed(train.y), **metadata, **_eval_set(ranker, validation))
        fitted = time.perf_counter()
        scores = ranker.predict(split.test.X)
        predicted = time.perf_counter()
    scores = check_scores(scores, len(split.test))
    seconds = searched - started, fitted - searched, predicted - fitted
    watched = None if validation is None else takes_eval_set(ranker) and stops(ranker)
    return Fitted(scores, best, seconds, watched)


def predict_only(ranker: Any, split: Split) -> Fitted:
    """Score the test set by a ranker that was fitted before."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        # LightGBM names the columns of an array, and scikit-learn then misses the names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        scores = check_scores(ranker.predict(split.test.X), len(split.test))
    return Fitted(scores, {}, (math.nan, math.nan, time.perf_counter() - started))


def _judged(data: RankingData) -> RankingData:
    """Return the documents with labels; data of several labels are returned unchanged.

    Rankers of several labels skip missing labels themselves.
    """
    return data if data.y.dtype.names else data.judged()


def check_scores(scores: ArrayLike, n_documents: int) -> np.ndarray:
    """Return scores as float64; refuse scores that are not finite, or all equal."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (n_documents,):
        got = f"shape {scores.shape} for {n_documents} documents"
        raise ValueError(f"predict must return one score per document; got {got}.")
    if not np.isfinite(scores).all():
        got = f"{np.count_nonzero(~np.isfinite(scores))} others among {n_documents}"
        raise ValueError(f"predict must return finite scores; got {got}.")
    if n_documents > 1 and np.ptp(scores) == 0:
        raise ValueError(
            f"predict must return different scores; got {scores[0]:.4g} for all {n_documents}."
        )
    return scores


def _eval_set(ranker, validation):
    """Return ``{"eval_set": (X, y, qid)}`` of the validation set.

    The dict is empty if there is no validation set, or the ranker takes none.
    """
    if validation is None or not takes_eval_set(ranker):
        return {}
    return {"eval_set": (validation.X, as_passed(validation.y), validation.qid)}


def _stacked(train, validation):
    """Return ``((X, y, qid), [(training rows, validation rows)])``, both sets as one."""
    y = np.append(train.y, validation.y)
    qid = joined_ids([train.qid, validation.qid])  # ids may be in both sets: no fit sees both
    rows = np.arange(len(y))
    X = stacked_rows((train.X, validation.X))
    return (X, y, qid), [(rows[: len(train)], rows[len(train) :])]
