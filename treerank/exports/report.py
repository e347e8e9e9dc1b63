"""Report: how far the scores of another program are from the ranker's."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from treerank.display.results import Shown
from treerank.documents.queries import QueryGroups
from treerank.metrics.base import Metric, mean_value
from treerank.metrics.graded_metrics import NDCG
from treerank.metrics.pairwise_accuracy import count_descents
from treerank.metrics.registry import FunctionMetric
from treerank.renamed import RenamedMembers

#: Share of the range of scores up to which the order of a pair is a matter of rounding.
NEAR_TIE = 1e-6
NDCG_AT_10 = NDCG(10)
#: Formats whose programs take embeddings as lists, too.
_TAKE_LISTS = ("javascript", "python")


@dataclass(frozen=True, repr=False)
class ExportReport(RenamedMembers, Shown):
    """Differences between a ranker and the program that reads its exported model.

    Attributes
    ----------
    format : str
        Name of the format.
    n_documents : int
        Number of documents that were scored in both ways; 0 if none were given.
    largest_difference : float
        Largest difference of two scores of a document.
    score_range : float
        Largest score minus smallest score.
    n_changed_pairs : int
        Number of pairs of documents of the same query whose order changes. A pair also counts if
        it is tied by only one of the two programs.
    n_near_ties : int
        Number of further pairs whose order changes, but whose scores differ by at most a millionth
        of ``score_range`` in both programs: the rounding of sums makes, breaks or reverses such
        ties.
    metric : str or None
        Name of the metric of the ranker, such as "ndcg@10", by which both were measured; None
        without labels.
    value, value_of_program : float or None
        That metric of the ranker, as its ``score`` returns it, and of the program; None without
        labels, and if it is not defined for any query.
    n_negative : dict from str to int
        Number of negative values by feature, where the program computes features by queries: no
        query of Elasticsearch or OpenSearch has a negative score. A constant added to the column,
        in the index and before ``fit``, keeps the order that trees learn.
    categories : dict from str to list
        Categories of each column that has some. The program takes the position in this list for a
        category, from 0, and NaN for one that is not in it. "c", "json", "lightgbm" and "onnx" have
        the lists in the file.
    embeddings : dict from str to int
        Number of entries of each embedding of ``check``. Modules in Python and JavaScript take the
        list or its entries, other programs the entries alone, by names such as "title_0".
    renamed : dict from str to str
        Names of features in the file, where the program does not accept the name of the column.
    upload : str or None
        Verb and path of the request whose body was written, given a name.
    program : str or None
        The program that itself scored the documents, if it was installed: Python, Node.js, DuckDB
        or SQLite. Scores of other programs are computed as they compute them.

    Examples
    --------
    >>> print(ExportReport("solr", 200, 1e-7, 3.5))
    solr: 200 documents, scores differ by at most 1e-07 of a range of 3.5, 0 pairs change order.
    """

    format: str
    n_documents: int
    largest_difference: float = 0.0
    score_range: float = 0.0
    n_changed_pairs: int = 0
    n_near_ties: int = 0
    metric: str | None = None
    value: float | None = None
    value_of_program: float | None = None
    n_negative: dict[str, int] = field(default_factory=dict)
    categories: dict[str, list[Any]] = field(default_factory=dict)
    embeddings: dict[str, int] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    upload: str | None = None
    program: str | None = None

    def __str__(self) -> str:
        """Return sentences on the differences, names, negative values and the upload."""
        notes = "".join(f" {note}" for note in self._notes())
        if self.n_documents == 0:
            return f"{self.format}: no documents were checked.{notes}"
        quality = "" if self.value is None else (
            f", {self.metric} {self.value:.4f} and {self.value_of_program:.4f}"
        )  # fmt: skip
        return (
            f"{self.format}: {self.n_documents} documents, scores differ by at most "
            f"{self.largest_difference:.3g} of a range of {self.score_range:.3g}, "
            f"{self.n_changed_pairs} pairs change order{quality}.{notes}"
        )

    _shown = __str__

    def _notes(self) -> Iterator[str]:
        """Yield sentences on the program, near ties, new names, negative values and the upload."""
        if self.program:
            yield f"{self.program} scored them."
        if self.n_near_ties:
            yield (
                f"{self.n_near_ties} pairs that differ by at most {NEAR_TIE:g} of the range change "
                "order or become tied."
            )
        if self.renamed:
            names = [f"{name!r} as {other!r}" for name, other in self.renamed.items()]
            yield f"The file names {_listed(names)}."
        if self.embeddings and self.format not in _TAKE_LISTS:
            entries = [f"{n!r} as {n}_0 to {n}_{size - 1}" for n, size in self.embeddings.items()]
            yield f"It takes the entries of {_listed(entries)}."
        if self.n_negative:
            yield negative_values(self.n_negative)
        if self.upload:
            yield f"Send the file by {self.upload}."


def negative_values(counts: dict[str, int], unit: str = "documents") -> str:
    """Return a message on negative values, which no query can return.

    ``counts`` maps names of features to numbers of negative values, of ``unit``.

    Examples
    --------
    >>> print(negative_values({"freshness": 313}))
    No query can return the negative values of 'freshness' (313 documents): the search would fail.
    Add a constant to the column, in the index and before fit.
    """
    names = [f"{name!r} ({count} {unit})" for name, count in counts.items()]
    return (
        f"No query can return the negative values of {_listed(names)}: the search would fail. "
        "Add a constant to the column, in the index and before fit."
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def compare_scores(
    format: str,
    scores: np.ndarray,
    program_scores: np.ndarray,
    y: np.ndarray | None,
    groups: QueryGroups,
    metric: Metric | FunctionMetric = NDCG_AT_10,
) -> ExportReport:
    """Return the report on the scores of the ranker and of the program.

    Parameters
    ----------
    format : str
        Name of the format.
    scores, program_scores : ndarray of shape (n_documents,)
        Scores of the ranker and of the program.
    y : ndarray of shape (n_documents,) or None
        Labels for the metric.
    groups : QueryGroups
        Queries.
    metric : Metric or FunctionMetric, default=NDCG(10)
        What both are measured by.

    Examples
    --------
    >>> scores, program_scores = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.5])
    >>> report = compare_scores("solr", scores, program_scores, None, QueryGroups.from_qid(None, 3))
    >>> report.n_changed_pairs, report.largest_difference
    (1, 1.5)
    """
    name = None if y is None else metric.name
    score_range = float(np.ptp(scores)) if len(scores) else 0.0
    return ExportReport(
        format,
        len(scores),
        float(np.abs(scores - program_scores).max(initial=0.0)),
        score_range,
        *count_changed_pairs(scores, program_scores, groups, NEAR_TIE * score_range),
        name,
        _mean(metric, y, scores, groups),
        _mean(metric, y, program_scores, groups),
    )


def _mean(
    metric: Metric | FunctionMetric, y: np.ndarray | None, scores: np.ndarray, groups: QueryGroups
) -> float | None:
    """Return the value of a metric as ``score`` of a ranker does; None if it is not defined."""
    if y is None:
        return None
    if isinstance(metric, Metric):
        values = metric.per_query(y, scores, groups)
        return None if np.isnan(values).all() else mean_value(values, metric.name)
    return metric(y, scores, groups.codes if groups.ids is None else groups.ids[groups.codes])


def count_changed_pairs(
    scores: np.ndarray, program_scores: np.ndarray, groups: QueryGroups, near: float
) -> tuple[int, int]:
    """Return ``(clear changes, near ties)``: numbers of pairs of a query that change their order.

    A pair is a near tie if its scores differ by at most ``near``, by the ranker and by the program.

    Examples
    --------
    >>> one_query = QueryGroups.from_qid(None, 3)
    >>> scores, program_scores = np.array([1.0, 2.0, 2 + 1e-9]), np.array([1.0, 2 + 1e-9, 2.0])
    >>> count_changed_pairs(scores, program_scores, one_query, near=1e-6)
    (0, 1)
    """
    if np.array_equal(scores, program_scores):
        return 0, 0
    queries = groups.codes
    best_last = np.lexsort((program_scores, scores, queries))
    program_ranks = _dense_ranks(queries, program_scores)
    n_swapped = int(count_descents(program_ranks[best_last].astype(np.float64)))
    n_tied = [
        _n_tied(queries, *by) for by in ((scores,), (program_scores,), (scores, program_scores))
    ]
    n_changed = n_swapped + n_tied[0] + n_tied[1] - 2 * n_tied[2]
    if n_changed == 0:
        return 0, 0
    lower, higher = scores - near, program_scores + near
    n_clear = (
        _count_pairs(
            queries, scores, np.less, lower, program_scores, np.greater_equal, program_scores
        )
        + _count_pairs(queries, scores, np.less_equal, scores, program_scores, np.greater, higher)
        - _count_pairs(queries, scores, np.less, lower, program_scores, np.greater, higher)
    )
    return n_clear, n_changed - n_clear


def _count_pairs(
    queries: np.ndarray,
    scores: np.ndarray,
    below: np.ufunc,
    scores_2: np.ndarray,
    program_scores: np.ndarray,
    above: np.ufunc,
    program_scores_2: np.ndarray,
) -> int:
    """Return the number of pairs i, j of a query with two relations.

    They are ``below(scores[i], scores_2[j])`` and
    ``above(program_scores[i], program_scores_2[j])``. Rows i and j are sorted together by their
    scores; then as in a merge sort, each j of a right half is compared with each i of the left one.
    """
    n = len(queries)
    is_j, query = np.repeat([False, True], n), np.append(queries, queries)
    first = ~is_j if below is np.less_equal else is_j
    order = np.lexsort((~first, np.append(scores, scores_2), query))
    ranks = _dense_ranks(query, np.append(program_scores, program_scores_2))[order]
    is_j, n_ranks = is_j[order], int(ranks.max(initial=0)) + 1
    side: Literal["left", "right"] = "right" if above is np.greater else "left"
    positions, width, n_pairs = np.arange(2 * n), 1, 0
    while width < 2 * n:
        block, is_right = positions // (2 * width), positions // width % 2 == 1
        key = block * n_ranks + ranks
        left, right = np.sort(key[~is_j & ~is_right]), np.sort(key[is_j & is_right])
        ends = np.searchsorted(left, (right // n_ranks + 1) * n_ranks)
        n_pairs += int((ends - np.searchsorted(left, right, side=side)).sum())
        width *= 2
    return n_pairs


def _dense_ranks(*keys: np.ndarray) -> np.ndarray:
    """Return the rank of each row from 0, sorted by the first key, then the next ones.

    Equal rows have the same rank, and no rank is left out.
    """
    ranks = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        codes = np.unique(key, return_inverse=True)[1]
        ranks = np.unique(ranks * len(key) + codes, return_inverse=True)[1]
    return ranks


def _n_tied(*keys: np.ndarray) -> int:
    """Return the number of pairs of rows that are equal by all keys."""
    sizes = np.bincount(_dense_ranks(*keys))
    return int((sizes * (sizes - 1) // 2).sum())
