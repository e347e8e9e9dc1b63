"""Query groups: the rows of each query.

Users pass one query id per row, of any dtype and in any order. The library works with two arrays,
``order`` and ``indptr``. Users never pass the *sizes* of the groups: sizes are not aligned with
the rows, so every splitter, pipeline and shuffle would break them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, check_weight, quote, refuse_masked, refuse_where, warn_user
from treerank.display.results import Shown
from treerank.display.tables import counted
from treerank.renamed import RenamedMembers


@dataclass(frozen=True, eq=False, repr=False)
class QueryGroups(RenamedMembers, Shown):
    """Rows sorted by query.

    Parameters
    ----------
    permutation : ndarray of shape (n_documents,) or None
        Row indices in the order of their queries; ``None`` if the rows are already sorted by
        query, which saves memory.
    indptr : ndarray of shape (n_queries + 1,)
        The rows of query ``q`` are ``order[indptr[q]:indptr[q + 1]]``.
    ids : ndarray of shape (n_queries,) or None
        Id of each query as the user passed it; ``None`` where ids are not known, as of groups that
        were made from numbers of queries.

    Examples
    --------
    >>> groups = QueryGroups.from_qid(["b", "a", "b"])
    >>> groups.order, groups.indptr, groups.ids.tolist()
    (array([1, 0, 2]), array([0, 1, 3]), ['a', 'b'])
    """

    permutation: np.ndarray | None
    indptr: np.ndarray
    ids: np.ndarray | None = None

    def _shown(self) -> str:
        queries = counted(self.n_queries, "query", "queries")
        return f"QueryGroups({counted(self.n_documents, 'document')}, {queries})"

    @classmethod
    def from_qid(
        cls, qid: "ArrayLike | QueryGroups | None", n_documents: int | None = None
    ) -> "QueryGroups":
        """Group rows by query id; ``QueryGroups`` of ``n_documents`` rows are returned unchanged.

        ``qid=None`` puts all ``n_documents`` rows into one query.
        """
        if isinstance(qid, QueryGroups):
            if n_documents not in (None, qid.n_documents):
                raise ValueError(
                    "qid must group as many documents as y has; "
                    f"got {qid.n_documents} for {n_documents}."
                )
            return qid
        if qid is None:
            return cls(None, np.array([0, n_documents]))
        values = _as_ids("qid", qid)
        groups = cls.from_codes(check_qid(values, n_documents))
        return replace(groups, ids=groups.first_of(values))

    @classmethod
    def from_codes(cls, qid: np.ndarray) -> "QueryGroups":
        """Group rows by an array of numbers or other values, equal where queries are.

        Ids stay None.
        """
        changes = qid[1:] != qid[:-1]
        if 2 * np.count_nonzero(changes) < len(qid):  # mostly runs: sort the runs, not the rows
            starts = np.append(0, np.flatnonzero(changes) + 1)[: len(qid)]
            indptr = np.append(starts, len(qid))
            run_codes = _codes(qid[starts])
            if (run_codes == np.arange(len(starts))).all():  # the runs are sorted
                return cls(None, indptr)
            codes = np.repeat(run_codes, np.diff(indptr))
        else:
            codes = _codes(qid)
        sizes = np.bincount(codes)
        # numpy sorts integers of 16 bits faster, by radix.
        codes = codes.astype(np.uint16) if len(sizes) <= 1 << 16 else codes
        return cls(np.argsort(codes, kind="stable"), np.append(0, np.cumsum(sizes)))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.indptr) - 1

    @property
    def n_documents(self) -> int:
        """Number of documents, one per row."""
        return int(self.indptr[-1])

    @cached_property
    def order(self) -> np.ndarray:
        """Row indices of the documents, sorted by query."""
        return np.arange(self.n_documents) if self.permutation is None else self.permutation

    def sorted(self, values: Any) -> Any:
        """Return ``values``, which has an entry per row, sorted by query.

        No copy is made if the rows are sorted by query already.
        """
        return values if self.permutation is None else values[self.permutation]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of documents of each query."""
        return np.diff(self.indptr)

    @cached_property
    def rows(self) -> list[np.ndarray]:
        """Rows of each query, ascending."""
        return np.split(self.order, self.indptr[1:-1])

    @property
    def positions(self) -> np.ndarray:
        """Position of each document within its query, from 0, for documents sorted by query."""
        return np.arange(self.n_documents) - self.indptr[:-1].repeat(self.sizes)

    @cached_property
    def codes(self) -> np.ndarray:
        """Number of the query of each row, in the original order of rows."""
        by_query = np.repeat(np.arange(self.n_queries), self.sizes)
        if self.permutation is None:
            return by_query
        codes = np.empty(self.n_documents, dtype=np.int64)
        codes[self.permutation] = by_query
        return codes

    def first_of(self, values: np.ndarray) -> np.ndarray:
        """Return the entry of ``values``, one per row, of the first row of each query."""
        return values[self.sorted_rows(self.indptr[:-1])]

    def sorted_rows(self, indices: np.ndarray) -> np.ndarray:
        """Return ``order[indices]``, without making ``order``."""
        return indices if self.permutation is None else self.permutation[indices]

    def with_two_labels(self, y: np.ndarray) -> np.ndarray:
        """Return a mask of the queries with two different labels, which alone have pairs."""
        by_query, start = self.sorted(y), self.indptr[:-1]
        return np.fmax.reduceat(by_query, start) > np.fmin.reduceat(by_query, start)  # no NaN

    def take(self, rows: np.ndarray) -> "QueryGroups":
        """Return the groups of some rows; row ``rows[i]`` becomes row ``i``."""
        codes = self.codes[rows]
        taken = QueryGroups.from_codes(codes)
        return taken if self.ids is None else replace(taken, ids=self.ids[taken.first_of(codes)])


