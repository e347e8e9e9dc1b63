r"""Relevance from clicks: position bias corrected, and clicks combined with what features predict.

A few clicks are noise, and a ranker trained on click rates alone would learn that noise. So
relevance is estimated in three steps:

1. Propensities :math:`\theta` of positions give the exposure :math:`e_i = \sum_k n_{ik} \theta_k`
   of each document (:mod:`treerank.clicks.propensities`).
2. A model is fitted to the documents' shares of the clicks of their query
   (:mod:`treerank.clicks.relevance_model`), by cross-fitting: it predicts the relevance
   :math:`m_i = e^{s_i}` of documents of queries that it was not trained on. Here the propensities
   are smoothed to :math:`\theta^\alpha` [1]_. With :math:`\alpha = 1` there is no bias, but a few
   clicks at low positions dominate. With :math:`\alpha = 0` position bias is not corrected.
3. The clicks of a document update the prediction: with
   :math:`c_i \sim \mathrm{Poisson}(e_i m_i u_q v_i)` and factors :math:`u` of the query and
   :math:`v` of the document that follow Gamma distributions of mean 1, the relevance is the
   posterior mean of :math:`m_i u_q v_i`. The shapes of both distributions are fitted by maximum
   likelihood (empirical Bayes), so that many clicks outweigh the features, and few do not.

With **trust bias**, users click at position :math:`k` with probability
:math:`\theta_k r + \varepsilon_k` [2]_. A document then has :math:`t_i = \sum_k n_{ik}
\varepsilon_k` expected clicks that do not depend on its relevance, and its clicks are replaced by
:math:`\max(c_i - t_i, 0)`.

.. [1] Aouali, Brunel, Rohde and Korba (2023). Exponential smoothing for off-policy learning. ICML.
.. [2] Vardasbi, Oosterhuis and de Rijke (2020). When inverse propensity scoring does not work:
   affine corrections for unbiased learning to rank. CIKM.
"""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.sparse import issparse
from scipy.special import gammaln
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.checks import quote
from treerank.clicks.click_data import features_of
from treerank.clicks.counts import ClickCounts
from treerank.clicks.log import ClickLog
from treerank.clicks.propensities import Propensities, check_propensities, estimate_propensities
from treerank.clicks.relevance_model import ClickShares, new_part, out_of_fold_scores
from treerank.clicks.trust_bias import estimate_trust_bias
from treerank.documents.features import check_features, set_columns
from treerank.documents.positions import check_any_click
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import RankingData
from treerank.documents.rows import Rows
from treerank.feature_parts.bags import deal_bags
from treerank.feature_parts.base import FeaturePart
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.registry import reads_sparse
from treerank.objectives.judgments import Judgments
from treerank.parameters import (
    Probability,
    Seed,
    Several,
    check_arguments,
    check_parameters,
)

#: Bounds of the logarithm of a Gamma distribution's shape.
_LOG_SHAPES = (-4.0, 8.0)


def gamma_shape(clicks: np.ndarray, expected: np.ndarray) -> float:
    """Return the maximum likelihood shape of Gamma factors of mean 1 on expected clicks.

    ``clicks`` are Poisson with mean ``factor * expected``, one factor per entry. A prior of shape
    ``a`` weighs as much as ``a`` expected clicks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> expected = np.full(10_000, 3.0)
    >>> round(gamma_shape(rng.poisson(expected * rng.gamma(2, 1 / 2, size=10_000)), expected), 1)
    2.0
    """

    def loss(log_shape: float) -> float:
        a = np.exp(log_shape)
        terms = gammaln(clicks + a) - gammaln(a) - a * np.log1p(expected / a)
        return -float((terms - clicks * np.log(expected + a)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SHAPES, method="bounded").x))


#: Smallest propensity of a position relative to the first position.
_SMALLEST_PROPENSITY = 0.01


