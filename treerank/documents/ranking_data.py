"""Ranking data: features, relevance and queries of documents, in memory or in batches of rows."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from treerank.checks import check_rows, check_seed, is_whole, quote, refuse_other_order
from treerank.display.results import Shown
from treerank.display.tables import counted
from treerank.documents.columns import as_frame, taken_rows
from treerank.documents.date_texts import checked_times
from treerank.documents.labels import are_judged
from treerank.documents.queries import QueryGroups, check_qid, objects
from treerank.parameters import Seed, check_arguments

#: Numbers in a batch of rows.
_BATCH_CELLS = 2**22
_DOC_ID = re.compile(r"\bdocid\s*=\s*(\S+)")


@dataclass(frozen=True, eq=False, repr=False)
class RankingData(Shown):
    """Documents with their relevance and queries; can be unpacked as ``X, y, qid``.

    Parameters
    ----------
    X : ndarray, scipy.sparse.csr_matrix or data frame of shape (n_documents, n_features)
        Features; column ``j`` is feature ``j + 1`` of the file. NaN is a missing value.
    y : ndarray of shape (n_documents,), str, dict or data frame
        Relevance, as float64; NaN for documents without a judgment. A str is the name of a column
        of ``X``, which is then not a feature, as in ``fit``. Several labels are a dict from names
        to columns, or a data frame with a column of each.
    qid : ndarray of shape (n_documents,), str or tuple of str
        Query id of each document: int64 if all ids of the file are integers, else strings. Or names
        of columns of ``X``, such as ``("user", "week")``.
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
    >>> import polars as pl
    >>> frame = pl.DataFrame({"price": [9.5, 7.0], "bought": [1, 0], "user": ["a", "b"]})
    >>> RankingData(frame, "bought", "user")
    RankingData(2 documents, 2 queries, 1 feature)
    >>> RankingData(np.eye(2), {"click": [1, 1], "sale": [1, 0]}, [7, 7]).take([1]).y
    {'click': array([1]), 'sale': array([0])}
    """

    X: Any
    y: Any
    qid: Any
    comments: np.ndarray | None = None
    documents: np.ndarray | None = None

    def __iter__(self) -> Iterator[Any]:
        """Unpack as ``X, y, qid``."""
        return iter((self.X, self.y, self.qid))

    def __len__(self) -> int:
        """Return the number of documents."""
        if not isinstance(self.y, str | Mapping):
            return len(self.y)
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def _with_values(self) -> tuple[Any, Any, Any]:
        """Return ``(X, y, qid)`` with values in place of names of columns of ``X``."""
        is_short_list = isinstance(self.qid, list) and len(self.qid) != len(self)
        if not (isinstance(self.y, str) or isinstance(self.qid, str | tuple) or is_short_list):
            return self.X, self.y, self.qid
        from treerank.documents.reading import take_columns

        X, (y, qid) = take_columns(self.X, y=self.y, qid=self.qid)
        return X, y, qid

    def _without_names(self) -> Self:
        """Return the data with values in place of names of columns of ``X``."""
        X, y, qid = self._with_values()
        return self if X is self.X else replace(self, X=X, y=y, qid=qid)

    def _refuse_other_order(self, **by_row: Any) -> None:
        """Refuse columns of pandas, also in ``by_row``, whose index has another order of rows."""
        columns = {"comments": self.comments, "documents": self.documents}
        refuse_other_order({"X": self.X, "y": self.y, "qid": self.qid, **columns, **by_row})

    def _shown(self) -> str:
        X, _, qid = self._with_values()
        n_queries = QueryGroups.from_qid(qid, len(self)).n_queries
        n_features = getattr(X, "shape", np.shape(X[:1]))[1]
        queries = counted(n_queries, "query", "queries")
        sizes = counted(len(self), "document"), queries, counted(n_features, "feature")
        return f"{type(self).__name__}({', '.join(sizes)})"

    @check_arguments
    def take(self, rows: ArrayLike) -> Self:
        """Return some documents, by their row numbers or by a mask.

        Examples
        --------
        >>> data = RankingData(np.eye(3), np.array([1.0, 0.0, 2.0]), np.array([7, 7, 8]))
        >>> data.take([2, 0]).y
        array([2., 1.])
        >>> data.take(data.qid == 7)
        RankingData(2 documents, 1 query, 3 features)
        """
        # The index of row numbers says nothing about documents.
        is_mask = np.asarray(rows).dtype.kind == "b"
        self._refuse_other_order(rows=rows if is_mask else None)
        numbers = check_rows("rows", rows, len(self))
        names_query = self._with_values()[2] is not self.qid
        y = self.y if isinstance(self.y, str) else _taken_labels(self.y, numbers)
        qid = self.qid if names_query else _by_row(self.qid)[numbers]
        comments, documents = (
            None if values is None else np.asarray(values)[numbers]
            for values in (self.comments, self.documents)
        )
        X = taken_rows(self.X, numbers)
        return replace(self, X=X, y=y, qid=qid, comments=comments, documents=documents)

    @check_arguments
    def split(
        self,
        *,
        valid: float | None = None,
        test: float | None = None,
        by_time: ArrayLike | None = None,
        random_state: Seed = 0,
    ) -> "tuple[RankingData, ...]":
        """Split by query into a training set, a validation set and a test set.

        Parameters
        ----------
        valid, test : float or int, default=None
            Share of the queries in the validation set and in the test set, or their number.
            With ``None``, there is no such set.
        by_time : array-like of shape (n_documents,) or str, default=None
            Time of each document, as numbers, dates or texts of dates as ISO writes them, or the
            name of a column of ``X``, which is then not a feature; it may be one of ``qid``. The
            time of a query is the time of its latest document. The latest queries are the test set,
            and the queries before them are the validation set; queries of the same time stay
            together. ``None`` draws queries at random.
        random_state : int, RandomState instance or None, default=0
            Seed of the draw.

        Returns
        -------
        tuple of RankingData
            The training set, then the validation set and the test set, as far as asked for.

        See Also
        --------
        treerank.QueryShuffleSplit : Also keeps users or sessions together.
        treerank.QueryKFold : Cross-validation.

        Examples
        --------
        >>> from treerank import TreeDirectRanker, make_web_search
        >>> data = RankingData(*make_web_search(50, n_features=10, random_state=0))
        >>> train, valid, test = data.split(valid=0.2, test=0.2)
        >>> [len(np.unique(part.qid)) for part in (train, valid, test)]
        [30, 10, 10]
        >>> ranker = TreeDirectRanker("histogram", random_state=0).fit(*train, eval_set=valid)
        >>> 0 < ranker.score(*test) < 1
        True
        """
        queries, data = QueryGroups.from_qid(self._with_values()[2], len(self)), self
        counts = _counts_of_parts(queries.n_queries, valid, test)
        check_seed("random_state", random_state)
        if by_time is None:
            drawn = check_random_state(random_state).permutation(queries.n_queries)
            part = np.empty(queries.n_queries, dtype=np.int64)
            part[drawn] = np.repeat(np.arange(len(counts)), counts)
        else:
            self._refuse_other_order(by_time=by_time)
            data, by_time = self._without_time(by_time)
            part = _parts_by_time(by_time, queries, counts)
        return tuple(data.take(part[queries.codes] == number) for number in range(len(counts)))

    def _without_time(self, by_time: Any) -> "tuple[RankingData, Any]":
        """Return ``(data, times)``: without the column that ``by_time`` names, and its values.

        Times that are given as values are returned with the unchanged data.
        """
        if not isinstance(by_time, str):
            return self, by_time
        frame: Any = as_frame(self.X)
        if frame is None or by_time not in frame.columns:
            kind = "an array" if frame is None else f"a data frame of {quote(frame.columns)}"
            raise ValueError(f"by_time must name a column of X; got {quote(by_time)} and {kind}.")
        times = frame[by_time].to_numpy()
        features: Any = as_frame(self._with_values()[0])
        if by_time not in features.columns:  # it is named by y or qid, which need it
            return self, times
        return replace(self, X=frame.drop(by_time).to_native()), times

    def judged(self) -> "RankingData":
        """Return the documents whose relevance is not NaN, also within a query.

        A query without any of them is left out; of the others, the unjudged documents are.
        With several labels, a document is judged if it has any of them.

        Examples
        --------
        >>> RankingData(np.eye(2), np.array([1.0, np.nan]), np.array([7, 7])).judged().y
        array([1.])
        """
        rows = np.flatnonzero(are_judged(self._with_values()[1]))
        return self if len(rows) == len(self) else self.take(rows)

    @property
    def doc_ids(self) -> np.ndarray:
        """Document ids: ``documents``, or the ids in comments such as ``docid = GX0-1``, or ``""``.

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
        matches = [_DOC_ID.search(comment) for comment in self.comments]
        return np.array([match.group(1) if match else "" for match in matches], dtype=object)


