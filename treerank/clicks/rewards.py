r"""Rewards: what a session of a ranking earns, given the relevance of its documents.

A relevant document earns the worth :math:`u_k` of its position, whatever else is clicked:
:math:`\sum_k u_k \gamma_k`. That is linear in the relevance of each document. So it has no bias if
estimates of the relevance have none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_choice, check_column
from treerank.clicks.items import Items
from treerank.documents.queries import QueryGroups

#: Worth of positions by name, as a function of positions and their propensities.
REWARDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "clicks": lambda position, propensity: propensity,
    "dcg": lambda position, propensity: 1 / np.log2(position + 1),
    "reciprocal_rank": lambda position, propensity: 1 / position,
}


def worth_of_positions(reward: Any, theta: np.ndarray) -> np.ndarray:
    """Return what each position earns, by the name of a reward, or as it is given."""
    if not isinstance(reward, str):
        return check_column("reward", reward)
    check_choice("reward", reward, REWARDS)
    return REWARDS[reward](np.arange(1.0, len(theta) + 1), theta)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents in the order of a ranker.

    ``best_first`` are the rows of the documents, by query and best first; ``place`` (from 0) and
    ``tie`` are numbers of each of these. ``worth`` is the most that each document earns by the
    worth of positions, ``worth_at``; those beyond it earn nothing. Documents of equal scores share
    what their places earn.
    """

    worth_at: np.ndarray
    best_first: np.ndarray
    place: np.ndarray
    tie: np.ndarray
    worth: np.ndarray

    @classmethod
    def of(cls, name: str, scores: ArrayLike, candidates: Items, worth_at: np.ndarray) -> Self:
        """Return the ranking by scores."""
        scores = check_column(name, scores, len(candidates))
        groups = QueryGroups.from_qid(candidates.query)
        best_first = np.lexsort((-scores, groups.codes))
        place = groups.places
        is_new = (np.diff(scores[best_first], prepend=np.nan) != 0) | (place == 0)
        order = best_first, place, np.cumsum(is_new) - 1
        return cls(worth_at, *order, np.zeros(len(scores))).earning(worth_at)

    def earning(self, worth_at: np.ndarray) -> Self:
        """Return the same ranking with another worth of positions."""
        earned = np.append(worth_at, 0.0)[np.minimum(self.place, len(worth_at))]
        worth = np.empty(len(earned))
        means = np.bincount(self.tie, earned) / np.bincount(self.tie)
        worth[self.best_first] = means[self.tie]
        return replace(self, worth_at=worth_at, worth=worth)

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
        earned = np.append(self.worth_at, 0.0)[np.minimum(place, len(self.worth_at))]
        return np.divide(
            earned, sizes[tie] * self.worth[item], out=np.zeros(len(item)), where=is_there
        )
