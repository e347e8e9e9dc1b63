"""Labels of a comparison: one or several, also by people beside an LLM, and their metrics.

Several labels are stored as a structured array, so that rows can be selected by indexing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import (
    check_choice,
    check_column,
    has_other_order,
    naming,
    quote,
    warn_user,
)
from treerank.datasets.qrels import Qrels
from treerank.documents.ids import check_ids, id_hashes
from treerank.documents.labels import are_judged, split_labels, weights_of_labels
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import RankingData
from treerank.documents.reading import take_columns
from treerank.metrics.base import Metric
from treerank.metrics.judged import judged_share
from treerank.metrics.registry import FunctionMetric
from treerank.spelling import spelled
from treerank.statistics.double_sampling import FEWEST, check_n_human


def checked_labels(y: Any, n_documents: int | None = None) -> np.ndarray:
    """Return labels as an array, several as a structured array with a field for each.

    NaN is unjudged. ``y`` is a column, a mapping from names to columns, or an array with a column
    for each label. Refuses columns whose length differs from ``n_documents``, or from each other.

    Examples
    --------
    >>> checked_labels({"relevance": [1, 0], "margin": [0.5, np.nan]}).dtype.names
    ('relevance', 'margin')
    """
    labels = split_labels(y)
    if labels is None:
        return check_column("y", y, n_documents, some_unjudged=True, or_table=True)
    columns = {}
    for name, column in labels.items():  # all as long as the first, if no number is given
        columns[name] = check_column(
            f"y[{quote(name)}]", column, n_documents, some_unjudged=True, or_table=True
        )
        n_documents = len(columns[name])
    first = next(iter(columns.values()))
    records = np.empty(len(first), dtype=[(name, np.float64) for name in columns])
    for name, column in columns.items():
        records[name] = column
    return records


def as_passed(y: np.ndarray) -> Any:
    """Return labels in the form that ``fit`` takes: several as a dict by name."""
    return {name: y[name] for name in y.dtype.names} if y.dtype.names else y


def values_by_query(
    metrics: Mapping[str, Metric | FunctionMetric],
    y: np.ndarray,
    scores: np.ndarray,
    qid: Any,
    label_weights: Mapping[str, float] | None = None,
    max_labels: Mapping[str, float] | None = None,
) -> dict[str, np.ndarray]:
    """Return the values of metrics by query: ``{name: ndarray of shape (n_queries,)}``.

    ``max_labels`` are those of :func:`highest_labels`, where ``y`` is one of several sets.

    With several labels, a metric is the weighted mean over the labels, and each label also has an
    entry of its own, such as "ndcg@10 of margin". The weighted mean is as in ``ranker.score``,
    which averages each label over the queries in which it has relevant documents. Values by query
    are scaled so that their mean equals it.

    Examples
    --------
    >>> from treerank import get_metric
    >>> y = checked_labels({"a": [1, 0, 0, 1], "b": [0, 1, 0, 0]})
    >>> values_by_query({"mrr": get_metric("mrr")}, y, np.array([2.0, 1, 2, 1]), [1, 1, 2, 2])
    {'mrr': array([1. , 0.25]), 'mrr of a': array([1. , 0.5]), 'mrr of b': array([0.5, nan])}
    """

    def values_of(metric, labels, name=""):
        max_label = (max_labels or {}).get(name)
        scaled = metric if max_label is None else metric.on_scale(max_label)
        return scaled.per_query(labels, scores, qid)

    if not y.dtype.names:
        return {name: values_of(metric, y) for name, metric in metrics.items()}
    weights = weights_of_labels(label_weights, y.dtype.names)
    values = {}
    for name, metric in metrics.items():
        by_label = {label: values_of(metric, y[label], label) for label in y.dtype.names}
        values[name] = _shares(np.array([*by_label.values()]), np.array(weights))
        values |= {f"{name} of {label}": column for label, column in by_label.items()}
    return values


def highest_labels(
    tested: Iterable[tuple["HumanLabels | None", np.ndarray]],
) -> dict[str, float]:
    """Return the highest label of all test sets by name of the label; "" is the only one.

    ``tested`` are tuples of human labels of a test set, or None, and its labels. Both are of one
    scale. A label that no document has is left out.

    Examples
    --------
    >>> y = checked_labels({"a": [1, 0], "b": [0.5, np.nan]})
    >>> highest_labels([(None, y), (None, y)]), highest_labels([(None, np.array([2.0, 1.0]))])
    ({'a': 1.0, 'b': 0.5}, {'': 2.0})
    """
    highest: dict[str, float] = {}
    for human, y in tested:
        columns = {name: y[name] for name in y.dtype.names} if y.dtype.names else {"": y}
        if human is not None:
            columns = {"": np.append(human.without(y), human.y)}
        for name, column in columns.items():
            judged = column[~np.isnan(column)]
            if len(judged):
                highest[name] = max(float(judged.max()), highest.get(name, -np.inf))
    return highest


def _shares(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return values by query whose mean is the weighted mean of the labels' means.

    ``values`` are of shape (n_labels, n_queries). Queries that are NaN for all labels stay NaN. If
    a label has no query with a relevant document, all values are NaN.
    """
    values, weights = values[weights > 0], weights[weights > 0] / weights.sum()
    is_defined = ~np.isnan(values)
    counts = is_defined.sum(axis=1)
    if not counts.all():
        return np.full(values.shape[1], np.nan)
    is_counted = is_defined.any(axis=0)
    shares = (weights * is_counted.sum() / counts) @ np.where(is_defined, values, 0.0)
    return np.where(is_counted, shares, np.nan)


