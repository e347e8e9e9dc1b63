"""Training set: documents, labels, queries and weights of a fit, checked and put in order.

Rows of weight zero are gone before anything else happens. The rest is in canonical order, which
depends on content alone, so the model is the same under any shuffle of the rows and any renaming
of the queries. ``X`` stays where it is: only its row numbers are ordered.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_weight
from treerank.inputs.canonical import canonical_order
from treerank.inputs.grouping import QueryGroups, check_constant_within
from treerank.objectives.base import Objective
from treerank.objectives.factory import PairSettings, bind_loss
from treerank.objectives.judgments import Judgments
from treerank.objectives.pairs import GivenPairs


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Documents in training order; document ``t`` is row ``rows[t]`` of ``X``.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_all_rows, n_features)
        Features, in the caller's order.
    rows : ndarray of shape (n_documents,)
        Rows of ``X``, in training order.
    y : ndarray of shape (n_documents,)
        Labels.
    groups : QueryGroups
        Queries of the documents. In a finished training set the documents of a query stand next
        to each other.
    sample_weight, query_weight : ndarray of shape (n_documents,) or None
        Weights of a document and of its query.
    pairs : GivenPairs or None
        The user's own pairs; they count documents in training order.
    labels : dict from str to ndarray of shape (n_documents,), or None
        All labels by name where there are several; ``y`` is the first of them.
    """

    X: Any
    rows: np.ndarray
    y: np.ndarray
    groups: QueryGroups
    sample_weight: np.ndarray | None = None
    query_weight: np.ndarray | None = None
    pairs: GivenPairs | None = None
    labels: dict[str, np.ndarray] | None = None

    @property
    def features(self) -> Any:
        """Features of the documents, in training order: a copy."""
        return self.X[self.rows]

    @property
    def weight_of_queries(self) -> np.ndarray | None:
        """Weight of each query, or ``None``."""
        return None if self.query_weight is None else self.groups.first_of(self.query_weight)

    def judgments(self, seed: int) -> Judgments:
        """Return what an objective may know of the documents."""
        weights = self.sample_weight, self.weight_of_queries
        return Judgments.of(self.y, self.groups, *weights, seed)

    def objective(self, seed: int, *, loss: Any, **settings: Any) -> Objective:
        """Return the objective of a loss over the documents; given pairs replace ``pairs``."""
        if self.pairs is not None:
            if settings.get("pairs") not in (None, "all"):
                raise ValueError(
                    "pairs must be None or 'all' when given_pairs lists them; "
                    f"got {settings['pairs']!r}."
                )
            settings["pairs"] = self.pairs
        return bind_loss(loss, self.judgments(seed), PairSettings(**settings))

    def labeled(self, name: str) -> "TrainingSet":
        """Return the same documents with one of several labels."""
        assert self.labels is not None
        return replace(self, y=self.labels[name], labels=None)

    def taking(self, positions: np.ndarray) -> "TrainingSet":
        """Return the documents at the given positions, in that order, and the pairs among them."""
        return TrainingSet(
            self.X,
            self.rows[positions],
            self.y[positions],
            self.groups.among(positions),
            None if self.sample_weight is None else self.sample_weight[positions],
            None if self.query_weight is None else self.query_weight[positions],
            None if self.pairs is None else self.pairs.taking(positions),
            self.labels and {name: y[positions] for name, y in self.labels.items()},
        )

    def split_by_query(
        self, share: float, rng: np.random.RandomState
    ) -> "tuple[TrainingSet, TrainingSet]":
        """Return a part and a held-out ``share`` of the queries, drawn by ``rng``."""
        n_queries = self.groups.n_queries
        n_held_out = max(1, round(share * n_queries))
        if n_held_out >= n_queries:
            raise ValueError(
                f"calibration must leave a query to train on; got {share!r} of {n_queries}."
            )
        held_out = np.isin(self.groups.codes, rng.permutation(n_queries)[:n_held_out])
        return self.taking(np.flatnonzero(~held_out)), self.taking(np.flatnonzero(held_out))


def training_set(
    X: Any,
    y: np.ndarray,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    given_pairs: ArrayLike | None = None,
    labels: dict[str, np.ndarray] | None = None,
) -> TrainingSet:
    """Check everything that is aligned with the rows of ``X``, and put it in training order.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [2.0]]), np.array([1.0, 0.0, 0.0])
    >>> data = training_set(X, y, ["a", "a", "a"], sample_weight=[1, 0, 2])
    >>> sorted(data.rows), sorted(data.y)
    ([np.int64(0), np.int64(2)], [np.float64(0.0), np.float64(1.0)])
    """
    groups = QueryGroups.from_qid(qid, len(y))
    by_query = check_weight("query_weight", query_weight, len(y))
    if by_query is not None:
        check_constant_within("query_weight", by_query, groups)
    as_given = TrainingSet(
        X,
        np.arange(len(y)),
        y,
        groups,
        check_weight("sample_weight", sample_weight, len(y)),
        by_query,
        None if given_pairs is None else GivenPairs.from_table(given_pairs, groups),
        labels,
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
    weights = (data.sample_weight, data.query_weight, *_stakes(data.pairs, len(data.y)))
    others = list((data.labels or {}).values())[1:]
    ordered = canonical_order(X, data.groups, data.y, *weights, *others)
    taken = data.taking(ordered.order)
    pairs = None if taken.pairs is None else _sorted(taken.pairs)
    return replace(taken, groups=QueryGroups(None, ordered.indptr), pairs=pairs)


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
