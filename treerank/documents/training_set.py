"""Training set: documents, labels, queries, weights and positions of a fit, in training order.

Rows of weight zero are left out first. The others are put in canonical order, which depends on
their content alone, so neither a shuffle of the rows nor other names of the queries change the
model. The matrix is not copied: only its row numbers are ordered.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank.documents.canonical_order import order_by_hashes, row_hashes, with_columns
from treerank.documents.ids import hashes_of, ids_of_queries
from treerank.documents.labels import are_judged
from treerank.documents.positions import check_positions
from treerank.documents.queries import (
    Queries,
    QueryGroups,
    check_document_weight,
    check_query_weight,
)
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries, hashes_of_queries


class PairTable(Protocol):
    """The user's own pairs: row i is to stand above row j, with a weight and a probability.

    :class:`~treerank.objectives.pairs.rules.GivenPairs` is one.
    """

    @property
    def i(self) -> np.ndarray:
        """Rows of the documents that are to stand above."""

    @property
    def j(self) -> np.ndarray:
        """Rows of the documents that are to stand below."""

    @property
    def weight(self) -> np.ndarray:
        """Weights of the pairs."""

    @property
    def target(self) -> np.ndarray:
        """Probabilities that i is to stand above j."""

    def taking(self, rows: np.ndarray, /) -> Any:
        """Return the pairs with both documents among ``rows``.

        Their i and j become positions in ``rows``.
        """

    def at(self, pairs: np.ndarray, /) -> Any:
        """Return some pairs, by their numbers or by a mask."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Documents in training order, with their labels, queries, weights and positions.

    Attributes
    ----------
    documents : Rows
        Features of the documents, with the names and categories of their columns, and the index of
        each document in the training order of all workers, where there are several.
    y : ndarray of shape (n_documents,)
        Labels.
    groups : QueryGroups
        Queries of the documents. In training order, the documents of a query are next to each
        other.
    sample_weight, query_weight : ndarray of shape (n_documents,) or None
        Weight of each document, and of its query.
    pairs : PairTable or None
        The user's own pairs, as numbers of documents in training order.
    labels : dict from str to ndarray of shape (n_documents,), or None
        Labels by name if there are several; ``y`` is the first. Labels of weight 0 are left out.
    label_weights : dict from str to float, or None
        Weight of each of several labels, including labels of weight 0.
    position : ndarray of int of shape (n_documents,) or None
        Position, from 1, at which each document was shown; the labels are then clicks, 0 or 1.
    query_hashes : ndarray of shape (n_queries,) or None
        Hash of the features and first labels of the documents of each query; None for a subset
        of documents that may cut queries.
    queries : TrainingQueries or None
        What a ranker remembers of each query; None for such a subset, and without query ids.
    """

    documents: Rows
    y: np.ndarray
    groups: QueryGroups
    sample_weight: np.ndarray | None = None
    query_weight: np.ndarray | None = None
    pairs: PairTable | None = None
    labels: dict[str, np.ndarray] | None = None
    label_weights: dict[str, float] | None = None
    position: np.ndarray | None = None
    query_hashes: np.ndarray | None = None
    queries: TrainingQueries | None = None

    @property
    def X(self) -> Any:
        """Features, in the caller's order, of which there may be more rows than documents."""
        return self.documents.values

    @property
    def rows(self) -> np.ndarray:
        """Rows of ``X``, in training order."""
        order = self.documents.order
        return np.arange(len(self.y), dtype=np.int32) if order is None else order

    @property
    def features(self) -> Any:
        """Features of the documents, in training order: a copy."""
        return self.X[self.rows]

    @property
    def weight_of_queries(self) -> np.ndarray | None:
        """Weight of each query, or ``None``."""
        return None if self.query_weight is None else self.groups.first_of(self.query_weight)

    @property
    def n_queries(self) -> int:
        """Number of queries of all workers."""
        return int(self.documents.total(np.array([self.groups.n_queries]))[0])

    @property
    def remembered(self) -> TrainingQueries | None:
        """What a ranker remembers of the queries of all workers, where they have ids."""
        return self.queries and self.queries.joined(self.documents.of_all).smallest()

    def labeled(self, name: str) -> Self:
        """Return the same documents with one of several labels."""
        assert self.labels is not None
        return replace(self, y=self.labels[name], labels=None)

    def take(self, indices: np.ndarray) -> Self:
        """Return some documents by their indices, in that order, and the pairs among them.

        ``query_hashes`` and ``queries`` become None, since queries may be cut.
        """
        by_row = ("y", "sample_weight", "query_weight", "position")
        columns = {name: value for name, value in vars(self).items() if name in by_row}
        taken: dict[str, Any] = {n: c[indices] for n, c in columns.items() if c is not None}
        labels = self.labels and {name: y[indices] for name, y in self.labels.items()}
        pairs = self.pairs and self.pairs.taking(indices)
        taken |= {"groups": self.groups.take(indices), "query_hashes": None, "queries": None}
        taken["documents"] = self.documents.take(indices)
        return replace(self, pairs=pairs, labels=labels, **taken)

    def take_queries(self, mask: np.ndarray) -> Self:
        """Return the documents of some queries, given by a mask, in training order."""
        rows = _row_numbers(np.flatnonzero(mask[self.groups.codes]))
        hashes = None if self.query_hashes is None else self.query_hashes[mask]
        queries = self.queries and self.queries.take(mask)
        weighed = self.take(rows)
        taken = _without_unit_weights(weighed)
        are_unit = [w is None for w in (taken.sample_weight, taken.query_weight)]
        if are_unit != [w is None for w in (self.sample_weight, self.query_weight)]:
            # Weights that are all one do not count in the order, as if there had been none.
            taken, order = _in_canonical_order(taken, row_hashes(taken.documents.array()))
            query = weighed.groups.codes[order[taken.groups.indptr[:-1]]]
            hashes = None if hashes is None else hashes[query]
            queries = queries and queries.take(query)
        return replace(taken, query_hashes=hashes, queries=queries)