@estimator
class ClickRelevance(BaseEstimator):
    """Estimates how relevant the documents of a log are, so that any ranker can learn from them.

    Parameters
    ----------
    feature_part : str, feature part or None, default=None
        Model that predicts relevance from features. ``None`` is boosted trees, of which all folds
        stop at the same iteration.
    n_bags : int, default=5
        Number of folds of the cross-fitting.
    propensities : array-like of shape (n_positions,), default=None
        Examination propensity of each position, which may be relative to the first one; ``None``
        estimates them. An array of ones ignores position bias. The propensity of a position that
        shows no document may be NaN.
    correction : float, default=0.5
        Exponent of the propensities to which the model is fitted: 1 corrects position bias fully, 0
        not at all. The update by clicks afterwards uses the propensities themselves.
    trust : bool, default=False
        Also model trust bias: clicks for the position alone. They are estimated, together with the
        propensities, by :func:`~treerank.clicks.trust_bias.estimate_trust_bias`, and subtracted.
        With few sessions, False ranks as well.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    propensities_ : Propensities of shape (n_positions,)
        Examination propensity of each position, an array with ``plot()``; NaN for positions that
        show no document.
    trust_ : ndarray of shape (n_positions,)
        Probability of a click for the position alone.
    X_ : data frame or array of shape (n_items, n_features)
        Features of each document of a query that the log shows (item).
    items_ : Items
        Query and document of each item.
    exposure_ : ndarray of shape (n_items,)
        Exposure of each item: the sum of the propensities of its impressions.
    predicted_ : ndarray of shape (n_items,)
        Relevance of each item predicted from its features.
    relevance_ : ndarray of shape (n_items,)
        Relevance of each item given its features and its clicks: its click rate at the first
        position, without clicks by trust.
    shapes_ : tuple of float
        Shapes of the Gamma distributions of the factors of queries and of documents. The larger,
        the less clicks change the prediction.

    Examples
    --------
    >>> from treerank import LightGBMTrees, TreeDirectRanker
    >>> from treerank.clicks import simulate_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    >>> y, policy = 2 * (X[:, 0] > 1), X[:, 1]  # the logged ranking ignores relevance
    >>> log = simulate_clicks(y, qid, policy, exploration=1.0, random_state=0)
    >>> trees = LightGBMTrees(n_estimators=20)
    >>> clicks = ClickRelevance(trees, random_state=0).fit(log, (X, qid, np.arange(len(y))))
    >>> ranker = TreeDirectRanker(trees, random_state=0).fit(*clicks.training_data())
    >>> ranker.score(X, y, qid) > 0.9
    True
    """

    feature_part: str | FeaturePart | None = None
    _: KW_ONLY
    n_bags: Several = 5
    propensities: ArrayLike | None = None
    correction: Probability = 0.5
    trust: bool = False
    random_state: Seed = None

    @all_or_nothing
    @check_arguments
    def fit(
        self,
        log: ClickLog | ClickCounts,
        features: Any,
        *,
        query: str = "query",
        document: str = "document",
    ) -> Self:
        """Estimate the relevance of the documents of a log.

        Parameters
        ----------
        log : ClickLog or ClickCounts
            Sessions and their clicks, or their sums.
        features : data frame, path of a Parquet file, or tuple (X, query, document)
            Features of each document of a query that the log shows; further rows are ignored.
        query, document : str, default="query" and "document"
            Names of the columns of a data frame that hold the query and the document.

        Returns
        -------
        ClickRelevance
            The estimator itself.
        """
        check_parameters(self)
        counts = log.counts()
        check_any_click("click", counts.clicked)
        counts = counts.of_items(np.unique(counts.item))
        X = features_of(counts.items, features, query=query, document=document)
        return self._fit(counts, X, check_features(self, X, reset=True))

    def fit_counts(self, counts: ClickCounts, documents: Rows) -> Self:
        """Estimate the relevance of counted items; ``documents`` are their features, checked."""
        check_parameters(self)
        X = documents.array()
        if issparse(X) and not reads_sparse(new_part(self.feature_part)):
            raise TypeError(
                f"X must be dense for clicks=ClickRelevance({quote(self.feature_part)}), which "
                "reads no sparse matrices. X.toarray() makes it dense."
            )
        set_columns(self, documents.columns, documents.shape[1])
        return self._fit(counts, X, X)

    def _fit(self, counts: ClickCounts, X: Any, numbers: Any) -> Self:
        """Estimate the relevance of items; ``numbers`` are their features ``X`` as a matrix."""
        self.items_, self.X_ = counts.items, X
        groups = counts.canonical_order(numbers)
        counts, queries = counts.of_items(groups.order), QueryGroups(None, groups.indptr)
        propensities, self.trust_ = self._position_effects(counts)
        self.propensities_ = Propensities.of(propensities)
        weights = propensities, propensities**self.correction
        exposure, smoothed = (
            counts.by_item(counts.shown * weight[counts.slot]) for weight in weights
        )
        clicks = counts.by_item(counts.clicked - counts.shown * self.trust_[counts.slot])
        clicks = np.maximum(clicks, 0)
        rows = Rows(numbers, groups.order, self.columns_)
        objective = ClickShares().bind(Judgments.of(clicks / smoothed, queries, smoothed))
        rng = check_random_state(self.random_state)
        bags = deal_bags(queries, self.n_bags, rng)
        scores = out_of_fold_scores(self.feature_part, rows, objective, bags, rng)
        predicted, relevance, self.shapes_ = _posterior(
            np.exp(scores), clicks, exposure, queries.codes
        )
        slots = np.argsort(groups.order)
        self.exposure_, self.predicted_ = exposure[slots], predicted[slots]
        self.relevance_ = relevance[slots]
        return self

    def training_data(self) -> RankingData:
        """Return X, y and qid to train any ranker on.

        The labels are such that the gain 2^y - 1 is proportional to the relevance, and 1 on
        average.
        """
        check_is_fitted(self)
        mean = np.sort(self.relevance_).mean()  # sorted, so that no order of rows changes a bit
        return RankingData(self.X_, np.log2(1 + self.relevance_ / mean), self.items_.query)

    def _position_effects(self, counts: ClickCounts) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(propensities, trust)`` by position.

        Trust is the probability of a click by trust.
        """
        no_trust = np.zeros(counts.n_slots)
        if self.propensities is not None:
            if self.trust:
                raise ValueError(
                    "propensities must be None where trust is True, which estimates both; got "
                    f"{quote(self.propensities)}."
                )
            is_shown = counts.by_slot(counts.shown) > 0
            return check_propensities(self.propensities, is_shown), no_trust
        if not self.trust:
            return np.asarray(estimate_propensities(counts)), no_trust
        bias = estimate_trust_bias(counts)
        examined = bias.examination[~np.isnan(bias.examination)]
        return np.maximum(bias.examination / examined[0], _SMALLEST_PROPENSITY), bias.trust

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: X may be sparse if the feature part reads that."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = reads_sparse(new_part(self.feature_part))
        return tags


def _posterior(predicted, clicks, exposure, query):
    """Update the predicted click rates of documents by their clicks.

    ``exposure`` and ``query`` are the exposure and the query number of each document.

    Returns
    -------
    tuple
        ``(predicted, relevance, (query_shape, document_shape))``: predictions scaled to the number
        of clicks, their posterior means, and the shapes of the Gamma priors.
    """
    predicted = predicted * clicks.sum() / (exposure * predicted).sum()
    expected = exposure * predicted
    query_clicks, query_expected = np.bincount(query, clicks), np.bincount(query, expected)
    query_shape = gamma_shape(query_clicks, query_expected)
    factor = (query_shape + query_clicks) / (query_shape + query_expected)
    expected, rate = expected * factor[query], predicted * factor[query]
    shape = gamma_shape(clicks, expected)
    return predicted, rate * (shape + clicks) / (shape + expected), (query_shape, shape)
