"""Fits: how an estimator gets queries, a validation set and the best parameters.

An estimator needs ``fit(X, y)`` and ``predict(X)``. If its ``fit`` takes ``qid`` (rankers of this
package, pipelines that end in one, your own), it gets one query id per row. Rankers of this
package get the validation set as ``eval_set``, too. Rankers of other packages, whose ``fit`` takes
groups, are in :mod:`treerank.evaluation.engine_rankers`.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metadata_routing import get_routing_for_object

from treerank.datasets.folds import Split
from treerank.datasets.ranking_data import RankingData
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric, RankingScorer
from treerank.model_selection import QueryKFold
from treerank.rankers.ranker import Ranker
from treerank.rankers.reading import stacked_rows


@dataclass(frozen=True, eq=False)
class Fitted:
    """The scores of a ranker on a test set, its parameters and seconds as in ``Outcome``."""

    scores: np.ndarray
    best_params: dict[str, Any]
    seconds: tuple[float, float, float]


@dataclass(frozen=True)
class Search:
    """A grid search by a metric in which training and test sets share no query.

    ``cv`` splits the training set if there is no validation set: a number of folds of whole
    queries, or a splitter.
    """

    grid: Any
    metric: Metric | FunctionMetric
    cv: Any = 3

    def choose(
        self, ranker: Any, train: RankingData, validation: RankingData | None = None
    ) -> dict[str, Any]:
        """Return the best parameters."""
        X, y, qid = train
        cv = QueryKFold(self.cv) if isinstance(self.cv, int) else self.cv
        if validation is not None:
            (X, y, qid), cv = _stacked(train, validation)
        scorer = RankingScorer(self.metric)
        settings = {"scoring": scorer, "cv": cv, "refit": False, "error_score": "raise"}
        search = GridSearchCV(ranker, self.grid, **settings)
        return search.fit(X, y, qid=qid, **_eval_set(ranker, validation)).best_params_


def fit_and_predict(ranker: Any, split: Split, search: Search | None = None) -> Fitted:
    """Fit a copy of a ranker to the training set and score the test set."""
    with sklearn.config_context(enable_metadata_routing=True):
        started = time.perf_counter()
        ranker = request_metadata(clone(ranker))
        train, validation = split.train.judged(), split.validation and split.validation.judged()
        best = {} if search is None else search.choose(ranker, train, validation)
        ranker.set_params(**best)
        searched = time.perf_counter()
        X, y, qid = train
        metadata = {"qid": qid} if takes_qid(ranker) else {}
        ranker.fit(X, y, **metadata, **_eval_set(ranker, validation))
        fitted = time.perf_counter()
        scores = ranker.predict(split.test.X)
        predicted = time.perf_counter()
    scores = check_scores(scores, len(split.test))
    return Fitted(scores, best, (searched - started, fitted - searched, predicted - fitted))


def request_metadata(ranker: Any) -> Any:
    """Set the requests for ``qid`` and ``eval_set`` of an estimator whose ``fit`` takes them.

    A request for ``qid`` that the user has set is kept.
    """
    request = get_routing_for_object(ranker)
    requests = getattr(getattr(request, "fit", None), "requests", {})
    if "qid" in requests and requests["qid"] is None:
        ranker.set_fit_request(qid=True)
    if isinstance(ranker, Ranker):
        ranker.set_fit_request(eval_set=True)
    return ranker


def takes_qid(ranker: Any) -> bool:
    """Return whether ``fit`` requests ``qid``."""
    return bool(get_routing_for_object(ranker).consumes("fit", {"qid"}))


def check_scores(scores: ArrayLike, n_documents: int) -> np.ndarray:
    """Return scores as float64; refuse scores that do not rank the documents."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (n_documents,):
        found = f"shape {scores.shape} for {n_documents} documents"
        raise ValueError(f"predict must return one score per document; got {found}.")
    if not np.isfinite(scores).all():
        found = f"{np.count_nonzero(~np.isfinite(scores))} others among {n_documents}"
        raise ValueError(f"predict must return finite scores; got {found}.")
    if n_documents > 1 and np.ptp(scores) == 0:
        raise ValueError(
            f"predict must return different scores; got {scores[0]:.4g} for all {n_documents}."
        )
    return scores


def _eval_set(ranker, validation):
    """Return the arguments for early stopping on the validation set, if the ranker takes any."""
    takes_eval_set = validation is not None and isinstance(ranker, Ranker)
    return {"eval_set": tuple(validation)} if takes_eval_set else {}


def _stacked(train, validation):
    """Return both sets as one, and the one split of it into the two."""
    y = np.append(train.y, validation.y)
    qid = np.append(train.qid, validation.qid)  # ids may be in both sets: no fit sees both
    rows = np.arange(len(y))
    X = stacked_rows((train.X, validation.X))
    return (X, y, qid), [(rows[: len(train)], rows[len(train) :])]
