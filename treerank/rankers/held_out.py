"""Held-out documents: early stopping and calibration use them, training does not."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from numbers import Real
from typing import Any, Self, final

import numpy as np

from treerank.checks import naming, naming_label, quote
from treerank.documents.canonical_order import group_hashes, row_hashes
from treerank.documents.features import check_features, check_labels, split_labels, unpacked
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.documents.training_queries import (
    TrainingQueries,
    warn_of_copied_queries,
    warn_of_cut_queries,
)
from treerank.metrics.base import Metric, exact_sum
from treerank.rankers.reading import (
    check_labels_by_name,
    read_eval_set,
    stacked_rows,
)
from treerank.rankers.scored import metric_of
from treerank.rankers.training_set import TrainingSet

#: Documents, labels by name, and queries; the name of a single label is "".
LabeledSet = tuple[Rows, dict[str, np.ndarray], QueryGroups]
#: Values of metrics by the name of a set and of a metric, one for each iteration.
History = dict[str, dict[str, list[float]]]


@final
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Documents with labels that a ranker is not fitted to.

    ``metric(scores)`` is the quality of the scores of these documents; higher is better. Where they
    are several sets, one below the other, ``sizes`` are the numbers of documents of each.
    """

    documents: Rows
    y: np.ndarray
    groups: QueryGroups
    metric: "Watched | None" = None
    sizes: tuple[int, ...] = ()

    @property
    def X(self) -> Any:
        """Features of the documents; those that are read in batches stay where they are."""
        return _matrix_of(self.documents)

    @property
    def first(self) -> Self:
        """The documents of the first of several sets."""
        return self.sets[0]

    @property
    def sets(self) -> list[Self]:
        """The documents of each set; those of a single set are the whole."""
        if len(self.sizes) < 2:
            return [self]
        ends = np.cumsum(self.sizes)
        return [
            self.taking(np.arange(end - n, end)) for n, end in zip(self.sizes, ends, strict=True)
        ]

    @property
    def has_pairs(self) -> bool:
        """Whether any query of any worker holds two different labels."""
        return self.documents.any(bool(self.groups.with_two_labels(self.y).any()))

    def of_all(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, QueryGroups]:
        """Return scores, labels and queries of the documents of all workers, given own scores."""
        rows, groups = self.documents, self.groups
        if rows.is_shard:
            numbers = rows.numbers_of(groups.n_queries)
            groups = QueryGroups.from_qid(rows.of_all(numbers[groups.codes]))
        return rows.of_all(scores), rows.of_all(self.y), groups

    def judged(self) -> Self:
        """Return the documents that have a label."""
        judged = ~np.isnan(self.y)
        return self if judged.all() else self.taking(np.flatnonzero(judged))

    def taking(self, rows: np.ndarray) -> Self:
        """Return the given documents alone, without a metric."""
        return type(self)(self.documents.take(rows), self.y[rows], self.groups.among(rows))


@dataclass(eq=False)
class Watched:
    """Metrics of documents, whose values are recorded; the first, or a weighted mean, decides.

    ``curves`` are functions of the scores of all documents, by the names of a set and of a curve.
    ``weights`` are those of the first curves, whose mean decides, under ``name``. ``history`` has
    the values of all curves for each call. ``describe()`` returns a text of documents and metrics.
    ``metrics`` are those of a single label.

    Examples
    --------
    >>> from treerank import get_metric
    >>> a, b = (get_metric("ndcg").prepared(y) for y in ([1, 0], [0, 1]))
    >>> curves = {("validation", "ndcg of a"): a, ("validation", "ndcg of b"): b}
    >>> watched = Watched("ndcg", curves, weights=[1, 1])
    >>> round(watched(np.array([1.0, 0.0])), 3), watched.history[0]
    (0.815, [1.0, 0.6309297535714575])
    """

    name: str
    curves: dict[tuple[str, str], Callable[[np.ndarray], float]]
    weights: Sequence[float] = (1.0,)
    history: list[list[float]] = field(default_factory=list)
    describe: Callable[[], str] = str
    metrics: Sequence[Any] = ()

    @property
    def description(self) -> str:
        """A text that is the same for the same documents, labels, queries and metrics alone."""
        return self.describe()

    def values(self, scores: np.ndarray) -> list[float]:
        """Return the values of all curves, and record nothing; outputs are added up."""
        if scores.ndim > 1:
            scores = scores.sum(axis=1)
        return [curve(scores) for curve in self.curves.values()]

    def __call__(self, scores: np.ndarray) -> float:
        """Return the value that decides, and record those of all curves."""
        values = self.values(scores)
        self.history.append(values)
        total = sum(self.weights)
        return sum(w * value for w, value in zip(self.weights, values, strict=False)) / total

    def results(self, recorded: History, earlier: History) -> History:
        """Return the values of the iterations that a fit has recorded, by set and curve.

        A continued fit has measured its new iterations only, and a chain all of its parts.
        """
        n_recorded = len(recorded.get("validation", {}).get(self.name, ()))
        if not n_recorded:  # by what learns in one step
            return recorded
        found = {part: dict(curves) for part, curves in recorded.items()}
        for place, (part, name) in enumerate(self.curves):
            values = earlier.get(part, {}).get(name, []) + [row[place] for row in self.history]
            found.setdefault(part, {}).setdefault(name, values[-n_recorded:])
        return found


