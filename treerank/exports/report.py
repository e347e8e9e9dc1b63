"""Report: how far the scores of another program are from those of the ranker."""

from dataclasses import dataclass

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.metrics.graded_metrics import NDCG
from treerank.metrics.pairwise_accuracy import count_descents


@dataclass(frozen=True)
class ExportReport:
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
        Largest score less smallest score.
    n_changed_pairs : int
        Pairs of documents of one query whose order changes; ties are an order of their own.
    ndcg, ndcg_of_program : float or None
        NDCG@10 of the ranker and of the program, given labels.
    upload : str or None
        Verb and path of the request whose body was written, given a name.

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
    ndcg: float | None = None
    ndcg_of_program: float | None = None
    upload: str | None = None

    def __str__(self) -> str:
        """Return the report in a sentence, and one more on the upload."""
        upload = f" Send the file by {self.upload}." if self.upload else ""
        if self.n_documents == 0:
            return f"{self.format}: no documents were checked.{upload}"
        quality = "" if self.ndcg is None else (
            f", NDCG@10 {self.ndcg:.4f} and {self.ndcg_of_program:.4f}"
        )  # fmt: skip
        return (
            f"{self.format}: {self.n_documents} documents, scores differ by at most "
            f"{self.largest_difference:.3g} of a range of {self.score_range:.3g}, "
            f"{self.n_changed_pairs} pairs change order{quality}.{upload}"
        )


def compare_scores(
    format: str, scores: np.ndarray, others: np.ndarray, y: np.ndarray | None, groups: QueryGroups
) -> ExportReport:
    """Return the report on two scores of each document.

    ``others`` are the scores of the program, ``y`` labels for NDCG, and ``groups`` the queries.

    Examples
    --------
    >>> scores, others = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.5])
    >>> report = compare_scores("solr", scores, others, None, QueryGroups.from_qid(None, 3))
    >>> report.n_changed_pairs, report.largest_difference
    (1, 1.5)
    """
    measured: tuple[float, float] | tuple[None, None] = (None, None)
    if y is not None:
        metric = NDCG(k=10)
        measured = (metric(y, scores, groups.codes), metric(y, others, groups.codes))
    return ExportReport(
        format,
        len(scores),
        float(np.abs(scores - others).max(initial=0.0)),
        float(np.ptp(scores)) if len(scores) else 0.0,
        count_changed_pairs(scores, others, groups),
        *measured,
    )


def count_changed_pairs(scores: np.ndarray, others: np.ndarray, groups: QueryGroups) -> int:
    """Return the number of pairs of a query that two scores order differently.

    Examples
    --------
    >>> one_query = QueryGroups.from_qid(None, 3)
    >>> count_changed_pairs(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]), one_query)
    1
    """
    if np.array_equal(scores, others):
        return 0
    queries = groups.codes
    best_last = np.lexsort((others, scores, queries))
    places = _dense_ranks(queries, others)
    n_swapped = int(count_descents(places[best_last].astype(np.float64)))
    n_tied = [_n_tied(queries, *by) for by in ((scores,), (others,), (scores, others))]
    return n_swapped + n_tied[0] + n_tied[1] - 2 * n_tied[2]


def _dense_ranks(*keys: np.ndarray) -> np.ndarray:
    """Return the rank of each row by some keys, the first one first; equal rows share a rank."""
    ranks = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        places = np.unique(key, return_inverse=True)[1]
        ranks = np.unique(ranks * len(key) + places, return_inverse=True)[1]
    return ranks


def _n_tied(*keys: np.ndarray) -> int:
    """Return the number of pairs of rows that are equal by all keys."""
    sizes = np.bincount(_dense_ranks(*keys))
    return int((sizes * (sizes - 1) // 2).sum())
