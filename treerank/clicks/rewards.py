r"""Rewards: what a session of a ranking earns, given the relevance of its documents.

A relevant document earns the worth :math:`u_k` of its position, whatever else is clicked:
:math:`\sum_k u_k \gamma_k`. Only for the first click the others matter: with propensities
:math:`\theta`, a session earns :math:`\sum_k \frac{\theta_k \gamma_k}{k} \prod_{j<k} (1 - \theta_j
\gamma_j)`. Both are linear in the relevance of each document. So they have no bias if estimates of
it have none and do not depend on each other, as those of a position-based model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_choice, check_column
from treerank.clicks.items import Items
from treerank.inputs.grouping import QueryGroups

#: Worth of positions by name, as a function of positions and their propensities.
REWARDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "clicks": lambda position, propensity: propensity,
    "dcg": lambda position, propensity: 1 / np.log2(position + 1),
    "reciprocal_rank": lambda position, propensity: 1 / position,
    "first_click": lambda position, propensity: propensity / position,
}
#: The reward to which later clicks add nothing.
_FIRST_CLICK = "first_click"


@dataclass(frozen=True, eq=False)
class Reward:
    """What positions earn: each at most ``worth_at``, and positions beyond it nothing.

    ``propensities`` are those of the positions if only the first click earns, and None if all do.
    """

    worth_at: np.ndarray
    propensities: np.ndarray | None = None

    @classmethod
    def of(cls, reward: Any, theta: np.ndarray) -> Self:
        """Return a reward by its name, or of the worth of positions."""
        if not isinstance(reward, str):
            return cls(check_column("reward", reward))
        check_choice("reward", reward, REWARDS)
        worth_at = REWARDS[reward](np.arange(1.0, len(theta) + 1), theta)
        return cls(worth_at, theta if reward == _FIRST_CLICK else None)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents in the order of a ranker.

    ``best_first`` are the rows of the documents, by query and best first; ``query``, ``place``
    (from 0) and ``tie`` are numbers of each of these. ``worth`` is the most that each document
    earns by the ``reward``. Documents of equal scores share what their places earn.
    """

    reward: Reward
    best_first: np.ndarray
    query: np.ndarray
    place: np.ndarray
    tie: np.ndarray
    worth: np.ndarray

    @classmethod
    def of(cls, name: str, scores: ArrayLike, candidates: Items, reward: Reward) -> Self:
        """Return the ranking by scores."""
        scores = check_column(name, scores, len(candidates))
        groups = QueryGroups.from_qid(candidates.query)
        best_first = np.lexsort((-scores, groups.codes))
        place = groups.places
        is_new = (np.diff(scores[best_first], prepend=np.nan) != 0) | (place == 0)
        order = best_first, groups.codes[best_first], place, np.cumsum(is_new) - 1
        return cls(reward, *order, np.zeros(len(scores))).earning(reward)

    def earning(self, reward: Reward) -> Self:
        """Return the same ranking with another reward."""
        earned = np.append(reward.worth_at, 0.0)[np.minimum(self.place, len(reward.worth_at))]
        worth = np.empty(len(earned))
        worth[self.best_first] = _means(earned, self.tie)
        return replace(self, reward=reward, worth=worth)

    def share_at(self, item: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the share of their worth that items earn at places, which count from 0.

        It is 0 or 1, unless scores are equal.
        """
        sizes = np.bincount(self.tie)
        tie = np.empty_like(self.tie)
        tie[self.best_first] = self.tie
        tie = tie[item]
        above = place - self.place[np.cumsum(sizes) - sizes][tie]
        is_there = (above >= 0) & (above < sizes[tie]) & (self.worth[item] != 0)
        earned = np.append(self.reward.worth_at, 0.0)[np.minimum(place, len(self.reward.worth_at))]
        return np.divide(
            earned, sizes[tie] * self.worth[item], out=np.zeros(len(item)), where=is_there
        )

    def earned(self, relevant: np.ndarray, sessions: np.ndarray) -> float:
        """Return what the sessions of each query earn in all.

        ``relevant`` are the sessions of a document's query times its relevance.
        """
        theta = self.reward.propensities
        if theta is None:
            return float((self.worth * relevant).sum())
        top = self.place < len(theta)
        cells, rows = (self.query[top], self.place[top]), self.best_first
        known = np.maximum(sessions[rows], 1.0)  # a document without sessions is relevant in none
        proba = np.zeros((self.query[-1] + 1, len(theta)))
        proba[cells] = theta[self.place[top]] * _means(relevant[rows] / known, self.tie)[top]
        no_click = np.cumprod(1 - proba, axis=1)
        proba[:, 1:] *= no_click[:, :-1]
        by_query = proba @ (1 / np.arange(1.0, len(theta) + 1))
        return float((by_query[self.query] * sessions[rows])[self.place == 0].sum())


def _means(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the mean of each value's group."""
    return np.asarray((np.bincount(group, values) / np.bincount(group))[group])