def hold_out(ranker: Any, data: TrainingSet, eval_set: Any, eval_metric: Any) -> HeldOut:
    """Return the documents of one ``eval_set`` or several, with all metrics of each of them.

    Those that decide are compared with the training set ``data``, whose queries are warned of.
    """
    metrics = metrics_of(ranker, eval_metric)
    is_list = isinstance(eval_set, list) and eval_set
    several = is_list and all(isinstance(unpacked(each), tuple) for each in eval_set)
    with naming("eval_set"):
        given = eval_set if several else [eval_set]
        sets = [
            _checked_set(ranker, data, *read_eval_set(ranker, each), decides=not number)
            for number, each in enumerate(given)
        ]
        return watching(sets, metrics, [*(data.label_weights or {"": 1.0}).values()])


def metrics_of(ranker: Any, eval_metric: Any) -> list[Any]:
    """Return the metrics that are recorded, of which the first decides."""
    names = eval_metric if isinstance(eval_metric, list | tuple) else [eval_metric]
    with naming("eval_metric"):
        return [metric_of(ranker, name) for name in names]


def is_share(eval_set: Any) -> bool:
    """Tell whether an ``eval_set`` is a share of the training queries; refuse what is no share.

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
    if isinstance(eval_set, list | tuple) and any(isinstance(each, Real) for each in eval_set):
        first = next(each for each in eval_set if isinstance(each, Real))
        raise ValueError(
            "eval_set must be (X, y, qid), a list of such tuples, or one share of the queries; got "
            f"{quote(eval_set)}. Write eval_set={first!r} without brackets to hold out a share."
        )
    if not isinstance(eval_set, Real | np.bool_ | str):
        return False
    if isinstance(eval_set, bool | np.bool_ | str) or not 0 < float(eval_set) < 1:  # NaN is not
        raise ValueError(
            "eval_set must be (X, y, qid), a list of such tuples, or a share of the queries "
            f"above 0 and below 1, such as 0.2; got {eval_set!r}."
        )
    return True


def hold_out_share(
    data: TrainingSet,
    share: float,
    metrics: Sequence[Any],
    seed: int,
    earlier: TrainingQueries | None = None,
) -> tuple[TrainingSet, HeldOut]:
    """Return a training set without a share of its queries, and these, with their metrics.

    Queries are drawn in canonical order, so neither the order of rows nor the names of queries
    matter. Of queries with and without two different labels, about the same share is drawn. Those
    that an ``earlier`` fit has trained on, which this one continues, are not drawn.
    """
    n_queries, with_pairs = data.groups.n_queries, data.groups.with_two_labels(data.y)
    n_held, n_with_pairs = round(share * n_queries), int(with_pairs.sum())
    if not 1 <= n_held < n_queries:
        raise ValueError(
            "eval_set must be a share that holds out a query and leaves one; got "
            f"{share!r} of {n_queries} queries."
        )
    most = n_with_pairs if data.pairs is not None else n_with_pairs - 1
    if most < 1:
        raise ValueError(
            "eval_set must hold out a query with two different labels and leave another one; got "
            f"{share!r} of {n_queries} queries, of which {n_with_pairs} have two."
        )
    free = np.ones(n_queries, dtype=bool)
    if earlier is not None and data.queries is not None:
        free = ~earlier.contain(data.queries)
    n_drawn = min(max(1, round(share * n_with_pairs)), most, n_held)
    rng, chosen = np.random.default_rng(seed), np.zeros(n_queries, dtype=bool)
    for number, some in ((n_drawn, with_pairs), (n_held - n_drawn, ~with_pairs)):
        chosen[rng.permutation(np.flatnonzero(some & free))[:number]] = True
    if not (chosen & with_pairs).any():
        raise ValueError(
            "eval_set must hold out queries that no earlier fit was trained on; got "
            f"{share!r} with warm_start=True, and {n_queries - free.sum()} of {n_queries} queries "
            "were. Write eval_set=(X, y, qid), or the same share in all fits."
        )
    held = data.of_queries(chosen)
    labels, weights = {"": held.y}, [1.0]
    if held.labels is not None:
        labels, by_name = held.labels, held.label_weights or {}
        weights = [by_name[name] for name in labels]
        _check_judged(data, chosen, share)
    try:
        held_out = watching([(held.documents, labels, held.groups)], metrics, weights)
    except ValueError as error:
        raise ValueError(
            f"eval_set={share!r} holds out queries that no metric can be measured of; {error} "
            "Write eval_set=(X, y, qid), another share or another random_state."
        ) from error
    return data.of_queries(~chosen), held_out


def _check_judged(data: TrainingSet, chosen: np.ndarray, share: float) -> None:
    """Refuse held-out queries, or those that are left, of which none has a label that counts."""
    for name, y in (data.labels or {}).items():
        is_judged = np.bincount(data.groups.codes[~np.isnan(y)], minlength=len(chosen)) > 0
        n_judged, n_held = int(is_judged.sum()), int((is_judged & chosen).sum())
        if n_judged and not 0 < n_held < n_judged:
            raise ValueError(
                f"eval_set must hold out a query in which label {name!r} is judged, and leave one; "
                f"got {share!r}, which holds out {n_held} of {n_judged} such queries. "
                "Write eval_set=(X, y, qid), another share or another random_state."
            )


def _checked_set(
    ranker: Any, data: TrainingSet, X: Any, y: Any, qid: Any, *, decides: bool
) -> LabeledSet:
    """Return the documents of an ``eval_set`` with the labels that the training set has.

    Of the one that ``decides``, queries that were trained on are warned of.
    """
    names, labels = data.label_weights, split_labels(y)
    if names is None and labels is not None:
        raise ValueError(f"eval_set must have a single label, as y; got {[*labels]}.")
    if names is not None and (labels is None or [*labels] != [*names]):
        raise ValueError(f"eval_set must have the labels of y, {[*names]}.")
    X = check_features(ranker, X)
    ranker.refuse_one_query("eval_set", qid, X.shape[0])
    if labels is None:
        labels = {"": check_labels(y, X.shape[0], some_unjudged=True)}
    else:
        labels = check_labels_by_name(labels, X.shape[0])
    groups = QueryGroups.from_qid(qid, X.shape[0])
    if decides and data.queries is not None and data.query_hashes is not None:
        hashes, first = row_hashes(X), _first_that_counts(labels, (names or {"": 1.0}).values())
        warn_of_copied_queries(data.query_hashes, hashes, first, groups, X.shape[1])
        overlap = ranker.training_queries_.look_up(hashes, y, qid)
        warn_of_cut_queries(overlap, "the first eval_set keeps too many trees")
    documents = Rows(X, columns=ranker.columns_)
    if names is None and np.isnan(labels[""]).any():
        judged = np.flatnonzero(~np.isnan(labels[""]))
        return documents.take(judged), {"": labels[""][judged]}, groups.among(judged)
    return documents, labels, groups


def watching(
    sets: Sequence[LabeledSet], metrics: Sequence[Any], weights: Sequence[float] = (1.0,)
) -> HeldOut:
    """Return sets of documents as one, with the metrics of each label of each set."""
    curves, n_before = {}, 0
    for number, (documents, labels, groups) in enumerate(sets):
        part = f"validation_{number}" if number else "validation"
        for metric, (label, y) in product(metrics, labels.items()):
            name = f"{metric.name} of {label}" if label else metric.name
            with naming_label(label):
                curves[part, name] = _curve(metric, y, groups, n_before, documents)
        n_before += groups.n_documents
    settings = [metric if isinstance(metric, Metric) else metric.name for metric in metrics]
    described = f"{[*curves]} by {settings}, weighed by {weights}"
    watched = Watched(
        metrics[0].name,
        curves,
        weights,
        describe=lambda: f"{described} of {_hashed(sets)}",
        metrics=metrics,
    )
    every_rows, every_label, every_group = zip(*sets, strict=True)
    columns = [_first_that_counts(labels, weights) for labels in every_label]
    codes, n_queries = zip(*((each.codes, each.n_queries) for each in every_group), strict=True)
    first, *others = every_rows
    X = stacked_rows([rows.array() for rows in every_rows]) if others else _matrix_of(first)
    rows = Rows(X, columns=first.columns, workers=first.workers)
    groups = _joined(codes, n_queries)
    sizes = tuple(len(column) for column in columns)
    return HeldOut(rows, np.concatenate(columns), groups, watched, sizes)


def _matrix_of(documents: Rows) -> Any:
    """Return the features of documents, which are only copied where their order differs."""
    return documents.values if documents.order is None else documents.array()


def _first_that_counts(labels: dict[str, np.ndarray], weights: Iterable[float]) -> np.ndarray:
    """Return the first label whose weight is not 0: pair probabilities are those of this one."""
    return next(y for y, weight in zip(labels.values(), weights, strict=True) if weight)


def _hashed(sets: Sequence[LabeledSet]) -> list[int]:
    """Return a hash of each set of documents, the same for any order and spread of its rows."""
    hashes = []
    for rows, labels, groups in sets:
        judged = rows.hashes() ^ row_hashes(np.column_stack([*labels.values()]))
        hashes.append(group_hashes(judged, groups).sum(dtype=np.uint64))
    sums: list[int] = sets[0][0].total(np.array(hashes, dtype=np.uint64)).tolist()
    return sums


def _joined(codes: Sequence[np.ndarray], n_queries: Sequence[int]) -> QueryGroups:
    """Return the queries of several sets, each of which has numbered its own from 0."""
    firsts = np.cumsum(n_queries) - n_queries
    every = [own + first for own, first in zip(codes, firsts, strict=True)]
    return QueryGroups.from_qid(np.concatenate(every))


def _curve(
    metric: Any, y: np.ndarray, groups: QueryGroups, start: int, documents: Rows
) -> Callable[[np.ndarray], float]:
    """Return a metric of documents as a function of all scores, of which theirs begin at start."""
    judged = np.flatnonzero(~np.isnan(y))
    own = y[judged], groups.among(judged)
    if documents.is_shard:
        mean = mean_over_all(metric, *own, documents)
        return lambda scores: mean(scores[start + judged])
    prepared = metric.prepared(*own)
    return lambda scores: float(prepared(scores[start + judged]))


def mean_over_all(
    metric: Metric, y: np.ndarray, groups: QueryGroups, documents: Rows
) -> Callable[[np.ndarray], float]:
    """Return the mean of a metric over the queries of all workers, as a function of own scores.

    Its sum is rounded once, as that of one worker.
    """
    ends = np.array([-y.min(), y.max()]) if len(y) else np.full(2, -np.inf)
    below, above = documents.largest(ends)
    label_range = np.array([-below, above] if above >= -below else [])  # none has any label
    part = metric.prepared_part(y, groups, label_range)
    if not documents.any(bool(part.ideal.any())):
        raise metric.nothing_to_find(int(documents.total(np.array([len(y)]))[0]))

    def mean(scores: np.ndarray) -> float:
        values = part.per_query(scores)
        values = values[~np.isnan(values)]
        n_queries = int(documents.total(np.array([len(values)]))[0])
        return math.fsum(documents.of_all(np.array(exact_sum(values)))) / n_queries

    return mean