def _taken_labels(y: Any, rows: np.ndarray) -> Any:
    """Return the labels of some rows; several labels keep their names."""
    if isinstance(y, Mapping):
        return {name: np.asarray(column)[rows] for name, column in y.items()}
    return np.asarray(y)[rows] if as_frame(y, "y") is None else taken_rows(y, rows)


def _by_row(ids: Any) -> np.ndarray:
    """Return ids as an array; of tuples, NumPy would make a table, and of 7 and "a" text."""
    if not isinstance(ids, list | tuple):
        return np.asarray(ids)
    kinds = set(map(type, ids))
    are_texts = {issubclass(kind, str | bytes) for kind in kinds}
    return objects(ids) if tuple in kinds or len(are_texts) > 1 else np.asarray(ids)


def _counts_of_parts(n_queries: int, valid: Any, test: Any) -> list[int]:
    """Return the number of queries of the training, validation and test set, as far as asked for.

    ``valid`` and ``test`` are shares, numbers or None. Refuses parts that leave no training query.
    """
    asked = {name: size for name, size in (("valid", valid), ("test", test)) if size is not None}
    if not asked:
        raise ValueError("valid or test must be a share of the queries, such as 0.2; got None.")
    counts = {}
    for name, size in asked.items():
        is_share = isinstance(size, float | np.floating) and 0 < size < 1
        counts[name] = round(size * n_queries) if is_share else size
        if not is_whole(counts[name]) or counts[name] < 1:
            raise ValueError(
                f"{name} must be a share of the {n_queries} queries above 0 and below 1 that holds "
                f"one at least, or a number of queries; got {quote(size)}."
            )
    if sum(counts.values()) >= n_queries:
        sizes = " and ".join(f"{name}={size!r}" for name, size in asked.items())
        raise ValueError(
            f"{' and '.join(asked)} must leave a query to train on; got {sizes} of {n_queries}."
        )
    return [n_queries - sum(counts.values()), *map(int, counts.values())]


