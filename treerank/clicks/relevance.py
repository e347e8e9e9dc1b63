r"""Relevance from clicks: what a log tells of each document, and what its features predict.

Few clicks are noise, so that labels made of clicks alone teach noise. Three steps:

1. Propensities :math:`\theta` of positions give the exposure :math:`e_i = \sum_k n_{ik} \theta_k`
   of each document (:mod:`treerank.clicks.propensities`).
2. A feature part is fitted to the shares of documents in the clicks of their query
   (:mod:`treerank.clicks.click_shares`), several times, each time without some of the queries. It
   predicts the relevance :math:`m_i = e^{s_i}` of the documents that it has not seen. Here
   propensities are :math:`\theta^\alpha` [1]_. With :math:`\alpha = 1` there is no bias, but few
   clicks at low positions decide. With :math:`\alpha = 0` the old ranking is taken for relevance.
3. The clicks of a document correct what was predicted: with
   :math:`c_i \sim \mathrm{Poisson}(e_i m_i u_q v_i)` and factors :math:`u` of the query and
   :math:`v` of the document that follow Gamma distributions of mean 1, the relevance is the
   posterior mean of :math:`m_i u_q v_i`. The spread of both factors is the most likely one, so
   many clicks outweigh the features, and few do not.

Users who trust the old ranking click at position :math:`k` with probability
:math:`\theta_k r + \varepsilon_k` [2]_. So a document has :math:`t_i = \sum_k n_{ik}
\varepsilon_k` clicks that say nothing of its relevance, and :math:`c_i - t_i`, not below 0, takes
the place of its clicks.

.. [1] Aouali, Brunel, Rohde and Korba (2023). Exponential smoothing for off-policy learning. ICML.
.. [2] Vardasbi, Oosterhuis and de Rijke (2020). When inverse propensity scoring does not work:
   affine corrections for unbiased learning to rank. CIKM.

Shrinkage: how far the clicks of documents are from what is expected, beyond chance.
"""

from dataclasses import KW_ONLY, dataclass
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
from treerank.clicks.click_shares import ClickShares
from treerank.clicks.counts import ClickCounts
from treerank.clicks.cross_fits import left_out_scores, new_part
from treerank.clicks.log import ClickLog
from treerank.clicks.propensities import check_propensities, estimate_propensities
from treerank.clicks.trust_bias import estimate_trust_bias
from treerank.datasets.ranking_data import RankingData
from treerank.documents.features import check_any_click, check_features, set_columns
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.feature_parts.bags import deal_bags
from treerank.feature_parts.base import FeaturePart
from treerank.feature_parts.registry import reads_sparse
from treerank.objectives.judgments import Judgments
from treerank.parameters import Probability, Seed, Several, check_arguments, check_parameters

#: Bounds of the logarithm of a Gamma distribution's shape.
_LOG_SHAPES = (-4.0, 8.0)


