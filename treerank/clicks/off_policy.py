r"""Off-policy estimators: the reward of a new ranking, from clicks on the lists of an old one.

Notation of the counterfactual learning-to-rank literature: document :math:`i` of a query has
relevance :math:`\gamma_i = P(\text{click} \mid \text{examined})`; position :math:`k` is examined
with propensity :math:`\theta_k`; the logging policy shows :math:`i` at :math:`k` with probability
:math:`p_{ik}`. In the :math:`n_i` sessions of its query, document :math:`i` was clicked
:math:`c_i` times, and its mean exposure per session, the sum of the propensities of the positions
at which it was shown over :math:`n_i`, is :math:`w_i`. :math:`m_{ik}` is 1 if the new ranking puts
:math:`i` at :math:`k`, else 0; with tied scores, it is the share of the document's reward that it
earns at :math:`k`.

==========================  =============================================  =======================
name                        estimate of :math:`n_i \gamma_i`               bias, variance
==========================  =============================================  =======================
``ips``                     :math:`c_i / w_i`                              unbiased, high
``self_normalized``         clipped ips, scaled to the exposure counted    small, lower
``doubly_robust``           predicted relevance plus ips of its residuals  unbiased if either holds
``policy_ips``              :math:`\sum m_{ik} / (p_{ik} \theta_k)`        unbiased, high
``policy_self_normalized``  policy_ips, scaled to the matched impressions  small, lower
==========================  =============================================  =======================

The sum of ``policy_ips`` is over the sessions of the query in which :math:`i` was clicked. It needs
the probabilities :math:`p_{ik}` in the log, and works for queries of a single session, too.

The **reward** of a session is :math:`\sum_k u_k \gamma_k` with the reward :math:`u_k` of a relevant
document at position :math:`k`. The reward is linear in the relevance of each document, so its
estimate is unbiased if the estimates of relevance are unbiased. Importance
weights of the self-normalized estimators are proportional to :math:`|u_k|`, since a reward may be
negative; they are scaled so that their sum is the expected one.

To add an estimator, write a function of :class:`DocumentStatistics` and list it in ``ESTIMATORS``.

References
----------
Joachims et al. (2017), Unbiased learning-to-rank with biased feedback. Swaminathan and Joachims
(2015), The self-normalized estimator for counterfactual learning. Oosterhuis (2023), Doubly robust
estimation for correcting position bias in click feedback.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_choice, check_column
from treerank.clicks.items import Items
from treerank.documents.queries import QueryGroups


class DocumentStatistics(NamedTuple):
    """Sums over the log, one entry per document of a query.

    Attributes
    ----------
    clicks : ndarray of shape (n_documents,)
        Number of clicks.
    exposure : ndarray of shape (n_documents,)
        Sum of the propensities of the positions at which the document was shown.
    n_sessions : ndarray of shape (n_documents,)
        Number of sessions of the document's query.
    reward : ndarray of shape (n_documents,)
        Reward of the document in the new ranking if it is relevant.
    ips_weight, clipped_ips_weight : ndarray of shape (n_documents,)
        Inverse of the mean exposure per session, unclipped and clipped; 0 for documents that were
        never shown.
    predicted_relevance : ndarray of shape (n_documents,)
        Relevance predicted by a model, for ``doubly_robust``; NaN without a model.
    matched_clicks, matched_impressions : ndarray of shape (n_documents,)
        Sums over clicks of m / (p theta), and over impressions of m / p; NaN if the log has no p.
    """

    clicks: np.ndarray
    exposure: np.ndarray
    n_sessions: np.ndarray
    reward: np.ndarray
    ips_weight: np.ndarray
    clipped_ips_weight: np.ndarray
    predicted_relevance: np.ndarray
    matched_clicks: np.ndarray
    matched_impressions: np.ndarray


def ips(statistics: DocumentStatistics) -> np.ndarray:
    """Return clicks over mean exposure: inverse propensity scoring, unbiased with high variance."""
    return statistics.ips_weight * statistics.clicks


def self_normalized(statistics: DocumentStatistics) -> np.ndarray:
    """Return clipped IPS estimates, scaled so that the exposure counted matches the sessions."""
    weight = statistics.clipped_ips_weight
    normalization = _normalization(statistics, weight * statistics.exposure)
    return weight * statistics.clicks * normalization


def doubly_robust(statistics: DocumentStatistics) -> np.ndarray:
    """Return predicted relevance in all sessions, plus clipped IPS of residual clicks."""
    predicted = statistics.predicted_relevance
    residual_clicks = statistics.clicks - predicted * statistics.exposure
    return statistics.n_sessions * predicted + statistics.clipped_ips_weight * residual_clicks


def policy_ips(statistics: DocumentStatistics) -> np.ndarray:
    """Return clicks where both rankings agree, divided by logged probability and propensity."""
    return statistics.matched_clicks


def policy_self_normalized(statistics: DocumentStatistics) -> np.ndarray:
    """Return :func:`policy_ips`, scaled so that the matched impressions match the sessions."""
    return policy_ips(statistics) * _normalization(statistics, statistics.matched_impressions)


def _normalization(statistics: DocumentStatistics, counted_sessions: np.ndarray) -> float:
    """Return the ratio of the reward-weighted sessions in the log to those that were counted; or 0.

    ``counted_sessions`` are the sessions of each document as the weights of an estimator count
    them. Of a negative reward, the size is the weight, so that rewards don't cancel out.
    """
    size = np.abs(statistics.reward)
    counted = float((size * counted_sessions).sum())
    logged = float((size * statistics.n_sessions).sum())
    return logged / counted if counted != 0 else 0.0


#: Estimators by name.
ESTIMATORS: dict[str, Callable[[DocumentStatistics], np.ndarray]] = {
    estimator.__name__: estimator
    for estimator in (ips, self_normalized, doubly_robust, policy_ips, policy_self_normalized)
}
#: Estimators that need a model of relevance.
NEED_RELEVANCE_MODEL = ("doubly_robust",)
#: Estimators that need the probabilities of the logging policy.
NEED_LOGGING_POLICY = ("policy_ips", "policy_self_normalized")

#: Reward of a relevant document by position, as a function of positions and their propensities.
REWARDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "clicks": lambda position, propensity: propensity,
    "dcg": lambda position, propensity: 1 / np.log2(position + 1),
    "reciprocal_rank": lambda position, propensity: 1 / position,
}


def rewards_of_positions(reward: Any, propensities: np.ndarray) -> np.ndarray:
    """Return the reward of each position, of a name of ``REWARDS`` or an array of rewards.

    The log shows nothing beyond the ``propensities``, so an array is cut to their length.
    """
    if not isinstance(reward, str):
        return check_column("reward", reward)[: len(propensities)]
    check_choice("reward", reward, REWARDS)
    return REWARDS[reward](np.arange(1.0, len(propensities) + 1), propensities)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents sorted by the scores of a ranker, and the reward of each.

    Parameters
    ----------
    position_rewards : ndarray of shape (n_positions,)
        Reward of a relevant document at each position; positions beyond have none.
    best_first : ndarray of shape (n_documents,)
        Rows of the documents, by query and best first.
    position, tie : ndarray of shape (n_documents,)
        Position (from 0) and number of the block of tied scores, in the order of ``best_first``.
    reward : ndarray of shape (n_documents,)
        Reward of each document, by row. Documents of tied scores share the rewards of their
        positions.
    """

    position_rewards: np.ndarray
    best_first: np.ndarray
    position: np.ndarray
    tie: np.ndarray
    reward: np.ndarray

    @classmethod
    def of(
        cls, name: str, scores: ArrayLike, candidates: Items, position_rewards: np.ndarray
    ) -> Self:
        """Return the ranking of the candidates by scores; ``name`` is the argument in messages."""
        scores = check_column(name, scores, len(candidates))
        groups = QueryGroups.from_qid(candidates.query)
        best_first = np.lexsort((-scores, groups.codes))
        position = groups.positions
        starts_tie = (np.diff(scores[best_first], prepend=np.nan) != 0) | (position == 0)
        order = best_first, position, np.cumsum(starts_tie) - 1
        return cls(position_rewards, *order, np.zeros(len(scores))).rewarded(position_rewards)

    def rewarded(self, position_rewards: np.ndarray) -> Self:
        """Return the same ranking with other rewards of positions, and so of documents."""
        earned = np.append(position_rewards, 0.0)[np.minimum(self.position, len(position_rewards))]
        reward = np.empty(len(earned))
        means = np.bincount(self.tie, earned) / np.bincount(self.tie)
        reward[self.best_first] = means[self.tie]
        return replace(self, position_rewards=position_rewards, reward=reward)

    def share_at(self, document: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Return the share of its reward that each document earns at a position (from 0).

        ``document`` are rows of candidates, and ``position`` has an entry for each. The share is 0
        or 1, except with tied scores.
        """
        sizes = np.bincount(self.tie)
        tie = np.empty_like(self.tie)
        tie[self.best_first] = self.tie
        tie = tie[document]
        offset = position - self.position[np.cumsum(sizes) - sizes][tie]
        is_there = (offset >= 0) & (offset < sizes[tie]) & (self.reward[document] != 0)
        slot = np.minimum(position, len(self.position_rewards))
        earned = np.append(self.position_rewards, 0.0)[slot]
        return np.divide(
            earned, sizes[tie] * self.reward[document], out=np.zeros(len(document)), where=is_there
        )
