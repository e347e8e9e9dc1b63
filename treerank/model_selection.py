"""Splitters: pairs of a training set and a test set that never share a query.

They take ``qid`` and request it by default, so that with
``sklearn.set_config(enable_metadata_routing=True)`` one call is enough:
``GridSearchCV(ranker, grid, cv=QueryKFold(5)).fit(X, y, qid=qid)``. Queries are
numbered by their ids, so the sets do not depend on the order of the rows. To add a splitter,
derive from :class:`QuerySplitter` and yield the queries of both sets in ``_splits``.
"""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from treerank.checks import check_number, is_whole, quote, refuse_other_order
from treerank.documents.date_texts import checked_times
from treerank.documents.queries import ByRow, QueryGroups, check_qid
from treerank.documents.reading import take_columns
from treerank.parameters import (
    Count,
    PlainSignature,
    Seed,
    Several,
    check_arguments,
    check_parameters,
)
from treerank.spelling import spelled


class QuerySplitter(BaseCrossValidator):
    """Base class of splitters that keep the documents of a query together."""

    __signature__ = PlainSignature()

    __metadata_request__split: ClassVar[dict[str, bool]] = {"qid": True, "groups": True}

    @check_arguments
    def split(
        self, X: Any, y: Any = None, qid: ByRow = None, *, groups: ByRow = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of each training set and its test set, both ascending.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Only its length matters, and the columns that other arguments name.
        y : ignored
            Accepted because scikit-learn passes it.
        qid : array-like of shape (n_documents,), str or tuple of str
            Query of each document, of any dtype and in any order, or names of columns of ``X``.
        groups : array-like of shape (n_documents,) or str, default=None
            What must not be in both sets either, such as the user or the session of each row:
            queries that share one stay together, and count as one query. A str is the name of a
            column of ``X``.

        Yields
        ------
        train, test : ndarray of int
        """
        del y
        if qid is None:
            raise ValueError(
                "qid must be given; got None. Write sklearn.set_config(enable_metadata_routing="
                "True), and pass qid=qid to fit of a search, or params={'qid': qid} to "
                "cross_val_score; groups alone would not reach the ranker."
            )
        check_parameters(self)
        if isinstance(qid, str | tuple) or isinstance(groups, str):
            _, (qid, groups) = take_columns(X, qid=qid, groups=groups)
        splitter = self._with_columns_of(X)
        time = getattr(splitter, "time", None)
        refuse_other_order({"X": X, "qid": qid, "groups": groups, "time": time})
        n_documents = X.shape[0] if hasattr(X, "shape") else len(X)
        query_groups = QueryGroups.from_qid(qid, n_documents)
        if groups is not None:
            units = check_qid(groups, n_documents, name="groups")
            query_groups = _joined(query_groups, QueryGroups.from_qid(units))
        try:
            for sets in splitter._splits(query_groups):
                train, test = (np.flatnonzero(np.isin(query_groups.codes, part)) for part in sets)
                yield train, test
        except ValueError as error:
            shared = "" if groups is None else " Queries that share a group count as one."
            raise ValueError(f"{error}{shared}") from error

    def get_n_splits(self, *_: Any, **metadata: Any) -> int:
        """Return the number of splits."""
        del metadata
        return self.n_splits

    def _with_columns_of(self, X: Any) -> "QuerySplitter":
        """Return the splitter with the values of the columns of ``X`` that it names."""
        del X
        return self

    def _splits(self, groups: QueryGroups) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``(training queries, test queries)`` of each split, as numbers in ``groups``."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class QueryKFold(QuerySplitter):
    """Folds of whole queries with about the same number of documents in each fold.

    Queries are assigned one by one, the largest first or in random order, to the fold that has the
    fewest documents so far. So the sizes of two folds never differ by more than the size of the
    largest query.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of queries.
    shuffle : bool, default=False
        Take the queries in random order.
    random_state : int, RandomState or None, default=None
        Seed of the random order; ``None`` gives another order at each call.

    Examples
    --------
    >>> qid = [7, 7, 7, 3, 3, 5]
    >>> for train, test in QueryKFold(2).split(qid, qid=qid):
    ...     print(train, test)
    [3 4 5] [0 1 2]
    [0 1 2] [3 4 5]
    """

    n_splits: Several = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: Seed = None

    def _splits(self, groups):
        if self.n_splits > groups.n_queries:
            raise ValueError(
                f"{spelled('n_splits')} must be at most the number of queries, {groups.n_queries}; "
                f"got {self.n_splits}."
            )
        fold = self._assign_folds(groups)
        for i in range(self.n_splits):
            yield np.flatnonzero(fold != i), np.flatnonzero(fold == i)

    def _assign_folds(self, groups: QueryGroups) -> np.ndarray:
        """Return the number of the fold in whose test set each query is."""
        if self.shuffle:
            queries = check_random_state(self.random_state).permutation(groups.n_queries)
        else:
            queries = np.argsort(-groups.sizes, kind="stable")
        n_documents = np.zeros(self.n_splits, dtype=np.int64)
        fold = np.empty(groups.n_queries, dtype=np.int64)
        for query in queries:
            fold[query] = np.argmin(n_documents)
            n_documents[fold[query]] += groups.sizes[query]
        return fold


@dataclass(eq=False, repr=False)
class QueryTimeSplit(QuerySplitter):
    """Splits by time: test queries are later than the training queries.

    Queries are sorted by time and cut into ``n_splits + 1`` blocks of about equal size. Each block
    except the first is a test set, with all earlier blocks as its training set. With ``groups``,
    such as users, a group is treated as one query, whose time is its latest row's: early queries of
    a test group may then be earlier than training queries of other groups.

    Parameters
    ----------
    time : array-like of shape (n_documents,) or str
        Time of each row: numbers, dates or ISO date strings, or the name of a column of ``X``. The
        time of a query is its latest row's. In :func:`treerank.compare`, a named column is not used
        as a feature.
    n_splits : int, default=5
        Number of splits.
    gap : number or timedelta, default=None
        Gap between training and test: queries closer than this to the first test query are left
        out of training. A timedelta if ``time`` is dates.

    Examples
    --------
    >>> qid, day = ["a", "b", "b", "c"], [3, 1, 1, 2]
    >>> for train, test in QueryTimeSplit(day, n_splits=2).split(qid, qid=qid):
    ...     print(train, test)
    [1 2] [3]
    [1 2 3] [0]
    """

    time: Any
    _: KW_ONLY
    n_splits: Count = 5
    gap: Any = None

    def _with_columns_of(self, X: Any) -> "QueryTimeSplit":
        if not isinstance(self.time, str):
            return self
        _, (time,) = take_columns(X, time=self.time)
        return replace(self, time=time)

    def _splits(self, groups):
        check_qid(self.time, groups.n_documents, name="time")
        time = checked_times("time", self.time)
        is_span = isinstance(self.gap, timedelta | np.timedelta64)
        if self.gap is not None and time.dtype.kind not in ("mMO" if is_span else "iuf"):
            rule = "gap must be a timedelta where time is dates, and a number where it is numbers"
            raise TypeError(f"{rule}; got {quote(self.gap)}.")
        if self.gap is not None:
            check_number("gap", self.gap / timedelta(1) if is_span else self.gap, at_least=0)
        if self.n_splits >= groups.n_queries:
            raise ValueError(
                f"{spelled('n_splits')} must be below the number of queries, {groups.n_queries}; "
                f"got {self.n_splits}."
            )
        latest = np.array([max(time[rows]) for rows in groups.rows])
        blocks = np.array_split(np.argsort(latest, kind="stable"), self.n_splits + 1)
        for test in blocks[1:]:
            begin = min(latest[test])
            is_earlier = latest < begin
            if self.gap is not None:
                is_earlier &= latest <= begin - self.gap
            if not is_earlier.any():
                got = f"none before {begin!s} with gap={quote(self.gap)}"
                raise ValueError(f"time must leave queries before each test set; got {got}.")
            yield np.flatnonzero(is_earlier), test


@dataclass(eq=False, repr=False)
class QueryShuffleSplit(QuerySplitter):
    """Random splits by query, with a new random sample of test queries for each split.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size : float or int, default=0.2
        Fraction of the queries in the test set, rounded up, or their number.
    random_state : int, RandomState or None, default=None
        Seed; ``None`` gives other sets at each call.

    Examples
    --------
    >>> qid = ["a", "a", "b", "b", "c"]
    >>> train, test = next(QueryShuffleSplit(1, random_state=0).split(qid, qid=qid))
    >>> train, test
    (array([0, 1, 2, 3]), array([4]))
    """

    n_splits: Count = 10
    _: KW_ONLY
    test_size: float = 0.2
    random_state: Seed = None

    def _splits(self, groups):
        n_test = _held_out_count(self.test_size, groups.n_queries)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            queries = rng.permutation(groups.n_queries)
            yield queries[n_test:], queries[:n_test]


def _joined(queries: QueryGroups, units: QueryGroups) -> QueryGroups:
    """Merge queries that share a unit, such as a user; return the merged groups."""
    ones, shape = np.ones(queries.n_documents), (queries.n_queries, units.n_queries)
    shared = coo_matrix((ones, (queries.codes, units.codes)), shape).tocsr()
    _, unit = connected_components(shared @ shared.T, directed=False)
    return QueryGroups.from_qid(unit[queries.codes])


def _held_out_count(size: Any, n_queries: int) -> int:
    """Return how many queries a test set of ``size`` has: a share, rounded up, or a number.

    Refuses a size that leaves either set without a query.
    """
    if n_queries < 2:
        raise ValueError(
            f"there must be at least two queries, of which some are held out; got {n_queries}."
        )
    n_test = int(size) if is_whole(size) else 0
    if isinstance(size, float | np.floating) and 0 < size < 1:
        n_test = math.ceil(size * n_queries)
    if not 1 <= n_test < n_queries:
        raise ValueError(
            f"test_size must be a fraction between 0 and 1 or a number of queries that leaves "
            f"both sets at least one of the {n_queries} queries; got {quote(size)}."
        )
    return n_test
