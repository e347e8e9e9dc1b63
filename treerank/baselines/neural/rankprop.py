"""RankProp: regression on targets that the current ranking chooses."""

from dataclasses import dataclass

import numpy as np

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.feature_parts.estimator import estimator
from treerank.objectives.base import Objective, Score
from treerank.objectives.lists.losses import HalfSquaredError
from treerank.objectives.lists.objective import (
    ListwiseLoss,
    ListwiseObjective,
    QueryLosses,
)


@dataclass(frozen=True)
class SortedTargets(ListwiseLoss):
    r"""Half the squared distance of each score to its target, :math:`\frac12 (s_i - t_i)^2` [1]_.

    The targets of a query are evenly spaced from -1/2 to 1/2. They are given to its documents in
    the order of the labels and, among equal labels, of the current scores; documents that are equal
    in both share theirs. So the loss asks no document to move among documents of its own label.

    Networks alternate between the two phases of the paper: the scores of all documents choose the
    targets, and an epoch is a regression on them. Other models choose targets by the scores of
    every iteration, such as a tree of boosting.

    References
    ----------
    .. [1] Caruana, Baluja and Mitchell (1996). Using the future to "sort out" the present:
       Rankprop and multitask learning for medical risk evaluation. NIPS.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> make_objective([0, 1, 1], loss=SortedTargets())([0.0, 1.0, 2.0])[1]
    array([0.5, 1. , 1.5])
    """

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return the squared distance of each query and its derivatives."""
        distance = scores - _targets(lists, scores)
        values = lists.weight * distance**2 / 2
        return values, lists.weight * distance, lists.weight * np.ones(len(scores))

    def for_epoch(self, lists: ListwiseObjective, score: Score) -> Objective:
        """Return the regression on the targets that the present scores choose."""
        targets = np.empty(len(lists.rows))
        targets[lists.rows] = _targets(lists, score()[lists.rows])
        return ListwiseObjective(HalfSquaredError(), lists.judgments.labeled(targets))


def _targets(lists, scores):
    labels, query, start = lists.y, lists.query, lists.groups.indptr[:-1]
    # A query whose labels are all equal teaches nothing: its targets are 0.
    informative = lists.per_query(np.maximum, labels) > np.minimum.reduceat(labels, start)[query]
    order = np.lexsort((scores, labels, query))
    differs = [np.diff(part[order]) != 0 for part in (scores, labels, query)]
    block = np.append(0, np.cumsum(np.any(differs, axis=0)))
    size = np.bincount(block)
    middle = np.cumsum(size) - (size + 1) / 2  # mean position of tied documents
    position = np.empty(len(scores))
    position[order] = middle[block]
    position -= start[query]
    spread = np.maximum(lists.groups.sizes[query] - 1, 1)
    return np.where(informative, position / spread - 0.5, 0.0)


@estimator(kw_only=True)
class RankProp(NeuralRanker):
    """RankProp [1]_: regression on targets that are ordered by labels and current scores.

    The targets are explained at
    :class:`~treerank.baselines.neural.rankprop.SortedTargets`.

    All other parameters, and the attributes, are as in
    :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

    Parameters
    ----------
    learning_rate : float, default=0.003
        Length of the first steps.

    References
    ----------
    .. [1] Caruana, Baluja and Mitchell (1996). Using the future to "sort out" the present:
       Rankprop and multitask learning for medical risk evaluation. NIPS.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> RankProp(random_state=0).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    loss, weight, pairs = SortedTargets(), None, None

    learning_rate: float = 3e-3
