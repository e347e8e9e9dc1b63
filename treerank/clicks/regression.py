r"""Regression of propensities: positions told from relevance by the features of documents.

Where a document is always shown at the same position, its own clicks cannot tell how likely that
position is examined. Its features can: documents alike stand at other positions of other queries.
A document with features :math:`x`, shown :math:`n` times at position :math:`k`, is expected to be
clicked :math:`n \theta_k e^{f(x)}` times. With Poisson counts, and given :math:`f`, the most likely
propensities are the clicks of each position over what its documents attract,

.. math:: \theta_k = \frac{c_k}{\sum_{i \text{ at } k} n_i e^{f(x_i)}}.

With these in its place, the likelihood of :math:`f` is that of
:class:`~treerank.clicks.click_shares.ClickShares` with a position for a query: how the clicks of a
position are shared by its documents. So a feature part is fitted to it at once. Regression EM [1]_
goes up the same kind of likelihood in turns, a regression and the propensities at a time.

.. [1] Wang, Golbandi, Bendersky, Metzler and Najork (2018). Position bias estimation for unbiased
   learning to rank in personal search. WSDM.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from treerank.clicks.click_data import features_of
from treerank.clicks.click_shares import ClickShares
from treerank.clicks.counts import ClickCounts, spread
from treerank.clicks.cross_fits import left_out_scores
from treerank.clicks.log import ClickLog
from treerank.clicks.propensities import check_clicked, falling
from treerank.feature_parts.bags import Bag, deal_bags
from treerank.feature_parts.base import FeaturePart
from treerank.feature_parts.rows import Rows
from treerank.inputs.documents import check_matrix
from treerank.inputs.grouping import QueryGroups
from treerank.objectives.judgments import Judgments
from treerank.parameters import Seed, Several, check_arguments


@check_arguments
def regression_propensities(
    log: ClickLog | ClickCounts,
    features: Any,
    *,
    feature_part: str | FeaturePart | None = None,
    n_bags: Several = 5,
    monotone: bool = False,
    query: str = "query",
    document: str = "document",
    random_state: Seed = None,
) -> np.ndarray:
    """Return the probability that each position is examined, over that of the first one.

    Features tell how relevant the documents of each position are, so rankings need not differ
    between sessions. Relevance that the old ranker knows and the features do not tell is taken for
    examination. Where rankings do differ, :func:`estimate_propensities` needs no features.
    ``ClickRelevance(propensities=...)`` takes them; with ``monotone=True`` none is above 1.

    Parameters
    ----------
    log, monotone
        As in :func:`~treerank.clicks.propensities.estimate_propensities`.
    features, query, document
        As in :meth:`ClickRelevance.fit <treerank.clicks.relevance.ClickRelevance.fit>`.
    feature_part, n_bags, random_state
        As in :class:`~treerank.clicks.relevance.ClickRelevance`.

    Returns
    -------
    ndarray of shape (n_positions,)
        Propensities; the first is 1. Those of positions that show nothing are NaN.

    Examples
    --------
    >>> from treerank.clicks import simulate_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(1500, 2)), np.repeat(np.arange(300), 5)
    >>> y, old = 2 * (X[:, 0] > 0), X.sum(axis=1)
    >>> log = simulate_clicks(y, qid, old, exploration=0.0, n_sessions=50, random_state=0)
    >>> regression_propensities(log, (X, qid, np.arange(1500)), random_state=0).round(1)
    array([1. , 0.5, 0.3, 0.2, 0.2])
    """
    counts = log.counts()
    check_clicked(counts)
    counts, slots = counts.without_gaps()
    shown, item = np.unique(counts.item, return_inverse=True)
    X = features_of(counts.items.taking(shown), features, query=query, document=document)
    positions, impressions = QueryGroups.from_qid(counts.slot), counts.shown.astype(np.float64)
    rates = Judgments.of(counts.clicked / impressions, positions, impressions)
    rows, objective = Rows(check_matrix("X", X), item), ClickShares().bind(rates)
    rng = check_random_state(random_state)
    dealt = deal_bags(QueryGroups.from_qid(counts.items.query[counts.item]), n_bags, rng)
    bags = [Bag(_by_slot(bag.kept, counts), _by_slot(bag.left_out, counts)) for bag in dealt]
    attracted = np.exp(left_out_scores(feature_part, rows, objective, bags, rng))
    clicks = counts.by_slot(counts.clicked)
    propensities = clicks / counts.by_slot(counts.shown * attracted)
    found = falling(propensities, clicks) if monotone else propensities / propensities[0]
    return spread(found, slots)


def _by_slot(rows: np.ndarray, counts: ClickCounts) -> np.ndarray:
    """Return rows of counts, those of a slot next to each other."""
    return rows[np.argsort(counts.slot[rows], kind="stable")]
