"""Training set: documents, labels, queries and weights of a fit, checked and put in order.

Rows of weight zero are gone before anything else happens. The rest is in canonical order, which
depends on content alone, so the model is the same under any shuffle of the rows and any renaming
of the queries. ``X`` stays where it is: only its row numbers are ordered.
"""

from dataclasses import dataclass, replace

import numpy as np

from treerank.checks import check_weight
from treerank.inputs.canonical import canonical_order
from treerank.inputs.grouping import QueryGroups
from treerank.objectives.pairs import GivenPairs


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Documents in training order; row ``t`` is row ``rows[t]`` of ``X``.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_all_rows, n_features)
        Features, in the caller's order.
    rows : ndarray of shape (n_documents,)
        Rows of ``X``, in training order.
    y : ndarray of shape (n_documents,)
        Labels.
    query : ndarray of shape (n_documents,)
        Number of the query of each document.
    sample_weight, query_weight : ndarray of shape (n_documents,) or None
        Weights of a document and of its query.
    pairs : GivenPairs or None
        The user's own pairs, whose rows count in training order.
    """

    X: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    query: np.ndarray
    sample_weight: np.ndarray | None = None
    query_weight: np.ndarray | None = None
    pairs: GivenPairs | None = None

    @property
    def n_queries(self):
        """Number of queries."""
        return int(self.query.max()) + 1

    def weights(self):
        """Return the weights as :func:`~treerank.objectives.factory.make_objective` wants them."""
        pairs = self.pairs
        return {
            "sample_weight": self.sample_weight,
            "query_weight": self.query_weight,
            "given_pairs": None
            if pairs is None
            else np.column_stack([pairs.i, pairs.j, pairs.weight, pairs.target]),
        }

    def taking(self, positions):
        """Keep the given documents, in that order, and the pairs among them."""
        return TrainingSet(
            self.X,
            self.rows[positions],
            self.y[positions],
            np.unique(self.query[positions], return_inverse=True)[1],
            None if self.sample_weight is None else self.sample_weight[positions],
            None if self.query_weight is None else self.query_weight[positions],
            None if self.pairs is None else _pairs_among(self.pairs, positions, len(self.rows)),
        )

    def split_by_query(self, share, rng):
        """Return a part and a held-out ``share`` of the queries, drawn by ``rng``."""
        n_held_out = max(1, round(share * self.n_queries))
        if n_held_out >= self.n_queries:
            raise ValueError(
                f"calibration must leave a query to train on; got {share!r} of {self.n_queries}."
            )
        held_out = np.isin(self.query, rng.permutation(self.n_queries)[:n_held_out])
        return self.taking(np.flatnonzero(~held_out)), self.taking(np.flatnonzero(held_out))


def training_set(X, y, qid=None, *, sample_weight=None, query_weight=None, given_pairs=None):
    """Check everything that is aligned with the rows of ``X``, and order it.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [2.0]]), np.array([1.0, 0.0, 0.0])
    >>> data = training_set(X, y, ["a", "a", "a"], sample_weight=[1, 0, 2])
    >>> sorted(data.rows), sorted(data.y)
    ([np.int64(0), np.int64(2)], [np.float64(0.0), np.float64(1.0)])
    """
    groups = QueryGroups.from_qid(qid, len(y))
    sample_weight = check_weight("sample_weight", sample_weight, len(y))
    query_weight = check_weight("query_weight", query_weight, len(y))
    if query_weight is not None:
        _refuse_uneven(query_weight, groups)
    as_given = TrainingSet(
        X,
        np.arange(len(y)),
        y,
        groups.codes,
        sample_weight,
        query_weight,
        None if given_pairs is None else GivenPairs.from_table(given_pairs, groups),
    )
    return _in_canonical_order(_without_idle_weights(as_given))


def _without_idle_weights(data):
    """Drop rows of weight zero, and weights that are all one."""
    kept = np.ones(len(data.y), dtype=bool)
    for weight in (data.sample_weight, data.query_weight):
        if weight is not None:
            kept &= weight > 0
    if not kept.any():
        raise ValueError("sample_weight and query_weight must leave a row; got zeros only.")
    data = data if kept.all() else data.taking(np.flatnonzero(kept))
    ones = {
        name: None
        for name in ("sample_weight", "query_weight")
        if getattr(data, name) is not None and (getattr(data, name) == 1).all()
    }
    return replace(data, **ones)


def _in_canonical_order(data):
    X = data.X if len(data.rows) == data.X.shape[0] else data.X[data.rows]
    groups = QueryGroups.from_qid(data.query)
    weights = (data.sample_weight, data.query_weight, *_stakes(data.pairs, len(data.y)))
    ordered = canonical_order(X, groups, data.y, *weights)
    taken = data.taking(ordered.order)
    query = np.repeat(np.arange(ordered.n_queries), ordered.sizes)
    pairs = None if taken.pairs is None else _sorted(taken.pairs)
    return replace(taken, query=query, pairs=pairs)


def _pairs_among(pairs, positions, n_documents):
    place = np.full(n_documents, -1)
    place[positions] = np.arange(len(positions))
    i, j = place[pairs.i], place[pairs.j]
    kept = (i >= 0) & (j >= 0)
    return GivenPairs(i[kept], j[kept], pairs.weight[kept], pairs.target[kept])


def _sorted(pairs):
    order = np.lexsort((pairs.target, pairs.weight, pairs.j, pairs.i))
    return GivenPairs(pairs.i[order], pairs.j[order], pairs.weight[order], pairs.target[order])


def _stakes(pairs, n_documents):
    """Tell apart rows that are equal but for the pairs they are in."""
    if pairs is None:
        return ()
    order = np.lexsort((pairs.target, pairs.weight))  # so that a shuffle changes no sum
    i, j, weight, target = pairs.i[order], pairs.j[order], pairs.weight[order], pairs.target[order]
    won, lost = np.zeros((2, n_documents))
    np.add.at(won, i, weight * target)
    np.add.at(won, j, weight * (1 - target))
    np.add.at(lost, i, weight * (1 - target))
    np.add.at(lost, j, weight * target)
    return won, lost


def _refuse_uneven(query_weight, groups):
    first = query_weight[groups.order[groups.indptr[:-1]]]
    uneven = query_weight != first[groups.codes]
    if uneven.any():
        row = int(np.argmax(uneven))
        raise ValueError(
            "query_weight must be constant within a query; got "
            f"{float(query_weight[row])!r} in row {row}, where another row of the query has "
            f"{float(first[groups.codes[row]])!r}."
        )