def _parts_by_time(by_time: Any, queries: QueryGroups, counts: list[int]) -> np.ndarray:
    """Return the part of each query, from 0; the latest queries are in the last part.

    ``counts`` are the numbers of queries of the parts. Queries of equal times stay together.
    """
    check_qid(by_time, queries.n_documents, name="by_time")
    rank = np.unique(checked_times("by_time", by_time), return_inverse=True)[1]
    latest = np.maximum.reduceat(queries.sorted(rank), queries.indptr[:-1])
    starts = np.sort(latest)[np.cumsum(counts)[:-1]]
    part: np.ndarray = np.searchsorted(starts, latest, side="right")
    empty = sorted(set(range(len(counts))) - set(part.tolist()))
    if empty:
        raise ValueError(
            "by_time must tell queries apart where parts begin; got equal times that leave "
            f"part {empty[0]} of {len(counts)} without a query."
        )
    return part


@dataclass(frozen=True, eq=False, repr=False)
class Batches(Shown):
    """Rows that are read in batches whenever they are needed, instead of being held in memory.

    The trees of ``TreeDirectRanker("histogram")`` can be fitted to more rows than memory can hold,
    and the model is the same as if all rows were in memory. Every ranker can score and rank
    batches.

    Parameters
    ----------
    source : iterable or callable
        Batches ``(X, y, qid)``, which can be iterated more than once, or a function that returns
        an iterator of them. ``y`` and ``qid`` may be names of columns of ``X``. For files see
        :func:`~treerank.datasets.formats.read_batches`.
    path : str or Path, default=None
        File that the batches are read from, which errors name.

    Examples
    --------
    >>> halves = [(np.eye(2), [1, 0], [7, 7]), (np.eye(2), [0, 1], [8, 8])]
    >>> [len(batch) for batch in Batches(halves)]
    [2, 2]
    """

    source: Iterable[Any] | Callable[[], Iterable[Any]]
    path: str | Path | None = None

    def __post_init__(self) -> None:
        """Refuse an iterator: after one pass nothing would be left."""
        if isinstance(self.source, Iterator):
            rule = "source must be a function or a collection, which is read more than once"
            raise TypeError(f"{rule}; got {quote(self.source)}.")

    def _shown(self) -> str:
        kind = "a function" if callable(self.source) else f"a {type(self.source).__name__}"
        source = kind if self.path is None else str(self.path)
        return f"Batches of {source}, read anew in every iteration."

    def __iter__(self) -> Iterator[RankingData]:
        """Read the batches."""
        for batch in self.source() if callable(self.source) else self.source:
            if isinstance(batch, RankingData):
                yield batch._without_names()
            elif isinstance(batch, tuple | list) and len(batch) == 3:
                yield RankingData(*batch)._without_names()
            else:
                size = f" of {len(batch)}" if isinstance(batch, tuple | list) else ""
                raise TypeError(f"source must give batches (X, y, qid); got {type(batch)}{size}.")


def checked_comments(comments: ArrayLike | None, n_rows: int) -> np.ndarray | None:
    """Return comments as an array of objects, one for each row; None stays None."""
    notes = None if comments is None else np.asarray(comments, dtype=object)
    if notes is not None and notes.shape != (n_rows,):
        raise ValueError(
            f"comments must have one entry per row of X; got shape {notes.shape} for {n_rows} rows."
        )
    return notes


def rows_at_once(n_features: int) -> int:
    """Return the number of rows of a batch, which holds about four million numbers; at least 1.

    Examples
    --------
    >>> rows_at_once(136)
    30840
    """
    return max(1, _BATCH_CELLS // max(1, n_features))
