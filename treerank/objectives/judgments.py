"""Judgments: labels, queries and weights of documents, which is all that an objective sees."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treerank.documents.queries import QueryGroups


class Totals(NamedTuple):
    """Numbers of all queries of a fit, which the objective of a part of the queries needs, too.

    Attributes
    ----------
    n_documents, n_queries : int
        Numbers of documents and queries.
    n_squared : float
        Sum of the squared sizes of the queries.
    longest : int
        Number of documents of the largest query.
    largest_label : float
        Largest label; -inf without documents.
    """

    n_documents: int
    n_queries: int
    n_squared: float
    longest: int
    largest_label: float

    @classmethod
    def of(cls, y: np.ndarray, groups: QueryGroups) -> "Totals":
        """Return the totals of labels and queries."""
        sizes = groups.sizes
        squared = float(np.square(sizes, dtype=float).sum())
        longest = int(sizes.max(initial=0))
        return cls(len(y), len(sizes), squared, longest, float(y.max(initial=-np.inf)))

    @property
    def typical_size(self) -> float:
        """Number of documents of an average query."""
        return self.n_documents / self.n_queries


@dataclass(frozen=True, eq=False)
class Judgments:
    """Labels of documents, their queries and weights, all checked.

    Attributes
    ----------
    y : ndarray of shape (n_documents,)
        Labels, in the caller's order of rows.
    groups : QueryGroups
        Queries of the rows.
    sample_weight : ndarray of shape (n_documents,)
        Weight of each document.
    query_weight : ndarray of shape (n_queries,)
        Weight of each query.
    keys : ndarray of shape (n_documents,) or None
        Key of the random numbers of each document; ``None`` is its row number.
    totals : Totals
        Numbers and sizes of the queries of all workers, and the largest label.
    seed : int, default=0
        Seed of random numbers.

    Examples
    --------
    A user-defined loss is an object with a method ``bind`` that takes judgments:

    >>> from treerank import make_objective
    >>> class Squares:
    ...     def __init__(self, judgments=None):
    ...         self.judgments = judgments
    ...     def bind(self, judgments):
    ...         return Squares(judgments)
    ...     def derivatives(self, scores, *, iteration=0):
    ...         weight = self.judgments.weight
    ...         return weight * (scores - self.judgments.y), weight
    ...     def __call__(self, scores, *, iteration=0):
    ...         value = self.judgments.weight @ (scores - self.judgments.y) ** 2 / 2
    ...         return float(value), *self.derivatives(scores)
    >>> make_objective([2, 0], loss=Squares()).derivatives(np.zeros(2))[0]
    array([-2.,  0.])
    """

    y: np.ndarray
    groups: QueryGroups
    sample_weight: np.ndarray
    query_weight: np.ndarray
    keys: np.ndarray | None
    totals: Totals
    seed: int = 0

    @classmethod
    def of(
        cls,
        y: np.ndarray,
        groups: QueryGroups,
        sample_weight: np.ndarray | None = None,
        query_weight: np.ndarray | None = None,
        seed: int = 0,
        keys: np.ndarray | None = None,
        totals: Totals | None = None,
    ) -> "Judgments":
        """Return judgments of checked arrays; a weight of ``None`` is 1.

        ``totals`` are over all queries of a fit; ``None`` takes the given queries.
        """
        return cls(
            y,
            groups,
            np.broadcast_to(1.0, len(y)) if sample_weight is None else sample_weight,
            np.ones(groups.n_queries) if query_weight is None else query_weight,
            keys,
            Totals.of(y, groups) if totals is None else totals,
            seed,
        )

    @cached_property
    def is_weighted(self) -> bool:
        """Whether some document has a weight other than 1."""
        return bool((self.sample_weight != 1).any())

    @property
    def weight(self) -> np.ndarray:
        """Weight of each document times that of its query: an array of shape (n_documents,)."""
        return self.sample_weight * self.query_weight[self.groups.codes]

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "Judgments":
        """Return the judgments of a subset of the rows, whose queries are ``groups``."""
        queries = self.groups.codes[groups.first_of(rows)]
        return Judgments(
            self.y[rows],
            groups,
            self.sample_weight[rows],
            self.query_weight[queries],
            self.keys_of(rows),
            Totals.of(self.y[rows], groups),
            self.seed,
        )

    def keys_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the random-number keys of ``rows``: by default, their row numbers."""
        return np.asarray(rows) if self.keys is None else self.keys[rows]

    def labeled(self, y: np.ndarray) -> "Judgments":
        """Return the same documents with other labels."""
        return replace(self, y=y)