#: A query of fewer documents is no surprise.
MANY = 1000
#: One entry per row, or None.
ByRow = ArrayLike | None
#: The query of each row, as ids or as groups; None is a single query.
Queries = ByRow | QueryGroups


def check_document_weight(
    name: str, weight: ArrayLike | None, groups: QueryGroups
) -> np.ndarray | None:
    """Return a weight per document; of a weight per query, as in XGBoost, say how to pass it.

    Examples
    --------
    >>> check_document_weight("sample_weight", [1.0, 2.0], QueryGroups.from_qid([4, 4, 5]))
    Traceback (most recent call last):
    ...
    ValueError: sample_weight must have one entry per document; got 2 for 3, one per query. Write \
query_weight=np.asarray(sample_weight)[np.unique(qid, return_inverse=True)[1]].
    """
    n_queries, n_documents = groups.n_queries, groups.n_documents
    may_be_of_queries = weight is not None and 1 < n_queries < n_documents
    if may_be_of_queries and as_numbers(name, weight).shape == (n_queries,):
        raise ValueError(
            f"{name} must have one entry per document; got {n_queries} for {n_documents}, one per "
            f"query. Write query_weight=np.asarray({name})[np.unique(qid, return_inverse=True)[1]]."
        )
    return check_weight(name, weight, n_documents)


def check_query_weight(query_weight: ArrayLike | None, groups: QueryGroups) -> np.ndarray | None:
    """Return the query weight of each row; refuse different weights within a query."""
    weight = check_document_weight("query_weight", query_weight, groups)
    if weight is None:
        return None
    of_query = groups.first_of(weight)[groups.codes]
    refuse_where(weight != of_query, weight, "query_weight must be constant within a query")
    return weight


def _codes(qid):
    """Return the number of each row's query; queries are numbered by ascending id."""
    if len(qid) and qid.dtype.kind in "iu":
        low, high = int(qid.min()), int(qid.max())
        if high - low < 4 * len(qid):  # numbers so close together need no sort
            wide = np.uint64 if qid.dtype.kind == "u" else np.int64  # int8 could not hold them
            offset = np.subtract(qid, qid.min(), dtype=wide).astype(np.int64)
            return (np.cumsum(np.bincount(offset) > 0) - 1)[offset]
    return np.unique(qid, return_inverse=True)[1]


def check_qid(qid: ArrayLike, n_documents: int | None = None, *, name: str = "qid") -> np.ndarray:
    """Return an array whose entries are equal where ids are; refuse missing ids and wrong shapes.

    Ids are equal as in Python: ``1`` and ``1.0`` are, ``1`` and ``"1"`` are not. An array of
    numbers, of text of a fixed width or of dates is returned unchanged. Other ids are numbered in
    ascending order.

    Examples
    --------
    >>> check_qid(["b", 1, "a", 1.0, "b"])
    array([2, 0, 1, 0, 2])
    """
    values = _as_ids(name, qid)
    if values.ndim != 1:
        got = f"shape {values.shape}" if values.ndim else quote(values.item())
        advice = ""
        if name == "qid" and values.ndim == 2 and values.shape[1] > 1:
            advice = " Ids of several columns are tuples, as in qid=list(zip(user, week))."
        raise ValueError(f"{name} must be one-dimensional, an id per row; got {got}.{advice}")
    if n_documents is not None and len(values) != n_documents:
        raise ValueError(
            f"{name} must have one entry per row; got {len(values)} for {n_documents} rows."
            + _advice_on_sizes(name, values, n_documents)
        )
    if values.dtype.kind == "O":
        return _numbered(name, values.tolist())
    if values.dtype.kind in "fcmM":
        _refuse_missing(name, np.isnan(values), values)
    return values


