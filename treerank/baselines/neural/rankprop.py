"""RankProp: regression on targets that the present ranking chooses."""

from dataclasses import dataclass

import numpy as np

from treerank.baselines.neural.neural_ranker import NeuralRanker
from treerank.inputs.grouping import QueryGroups
from treerank.objectives.listwise_base import ListwiseObjective


@dataclass(frozen=True, eq=False)
class RankPropObjective(ListwiseObjective):
    r"""Half the squared distance of each score to its target, :math:`\frac12 (s_i - t_i)^2` [1]_.

    The targets of a query are evenly spaced from -1/2 to 1/2 and handed out in the order of the
    labels and, among equal labels, of the present scores; equal ones share. So a document is
    not asked for more than to stay where it is among its equals. Targets are chosen anew at
    every step, of which the regression takes one: the two phases of the paper become one.

    Parameters
    ----------
    y, groups, sample_weight, query_weight
        See :class:`~treerank.objectives.listwise_base.ListwiseObjective`.

    References
    ----------
    .. [1] Caruana, Baluja and Mitchell (1996). Using the future to "sort out" the present:
       Rankprop and multitask learning for medical risk evaluation. NIPS.

    Examples
    --------
    >>> groups = QueryGroups.from_qid(None, 3)
    >>> value, gradient, _ = RankPropObjective.from_labels([0, 1, 1], groups)([0.0, 1.0, 2.0])
    >>> gradient
    array([0.5, 1. , 1.5])
    """

    def _over_queries(self, scores, iteration):
        del iteration
        distance = scores - self._targets(scores)
        return (
            self._weight * distance**2 / 2,
            self._weight * distance,
            self._weight * np.ones(len(scores)),
        )

    def _targets(self, scores):
        labels, query = self.y[self._order], self._codes
        # Queries that never differ in label have nothing to teach: their targets are 0.
        lowest = np.minimum.reduceat(labels, self.groups.indptr[:-1])[query]
        informative = self._per_query(np.maximum, labels) > lowest
        order = np.lexsort((scores, labels, query))
        differs = [np.diff(part[order]) != 0 for part in (scores, labels, query)]
        block = np.append(0, np.cumsum(np.any(differs, axis=0)))
        size = np.bincount(block)
        middle = np.cumsum(size) - (size + 1) / 2  # mean place of a block of equals
        place = np.empty(len(scores))
        place[order] = middle[block]
        place -= self.groups.indptr[:-1][query]
        spread = np.maximum(self.groups.sizes[query] - 1, 1)
        return np.where(informative, place / spread - 0.5, 0.0)


class RankProp(NeuralRanker):
    """Learn to rank by regression on targets in the order of labels and present scores [1]_.

    Parameters
    ----------
    hidden : sequence of int, default=(64, 32)
        Units of each hidden layer.
    **rest
        See :class:`~treerank.baselines.neural.neural_ranker.NeuralRanker`.

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

    # Neither is a choice here: there are no pairs.
    weight, pairs = None, None

    def __init__(self, hidden=(64, 32), *, learning_rate=3e-3, **rest):
        super().__init__(hidden, learning_rate=learning_rate, **rest)

    def _make_objective(self, data, seed, **changed):
        del seed, changed
        if data.pairs is not None:
            raise ValueError("given_pairs must be None for RankProp, which has no pairs.")
        groups = QueryGroups.from_qid(data.query)
        weight = data.query_weight
        return RankPropObjective.from_labels(
            data.y,
            groups,
            sample_weight=data.sample_weight,
            query_weight=None if weight is None else weight[groups.order[groups.indptr[:-1]]],
        )
