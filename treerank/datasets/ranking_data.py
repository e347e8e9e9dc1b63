"""Ranking data: features, relevance and queries of documents, as read from a file."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import quote
from treerank.inputs.columns import taken_rows

#: A dense matrix may always have so many numbers, and else so many for each in its file.
_FREE_SIZE, _LARGEST_RATIO = 2**24, 100
#: Numbers in a batch of rows.
_BATCH_CELLS = 2**22
_DOC_ID = re.compile(r"\bdocid\s*=\s*(\S+)")


@dataclass(frozen=True, eq=False)
class RankingData:
    """Documents, their relevance and their queries; unpacks as ``X, y, qid``.

    Parameters
    ----------
    X : ndarray or scipy.sparse.csr_matrix of shape (n_documents, n_features)
        Features; column ``j`` is feature ``j + 1`` of the file. NaN is a missing value.
    y : ndarray of shape (n_documents,)
        Relevance, as float64; NaN if nobody has judged a document.
    qid : ndarray of shape (n_documents,)
        Query id of each document: int64 if all ids of the file are integers, else strings.
    comments : ndarray of shape (n_documents,) or None, default=None
        The comment of each document, or ``""``; ``None`` if comments were not read.
    documents : ndarray of shape (n_documents,) or None, default=None
        The id of each document, if a column holds it.

    Examples
    --------
    >>> data = RankingData(np.eye(2), np.array([1.0, 0.0]), np.array([7, 7]))
    >>> X, y, qid = data
    >>> y, qid
    (array([1., 0.]), array([7, 7]))
    """

    X: Any
    y: np.ndarray
    qid: np.ndarray
    comments: np.ndarray | None = None
    documents: np.ndarray | None = None

    def __iter__(self) -> Iterator[Any]:
        """Unpack as ``X, y, qid``."""
        return iter((self.X, self.y, self.qid))

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.y)

    def judged(self) -> "RankingData":
        """Return the documents whose relevance is not NaN.

        Examples
        --------
        >>> RankingData(np.eye(2), np.array([1.0, np.nan]), np.array([7, 7])).judged().y
        array([1.])
        """
        rows = np.flatnonzero(~np.isnan(np.asarray(self.y, dtype=np.float64)))
        if len(rows) == len(self.y):
            return self
        others = [None if each is None else each[rows] for each in (self.comments, self.documents)]
        return RankingData(taken_rows(self.X, rows), self.y[rows], self.qid[rows], *others)

    @property
    def doc_ids(self) -> np.ndarray:
        """Document ids: ``documents``, or those in comments such as ``docid = GX0-1``, or ``""``.

        Examples
        --------
        >>> comments = np.array(["docid = GX1 inc = 1 prob = 0.5", "unknown"], dtype=object)
        >>> RankingData(np.eye(2), np.zeros(2), np.zeros(2), comments).doc_ids
        array(['GX1', ''], dtype=object)
        """
        if self.documents is not None:
            return self.documents
        if self.comments is None:
            raise ValueError("comments must be kept to know doc_ids; got comments=None.")
        found = [_DOC_ID.search(comment) for comment in self.comments]
        return np.array([match.group(1) if match else "" for match in found], dtype=object)


@dataclass(frozen=True, eq=False)
class Batches:
    """Rows that are read in batches, anew in every iteration, instead of held in memory.

    Trees of LightGBM, of XGBoost and of this package are fitted to more rows than fit into memory,
    and the model is that of the same rows in memory. The two engines then need columns without
    categories, and trees that draw no rows. Every ranker scores and ranks batches.

    Parameters
    ----------
    source : iterable or callable
        Batches ``(X, y, qid)``, which can be iterated more than once, or a function that returns
        an iterator of them. For files see :func:`~treerank.datasets.formats.read_batches`.

    Examples
    --------
    >>> halves = [(np.eye(2), [1, 0], [7, 7]), (np.eye(2), [0, 1], [8, 8])]
    >>> [len(batch) for batch in Batches(halves)]
    [2, 2]
    """

    source: Iterable[Any] | Callable[[], Iterable[Any]]

    def __post_init__(self) -> None:
        """Refuse an iterator: after one pass nothing would be left."""
        if isinstance(self.source, Iterator):
            rule = "source must be a function or a collection, which is read more than once"
            raise TypeError(f"{rule}; got {quote(self.source)}.")

    def __iter__(self) -> Iterator[RankingData]:
        """Read the batches."""
        for batch in self.source() if callable(self.source) else self.source:
            yield batch if isinstance(batch, RankingData) else RankingData(*batch)


def checked_comments(comments: ArrayLike | None, n_rows: int) -> np.ndarray | None:
    """Return comments as an array with an entry for each row; None stays None."""
    notes = None if comments is None else np.asarray(comments, dtype=object)
    if notes is not None and notes.shape != (n_rows,):
        raise ValueError(
            f"comments must have one entry per row of X; got shape {notes.shape} for {n_rows} rows."
        )
    return notes


def check_density(name: str, n_rows: int, n_features: int, n_entries: int) -> None:
    """Refuse a dense matrix that is absurdly large for a file: one high index would fill memory."""
    if n_rows * n_features > max(_FREE_SIZE, _LARGEST_RATIO * n_entries):
        raise ValueError(
            f"sparse must be True, or n_features set, to read {name}; got {n_rows} rows and "
            f"{n_features} columns, but only {n_entries} values."
        )


def rows_at_once(n_features: int) -> int:
    """Return the number of rows of a batch: they have about four million numbers.

    Examples
    --------
    >>> rows_at_once(136)
    30840
    """
    return max(1, _BATCH_CELLS // max(1, n_features))