def gamma_shape(clicks: np.ndarray, expected: np.ndarray) -> float:
    """Return the most likely shape of Gamma factors of mean 1 on expected numbers of clicks.

    A prior of this shape is worth as many clicks.

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


#: Least weight of relevance at a position over that at the first one.
_LEAST = 0.01


@dataclass(eq=False, repr=False)
class ClickRelevance(BaseEstimator):
    """Estimates how relevant the documents of a log are, so that any ranker can learn from them.

    Parameters
    ----------
    feature_part : str, feature part or None, default=None
        Function that predicts relevance from features. ``None`` is boosted trees whose fits all
        stop at the same round.
    n_bags : int, default=5
        Number of its fits; each leaves out another share of the queries.
    propensities : array-like of shape (n_positions,), default=None
        Probability that each position is examined; ``None`` estimates them. Ones ignore positions.
        That of a position that shows nothing may be NaN.
    correction : float, default=0.5
        Power of the propensities to which the feature part is fitted: 1 corrects positions in full,
        0 ignores them. Clicks then correct what it predicts, with propensities in full.
    trust : bool, default=False
        Whether documents are clicked for their position, too, whatever their relevance. Such clicks
        are estimated, and propensities with them, by
        :func:`~treerank.clicks.trust_bias.estimate_trust_bias`, and left out. Where sessions are
        few, False ranks as well.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,)
        Probability that each position is examined; NaN for positions that show nothing.
    trust_ : ndarray of shape (n_positions,)
        Probability of a click for the position alone.
    X_ : data frame or array of shape (n_items, n_features)
        Features of each item that the log shows.
    items_ : Items
        Query and document of each item that the log shows.
    exposure_ : ndarray of shape (n_items,)
        Impressions of each item, each counted by the propensity of its position.
    predicted_ : ndarray of shape (n_items,)
        Relevance that the features of each item predict.
    relevance_ : ndarray of shape (n_items,)
        Relevance of each item, given its clicks, too: its rate of clicks at the first position,
        without those by trust.
    shapes_ : tuple of float
        Shapes of the distributions of the factors of queries and documents. The larger, the less
        clicks change.

    Examples
    --------
    >>> from treerank import LightGBMTrees, TreeDirectRanker
    >>> from treerank.clicks import simulate_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    >>> y, policy = 2 * (X[:, 0] > 1), X[:, 1]  # what is shown first is not what is relevant
    >>> log = simulate_clicks(y, qid, policy, exploration=1.0, random_state=0)
    >>> few = LightGBMTrees(n_estimators=20)
    >>> clicks = ClickRelevance(few, random_state=0).fit(log, (X, qid, np.arange(len(y))))
    >>> ranker = TreeDirectRanker(few, random_state=0).fit(*clicks.training_data())
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
            Features of each document of a query that the log shows. Others are left out.
        query, document : str, default="query" and "document"
            Columns of a data frame that are no features.

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
        """Estimate the relevance of the items of counts, which are documents that were read."""
        check_parameters(self)
        X = documents.array()
        if issparse(X) and not reads_sparse(new_part(self.feature_part)):
            raise TypeError(
                f"X must be dense for clicks=ClickRelevance({quote(self.feature_part)}), which "
                "reads no sparse matrices. X.toarray() makes it dense."
            )
        set_columns(self, documents)
        return self._fit(counts, X, X)

    def _fit(self, counts: ClickCounts, X: Any, numbers: Any) -> Self:
        """Estimate the relevance of items, of which ``X`` and ``numbers`` are the features."""
        self.items_, self.X_ = counts.items, X
        groups = counts.canonical_order(numbers)
        counts, queries = counts.of_items(groups.order), QueryGroups(None, groups.indptr)
        self.propensities_, self.trust_ = self._of_positions(counts)
        weights = self.propensities_, self.propensities_**self.correction
        exposure, smoothed = (
            counts.by_item(counts.shown * weight[counts.slot]) for weight in weights
        )
        clicks = counts.by_item(counts.clicked - counts.shown * self.trust_[counts.slot])
        left = np.maximum(clicks, 0)
        rows = Rows(numbers, groups.order, self.columns_)
        objective = ClickShares().bind(Judgments.of(left / smoothed, queries, smoothed))
        rng = check_random_state(self.random_state)
        bags = deal_bags(queries, self.n_bags, rng)
        scores = left_out_scores(self.feature_part, rows, objective, bags, rng)
        predicted, relevance, self.shapes_ = _corrected(
            np.exp(scores), left, exposure, queries.codes
        )
        place = np.argsort(groups.order)
        found = (each[place] for each in (exposure, predicted, relevance))
        self.exposure_, self.predicted_, self.relevance_ = found
        return self

    def training_data(self) -> RankingData:
        """Return X, y and qid, from which any ranker learns.

        The gain 2^y - 1 of a label is proportional to the relevance, and 1 on average.
        """
        check_is_fitted(self)
        mean = np.sort(self.relevance_).mean()  # sorted, so that no order of rows changes a bit
        return RankingData(self.X_, np.log2(1 + self.relevance_ / mean), self.items_.query)

    def _of_positions(self, counts: ClickCounts) -> tuple[np.ndarray, np.ndarray]:
        """Return the propensity of each position, and the probability of a click by trust."""
        no_trust = np.zeros(counts.n_slots)
        if self.propensities is not None:
            if self.trust:
                raise ValueError("propensities must be None where trust is True, which tells both.")
            is_shown = counts.by_slot(counts.shown) > 0
            return check_propensities(self.propensities, is_shown), no_trust
        if not self.trust:
            return estimate_propensities(counts), no_trust
        found = estimate_trust_bias(counts)
        examined = found.examination[~np.isnan(found.examination)]
        return np.maximum(found.examination / examined[0], _LEAST), found.trust

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: X may be sparse if the feature part reads that."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = reads_sparse(new_part(self.feature_part))
        return tags


def _corrected(predicted, clicks, exposure, query):
    """Return predicted rates, rates corrected by the clicks, and the shapes of the factors."""
    predicted = predicted * clicks.sum() / (exposure * predicted).sum()
    expected = exposure * predicted
    of_query = np.bincount(query, clicks), np.bincount(query, expected)
    shape_of_queries = gamma_shape(*of_query)
    factor = (shape_of_queries + of_query[0]) / (shape_of_queries + of_query[1])
    expected, rate = expected * factor[query], predicted * factor[query]
    shape = gamma_shape(clicks, expected)
    return predicted, rate * (shape + clicks) / (shape + expected), (shape_of_queries, shape)
