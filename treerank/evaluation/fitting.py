"""Fitting: how any estimator is given queries, validation sets and the best parameters.

An estimator needs ``fit(X, y)`` and ``predict(X)``. If its ``fit`` takes ``qid`` (rankers of
ours, pipelines that end in one, your own), it gets one query id per row; our own rankers get the
validation set as ``eval_set``, too. Engines that want sizes of groups need a few lines::

    class GroupedRanker(lightgbm.LGBMRanker):
        def fit(self, X, y, qid):
            order = np.argsort(qid, kind="stable")
            group = np.unique(qid, return_counts=True)[1]
            return super().fit(X[order], y[order], group=group)
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metadata_routing import get_routing_for_object

from treerank.metrics.scorer import RankingScorer
from treerank.model_selection import QueryKFold
from treerank.rankers.ranker import Ranker


@dataclass(frozen=True, eq=False)
class Fitted:
    """Scores of a ranker on a test set, and what they cost.

    Attributes
    ----------
    scores : ndarray of shape (n_documents,)
        Of the test set.
    best_params : dict
        What the search chose, or nothing.
    search_seconds, fit_seconds, predict_seconds : float
        Wall time.
    """

    scores: np.ndarray
    best_params: dict[str, Any]
    search_seconds: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Search:
    """A grid search by query.

    Attributes
    ----------
    grid : dict or list of dict
        Parameters to try, as for scikit-learn's ParameterGrid.
    metric : Metric
        What to choose by.
    cv : int or splitter
        How to split the training set where there is no validation set; a number of folds by
        query.
    """

    grid: Any
    metric: Any
    cv: Any = 3

    def choose(self, ranker, train, validation=None):
        """Return the best parameters."""
        X, y, qid = train
        cv = QueryKFold(self.cv) if isinstance(self.cv, int) else self.cv
        if validation is not None:
            (X, y, qid), cv = _stacked(train, validation)
        scorer = RankingScorer(self.metric)
        search = GridSearchCV(
            ranker, self.grid, scoring=scorer, cv=cv, refit=False, error_score="raise"
        )
        search.fit(X, y, qid=qid, **_eval_set(ranker, validation))
        # refit=False leaves best_index_ undefined in old versions; the first best wins, as there.
        best = int(np.argmin(search.cv_results_["rank_test_score"]))
        return search.cv_results_["params"][best]


def fit_and_predict(ranker, split, search=None):
    """Fit a copy of a ranker to the training set and score the test set.

    Parameters
    ----------
    ranker : estimator
        Never fitted itself.
    split : Split
        The sets.
    search : Search, default=None
        How to choose parameters first.

    Returns
    -------
    Fitted

    Raises
    ------
    ValueError
        The scores are not finite, not one per document, or the same for all of them.
    """
    with sklearn.config_context(enable_metadata_routing=True):
        started = time.perf_counter()
        ranker = requesting(clone(ranker))
        best = {} if search is None else search.choose(ranker, split.train, split.validation)
        ranker.set_params(**best)
        searched = time.perf_counter()
        X, y, qid = split.train
        metadata = {"qid": qid} if takes_qid(ranker) else {}
        ranker.fit(X, y, **metadata, **_eval_set(ranker, split.validation))
        fitted = time.perf_counter()
        scores = ranker.predict(split.test.X)
        predicted = time.perf_counter()
    scores = checked_scores(scores, len(split.test))
    return Fitted(scores, best, searched - started, fitted - searched, predicted - fitted)


def requesting(ranker):
    """Have an estimator whose ``fit`` takes ``qid`` ask for it, if it did not say."""
    request = get_routing_for_object(ranker)
    asked = getattr(getattr(request, "fit", None), "requests", {})
    if "qid" in asked and asked["qid"] is None:
        ranker.set_fit_request(qid=True)
    if isinstance(ranker, Ranker):
        ranker.set_fit_request(eval_set=True)
    return ranker


def takes_qid(ranker):
    """Tell whether ``fit`` asks for ``qid``."""
    return bool(get_routing_for_object(ranker).consumes("fit", {"qid"}))


def checked_scores(scores, n_documents):
    """Return scores as float64, if they rank anything."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (n_documents,):
        raise ValueError(
            f"predict must return one score per document; got shape {scores.shape} for "
            f"{n_documents} documents."
        )
    if not np.isfinite(scores).all():
        raise ValueError(
            f"predict must return finite scores; got {np.count_nonzero(~np.isfinite(scores))} "
            f"others among {n_documents}."
        )
    if n_documents > 1 and np.ptp(scores) == 0:
        raise ValueError(
            f"predict must tell documents apart; got {scores[0]:.4g} for all {n_documents}."
        )
    return scores


def _eval_set(ranker, validation):
    takes = validation is not None and isinstance(ranker, Ranker)
    return {"eval_set": tuple(validation)} if takes else {}


def _stacked(train, validation):
    """Return both sets as one, and the only split that takes them apart again."""
    X = train.X, validation.X
    stacked = sparse_vstack(X, format="csr") if any(map(issparse, X)) else np.vstack(X)
    y = np.append(train.y, validation.y)
    qid = np.append(train.qid, validation.qid)  # may share names: no fit or score sees both sets
    rows = np.arange(len(y))
    return (stacked, y, qid), [(rows[: len(train)], rows[len(train) :])]