def check_label_weights(
    label_weights: Mapping[str, float] | None, names: tuple[str, ...] | None, human: bool
) -> None:
    """Refuse weights of labels that would have no effect on metrics.

    ``names`` are the names of several labels, None for a single one; ``human`` tells whether
    ``human_labels`` were given.
    """
    if label_weights is None:
        return
    rule = "label_weights must be None"
    if human:
        raise ValueError(
            f"{rule} if human_labels are given, since metrics are then estimates under human "
            f"labels alone; got {quote(label_weights)}. What a ranker learns from is its own "
            "setting: y={'llm': y_llm, 'human': y_human} with TreeDirectRanker(label_weights="
            "{'llm': 0, 'human': 1})."
        )
    if names is None:
        raise ValueError(
            f"{rule} for a single label y; got {quote(label_weights)}. Several labels are a "
            "mapping, {name: column}."
        )
    weights_of_labels(label_weights, names)


def judged_labels_share(y: np.ndarray, scores: np.ndarray, qid: Any, depth: int) -> float:
    """Return judged@depth, where a document is judged if any of its labels is."""
    return judged_share(np.where(are_judged(as_passed(y)), 0.0, np.nan), scores, qid, depth)


def of_queries_with(rows: np.ndarray, qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(rows, queries)``: masks of the queries with any of the rows, and of their rows.

    ``rows`` is a mask of rows. ``np.isin`` would compare each row with each query where ids are
    tuples.

    Examples
    --------
    >>> of_queries_with(np.array([False, True, False]), np.array([7, 7, 8]))
    (array([ True,  True, False]), array([ True, False]))
    """
    codes = QueryGroups.from_qid(qid, len(qid)).codes
    queries = np.bincount(codes, rows) > 0
    return queries[codes], queries


def labels_of_people(human_labels: Any, data: Any) -> Any:
    """Return human labels: of data of the same documents, as of the same runs, their labels.

    Others are returned unchanged. Refuses data of other queries than ``data``, which are
    ``(X, y, qid)`` or RankingData, of other documents where both know their ids, and judgments that
    are not joined with documents. Names of columns are those of the frame beside them: labels and
    queries are returned and compared by value.
    """
    is_file = isinstance(human_labels, str) and Path(human_labels).is_file()
    if isinstance(human_labels, Path | Mapping | Qrels) or is_file:
        raise TypeError(
            "human_labels must hold a label for each document of data, NaN where nobody has judged "
            f"it; got {quote(human_labels)}. Join judgments with the same runs: "
            "human_labels=read_runs(runs, judgments)."
        )
    if not isinstance(human_labels, RankingData):
        return human_labels
    with naming("human_labels"):
        _, (labels, qid) = take_columns(human_labels.X, y=human_labels.y, qid=human_labels.qid)
        hashes = id_hashes(check_ids("qid", qid))
    X, y, other_qid = data
    _, (other_qid,) = take_columns(X, qid=other_qid)
    difference = None
    if not np.array_equal(hashes, id_hashes(check_ids("qid", other_qid))):
        difference = "whose queries are others."
    elif isinstance(data, RankingData) and all(map(_has_documents, (human_labels, data))):
        ids, other_ids = (np.asarray(of_data.doc_ids) for of_data in (human_labels, data))
        difference = None if np.array_equal(ids, other_ids) else "whose documents are others."
    if difference is None and any(has_other_order(labels, of) for of in (X, y)):
        named = isinstance(human_labels.y, str)
        column = f"X[{quote(human_labels.y)}]" if named else "y"
        difference = (
            "whose index has them in another one. If the rows are in order, as after reset_index "
            f"of one of them, pass its labels alone, human_labels.{column}.to_numpy()."
        )
    if difference is not None:
        raise ValueError(
            "human_labels must be labels of the same documents in the same order; got "
            f"{quote(human_labels)}, {difference}"
        )
    return labels


def _has_documents(data: RankingData) -> bool:
    """Tell whether data know the ids of their documents."""
    return data.documents is not None or data.comments is not None


@dataclass(frozen=True, eq=False)
class HumanLabels:
    """People's labels of some documents, in data whose labels are an LLM's.

    Attributes
    ----------
    y : ndarray of shape (n_documents,)
        People's labels; NaN where there is none, and in queries that the LLM has not graded.
    name : str or None
        Its name, if it is one of two labels of the data; the other one is the LLM's.
    """

    y: np.ndarray
    name: str | None = None

    @classmethod
    def of(cls, human_labels: Any, y: np.ndarray, qid: np.ndarray) -> "HumanLabels | None":
        """Return human labels, given beside ``y`` or as the name of one of its two labels.

        None for None. ``qid`` are the queries of the documents.
        """
        if human_labels is None:
            return None
        names = y.dtype.names
        if names is None:
            labels = check_column(
                "human_labels", human_labels, len(y), some_unjudged=True, or_table=True
            )
            if not np.isnan(labels).any():
                warn_user(
                    "human_labels judge all documents, so the LLM's labels change nothing. If "
                    "people have judged only some, mark the others by NaN, not by 0."
                )
            return cls(labels)._where_graded(y, qid)
        if not isinstance(human_labels, str):
            raise ValueError(
                f"human_labels must name a label of y where y has several, {quote([*names])}; got "
                f"{quote(human_labels)}. Pass y={{'llm': y_llm, 'human': y_human}} and "
                "human_labels='human'."
            )
        check_choice("human_labels", human_labels, names)
        if len(names) != 2:
            raise ValueError(
                f"y must have two labels, a human one and the LLM's, if human_labels is given; got "
                f"{quote([*names])}."
            )
        return cls(y[human_labels], human_labels)._where_graded(y, qid)

    def _where_graded(self, y: np.ndarray, qid: np.ndarray) -> "HumanLabels":
        """Return the labels of queries that the LLM has graded; warn if there are others.

        Estimates are means over the LLM's queries, of which people's must be a random sample. Other
        queries of people's are no part of these, and do not show how the LLM errs.
        """
        is_graded, _ = of_queries_with(are_judged(self.without(y)), qid)
        labels = np.where(is_graded, self.y, np.nan)
        n_human, n_kept = (len(np.unique(qid[~np.isnan(of)])) for of in (self.y, labels))
        if n_kept < n_human:
            warn_user(
                f"{n_human - n_kept} of {n_human} queries with human labels are left out, since "
                "the LLM has graded none of their documents: estimates are over the LLM's queries. "
                "Let the LLM grade these queries, too."
            )
        return replace(self, y=labels)

    def take(self, rows: np.ndarray) -> "HumanLabels":
        """Return the labels of some documents."""
        return HumanLabels(self.y[rows], self.name)

    def without(self, y: np.ndarray) -> np.ndarray:
        """Return the LLM's labels, of ``y``: all of it, or the other one of its two labels."""
        if self.name is None:
            return y
        assert y.dtype.names is not None
        (other,) = (name for name in y.dtype.names if name != self.name)
        return y[other]

    def check_size(self, qid: np.ndarray) -> None:
        """Refuse too few queries with a label by people.

        ``qid`` are the queries of the documents.
        """
        check_n_human(len(np.unique(qid[~np.isnan(self.y)])), name="human_labels")


def check_defined(
    metrics: Mapping[str, Metric | FunctionMetric],
    tested: Sequence[tuple[HumanLabels, RankingData]],
) -> None:
    """Refuse metrics that human labels define for too few tested queries.

    ``tested`` are tuples of human labels of a test set, and this test set. Labels alone decide
    in which queries a metric is defined, so this is known before any fit. Values of a user's
    function may depend on the scores, and are not checked.
    """
    for name, metric in metrics.items():
        if not isinstance(metric, Metric):
            continue
        by_people = [_defined_queries(metric, human.y, test.qid) for human, test in tested]
        n_defined = len(np.unique(np.concatenate(by_people)))
        if n_defined < FEWEST:
            raise ValueError(
                f"{spelled('human_labels')} must define {quote(name)} for at least {FEWEST} tested "
                f"queries, so that intervals can be trusted; got {n_defined}, since it is "
                "undefined for the other queries that people have judged. Let people judge more "
                "queries, drawn at random, or take another metric or threshold."
            )
        if not any(
            len(_defined_queries(metric, human.without(test.y), test.qid)) for human, test in tested
        ):
            raise ValueError(
                f"y must define {quote(name)} for some tested query; by the LLM's labels, it is "
                "undefined for every query."
            )


def _defined_queries(metric: Metric, y: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return the ids of the queries for which a metric of the judged documents is not NaN."""
    judged = ~np.isnan(y)
    if not judged.any():
        return qid[:0]
    values = metric.per_query(y[judged], np.zeros(np.count_nonzero(judged)), qid[judged])
    return np.unique(qid[judged])[~np.isnan(values)]
