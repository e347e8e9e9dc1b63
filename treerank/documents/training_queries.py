"""Training queries: what a fitted ranker remembers of the queries that it was trained on.

A tool that splits rows and not queries, such as ``KFold``, trains on some documents of a query and
tests on the others. The score is then too high, because the model has seen the query. So ``fit``
keeps a hash of the id and a hash of the documents of each query, and ``score`` looks its own up.
Searches that come back at another time look the same, and nothing is wrong with them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Self

import numpy as np

from treerank.checks import is_whole, warn_user
from treerank.documents.canonical_order import group_hashes, row_hashes, with_columns
from treerank.documents.ids import hashes_of, ids_of_queries
from treerank.documents.labels import are_judged
from treerank.documents.queries import QueryGroups
from treerank.documents.reading import read_documents
from treerank.files.states import array, check_state
from treerank.spelling import spelled

#: Of more queries than this, those whose ids have the smallest hashes are remembered.
MOST_REMEMBERED = 2**16
#: Fewer queries whose ids are numbers say nothing.
_FEWEST = 5
#: Numbers that are looked up to learn how dense the training ids are.
_MOST_PROBES = 2**12
#: Text of so few characters may well be the id of two queries.
_SHORT = 2
#: What to write instead of tools that split rows.
_WHOLE_QUERIES = (
    "train, test = next(QueryShuffleSplit(1).split(X, y, qid)) does, and, after "
    "sklearn.set_config(enable_metadata_routing=True), "
    "GridSearchCV(ranker, grid, cv=QueryKFold(3)).fit(X, y, qid=qid) and "
    'cross_val_score(ranker, X, y, cv=QueryKFold(5), params={"qid": qid}) do'
)
#: Runs of digits that may be numbers, and text that is one.
_DIGITS = re.compile(r"(\d{1,15})")
_NUMBER = re.compile(r"[-+]?\d{1,15}(\.\d*)?")


@dataclass(frozen=True)
class QueryOverlap:
    """How many queries of a test set a ranker has seen in training.

    Attributes
    ----------
    n_queries : int
        Queries that were looked up: all of them, or a sample where the training set was huge.
    n_same : int
        Queries of which the very same documents were trained on, under any id.
    n_cut : int
        Queries of which other documents were trained on; 0 where equal ids may be a coincidence.
    without_ids : bool, default=False
        Whether neither ``fit`` nor the test set had query ids, so that all rows of either are one
        query, and it was cut.
    n_shared : int, default=0
        Queries of the same id of which some of these documents were trained on, as where people
        have judged a part of the documents that an LLM has graded. Those of ``n_same`` do not
        count, those of ``n_cut`` do.
    """

    n_queries: int
    n_same: int
    n_cut: int
    without_ids: bool = False
    n_shared: int = 0

    @property
    def n_with_others(self) -> int:
        """Queries of which only other documents were trained on, as far as known."""
        return max(self.n_cut - self.n_shared, 0)


@dataclass(frozen=True, eq=False)
class TrainingQueries:
    """Hashes of the ids and of the documents of queries, and their numbers of documents.

    Attributes
    ----------
    ids : ndarray of uint64 of shape (n_remembered,)
        Hash of the id of each query; ascending where they are remembered.
    documents : ndarray of uint64 of shape (n_remembered,)
        Hash of the features of the judged documents of each query, in any order.
    sizes : ndarray of int32 of shape (n_remembered,)
        Number of judged documents of each query.
    first : ndarray of uint64 of shape (n_remembered,)
        Smallest hash of a judged document of each query, by which a part of its documents is
        recognized; 0 where it is not known, as in files of older versions.

    Examples
    --------
    >>> qid = ["red shoes", "red shoes", "blue hat", "blue hat"]
    >>> groups, rows = QueryGroups.from_qid(qid), np.arange(1, 5, dtype=np.uint64)
    >>> ids = hashes_of(["blue hat", "red shoes"])
    >>> queries = TrainingQueries.of(ids, rows, groups).smallest()
    >>> overlap = queries.overlap(["red shoes"], rows[3:4], QueryGroups.from_qid(None, 1))
    >>> overlap.n_same, overlap.n_cut, overlap.n_shared
    (0, 1, 0)
    >>> queries.overlap(["shoes, red"], rows[:2], QueryGroups.from_qid(None, 2)).n_same
    1
    """

    ids: np.ndarray
    documents: np.ndarray
    sizes: np.ndarray
    first: np.ndarray

    @classmethod
    def of(
        cls,
        ids: np.ndarray,
        of_rows: np.ndarray,
        groups: QueryGroups,
        judged: np.ndarray | None = None,
    ) -> Self:
        """Return queries by the hashes of their ids and of their rows.

        ``judged`` is a mask of rows, by default all.
        """
        hashes, sizes = hashes_of_queries(of_rows, groups, judged)
        largest = np.uint64(2**64 - 1)
        hashes_of_rows = of_rows if judged is None else np.where(judged, of_rows, largest)
        first = np.minimum.reduceat(groups.sorted(hashes_of_rows), groups.indptr[:-1])
        return cls(ids, hashes, sizes, np.where(sizes > 0, first, np.uint64(0)))

    def take(self, queries: np.ndarray) -> Self:
        """Return some of the queries, by their numbers or by a mask."""
        return type(self)(**{name: of[queries] for name, of in self.as_state().items()})

    def joined(self, of_all: Callable[[np.ndarray], np.ndarray]) -> Self:
        """Return the queries of all workers.

        ``of_all(values)`` concatenates the arrays of all workers.
        """
        return type(self)(**{name: of_all(column) for name, column in self.as_state().items()})

    def smallest(self) -> Self:
        """Return at most 65,536 queries, those with the smallest hashes of ids, ascending."""
        return self.take(np.lexsort((self.documents, self.ids))[:MOST_REMEMBERED])

    def and_earlier(self, earlier: "TrainingQueries | None") -> Self:
        """Return these queries and the queries of the earlier fit that goes on here, if any.

        They are distinct, and at most 65,536.
        """
        if earlier is None:
            return self
        columns = zip(self.as_state().values(), earlier.as_state().values(), strict=True)
        both = type(self)(*(np.concatenate(column) for column in columns))
        first = np.unique(np.column_stack([both.ids, both.documents]), axis=0, return_index=True)[1]
        return both.take(first).smallest()

    def contain(self, queries: "TrainingQueries") -> np.ndarray:
        """Return a mask of ``queries``: those with the same documents as one of these queries."""
        return self._have_documents(queries.documents, queries.ids)

    def overlap(
        self,
        ids: Sequence[Any],
        of_rows: np.ndarray,
        groups: QueryGroups,
        judged: np.ndarray | None = None,
    ) -> QueryOverlap:
        """Count the queries of a test set that were also trained on.

        Parameters
        ----------
        ids : sequence
            Id of each query of ``groups``.
        of_rows : ndarray of uint64 of shape (n_documents,)
            Hash of the features of each document.
        groups : QueryGroups
            Queries of the documents.
        judged : ndarray of bool of shape (n_documents,), default=None
            Which documents have a label; None is all.

        Notes
        -----
        The same id with other documents does not prove that a query was cut: many files number
        their queries 1, 2, 3 and so on. Text ids, such as the words of a query, count as the same
        query. Numbers, and text that differs in a number alone such as "q17", "2024-17" or
        "17.0", count as the same query only

        * if a random split of rows would leave these numbers of documents: about the same share of
          each query, and fewer documents than in training, or
        * if test and training ids meet in one or two queries at their ends, as where sorted rows
          were cut into blocks, or
        * if far more ids are in training than chance explains.

        None of these is a proof. Where a number stands for the same popularity in two data sets,
        the sizes also look like a random split, and a search that comes back with new documents
        is the same query although no split has cut it. So messages about ``n_cut`` name both
        cases.

        The same id with one of the same documents is the same query, whatever the id looks like.
        Of the documents of each training query, the one with the smallest hash is remembered, and
        looked for among all documents of the test query, also those without a label. So a query
        of which all documents are tested is found for sure if a part of them was trained on, and
        with the probability of that part if a part is tested and all were trained on.
        """
        documents, sizes = hashes_of_queries(of_rows, groups, judged)
        hashes = hashes_of(ids)
        queries = np.flatnonzero((sizes > 0) & (hashes <= self._largest))
        has_trained_id = _are_in(hashes[queries], self.ids)
        has_trained_id &= np.array([ids[q] is not None for q in queries.tolist()], dtype=np.bool_)
        same = self._have_documents(documents[queries], hashes[queries])
        shared = self._share_documents(hashes, of_rows, groups)[queries] & has_trained_id & ~same
        n_cut = int((has_trained_id & ~same).sum())
        # The first rows of the training set itself may cut a query, too: more are the same then.
        if 0 < n_cut and n_cut > (has_trained_id & same).sum():
            looked_up = [ids[query] for query in queries.tolist()]
            if not self._has_trained_on(looked_up, hashes[queries], sizes[queries], n_cut):
                n_cut = 0
        else:
            n_cut = 0
        n_same, n_shared = int(same.sum()), int(shared.sum())
        return QueryOverlap(len(queries), n_same, n_cut, n_shared=n_shared)

    def look_up(self, of_rows: np.ndarray, y: Any, qid: Any) -> QueryOverlap:
        """Count the queries that were also trained on, given ``y`` and ``qid`` as in ``score``.

        ``of_rows`` are the hashes of the features of each row.
        """
        groups = QueryGroups.from_qid(qid, len(of_rows))
        ids = [None] if qid is None else ids_of_queries(qid, groups)
        overlap = self.overlap(ids, of_rows, groups, None if y is None else are_judged(y))
        if qid is None and len(of_rows) > 1 and not overlap.n_same:
            return replace(overlap, without_ids=bool((self.ids == hashes_of([None])).any()))
        return overlap

    def _have_documents(self, documents: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """Return a mask of the queries that have the documents of a training query.

        ``documents`` and ``hashes`` are the hashes of the documents and of the id of each query.
        The training query may have another id, unless several training queries have the same
        documents.
        """
        # Mostly few queries are looked up, so only the training queries that match are sorted.
        trained = _are_in(self.documents, np.sort(documents))
        distinct, counts = np.unique(self.documents[trained], return_counts=True)
        # Lists of the same items for all users say nothing about the query.
        same = _are_in(documents, distinct[counts == 1])
        pairs = _pair_hashes(self.ids[trained], self.documents[trained])
        return same | _are_in(_pair_hashes(hashes, documents), np.sort(pairs))

    def _share_documents(
        self, hashes: np.ndarray, of_rows: np.ndarray, groups: QueryGroups
    ) -> np.ndarray:
        """Return a mask of the queries that have the first document of a training query of this id.

        ``hashes`` are the hashes of the ids. First documents of several training queries say
        nothing about the query.
        """
        pairs = np.unique(np.column_stack([self.ids, self.first])[self.first > 0], axis=0)
        distinct, counts = np.unique(pairs[:, 1], return_counts=True)
        pairs = pairs[_are_in(pairs[:, 1], distinct[counts == 1])]
        trained = np.sort(_pair_hashes(pairs[:, 0], pairs[:, 1]))
        is_first = _are_in(_pair_hashes(hashes[groups.codes], of_rows), trained)
        shared: np.ndarray = np.bincount(groups.codes, is_first, groups.n_queries) > 0
        return shared

    def _has_trained_on(
        self, ids: list[Any], hashes: np.ndarray, sizes: np.ndarray, n_cut: int
    ) -> bool:
        """Tell whether ids that are also in training probably belong to the same queries.

        ``ids``, ``hashes`` and ``sizes`` describe the test queries, and ``n_cut`` is the number of
        ids that are also in training. See the notes of :meth:`overlap`.
        """
        numbered = _numbering(ids)
        if numbered is None and not all(_may_be_of_two_queries(value) for value in ids):
            return True
        if len(ids) < _FEWEST:
            return False
        if n_cut >= _FEWEST and self._are_cut_at_random(hashes, sizes):
            return True
        return numbered is not None and self._exceed_chance(*numbered, n_cut)

    def _are_cut_at_random(self, hashes: np.ndarray, sizes: np.ndarray) -> bool:
        """Tell whether the sizes of queries look like a random split of the rows of queries.

        ``hashes`` and ``sizes`` are the hash of the id and the number of documents of each test
        query.

        Given the number of all rows of a query, the number of its test rows is then binomial: the
        mean of the squared standardized deviations is about 1. It is 0 for lists of two fixed
        lengths. Unrelated sizes may also give about 1, but test and training sizes are then not
        correlated. Two Poisson variables of the same rates look like a split: given their sum,
        each of them is binomial.
        """
        distinct, query = np.unique(np.append(self.ids, hashes), return_inverse=True)
        tested = np.zeros(len(distinct))
        tested[query[len(self.ids) :]] = sizes
        trained = np.bincount(query[: len(self.ids)], self.sizes, len(distinct))
        n_rows, share = tested + trained, tested.sum() / (tested.sum() + trained.sum())
        if len(distinct) < 2 * _FEWEST or tested.sum() > 0.75 * trained.sum():
            return False
        mean = np.mean((tested - share * n_rows) ** 2 / (share * (1 - share) * n_rows))
        margin = max(0.35, 3 * np.sqrt(2 / len(distinct)))
        if not max(0.3, 1 - margin) < mean < min(2, 1 + margin):
            return False
        if not tested.std() or not trained.std():
            return False
        correlation = np.corrcoef(tested, trained)[0, 1]
        return bool(abs(correlation) * np.sqrt(len(distinct)) > 2.5)

    def _exceed_chance(self, numbers: list[int], spelled: Callable[[int], Any], n_cut: int) -> bool:
        """Tell whether more test ids are in training than the density of training ids explains.

        ``numbers`` are the test ids as whole numbers, ``spelled(number)`` is the id of a number,
        and ``n_cut`` is the number of test ids that are also in training.
        """
        low, width = min(numbers), max(numbers) - min(numbers) + 1
        probes: Any = range(width)
        if width > _MOST_PROBES:
            drawn = np.random.default_rng(0).random(_MOST_PROBES)
            probes = [int(share * width) for share in drawn]
        hashes = hashes_of(spelled(low + probe) for probe in probes)
        is_trained = _are_in(hashes, self.ids)
        probes_all = width <= _MOST_PROBES
        ends = {0, width - 1}
        if probes_all and is_trained.sum() == n_cut and set(np.flatnonzero(is_trained)) <= ends:
            return True
        by_chance = len(numbers) * is_trained.sum() / max((hashes <= self._largest).sum(), 1)
        return n_cut > 2 * by_chance and (n_cut > 2 or by_chance < 0.1)

    @property
    def _largest(self) -> np.uint64:
        """Largest hash of an id that can be looked up."""
        is_sample = len(self.ids) >= MOST_REMEMBERED
        return self.ids[-1] if is_sample else np.uint64(2**64 - 1)

    def as_state(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, as model files keep them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_state(cls, state: dict[str, np.ndarray] | None) -> "TrainingQueries | None":
        """Return the object of a state of :meth:`as_state`; refuse an invalid state."""
        if state is None:
            return None
        if "first" not in state and "ids" in state:  # a file of an older version
            state = {**state, "first": np.zeros(np.shape(state["ids"]), dtype=np.uint64)}
        of_hashes = array("uint64", "n_remembered")
        rules = {"ids": of_hashes, "documents": of_hashes, "first": of_hashes}
        check_state(state, rules | {"sizes": array("int32", "n_remembered", at_least=1)})
        if (state["ids"][1:] < state["ids"][:-1]).any():
            raise ValueError("ids must ascend.")
        return cls(**state)


def overlap_with_training(
    estimator: Any, X: Any, y: Any = None, qid: Any = None
) -> QueryOverlap | None:
    """Count the queries of a test set on which a ranker or a pipeline was trained.

    ``X``, ``y`` and ``qid`` are the arguments of ``score``; only documents with a label count. The
    result is ``None`` for estimators of other packages and for rankers that were fitted to clicks.

    Examples
    --------
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> X, y, qid = make_web_search(20, documents_per_query=10, random_state=0)
    >>> ranker = TreeDirectRanker("linear").fit(X[qid < 15], y[qid < 15], qid[qid < 15])
    >>> overlap_with_training(ranker, X, y, qid).n_same
    15
    """
    steps = getattr(estimator, "steps", [])
    if steps:
        X = estimator[:-1].transform(X) if len(steps) > 1 else X
        return overlap_with_training(steps[-1][1], X, y, qid)
    queries = getattr(estimator, "training_queries_", None)
    if queries is None:
        return None
    X, y, qid = read_documents(estimator, X, y, qid)
    overlap: QueryOverlap = queries.look_up(row_hashes(X), y, qid)
    return overlap


def warn_of_cut_queries(overlap: QueryOverlap, consequence: str = "the score is too high") -> None:
    """Warn of queries of which other documents were trained on, and of missing query ids.

    Examples
    --------
    >>> warn_of_cut_queries(QueryOverlap(20, 0, 20))
    Traceback (most recent call last):
    ...
    UserWarning: 20 of 20 queries were trained on with other documents. If a split of rows cut \