def training_set(
    documents: Rows,
    y: np.ndarray,
    qid: Queries = None,
    *,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    pairs: PairTable | None = None,
    labels: dict[str, np.ndarray] | None = None,
    label_weights: dict[str, float] | None = None,
    position: ArrayLike | None = None,
    id_hashes: np.ndarray | None = None,
) -> TrainingSet:
    """Return documents in training order, without rows of weight 0 and rows without a label.

    Parameters
    ----------
    documents, y
        Features and labels, which are checked already.
    qid, sample_weight, query_weight, position
        Arguments of ``Ranker.fit``, which are checked here. Queries that are given as
        ``QueryGroups`` have no ids, so a ranker remembers none of them.
    pairs : PairTable, default=None
        The user's own pairs, by rows of ``documents``.
    labels, label_weights
        Several labels, as in :class:`TrainingSet`.
    id_hashes : ndarray of shape (n_documents,), default=None
        Hashes of the query ids by row, if they have been computed.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [2.0]]), np.array([1.0, 0.0, 0.0])
    >>> data = training_set(Rows(X), y, ["a", "a", "a"], sample_weight=[1, 0, 2])
    >>> sorted(data.rows.tolist()), sorted(data.y.tolist())
    ([0, 2], [0.0, 1.0])
    """
    groups = QueryGroups.from_qid(qid, len(y))
    checked_query_weight = check_query_weight(query_weight, groups)
    unordered = TrainingSet(
        documents,
        y,
        groups,
        check_document_weight("sample_weight", sample_weight, groups),
        checked_query_weight,
        pairs,
        labels,
        label_weights,
        position=check_positions(position, y),
    )
    # Rows in batches have taken their hashes as they were checked.
    hashes = row_hashes(documents.values if documents.order is None else documents.array())
    data, kept = _without_idle_weights(unordered)
    ordered, order = _in_canonical_order(data, hashes if len(kept) == len(y) else hashes[kept])
    # Hashes of a query count its rows of weight 0, too. Queries of nothing else are left out.
    query = groups.codes[kept[order[ordered.groups.indptr[:-1]]]]
    with_label = with_columns(hashes, documents.shape[1], y)
    query_hashes, _ = hashes_of_queries(with_label, groups, ~np.isnan(y))
    ordered = replace(ordered, query_hashes=query_hashes[query])
    if isinstance(qid, QueryGroups):
        return ordered
    if id_hashes is None:
        of_query = hashes_of([None] if qid is None else ids_of_queries(qid, groups))
    else:
        of_query = groups.first_of(id_hashes)
    judged = are_judged(y if labels is None else labels)
    queries = TrainingQueries.of(of_query, hashes, groups, judged)
    return replace(ordered, queries=queries.take(query))


