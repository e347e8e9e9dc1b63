"""Judgments: all that an objective may know of documents: labels, queries, weights."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treerank.documents.queries import QueryGroups


class Totals(NamedTuple):
    """What the objective of some queries needs to know of all queries of a fit.

    Attributes
    ----------
    n_documents, n_queries : int
        Numbers of documents and queries.
    n_squared : float
        Sum of the squared sizes of the queries.
    longest : int
        Size of the largest query.
    largest_label : float
        Largest label.
    """

    n_documents: int
    n_queries: int
    n_squared: float
    longest: int
    largest_label: float

    @classmethod
    def of(cls, y: np.ndarray, groups: QueryGroups) -> "Totals":
        """Describe some queries."""
        sizes = groups.sizes
        squared = float(np.square(sizes, dtype=float).sum())
        longest = int(sizes.max(initial=0))
        return cls(len(y), len(sizes), squared, longest, float(y.max(initial=-np.inf)))

    @property
    def typical_size(self) -> float:
        """Documents of an average query."""
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
        A number for each document, which keys whatever is drawn for it at random; ``None`` is the
        number of its row.
    totals : Totals
        Numbers and sizes of the queries of all workers, and the largest label.
    seed : int
        Seed of whatever is drawn at random.

    Examples
    --------
    A loss of one's own is an object with ``bind``, which gets them:

    >>> from treerank import make_objective
    >>> class Squares:
    ...     def __init__(self, judgments=None):
    ...         self.judgments = judgments
    ...     def bind(self, judgments):
    ...         return Squares(judgments)
    ...     def derivatives(self, scores, *, iteration=0):
    ...         return scores - self.judgments.y, np.ones_like(scores)
    ...     def __call__(self, scores, *, iteration=0):
    ...         gradient, hessian = self.derivatives(scores)
    ...         return float((gradient**2).sum() / 2), gradient, hessian
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
        """Put together what is checked already; a weight of ``None`` is 1.

        ``totals`` are those of all queries of a fit; None is those of these queries.
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
        """Whether a document has another weight than 1."""
        return bool((self.sample_weight != 1).any())

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "Judgments":
        """Return the judgments of the given rows alone, whose queries are ``groups``."""
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
        """Return the keys of some rows."""
        return np.asarray(rows) if self.keys is None else self.keys[rows]

    def labeled(self, y: np.ndarray) -> "Judgments":
        """Return the same documents with other labels."""
        return replace(self, y=y)
