"""What all listwise objectives share: labels, weights, and the way to the caller's rows and back.

A listwise objective sums one term per document. It derives from :class:`ListwiseObjective` and
writes ``_over_queries``, which sees rows sorted by query.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.numerics.threads import threads_for


@dataclass(frozen=True, eq=False)
class ListwiseObjective:
    """What all listwise objectives share; see :class:`treerank.objectives.base.Objective`.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Labels, in the caller's order of rows.
    groups : QueryGroups
        Which rows form a query.
    sample_weight : ndarray of shape (n_documents,) or None, default=None
        Multiplies the document's term; ``None`` is 1.
    query_weight : ndarray of shape (n_queries,) or None, default=None
        Multiplies the query's terms; ``None`` is 1.

    Attributes
    ----------
    n_outputs : int
        Always 1: one score per document.
    approximate_hessian : bool
        Whether the hessian is a bound instead of the exact diagonal.
    """

    y: np.ndarray
    groups: QueryGroups
    sample_weight: np.ndarray | None = None
    query_weight: np.ndarray | None = None

    n_outputs: ClassVar[int] = 1
    approximate_hessian: ClassVar[bool] = False

    @classmethod
    def from_labels(cls, y, groups, *, sample_weight=None, query_weight=None, **knobs):
        """Check labels and weights, and build the objective; ``knobs`` are its other fields."""
        y = _checked("y", y, groups.n_documents)
        if sample_weight is not None:
            sample_weight = _checked("sample_weight", sample_weight, groups.n_documents, 0)
        if query_weight is not None:
            query_weight = _checked("query_weight", query_weight, groups.n_queries, 0)
        return cls(y, groups, sample_weight, query_weight, **knobs)

    def __call__(self, scores, *, iteration=0):
        """Return value, gradient and hessian; ``iteration`` only keys what is drawn anew."""
        scores = np.asarray(scores, dtype=np.float64)[self._order]
        with threads_for(len(scores)):
            values, *derivatives = self._over_queries(scores, iteration)
        gradient, hessian = (self._in_callers_order(part) for part in derivatives)
        # Summed here: a sum inside a parallel kernel depends on the number of threads.
        return float(values.sum()), gradient, hessian

    def derivatives(self, scores, *, iteration=0):
        """Return gradient and hessian."""
        return self(scores, iteration=iteration)[1:]

    def restricted_to(self, queries):
        """Return the part of the given queries, rows as in ``groups.restricted_to``."""
        queries = np.asarray(queries, dtype=np.int64)
        kept = self.groups.restricted_to(queries)
        return replace(
            self,
            groups=QueryGroups(None, kept.indptr),
            query_weight=None if self.query_weight is None else self.query_weight[queries],
            **self._of_rows(kept.order),
        )

    def _of_rows(self, rows):
        """Fields with one entry per row, for the given rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return {"y": self.y[rows], "sample_weight": weight}

    def _over_queries(self, scores, iteration):
        """Value per query, and derivatives per row; all rows in ``self._order``."""
        raise NotImplementedError

    @cached_property
    def _order(self):
        return self.groups.order

    @cached_property
    def _weight(self):
        """Weight of each row's term, in ``self._order``."""
        weight = np.ones(len(self.y))
        if self.sample_weight is not None:
            weight *= self.sample_weight[self._order]
        if self.query_weight is not None:
            weight *= self.query_weight[self._codes]
        return weight

    def _in_callers_order(self, values):
        result = np.empty_like(values)
        result[self._order] = values
        return result

    @cached_property
    def _codes(self):
        """Query of each row, in ``self._order``."""
        return np.repeat(np.arange(self.groups.n_queries), self.groups.sizes)

    def _per_query(self, reduction, values):
        """Reduce by query, by a ufunc, and repeat the result for each of its rows."""
        start = -np.inf if reduction is np.maximum else 0.0
        results = np.full(self.groups.n_queries, start)
        reduction.at(results, self._codes, values)
        return results[self._codes]


def _checked(name, values, length, at_least=-np.inf):
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},); got {values.shape}.")
    wrong = ~(np.isfinite(values) & (values >= at_least))
    if wrong.any():
        allowed = "finite" if at_least < 0 else "finite and non-negative"
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must be {allowed}; got {values[row]!r} in entry {row}.")
    return values
