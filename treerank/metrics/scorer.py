"""Scorers: metrics for scikit-learn's ``scoring=``, which pass the query ids on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from treerank.metrics.registry import get_metric


@dataclass(frozen=True)
class RankingScorer:
    """A metric of ``estimator.predict(X)``, for ``cross_validate`` and searches.

    Make it by :func:`make_ranking_scorer`, which checks the metric.

    With metadata routing enabled, ``qid`` is requested by default. Without metadata routing
    scikit-learn passes no ``qid``, and all documents are ranked as one query.

    Parameters
    ----------
    metric : str, Metric or callable, default="ndcg@10"
        See :func:`~treerank.metrics.registry.get_metric`.
    qid : array-like of shape (n_documents,), default=None
        Query ids where the caller passes none.

    Examples
    --------
    >>> RankingScorer("map")
    RankingScorer(metric='map', qid=None)
    """

    metric: str | Callable[..., float] = "ndcg@10"
    qid: ArrayLike | None = None

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, *, qid: ArrayLike | None = None
    ) -> float:
        """Return the metric of the estimator's scores; higher is better."""
        qid = self.qid if qid is None else qid
        return get_metric(self.metric)(y, estimator.predict(X), qid)

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for ``qid``; scikit-learn calls this."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request


def make_ranking_scorer(
    metric: str | Callable[..., float] = "ndcg@10", *, qid: ArrayLike | None = None
) -> RankingScorer:
    """Return a scorer that takes ``qid``.

    Parameters
    ----------
    metric : str, Metric or callable, default="ndcg@10"
        See :func:`~treerank.metrics.registry.get_metric`.
    qid : array-like of shape (n_documents,), default=None
        Query ids, for tools of scikit-learn that pass none and keep the rows as they are, such as
        ``permutation_importance``.

    Returns
    -------
    RankingScorer
        Called as ``scorer(estimator, X, y, qid=qid)``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y, qid = [[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 2], ["a", "a", "b", "b"]
    >>> scorer = make_ranking_scorer("ndcg@10")
    >>> scorer(LinearRegression().fit(X, y), X, y, qid=qid)
    1.0
    """
    get_metric(metric)  # refuses an unknown name now, not in the middle of a search
    return RankingScorer(metric, qid)
