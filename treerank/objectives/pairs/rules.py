"""Pairs: which two documents of a query are compared in training.

A rule is a :class:`Pairs`, whose fields combine: ``Pairs(adjacent=True, top=10)`` compares
neighboring levels of relevance where at least one of the two documents stands in the top 10.
Pairs are listed only if they are given. Otherwise, with the documents of a query sorted by label,
the less relevant partners of a document are one run of slots.

To name a rule, list it in ``PAIRS``.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from treerank.checks import MAX_WEIGHT, as_numbers, by_name, quote
from treerank.documents.queries import QueryGroups
from treerank.parameters import PlainSignature, Rule, Size, check_parameters


@dataclass(frozen=True)
class Pairs:
    """A rule that selects the pairs of documents to learn from.

    Parameters
    ----------
    adjacent : bool, default=False
        Only pairs of neighboring levels of relevance (of those present in the query); a total
        order follows from them by transitivity.
    top : int or None, default=None
        Only pairs with at least one document among the first ``top`` of the current ranking.
        Documents with tied scores at that rank count by their probability of being among the
        first. In long queries only these pairs are visited.
    ties : bool, default=False
        Also pairs of equal labels, where each order is right with probability 1/2 (RankNet).
    balanced : bool, default=False
        Weight documents so that the pairs of any two levels of a query have the same total weight,
        however rare a level is; the total of the query stays. With ``adjacent=True``, it is what
        the authors of the DirectRanker paper draw in expectation: equally many pairs of any two
        neighboring levels. Weights of documents and ``weight`` are applied in addition.

    Examples
    --------
    >>> get_pairs("adjacent") == Pairs(adjacent=True)
    True
    """

    __signature__ = PlainSignature()

    adjacent: bool = False
    top: Size | None = None
    ties: bool = False
    balanced: bool = False

    #: Whether pairs are visited one by one from a list.
    is_listed: ClassVar[bool] = False

    def __post_init__(self):
        check_parameters(self)

    @property
    def is_whole(self) -> bool:
        """Whether all pairs of different labels count, or of neighboring ones, and no others."""
        return not (self.is_listed or self.ties or self.top)

    def taking(self, rows: np.ndarray) -> "Pairs":
        """Return the rule for the given rows alone; it does not depend on rows."""
        del rows
        return self


PAIRS = {
    "all": Pairs(),
    "adjacent": Pairs(adjacent=True),
    "balanced": Pairs(adjacent=True, balanced=True),
    "top_10": Pairs(top=10),
    "with_ties": Pairs(ties=True),
}


def get_pairs(pairs: str | Pairs) -> Pairs:
    """Return the rule of a name; a rule is returned as it is."""
    return by_name("pairs", pairs, PAIRS, Pairs)


#: A rule for pairs, or its name.
PairRule = Annotated[str | Pairs, Rule(lambda _, pairs: get_pairs(pairs))]


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenPairs(Pairs):
    """Pairs that the user lists; their labels and ranks do not matter.

    Attributes
    ----------
    i, j : ndarray of shape (n_pairs,)
        Rows of the two documents, which belong to one query.
    weight : ndarray of shape (n_pairs,)
        Weight of the pair.
    target : ndarray of shape (n_pairs,)
        Probability that ``i`` is to stand above ``j``.
    """

    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray
    target: np.ndarray

    is_listed: ClassVar[bool] = True
    __eq__, __hash__ = object.__eq__, object.__hash__  # the same rule may be of other lists

    @classmethod
    def from_table(cls, table: Any, groups: QueryGroups) -> "GivenPairs":
        """Return the pairs of a table with the columns i, j, weight and target, both 1 by default.

        Refuses rows that do not exist, pairs of one row or of two queries, and weights or targets
        out of range.
        """
        table = as_numbers("given_pairs", table)
        if table.ndim != 2 or not 2 <= table.shape[1] <= 4:
            raise ValueError(
                "given_pairs must have the columns i, j and, if wanted, weight and target; "
                f"got shape {table.shape}."
            )
        if len(table) == 0:
            raise ValueError(f"given_pairs must list at least one pair; got {len(table)}.")
        columns = [*table.T, *np.ones((4 - table.shape[1], len(table)))]
        rows, weight, target = np.stack(columns[:2]), columns[2], columns[3]
        wrong = (rows != np.floor(rows)) | (rows < 0) | (rows >= groups.n_documents)
        _refuse(wrong.any(0), "rows must be integers in [0, number of rows)", table)
        i, j = rows.astype(np.intp)
        _refuse(i == j, "i and j must differ", table)
        _refuse(groups.codes[i] != groups.codes[j], "i and j must be of one query", table)
        wrong = ~((weight >= 0) & (weight <= MAX_WEIGHT))
        _refuse(wrong, f"weights must be finite and >= 0 and <= {MAX_WEIGHT:g}", table)
        _refuse(~((target >= 0) & (target <= 1)), "targets must be in [0, 1]", table)
        return cls(i=i, j=j, weight=weight, target=target)

    def table(self) -> np.ndarray:
        """Return the columns i, j, weight and target, as ``from_table`` reads them."""
        return np.column_stack([self.i, self.j, self.weight, self.target])

    def taking(self, rows: np.ndarray) -> "GivenPairs":
        """Return the pairs with both documents among ``rows``.

        Their i and j become positions in ``rows``.
        """
        kept, order = self.at(np.isin(self.i, rows) & np.isin(self.j, rows)), np.argsort(rows)
        i, j = (order[np.searchsorted(rows, part, sorter=order)] for part in (kept.i, kept.j))
        return replace(kept, i=i, j=j)

    def at(self, chosen: np.ndarray) -> "GivenPairs":
        """Return the chosen pairs, by their numbers or by a mask."""
        columns = {name: getattr(self, name)[chosen] for name in ("i", "j", "weight", "target")}
        return GivenPairs(**columns)


def rule_or_given(pairs: str | Pairs | None, pair_list: GivenPairs | None) -> str | Pairs | None:
    """Return given pairs if there are any, else the rule; "all" becomes None.

    Refuses given pairs together with a rule other than None and "all".
    """
    if isinstance(pairs, str) and pairs == "all":
        pairs = None
    if pair_list is not None and pairs is not None:
        rule = "None or 'all' when given_pairs lists them"
        raise ValueError(f"pairs must be {rule}; got {quote(pairs)}.")
    return pairs if pair_list is None else pair_list


def _refuse(wrong, rule, table):
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"given_pairs: {rule}; got {table[row].tolist()} in row {row}.")
