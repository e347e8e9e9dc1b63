"""Bags: divisions of the queries into training and left-out queries, as in cross-validation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.feature_parts.base import Validation
from treerank.objectives.base import Objective, as_objective
from treerank.objectives.batches import taken


@dataclass(frozen=True, eq=False)
class Bag:
    """A division of the rows into training rows and left-out rows.

    Attributes
    ----------
    kept : ndarray of int
        Rows on which one fit of each part is trained.
    left_out : ndarray of int
        Rows that this fit does not see.
    """

    kept: np.ndarray
    left_out: np.ndarray

    def validation(self, rows: Rows, objective: Objective) -> Validation:
        """Return ``(left-out rows, metric)``; the metric is the negated loss in its convex form."""
        convex = as_objective(taken(objective, self.left_out)).convex_or_itself()

        def negative_loss(scores: np.ndarray) -> float:
            return -convex(scores.reshape(len(scores), -1).sum(axis=1))[0]

        return rows.take(self.left_out), negative_loss


def deal_bags(groups: QueryGroups, n_bags: int, rng: Any) -> list[Bag]:
    """Return bags of which each query is left out once, or each row if there are too few queries.

    The queries are divided at random into ``n_bags`` parts. A single row is both kept and left out.

    Examples
    --------
    >>> groups = QueryGroups.from_qid(["a", "a", "b", "b", "b", "c"])
    >>> bags = deal_bags(groups, 3, np.random.RandomState(0))
    >>> [bag.left_out.tolist() for bag in bags]
    [[5], [2, 3, 4], [0, 1]]
    """
    has_enough = groups.n_queries >= n_bags
    unit = groups.codes if has_enough else np.arange(groups.n_documents)
    n_units = groups.n_queries if has_enough else groups.n_documents
    bag_of_unit = rng.permutation(n_units) % n_bags
    bag_of_row = bag_of_unit[unit[groups.order]]
    if n_units == 1:  # no unit can be left out
        return [Bag(groups.order, groups.order)]
    return [
        Bag(groups.order[bag_of_row != bag], groups.order[bag_of_row == bag])
        for bag in range(min(n_bags, n_units))
    ]