def _without_idle_weights(data: TrainingSet) -> tuple[TrainingSet, np.ndarray]:
    """Return ``(data, rows)``: without rows of weight 0 or without any label, and the kept rows.

    Weights that are all 1 become None.
    """
    weights = {"sample_weight": data.sample_weight, "query_weight": data.query_weight}
    labels = [data.y] if data.labels is None else list(data.labels.values())
    weighed = np.ones(len(data.y), dtype=bool)
    for weight in weights.values():
        weighed &= weight is None or weight > 0
    if not data.documents.any(bool(weighed.any())):
        raise ValueError("sample_weight and query_weight must leave a row; got zeros only.")
    kept = weighed & ~np.isnan(labels).all(axis=0)
    rows = _row_numbers(np.flatnonzero(kept))
    return _without_unit_weights(data if kept.all() else data.take(rows)), rows


def _without_unit_weights(data):
    """Return a training set in which weights that are 1 on all workers are None."""
    weights = {"sample_weight": data.sample_weight, "query_weight": data.query_weight}
    unit_weights: dict[str, Any] = {
        name: None
        for name, values in weights.items()
        if values is not None and not data.documents.any(bool((values != 1).any()))
    }
    return replace(data, **unit_weights)


def _in_canonical_order(
    data: TrainingSet, of_features: np.ndarray
) -> tuple[TrainingSet, np.ndarray]:
    """Return ``(data, order)``: sorted by content alone, and the old index of each document.

    ``of_features`` are hashes of the features of each document.
    """
    weights = (data.sample_weight, data.query_weight, *_sums_over_pairs(data))
    further_labels = list((data.labels or {}).values())[1:]
    columns = (*weights, *further_labels, data.position)
    n_features = data.documents.shape[1]
    ordered, hashes = order_by_hashes(of_features, n_features, data.groups, data.y, *columns)
    taken = data.take(_row_numbers(ordered.order))
    pairs = taken.pairs
    if pairs is not None:
        pairs = pairs.at(np.lexsort((pairs.target, pairs.weight, pairs.j, pairs.i)))
    groups = QueryGroups(None, ordered.indptr, ordered.ids)
    documents = taken.documents
    if documents.is_shard:
        documents = replace(documents, global_indices=global_indices_of(documents, groups, hashes))
    ordered_data = replace(taken, documents=documents, groups=groups, pairs=pairs)
    return ordered_data, ordered.order


def global_indices_of(documents: Rows, groups: QueryGroups, query_hashes: np.ndarray) -> np.ndarray:
    """Return the index of each document in the canonical order of the documents of all workers.

    ``groups`` and ``query_hashes`` are the results of ``canonical_order`` for this worker.

    Examples
    --------
    >>> groups = QueryGroups(None, np.array([0, 2, 3]))
    >>> global_indices_of(Rows(np.zeros((3, 1))), groups, np.array([5, 8], dtype=np.uint64))
    array([0, 1, 2])
    """
    hashes, sizes = documents.of_all(query_hashes), documents.of_all(groups.sizes)
    queries = np.lexsort((sizes, hashes))
    start = np.empty(len(sizes), dtype=np.int64)
    start[queries] = np.cumsum(sizes[queries]) - sizes[queries]
    first_indices = start[documents.numbers_of(groups.n_queries)]
    return first_indices.repeat(groups.sizes) + groups.positions


def _row_numbers(rows: np.ndarray) -> np.ndarray:
    """Return row numbers as 32-bit integers, as LightGBM and XGBoost count rows."""
    return rows.astype(np.int32)


def _sums_over_pairs(data: TrainingSet) -> tuple[np.ndarray, ...]:
    """Return two sums for each document, so that equal rows in different pairs can be told apart.

    They are the weights of its pairs times the probability to stand above, and below. The tuple is
    empty without pairs.
    """
    if data.pairs is None:
        return ()
    # In an order without row numbers, so that a shuffle of the rows changes no sum.
    pairs = data.pairs.at(np.lexsort((data.pairs.target, data.pairs.weight)))
    above, below = pairs.weight * pairs.target, pairs.weight * (1 - pairs.target)
    won, lost = np.zeros((2, len(data.y)))
    np.add.at(won, pairs.i, above)
    np.add.at(won, pairs.j, below)
    np.add.at(lost, pairs.i, below)
    np.add.at(lost, pairs.j, above)
    return won, lost