them (KFold, train_test_split), the score is too high: keep queries whole, as ...
    """
    if overlap.without_ids:
        warn_user(
            "qid is None, so all rows are treated as one query, of which fit had other rows, also "
            "without qid. If the rows belong to several queries, pass qid, the query of each row, "
            f"and keep queries whole, as {_WHOLE_QUERIES}. If they belong to a single query, "
            "the ranker was trained on a part of it; pass qid=np.zeros(len(y)) to fit and here to "
            "say so."
        )
    if overlap.n_cut:
        counts = f"{overlap.n_cut} of {overlap.n_queries} queries"
        warn_user(f"{counts} were trained on with other documents. {cut_or_not(consequence)}")


def warn_of_seen_queries(
    overlap: QueryOverlap,
    consequence: str = "values are too high",
    instead: str = "Measure it",
) -> None:
    """Warn of test queries that a ranker was fitted to, with the same or with other documents.

    ``consequence`` says what of the ranker is wrong then, and ``instead`` what to do on others.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_of_seen_queries(QueryOverlap(20, 15, 0))
    >>> print(caught[0].message)
    The ranker was fitted to 15 of the 20 queries, so its values are too high. Measure it on \
queries that it has not seen.
    """
    if overlap.n_same:
        warn_user(
            f"The ranker was fitted to {overlap.n_same} of the {overlap.n_queries} queries, so its "
            f"{consequence}. {instead} on queries that it has not seen."
        )
    if overlap.n_shared:
        warn_user(
            f"The ranker was fitted to {partly_seen(overlap.n_shared, overlap.n_queries)}, so its "
            f"{consequence}, {UNLESS_LATER}. {instead} on queries that it has not seen."
        )
    warn_of_cut_queries(replace(overlap, n_cut=overlap.n_with_others), f"its {consequence}")


#: When it is no fault that a ranker was trained on some of the documents of a query.
UNLESS_LATER = "unless these are the same searches at another time"


def partly_seen(n_shared: int, n_queries: int) -> str:
    """Return which part of the test queries a ranker has trained on in part, as a text.

    Examples
    --------
    >>> partly_seen(59, 300)
    'some documents of 59 of the 300 test queries, perhaps with other labels'
    """
    return (
        f"some documents of {n_shared} of the {n_queries} test queries, perhaps with other labels"
    )


def cut_or_not(consequence: str) -> str:
    """Return the two possible reasons why other documents of a query were trained on.

    Examples
    --------
    >>> print(cut_or_not("the score is too high").split(". ")[-1])
    If they are the same searches at another time, or other queries under the same ids, nothing \
