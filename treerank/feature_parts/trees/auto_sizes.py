"""Hyperparameters of trees that are chosen from the data, where a parameter is "auto".

The rule reads the numbers of documents, queries and features, and nothing else: neither the order
of rows, nor threads, nor time. Few queries need few leaves, and many queries need many. ``python -m
benchmarks sizes`` measures the rule on the data from which it was derived.
"""

import math
from typing import Any, NamedTuple, Self

from treerank.files.states import check_state, number

#: Number of documents that count as a query where queries are longer.
_DOCUMENTS_PER_QUERY = 100
#: Leaves for 300 queries, and the power of the number of queries that leaves grow with.
_LEAVES, _POWER = 8, 0.7
_FEWEST_LEAVES, _MOST_LEAVES = 4, 127
#: Sum of the rates of all trees for 100 queries, the power it grows with, and its bounds.
_TRAVEL, _TRAVEL_POWER = 7.0, 0.15
_SHORTEST, _LONGEST = 7.0, 10.0
#: The usual rate, the leaves from which it grows, so that larger trees are fewer, and its bound.
_RATE, _LEAVES_AT_RATE, _HIGHEST_RATE = 0.05, 32, 0.15
#: With this many features or more, each tree gets half of them.
_MANY_FEATURES = 10
#: Bounds of a rate that follows from a chosen number of trees.
_RATES = 0.03, 0.3


class Sizes(NamedTuple):
    """Parameters of trees that may be "auto", named as in ``BoostedTrees``."""

    n_estimators: int
    learning_rate: float
    num_leaves: int
    min_child_samples: int
    colsample_bytree: float

    @classmethod
    def of_state(cls, state: Any) -> Self:
        """Return sizes from a dict of numbers, and refuse anything else."""
        check_state(state, dict.fromkeys(cls._fields, number(at_least=0)))
        return cls(**state)

    @property
    def patience(self) -> int:
        """Iterations without a better value after which ``early_stopping_rounds="auto"`` stops."""
        return math.ceil(2.5 / self.learning_rate)

    @property
    def newest(self) -> float:
        """Weight of the newest value in the smoothed curve by which "auto" stops, at most 1."""
        return min(1.0, self.learning_rate)

    def of_tree(self) -> dict[str, Any]:
        """Return the sizes of a single tree: all but the number of iterations."""
        sizes = self._asdict()
        del sizes["n_estimators"]
        return sizes

    def described(self) -> str:
        """Return the sizes as a line of text.

        Examples
        --------
        >>> Sizes(200, 0.05, 15, 20, 0.5).described()
        '200 trees of 15 leaves, learning rate 0.05, 50 % of the columns'
        """
        return (
            f"{self.n_estimators} trees of {self.num_leaves} leaves, "
            f"learning rate {self.learning_rate:.2g}, {self.colsample_bytree:.0%} of the columns"
        ).replace("%", " %")


def auto_sizes(
    n_documents: int,
    n_queries: int,
    n_features: int,
    chosen: dict[str, Any] | None = None,
    *,
    leaves: float = 1.0,
    travel: float = 1.0,
) -> Sizes:
    """Return the sizes of trees for data with these numbers of documents, queries and features.

    Parameters
    ----------
    n_documents : int
        Number of documents. If there are more than 100 for each query on average, each group of 100
        documents counts as a query.
    n_queries : int
        Number of queries.
    n_features : int
        Number of features.
    chosen : dict from str to number, default=None
        Sizes that are not "auto". If the learning rate is chosen, the number of trees is computed
        from it, and vice versa. The other sizes do not change.
    leaves, travel : float, default=1.0
        Numbers by which the number of leaves, and the sum of the learning rates of all trees, are
        multiplied.

    Examples
    --------
    >>> auto_sizes(n_documents=9_630, n_queries=470, n_features=46)
    Sizes(n_estimators=177, learning_rate=0.05, num_leaves=11, min_child_samples=20,
          colsample_bytree=0.5)
    >>> auto_sizes(9_630, 470, 46, chosen={"n_estimators": 1000}).learning_rate
    0.03
    """
    chosen = chosen or {}
    n = max(n_queries, n_documents / _DOCUMENTS_PER_QUERY)
    n_leaves = _LEAVES * (n / 300) ** _POWER * leaves
    n_leaves = round(_within(n_leaves, _FEWEST_LEAVES, _MOST_LEAVES))
    sum_of_rates = travel * _within(_TRAVEL * (n / 100) ** _TRAVEL_POWER, _SHORTEST, _LONGEST)
    rate = _within(_RATE * n_leaves / _LEAVES_AT_RATE, _RATE, _HIGHEST_RATE)
    if "n_estimators" in chosen:
        rate = _within(sum_of_rates / chosen["n_estimators"], *_RATES)
    sizes = Sizes(
        n_estimators=max(1, round(sum_of_rates / chosen.get("learning_rate", rate))),
        learning_rate=rate,
        num_leaves=n_leaves,
        min_child_samples=20,
        colsample_bytree=0.5 if n_features >= _MANY_FEATURES else 1.0,
    )
    return sizes._replace(**chosen)


def _within(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)
