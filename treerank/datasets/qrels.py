"""Qrels: what judges say of documents of queries, by one judge or by several."""

from datetime import date
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from treerank.checks import check_choice, check_column, quote, refuse_other_order
from treerank.display.results import html_of, shown_by_columns, text_of
from treerank.display.tables import Table, counted
from treerank.documents.ids import check_ids, date_text, text_ids
from treerank.documents.queries import QueryGroups
from treerank.parameters import check_arguments


class Qrels(NamedTuple):
    """Judgments; a document that several judges have judged for a query has several lines.

    Attributes
    ----------
    qid, doc_ids : ndarray of str
        Query and document of each line.
    y : ndarray of shape (n_lines,)
        Labels; NaN where a judge has given none, which is as if the line were not there.

    Examples
    --------
    >>> judges = Qrels(np.array(["q", "q", "q"]), np.array(["a", "a", "b"]), np.array([3.0, 2, 0]))
    >>> judges.merged().y
    array([2.5, 0. ])
    >>> judges.merged().labels_of(["q", "q"], ["d7", "a"], unjudged=np.nan)
    array([nan, 2.5])
    """

    qid: np.ndarray
    doc_ids: np.ndarray
    y: np.ndarray

    def _shown(self) -> Table:
        return shown_by_columns(f"{counted(len(self.y), 'judgment')}.", self._asdict())

    def __repr__(self) -> str:
        return text_of(self._shown())

    def _repr_html_(self) -> str:
        return html_of(self._shown())

    def judged(self) -> Self:
        """Return the lines that have a label, as arrays.

        Examples
        --------
        >>> judges = Qrels(["q", "q"], ["a", "b"], [1, None])
        >>> judges.judged().doc_ids
        array(['a'], dtype='<U1')
        """
        refuse_other_order({"qid": self.qid, "doc_ids": self.doc_ids, "labels": self.y})
        qid = check_ids("qid", self.qid)
        doc_ids = check_ids("doc_ids", self.doc_ids, len(qid))
        labels = check_column("labels", self.y, len(qid), some_unjudged=True, or_table=True)
        has_label = ~np.isnan(labels)
        return type(self)(qid[has_label], doc_ids[has_label], labels[has_label])

    @check_arguments
    def labels_of(self, qid: ArrayLike, doc_ids: ArrayLike, *, unjudged: float = 0.0) -> np.ndarray:
        """Return the labels of pairs of query and document, such as a run's.

        Pairs without a label get ``unjudged``. Pass ``unjudged=nan`` to let metrics leave these
        documents out. Metrics are then computed on the given documents alone; trec_eval also counts
        judged documents that are not in the run. Several labels of a pair are an error.
        """
        judged, label_of = self.judged(), dict[tuple[str, str], float]()
        for pair, label in zip(pairs_of(judged.qid, judged.doc_ids), judged.y, strict=True):
            if label_of.setdefault(pair, label) != label:
                raise ValueError(
                    "judgments must have one label for each document of a query; got several for "
                    f"{quote(pair)}. merged() makes one of them."
                )
        return np.array(
            [label_of.get(pair, unjudged) for pair in pairs_of(qid, doc_ids)], np.float64
        )

    def merged(self, how: Literal["mean", "majority"] = "mean") -> Self:
        """Return one label for each pair of query and document, whatever the number of its judges.

        ``how="mean"`` is the mean label, ``"majority"`` the most frequent one, or the lowest of
        those in a tie.
        """
        check_choice("how", how, ["mean", "majority"])
        judged = self.judged()
        first, pair = judged._pairs()
        qid, doc_ids, labels = judged
        n_pairs = len(first)
        if how == "mean":
            # Sorted, so that no bit of a sum depends on the order of the judges.
            order = np.lexsort((labels, pair))
            sums = np.bincount(pair[order], weights=labels[order], minlength=n_pairs)
            y = sums / np.bincount(pair, minlength=n_pairs)
        else:
            labels, code = np.unique(labels, return_inverse=True)
            votes, n_votes = np.unique(np.array([pair, code]), axis=1, return_counts=True)
            order = np.lexsort((-votes[1], n_votes, votes[0]))  # the winner of a pair is its last
            last = np.append(np.diff(votes[0][order]), 1)[: len(order)] > 0
            y = labels[votes[1][order][last]]
        return type(self)(qid[first], doc_ids[first], y)

    def agreement(self) -> float:
        """Return Krippendorff's alpha (2011) of the judges, for ordinal labels.

        It is 1 if all judges agree, 0 if they agree no more than by chance, and NaN if all labels
        are equal.
        """
        judged = self.judged()
        unit = judged._pairs()[1]
        several = np.bincount(unit)[unit] > 1
        if not several.any():
            raise ValueError("judgments must have a document with two judges to agree; got none.")
        column = np.unique(judged.y[several], return_inverse=True)[1]
        row = np.unique(unit[several], return_inverse=True)[1]
        counts = coo_array((np.ones(len(row)), (row, column))).tocsr()
        share = 1 / (counts.sum(axis=1) - 1)
        together = (counts.T @ (counts * share[:, None])).toarray() - np.diag(counts.T @ share)
        n = together.sum(axis=0)
        midranks = np.cumsum(n) - n / 2
        distance = np.subtract.outer(midranks, midranks) ** 2
        expected = (np.outer(n, n) * distance).sum() / (n.sum() - 1)
        return float(1 - (together * distance).sum() / expected) if expected > 0 else np.nan

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(first, pair)``: the first line of each pair, and each line's pair number.

        A pair is a query and a document; pairs are numbered in sorted order.
        """
        names = np.array(pairs_of(self.qid, self.doc_ids), dtype=str).reshape(-1, 2).T
        _, first, pair = np.unique(names, axis=1, return_index=True, return_inverse=True)
        return first, pair.reshape(-1)


#: What there is without a file of judgments.
NO_JUDGMENTS = Qrels(np.empty(0, dtype=str), np.empty(0, dtype=str), np.empty(0))


def pairs_of(qid: ArrayLike, doc_ids: ArrayLike) -> list[tuple[str, str]]:
    """Return queries and documents as pairs of text; refuse missing ones.

    Examples
    --------
    >>> pairs_of([1, 1], ["a", "b"])
    [('1', 'a'), ('1', 'b')]
    """
    queries = texts_of("qid", qid)
    return list(zip(queries, texts_of("doc_ids", doc_ids, len(queries)), strict=True))


def judgments_of_queries(judgments: Qrels, qid: ArrayLike) -> Qrels:
    """Return the judgments of some queries, whose ids are compared as text.

    Examples
    --------
    >>> judgments = Qrels(np.array([1, 2]), np.array(["a", "b"]), np.array([1.0, 0.0]))
    >>> judgments_of_queries(judgments, ["2"]).doc_ids
    array(['b'], dtype='<U1')
    """
    if len(judgments.y) == 0:
        return judgments
    # Texts are made of each query once, not of each row.
    of_judgments, of_rows = QueryGroups.from_qid(judgments.qid), QueryGroups.from_qid(qid)
    assert of_judgments.ids is not None
    assert of_rows.ids is not None
    queries = {*texts_of("qid", of_rows.ids)}
    is_of_queries = [query in queries for query in texts_of("qid", of_judgments.ids)]
    is_kept = np.array(is_of_queries, dtype=bool)[of_judgments.codes]
    return Qrels(*(np.asarray(column)[is_kept] for column in judgments))


def texts_of(name: str, values: ArrayLike, n_rows: int | None = None) -> list[str]:
    """Return ids as text, 1.0 as 1 and dates in UTC, also in tuples; refuse missing ones.

    Examples
    --------
    >>> texts_of("qid", [1.0, 2.5]), texts_of("qid", [("ann", 1.0)])
    (['1', '2.5'], ["('ann', 1)"])
    >>> texts_of("qid", np.array(["2026-05-01"], "datetime64[ns]"))
    ['2026-05-01']
    """
    ids = text_ids(name, values, n_rows)
    if ids.dtype.kind in "fM":
        return [str(_joinable(value)) for value in ids]
    if ids.dtype.kind != "O":
        return list(ids.astype(str).tolist())
    return [
        str(tuple(map(_joinable, value)) if isinstance(value, tuple) else _joinable(value))
        for value in ids
    ]


def _joinable(value: Any) -> Any:
    """Return a whole number as an int of Python, a date as text, and anything else as it is."""
    if isinstance(value, date | np.datetime64):
        return date_text(value)
    number = value.item() if isinstance(value, np.generic) else value
    return int(number) if isinstance(number, float) and number.is_integer() else number
