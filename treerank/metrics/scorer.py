"""Scorers: metrics as scikit-learn's ``scoring=``, with the query ids routed to them."""

from dataclasses import dataclass
from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from treerank.metrics.registry import get_metric


@dataclass(frozen=True)
class RankingScorer:
    """A metric of ``estimator.predict(X)``, for ``cross_validate`` and its kin.

    With metadata routing enabled, ``qid`` is requested by default. Without it scikit-learn
    passes no ``qid``, and all documents would be ranked as one query.

    Parameters
    ----------
    metric : str, Metric or callable, default="ndcg@10"
        See :func:`~treerank.metrics.registry.get_metric`.
    """

    metric: Any = "ndcg@10"

    def __call__(self, estimator, X, y, *, qid=None) -> float:
        """Return the metric of the estimator's scores; higher is better."""
        return get_metric(self.metric)(y, estimator.predict(X), qid)

    def get_metadata_routing(self):
        """Return the request for ``qid``, as scikit-learn asks for it."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request


def make_ranking_scorer(metric="ndcg@10"):
    """Make a scorer that takes ``qid``.

    Parameters
    ----------
    metric : str, Metric or callable, default="ndcg@10"
        See :func:`~treerank.metrics.registry.get_metric`.

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
    get_metric(metric)  # an unknown name is refused here, not in the middle of a search
    return RankingScorer(metric)