def joined_ids(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the query ids of several batches as one array.

    It is text if any batch has text, and otherwise an array of objects if types differ. Integers
    and floats become floats unless these would round.

    Examples
    --------
    >>> joined_ids([np.array([7]), np.array(["a"])]).tolist()
    ['7', 'a']
    >>> joined_ids([np.array([7]), np.array([2.0])])
    array([7., 2.])
    """
    kinds = {part.dtype.kind for part in parts}
    if len(kinds) > 1 and not ("f" in kinds and all(map(_fits_floats, parts))):
        has_tuples = any(
            isinstance(value, tuple)
            for part in parts
            if part.dtype.kind == "O"
            for value in part.tolist()
        )
        kind = str if "U" in kinds and not has_tuples else object
        parts = [part.astype(kind) for part in parts]
    return np.concatenate(parts)


def _fits_floats(ids):
    """Return whether ids are floats, or integers that floats hold without rounding."""
    is_large = ids.dtype.kind in "iu" and ((ids > 2**53) | (ids < -(2**53))).any()
    return ids.dtype.kind in "fiu" and not is_large


def _advice_on_sizes(name, values, n_documents):
    """Return advice if ids seem to be sizes of groups, as LightGBM takes them; else ""."""
    is_number = values.ndim == 1 and values.dtype.kind in "iu"
    if not is_number or values.sum() != n_documents:
        return ""
    return f" For sizes of groups, write {name}=np.repeat(np.arange(len(sizes)), sizes)."


def _as_ids(name, qid):
    """Return ids as an array of numbers, dates, text of a fixed width or objects."""
    refuse_masked(name, qid)
    is_list = isinstance(qid, list | tuple)
    types = set(map(type, qid)) if is_list else set()
    if tuple in types:
        return objects(qid)
    values = None if is_list and not types <= {int} else np.asarray(qid)
    # numpy makes text of the 1 in [1, "a"], and a float of 2**63 in [2**63, -1].
    if values is None or values.dtype.kind == "T" or (is_list and values.dtype.kind == "f"):
        values = np.asarray(qid, dtype=object)
    return values


def _numbered(name, ids):
    """Return the number of each id, in ascending order of ids, equal for ids that Python has equal.

    Refuses missing ids, and objects that cannot be hashed.
    """
    try:
        distinct = dict.fromkeys(ids)
    except TypeError as error:
        raise TypeError(f"{name} must be numbers, text or dates; got {error}.") from error
    if any(map(_is_missing_id, distinct)):
        _refuse_missing(name, np.array([_is_missing_id(value) for value in ids]), ids)
    try:
        ordered = sorted(distinct)
    except TypeError:  # ids of several types
        ordered = sorted(distinct, key=_by_type)
    number = {value: i for i, value in enumerate(ordered)}
    return np.fromiter(map(number.__getitem__, ids), np.int64, len(ids))


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, NaT or the NA of pandas.

    Examples
    --------
    >>> is_missing(float("nan")), is_missing("")
    (True, False)
    """
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA is neither equal to itself nor different
        return True
    except ValueError:  # an array of several values
        return False


def objects(values: Sequence[Any]) -> np.ndarray:
    """Return an array of objects, also of tuples, of which NumPy would make a table.

    Examples
    --------
    >>> objects([("ann", 7), ("bob", 7)]).shape
    (2,)
    """
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _is_missing_id(value):
    """Tell whether an id is missing; a tuple is if any of its entries is."""
    return any(map(is_missing, value)) if isinstance(value, tuple) else is_missing(value)


def _by_type(value):
    """Return a key that sorts numbers by value and all else by type and text."""
    is_number = isinstance(value, Real)
    return ("", value) if is_number else (type(value).__name__, str(value))


def _refuse_missing(name, is_missing, values):
    """Raise an error for the first id that is missing; ``is_missing`` is a mask of the rows."""
    if is_missing.any():
        row = int(np.argmax(is_missing))
        raise ValueError(f"{name} must not be missing; got {values[row]} in row {row}.")


def warn_without_qid(qid: Any, n_documents: int) -> None:
    """Warn if ``qid`` is None for 1000 documents or more: it was probably forgotten."""
    if qid is None and n_documents >= MANY:
        warn_user(
            f"qid is None, so all {n_documents} documents are treated as one query. Pass qid, the "
            "query of each document; if there really is only one, pass qid=np.zeros(len(y))."
        )


def refuse_one_query(name: str, qid: Any, n_documents: int) -> None:
    """Refuse documents without ``qid`` where ``fit`` got several queries.

    Examples
    --------
    >>> refuse_one_query("eval_set", None, 20)
    Traceback (most recent call last):
    ...
    ValueError: eval_set must be (X, y, qid) where fit has several queries; got (X, y), whose \
20 rows would be one query. Write eval_set=(X, y, qid), or eval_set=(X, y, np.zeros(len(y))) if \
they are a single query.
    """
    if qid is None and n_documents > 1:
        raise ValueError(
            f"{name} must be (X, y, qid) where fit has several queries; got (X, y), whose "
            f"{n_documents} rows would be one query. Write {name}=(X, y, qid), or "
            f"{name}=(X, y, np.zeros(len(y))) if they are a single query."
        )