is wrong: the ranker has not seen these documents.
    """
    return (
        f"If a split of rows cut them (KFold, train_test_split), {consequence}: keep queries "
        f"whole, as {_WHOLE_QUERIES}. If they are the same searches at another time, or other "
        "queries under the same ids, nothing is wrong: the ranker has not seen these documents."
    )


def warn_of_copied_queries(
    trained: np.ndarray,
    of_rows: np.ndarray,
    y: np.ndarray,
    groups: QueryGroups,
    n_features: int,
    total: Callable[[np.ndarray], np.ndarray] = np.asarray,
    *,
    of_several: bool = False,
) -> None:
    """Warn if most queries of an ``eval_set`` are in training: same documents and same labels.

    Parameters
    ----------
    trained : ndarray of uint64
        Hashes of the training queries.
    of_rows : ndarray of uint64 of shape (n_rows,)
        Hashes of the features of the rows of the ``eval_set``.
    y : ndarray of shape (n_rows,)
        Its labels; NaN is not judged.
    groups : QueryGroups
        Its queries.
    n_features : int
        Number of features.
    total : callable
        Adds counts over all workers.
    of_several : bool, default=False
        Whether it is the first of several sets.
    """
    of_rows = with_columns(of_rows, n_features, y)
    documents, sizes = hashes_of_queries(of_rows, groups, ~np.isnan(y))
    is_copy = np.isin(documents[sizes > 0], trained)
    n_copies, n_queries = total(np.array([is_copy.sum(), len(is_copy)], dtype=np.int64))
    if 2 * n_copies > n_queries:
        name = "the first eval_set, which decides," if of_several else spelled("eval_set")
        advice = "hold others out, or write it last" if of_several else "hold others out"
        counts = f"{n_copies} of {n_queries} queries of {name}"
        warn_user(f"{counts} are in the training set, too: {advice}.")


def _are_in(values: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Return a mask of the values that are in a sorted array; ``np.isin`` would sort both.

    Examples
    --------
    >>> _are_in(np.array([3, 1, 9]), np.array([1, 2, 3]))
    array([ True,  True, False])
    >>> _are_in(np.array([3]), np.array([], dtype=int))
    array([False])
    """
    if not len(ascending):
        return np.zeros(len(values), dtype=np.bool_)
    index = np.searchsorted(ascending, values)
    is_in: np.ndarray = ascending[np.minimum(index, len(ascending) - 1)] == values
    return is_in


