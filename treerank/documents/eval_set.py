"""Evaluation sets: held-out documents, for early stopping and calibration, on which no fit learns.

A user passes one ``(X, y, qid)``, several, or the share of the training queries to hold out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self, final

import numpy as np

from treerank.checks import quote
from treerank.documents.canonical_order import group_hashes, row_hashes
from treerank.documents.columns import as_frame
from treerank.documents.features import check_features
from treerank.documents.labels import check_labels, check_labels_by_name, split_labels
from treerank.documents.queries import QueryGroups, objects, refuse_one_query
from treerank.documents.ranking_data import Batches
from treerank.documents.reading import documents_of_batches, stacked_rows, take_columns
from treerank.documents.rows import Rows
from treerank.documents.training_queries import (
    TrainingQueries,
    warn_of_copied_queries,
    warn_of_cut_queries,
)
from treerank.documents.training_set import TrainingSet
from treerank.spelling import spelled

#: Documents, labels by name, and queries; the name of a single label is "".
LabeledSet = tuple[Rows, dict[str, np.ndarray], QueryGroups]


@final
@dataclass(frozen=True, eq=False)
class EvalSet:
    """Documents with labels on which a ranker is not fitted.

    Attributes
    ----------
    documents : Rows
        Features of the documents.
    y : ndarray of shape (n_documents,)
        Labels; the first label with a weight, if there are several.
    groups : QueryGroups
        Queries of the documents.
    metric : callable or None
        ``metric(scores)`` is the value of a metric for the scores of these documents; higher is
        better. Rankers set it to :class:`~treerank.rankers.early_stopping.RecordedMetrics`.
    sizes : tuple of int
        Number of documents of each of several sets, which stand one below the other.
    """

    documents: Rows
    y: np.ndarray
    groups: QueryGroups
    metric: Callable[[np.ndarray], float] | None = None
    sizes: tuple[int, ...] = ()

    @property
    def X(self) -> Any:
        """Features of the documents in their order; batches are not read into memory."""
        return matrix_of(self.documents)

    @property
    def first(self) -> Self:
        """The documents of the first of several sets."""
        return self.sets[0]

    @property
    def sets(self) -> list[Self]:
        """The documents of each set; a single set is the whole."""
        if len(self.sizes) < 2:
            return [self]
        ends = np.cumsum(self.sizes)
        return [self.take(np.arange(end - n, end)) for n, end in zip(self.sizes, ends, strict=True)]

    @property
    def has_pairs(self) -> bool:
        """Whether any query of any worker holds two different labels."""
        return self.documents.any(bool(self.groups.with_two_labels(self.y).any()))

    def of_all(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, QueryGroups]:
        """Return ``(scores, labels, queries)`` of the documents of all workers."""
        rows, groups = self.documents, self.groups
        if rows.is_shard:
            numbers = rows.numbers_of(groups.n_queries)
            groups = QueryGroups.from_codes(rows.of_all(numbers[groups.codes]))
        return rows.of_all(scores), rows.of_all(self.y), groups

    def judged(self) -> Self:
        """Return the documents whose label is not NaN."""
        judged = ~np.isnan(self.y)
        return self if judged.all() else self.take(np.flatnonzero(judged))

    def take(self, rows: np.ndarray) -> Self:
        """Return some documents by their indices, without a metric."""
        return type(self)(self.documents.take(rows), self.y[rows], self.groups.take(rows))


def is_share(eval_set: Any) -> bool:
    """Tell whether an ``eval_set`` is a share of the training queries; refuse an invalid share.

    Examples
    --------
    >>> is_share(0.2), is_share(None)
    (True, False)
    >>> is_share(1)
    Traceback (most recent call last):
    ...
    ValueError: eval_set must be (X, y, qid), a list of such tuples, or a share of the queries \
