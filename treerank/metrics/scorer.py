"""Scorers: metrics as scikit-learn's ``scoring=``, with the query ids routed to them."""

from typing import ClassVar

from sklearn.base import BaseEstimator

from treerank.metrics.registry import get_metric


class RankingScorer(BaseEstimator):
    """A metric of ``estimator.predict(X)``, for ``cross_validate`` and its kin.

    With metadata routing enabled, ``qid`` is requested by default. Without it scikit-learn
    passes no ``qid``, and all documents would be ranked as one query.

    Parameters
    ----------
    metric : str, Metric or callable, default="ndcg@10"
        See :func:`~treerank.metrics.registry.get_metric`.
    """

    # A BaseEstimator for its metadata requests alone: the public way to have them.
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    def __init__(self, metric="ndcg@10"):
        self.metric = metric

    def __call__(self, estimator, X, y, *, qid=None) -> float:
        """Return the metric of the estimator's scores; higher is better."""
        return get_metric(self.metric)(y, estimator.predict(X), qid)


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