def _pair_hashes(ids: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Return a hash of the id and the documents of each query."""
    hashes: np.ndarray = ids ^ (documents * np.uint64(0x9E3779B97F4A7C15))
    return hashes


def hashes_of_queries(
    of_rows: np.ndarray, groups: QueryGroups, judged: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(hashes, sizes)``: a hash of the judged rows of each query, and their number.

    ``of_rows`` are hashes of rows, and ``judged`` a mask of rows, by default all. Both are 0 for
    queries without judged rows.

    Examples
    --------
    >>> rows, groups = np.array([5, 6, 7], dtype=np.uint64), QueryGroups.from_qid([1, 2, 2])
    >>> documents, sizes = hashes_of_queries(rows, groups, np.array([False, True, True]))
    >>> documents[0], sizes
    (np.uint64(0), array([0, 2], dtype=int32))
    """
    if judged is None or judged.all():
        return group_hashes(of_rows, groups), groups.sizes.astype(np.int32)
    documents = np.zeros(groups.n_queries, dtype=np.uint64)
    sizes = np.bincount(groups.codes[judged], minlength=groups.n_queries).astype(np.int32)
    rows = np.flatnonzero(judged)
    documents[sizes > 0] = group_hashes(of_rows[rows], groups.take(rows))
    return documents, sizes


def _may_be_of_two_queries(value: Any) -> bool:
    """Tell whether an id is text that is short or a number, which two queries may well share."""
    return isinstance(value, str) and (len(value) <= _SHORT or bool(_NUMBER.fullmatch(value)))


def _numbering(ids: Sequence[Any]) -> tuple[list[int], Callable[[int], Any]] | None:
    """Return ``(numbers, spelled)``: ids as whole numbers, and the function from number to id.

    Text ids are numbers if they differ in one run of digits alone. Other ids give None.

    Examples
    --------
    >>> numbers, spelled = _numbering(["q08", "q12"])
    >>> numbers, spelled(9)
    ([8, 12], 'q09')
    >>> numbers, spelled = _numbering(["2024-8-de", "2024-12-de"])
    >>> numbers, spelled(9)
    ([8, 12], '2024-9-de')
    """
    if all(isinstance(value, Real) for value in ids):
        integers = [int(value) for value in ids if is_whole(value) or float(value).is_integer()]
        return (integers, int) if len(integers) == len(ids) else None
    if all(isinstance(value, bytes) for value in ids):
        numbered = _numbering([value.decode("latin-1") for value in ids])
        if numbered is None:
            return None
        numbers, as_text = numbered
        return numbers, lambda number: as_text(number).encode("latin-1")
    if not all(isinstance(value, str) for value in ids):
        return None
    parts = [_DIGITS.split(value) for value in ids]  # every second one is a run of digits
    if len(parts[0]) == 1 or len({len(runs) for runs in parts}) > 1:
        return None
    differ = [at for at, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1]
    at = differ[0] if differ else len(parts[0]) - 2
    if len(differ) > 1 or at % 2 == 0:
        return None
    digits = [runs[at] for runs in parts]
    prefix, suffix = "".join(parts[0][:at]), "".join(parts[0][at + 1 :])
    zeros = len(digits[0]) if len({len(text) for text in digits}) == 1 else 0
    return [int(text) for text in digits], lambda number: f"{prefix}{number:0{zeros}d}{suffix}"