above 0 and below 1, such as 0.2; got 1.
    """
    if isinstance(eval_set, list | tuple) and any(isinstance(entry, Real) for entry in eval_set):
        share = next(entry for entry in eval_set if isinstance(entry, Real))
        raise ValueError(
            "eval_set must be (X, y, qid), a list of such tuples, or one share of the queries; got "
            f"{quote(eval_set)}. Write eval_set={quote(share)} without brackets to hold out a "
            "share."
        )
    if not isinstance(eval_set, Real | np.bool_ | str):
        return False
    if isinstance(eval_set, bool | np.bool_ | str) or not 0 < float(eval_set) < 1:  # NaN is not
        raise ValueError(
            "eval_set must be (X, y, qid), a list of such tuples, or a share of the queries "
            f"above 0 and below 1, such as 0.2; got {quote(eval_set)}."
        )
    return True


def split_off_share(
    data: TrainingSet, share: float, seed: int, earlier: TrainingQueries | None = None
) -> tuple[TrainingSet, TrainingSet]:
    """Return ``(training set, held-out set)``: without a share of the queries, and this share.

    Queries are drawn in canonical order, so neither the order of rows nor the names of queries
    matter. About the same share of queries with and without two different labels is drawn. Queries
    on which an ``earlier`` fit was trained, which this one continues, are not
    drawn. Refuses a share that holds out no query with two different labels, or leaves none.
    """
    n_queries, with_pairs = data.groups.n_queries, data.groups.with_two_labels(data.y)
    n_held, n_with_pairs = round(share * n_queries), int(with_pairs.sum())
    if not 1 <= n_held < n_queries:
        raise ValueError(
            f"{spelled('eval_set')} must be a share that holds out a query and leaves one; got "
            f"{quote(share)} of {n_queries} queries."
        )
    most = n_with_pairs if data.pairs is not None else n_with_pairs - 1
    if most < 1:
        raise ValueError(
            f"{spelled('eval_set')} must hold out a query with two different labels and leave "
            f"another one; got {quote(share)} of {n_queries} queries, of which {n_with_pairs} have "
            "two."
        )
    may_be_drawn = np.ones(n_queries, dtype=bool)
    if earlier is not None and data.queries is not None:
        may_be_drawn = ~earlier.contain(data.queries)
    n_drawn = min(max(1, round(share * n_with_pairs)), most, n_held)
    rng, is_held_out = np.random.default_rng(seed), np.zeros(n_queries, dtype=bool)
    for n, stratum in ((n_drawn, with_pairs), (n_held - n_drawn, ~with_pairs)):
        is_held_out[rng.permutation(np.flatnonzero(stratum & may_be_drawn))[:n]] = True
    if not (is_held_out & with_pairs).any():
        raise ValueError(
            "eval_set must hold out queries that no earlier fit was trained on; got "
            f"{quote(share)} with warm_start=True, and {n_queries - may_be_drawn.sum()} of "
            f"{n_queries} queries were. Write eval_set=(X, y, qid), or the same share in all fits."
        )
    held_out = data.take_queries(is_held_out)
    if held_out.labels is not None:
        _check_judged(data, is_held_out, share)
    return data.take_queries(~is_held_out), held_out


def _check_judged(data: TrainingSet, is_held_out: np.ndarray, share: float) -> None:
    """Refuse a split in which a label is judged in no held-out or in no training query."""
    for name, y in (data.labels or {}).items():
        is_judged = np.bincount(data.groups.codes[~np.isnan(y)], minlength=len(is_held_out)) > 0
        n_judged, n_held = int(is_judged.sum()), int((is_judged & is_held_out).sum())
        if n_judged and not 0 < n_held < n_judged:
            raise ValueError(
                f"eval_set must hold out a query in which label {quote(name)} is judged, and leave "
                f"one; got {quote(share)}, which holds out {n_held} of {n_judged} such queries. "
                "Write eval_set=(X, y, qid), another share or another random_state."
            )


def checked_set(
    ranker: Any,
    data: TrainingSet,
    eval_set: Any,
    *,
    decides: bool,
    of_several: bool,
    had_queries: bool,
) -> LabeledSet:
    """Return the documents of one ``eval_set`` with the labels that the training set has.

    Parameters
    ----------
    ranker : Ranker
        The ranker that is being fitted.
    data : TrainingSet
        Its training set.
    eval_set : tuple or Batches
        ``(X, y)`` or ``(X, y, qid)``, as the user passes it.
    decides : bool
        Whether this set decides how long to train. Then its queries that were trained on, too,
        are warned of.
    of_several : bool
        Whether there are other sets, too, for the warning.
    had_queries : bool
        Whether ``fit`` got several queries. Then an ``eval_set`` without ``qid`` is refused.
    """
    X, y, qid = read_eval_set(ranker, eval_set)
    names, labels = data.label_weights, split_labels(y)
    if names is None and labels is not None:
        raise ValueError(f"eval_set must have a single label, as y; got {quote([*labels])}.")
    if names is not None and (labels is None or labels.keys() != names.keys()):
        got = "a single label" if labels is None else quote([*labels])
        raise ValueError(f"eval_set must have the labels of y, {quote([*names])}; got {got}.")
    if names is not None and labels is not None:
        labels = {name: labels[name] for name in names}
    X = check_features(ranker, X)
    if had_queries:
        refuse_one_query("eval_set", qid, X.shape[0])
    if labels is None:
        labels = {"": check_labels(y, X.shape[0])}
    else:
        labels = check_labels_by_name(labels, X.shape[0])
    groups = QueryGroups.from_qid(qid, X.shape[0])
    trained = ranker.training_queries_
    if decides and trained is not None and data.queries and data.query_hashes is not None:
        hashes, first = row_hashes(X), first_weighted(labels, (names or {"": 1.0}).values())
        of_set = hashes, first, groups, X.shape[1]
        warn_of_copied_queries(data.query_hashes, *of_set, of_several=of_several)
        overlap = trained.look_up(hashes, y, qid)
        name = "the first eval_set" if of_several else spelled("eval_set")
        warn_of_cut_queries(overlap, f"{name} keeps too many trees")
    documents = Rows(X, columns=ranker.columns_)
    if names is None and np.isnan(labels[""]).any():
        judged = np.flatnonzero(~np.isnan(labels[""]))
        return documents.take(judged), {"": labels[""][judged]}, groups.take(judged)
    return documents, labels, groups


def joined_sets(sets: Sequence[LabeledSet], weights: Iterable[float]) -> EvalSet:
    """Return several evaluation sets as one, without a metric.

    ``weights`` are the weights of the labels. A document gets the first label of weight above 0.
    """
    label_weights = [*weights]
    documents, labels, groups = zip(*sets, strict=True)
    columns = [first_weighted(by_name, label_weights) for by_name in labels]
    first = documents[0]
    are_several = len(documents) > 1
    X = stacked_rows([rows.array() for rows in documents]) if are_several else matrix_of(first)
    rows = Rows(X, columns=first.columns, workers=first.workers)
    sizes = tuple(len(column) for column in columns)
    return EvalSet(rows, np.concatenate(columns), _joined(groups), sizes=sizes)


def matrix_of(documents: Rows) -> Any:
    """Return the features of documents, which are only copied where their order differs."""
    return documents.values if documents.order is None else documents.array()


def first_weighted(labels: dict[str, np.ndarray], weights: Iterable[float]) -> np.ndarray:
    """Return the first label whose weight is not 0: pair probabilities are calibrated to it."""
    return next(y for y, weight in zip(labels.values(), weights, strict=True) if weight)


def hashes_of_sets(sets: Sequence[LabeledSet]) -> list[int]:
    """Return a hash of features and labels of each set, over all workers.

    It does not depend on the order of rows or on the number of workers.
    """
    hashes = []
    for rows, labels, groups in sets:
        judged = rows.hashes() ^ row_hashes(np.column_stack([*labels.values()]))
        hashes.append(group_hashes(judged, groups).sum(dtype=np.uint64))
    sums: list[int] = sets[0][0].total(np.array(hashes, dtype=np.uint64)).tolist()
    return sums


def _joined(groups: Sequence[QueryGroups]) -> QueryGroups:
    """Return the queries of several sets, each of which numbers its queries from 0."""
    if len(groups) == 1:
        return groups[0]
    n_queries = [group.n_queries for group in groups]
    offsets = np.cumsum(n_queries) - n_queries
    codes = [group.codes + offset for group, offset in zip(groups, offsets, strict=True)]
    joined, ids = QueryGroups.from_codes(np.concatenate(codes)), [group.ids for group in groups]
    if any(of_set is None for of_set in ids):
        return joined
    of_all: Any = np.concatenate([objects(list(of_set)) for of_set in ids if of_set is not None])
    return replace(joined, ids=of_all)


def parts_of_eval_set(eval_set: Any, name: str = "eval_set") -> tuple[Any, Any, Any]:
    """Return X, y and qid of an ``eval_set``, which is ``(X, y)`` or ``(X, y, qid)``.

    ``qid`` is None without one. The result of a file reader unpacks as ``(X, y, qid)``. ``name`` is
    the argument that messages name.

    Examples
    --------
    >>> parts_of_eval_set(([[1.0]], [2]))
    ([[1.0]], [2], None)
    """
    eval_set = unpacked(eval_set)
    is_list = isinstance(eval_set, tuple | list)
    first: Any = eval_set[0] if is_list and eval_set else None
    are_sets = isinstance(first, tuple) and len(first) > 0
    if not is_list or len(eval_set) not in (2, 3) or (are_sets and np.ndim(first[0]) > 1):
        size = f" of {len(eval_set)}" if is_list else ""
        several = ", a list of such tuples, or a share of the queries such as 0.2"
        several = several if name == "eval_set" else ""
        raise ValueError(
            f"{name} must be (X, y) or (X, y, qid){several}; got {type(eval_set)}{size}."
        )
    X, y, qid = (*eval_set, None)[:3]
    return X, y, qid


def unpacked(data: Any) -> Any:
    """Return ``(X, y, qid)`` of the result of a file reader, and other objects unchanged."""
    is_read = hasattr(data, "qid") and as_frame(data) is None
    return tuple(data) if is_read else data


def check_eval_set(estimator: Any, X: Any, y: Any, qid: Any) -> tuple[Any, np.ndarray, QueryGroups]:
    """Return ``(X, y, groups)`` of the documents of an ``eval_set`` whose label is not NaN.

    ``X`` is a float matrix.
    """
    X = check_features(estimator, X)
    y = check_labels(y, X.shape[0])
    groups = QueryGroups.from_qid(qid, len(y))
    judged = np.flatnonzero(~np.isnan(y))
    return (X, y, groups) if len(judged) == len(y) else (X[judged], y[judged], groups.take(judged))


def read_eval_set(ranker: Any, eval_set: Any, name: str = "eval_set") -> tuple[Any, Any, Any]:
    """Return X, y and qid of an ``eval_set``, whose y and qid may be names of columns of X.

    Only X of batches is read as a matrix. ``name`` is the argument that messages name.
    """
    if isinstance(eval_set, Batches):
        return documents_of_batches(ranker, eval_set)
    X, y, qid = parts_of_eval_set(eval_set, name)
    X, (y, qid) = take_columns(X, y=y, qid=qid)
    return X, y, qid
