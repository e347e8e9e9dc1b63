"""Data splits: the training, validation and test sets of a comparison, read when needed."""

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_array

from treerank.checks import check_count, naming, quote, refuse_other_order, warn_user
from treerank.datasets.folds import Split, fold_folders, load_folds, read_fold
from treerank.datasets.formats import PARQUET, format_of, read_ranking_data
from treerank.documents.columns import as_frame, taken_rows
from treerank.documents.ids import check_ids
from treerank.documents.labels import are_judged, split_labels
from treerank.documents.queries import QueryGroups, check_qid
from treerank.documents.ranking_data import Batches, RankingData
from treerank.documents.reading import take_columns
from treerank.evaluation.labels import HumanLabels, as_passed, checked_labels, labels_of_people
from treerank.model_selection import QueryKFold, QuerySplitter, QueryTimeSplit
from treerank.spelling import has_spelling, spelled
from treerank.statistics.clusters import (
    ClustersOfRows,
    clusters_by_query,
    refuse_clusters,
    take_clusters,
)


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each document of a test set.

    Attributes
    ----------
    codes : ndarray of int of shape (n_documents,)
        Equal where clusters are.
    in_training : bool, default=False
        Whether the training set has other queries of the same clusters.
    """

    codes: np.ndarray
    in_training: bool = False

    def by_query(self, qid: np.ndarray) -> np.ndarray:
        """Return the cluster of each query, in ascending order of ids."""
        return np.asarray(QueryGroups.from_qid(qid, len(qid)).first_of(self.codes))


@dataclass(frozen=True, eq=False)
class SplitSource:
    """The name of a split, and a function that reads its sets when they are needed.

    Attributes
    ----------
    name : str
        Name of the split.
    split : callable
        ``split()`` returns the :class:`Split`.
    labels : tuple of str or None
        Names of the labels, if there are several.
    has_training : bool, default=True
        Whether there is a training set.
    human : HumanLabels or None
        People's labels of the test set, where ``y`` are an LLM's.
    has_ids : bool, default=True
        Whether query ids are the ids that the user passed, and not numbers that replace them.
    clusters : Clusters or None
        Clusters of the test set; None if queries are independent.
    """

    name: str
    split: Callable[[], Split]
    labels: tuple[str, ...] | None = None
    has_training: bool = True
    human: HumanLabels | None = None
    has_ids: bool = True
    clusters: Clusters | None = None


def _rows_of(data: RankingData, name: str, *parts: np.ndarray) -> Split:
    """Return a split of copied rows: ``parts`` are the training rows, then the test rows."""
    X, y, qid = data
    return Split(name, *(RankingData(taken_rows(X, rows), y[rows], qid[rows]) for rows in parts))


def make_splits(
    data: Any,
    cv: Any,
    random_state: int,
    *,
    only_test: bool,
    human_labels: Any,
    clusters: ClustersOfRows,
) -> Sequence[SplitSource]:
    """Return the splits of the data; the arguments are as in ``compare``.

    A data file, or a folder of Parquet files without folds, is one data set. ``y`` and ``qid`` may
    be names of columns of ``X``. With ``only_test``, one data set is a test set as a whole.
    """
    if isinstance(data, str | Path) and is_one_data_set(Path(data)):
        data = read_ranking_data(data)
    if human_labels is not None and not _is_data(data):
        raise ValueError(
            "human_labels must be None for data in folds; got labels. Pass one data set, (X, y, "
            "qid), and folds as pairs of rows: cv=[(train, test), ...]."
        )
    if clusters is not None and not _is_data(data):
        raise ValueError(
            "clusters must be None for data in folds; got clusters. Pass one data set, (X, y, "
            "qid), and folds as pairs of rows: cv=[(train, test), ...]."
        )
    if clusters is not None and human_labels is not None:
        refuse_clusters("human_labels")
    if isinstance(data, str | Path):
        _refuse_cv(cv)
        load_folds(data)  # names missing files before the work begins
        folders = fold_folders(data)
        return [
            SplitSource(folder.resolve().name, partial(read_fold, folder)) for folder in folders
        ]
    if _is_data(data) and only_test:
        test, human, has_ids, codes, _ = _check_data(data, human_labels, clusters)
        if human is not None:
            human.check_size(test.qid)
        split = partial(Split, "test", None, test)
        settings = {"has_training": False, "human": human, "has_ids": has_ids}
        settings["clusters"] = None if codes is None else Clusters(codes)
        return [SplitSource("test", split, test.y.dtype.names, **settings)]
    if _is_data(data):
        documents, human, has_ids, codes, cv = _check_data(data, human_labels, clusters, cv)
        splits = _row_splits(documents, human, codes, cv, random_state)
        return [replace(split, has_ids=has_ids) for split in splits]
    if isinstance(data, tuple) and len(data) == 2 and np.ndim(data[0]) == 2:
        raise ValueError(
            "data must be (X, y, qid), with the query of each document; got (X, y). For a single "
            "query there is nothing to compare over."
        )
    if isinstance(data, Batches):
        raise TypeError(
            f"data must be in memory, or the path of a file, to be compared on; got {quote(data)}"
        )
    if not isinstance(data, Iterable):
        raise TypeError(f"data must be a folder, folds or (X, y, qid); got {type(data)}.")
    _refuse_cv(cv)
    return _in_memory([*data])


def has_splits(data: Any) -> bool:
    """Tell whether data are folds, and not one data set.

    Examples
    --------
    >>> has_splits(([[1.0]], [1], [1])), has_splits([])
    (False, True)
    """
    if isinstance(data, str | Path):
        return not is_one_data_set(Path(data))
    return not _is_data(data)


def is_one_data_set(path: Path) -> bool:
    """Tell whether a path is a file, or a folder of Parquet files without folds."""
    is_fold = fold_folders(path) != [path] or any(path.glob("train.*"))
    return path.is_file() or (format_of(path) is PARQUET and not is_fold)


def _refuse_cv(cv):
    """Refuse a ``cv`` other than None, for data that are split already."""
    if cv is not None:
        raise ValueError(f"cv must be None for data in folds; got {quote(cv)}.")


def _is_data(data):
    """Tell whether ``data`` is one data set, RankingData or (X, y, qid), not folds."""
    is_tuple = isinstance(data, tuple) and len(data) == 3
    return isinstance(data, RankingData) or (
        is_tuple and not any(isinstance(part, Split) for part in data)
    )


def _check_data(data, human_labels, clusters, cv=None):
    """Return ``(data, human, has_ids, codes, cv)`` of a data set and the arguments of ``compare``.

    ``data`` is RankingData with labels, one or several, and query ids as arrays of equal length.
    ``human`` are human labels, or None. ``has_ids`` tells whether query ids were kept: ids of
    mixed types become numbers. ``codes`` are numbers of the documents' clusters, or None. ``cv``
    has the times of documents where it named a column of ``X``, which is then not a feature.
    """
    X, y, qid = data
    human_labels = labels_of_people(human_labels, data)
    is_one_of_y = isinstance(human_labels, str) and split_labels(y) is not None
    named = {} if is_one_of_y else {"human_labels": human_labels}
    if isinstance(cv, QueryTimeSplit):
        named["time"] = cv.time
    if isinstance(clusters, str) and hasattr(qid, "get_level_values"):
        clusters = take_clusters(clusters, qid)
    X, (y, qid, clusters, *taken) = take_columns(X, y=y, qid=qid, clusters=clusters, **named)
    values = dict(zip(named, taken, strict=True))
    if "time" in values:
        cv = replace(cv, time=values["time"])
    n_documents = X.shape[0] if hasattr(X, "shape") else len(X)
    _check_features(X)
    y = checked_labels(y, n_documents)
    queries, has_ids = check_qid(qid, n_documents), True
    is_array = isinstance(qid, np.ndarray) and qid.dtype.kind in "iu"
    if queries.dtype.kind == "i" and not is_array:
        # Tables have the ids, and no numbers in their place.
        ids = _listed(qid)
        kinds = {type(query) for query in ids}
        has_ids = (len(kinds) == 1 or kinds <= {int, float}) and can_be_sorted(ids)
        queries = check_ids("qid", ids) if has_ids else queries
    human = HumanLabels.of(values.get("human_labels", human_labels), y, queries)
    codes = None
    if clusters is not None:
        groups = QueryGroups.from_qid(queries, n_documents)
        codes = clusters_by_query(clusters, groups, queries)[groups.codes]
    return RankingData(X, y, queries), human, has_ids, codes, cv


def can_be_sorted(ids: Iterable[Any]) -> bool:
    """Tell whether ids can be put in order: all numbers, or all text, in each part of tuples.

    Examples
    --------
    >>> can_be_sorted(["a", "b"]), can_be_sorted(["a", 7]), can_be_sorted([("a", 7), ("b", 1)])
    (True, False, True)
    """
    try:
        sorted({*ids})
    except TypeError:
        return False
    return True


def _check_features(X):
    """Refuse infinite values, and text outside of data frames."""
    frame = as_frame(X)
    if frame is None:
        check_array(
            X, accept_sparse=True, dtype="numeric", ensure_all_finite="allow-nan", input_name="X"
        )
        return
    for column in frame.iter_columns():
        if column.dtype.is_float() and np.isinf(column.to_numpy().astype(float)).any():
            raise ValueError(f"Column {quote(column.name)} of X must not be infinite.")


def _in_memory(splits: Iterable[Any]) -> list[SplitSource]:
    """Return the sources of splits that are in memory, with documents, labels and ids checked.

    ``y`` and ``qid`` may be names of columns. Ids that cannot be sorted together become numbers,
    which are equal where ids are, in all sets.
    """
    given = [_sets_of(split) for split in splits]
    checked = [
        {name: _check_data(data, None, None) for name, data in sets.items()} for sets in given
    ]
    parts = [part for sets in checked for part, *_ in sets.values()]
    have_ids = all(has_ids for sets in checked for _, _, has_ids, *_ in sets.values())
    kinds = {"number" if part.qid.dtype.kind in "iuf" else part.qid.dtype.kind for part in parts}
    if len(kinds) > 1 or kinds == {"O"}:
        have_ids = have_ids and can_be_sorted(id for part in parts for id in part.qid.tolist())
    ids = [part.qid for part in parts]
    if not have_ids:
        originals = [_ids_of(data) for sets in given for data in sets.values()]
        numbered = check_qid([query for ids in originals for query in ids])
        ids = np.split(numbered, np.cumsum([len(part) for part in parts])[:-1])
    qid = iter(ids)
    sources = []
    for split, sets in zip(splits, checked, strict=True):
        sets = {name: replace(part, qid=next(qid)) for name, (part, *_) in sets.items()}
        sources.append(
            SplitSource(
                split.name,
                partial(replace, split, **sets),
                sets["test"].y.dtype.names,
                has_training=split.train is not None,
                has_ids=have_ids,
            )
        )
    return sources


def _sets_of(split: Any) -> dict[str, RankingData]:
    """Return the sets of a split that are there, by name; refuse what is no split."""
    if not isinstance(split, Split):
        raise TypeError(f"data must be (X, y, qid), a path, or hold splits; got {type(split)}.")
    sets = {"train": split.train, "validation": split.validation, "test": split.test}
    return {name: data for name, data in sets.items() if data is not None}


def _ids_of(data: RankingData) -> list[Any]:
    """Return the query id of each document as the user passed it."""
    _, (_, qid) = take_columns(data.X, y=data.y, qid=data.qid)
    return _listed(qid)


def _listed(qid: Any) -> list[Any]:
    """Return ids as a list; those of Arrow as values of Python."""
    return qid.to_pylist() if hasattr(qid, "to_pylist") else [*qid]


def _row_splits(
    data: RankingData,
    human: HumanLabels | None,
    clusters: np.ndarray | None,
    cv: Any,
    random_state: int,
) -> Iterator[SplitSource]:
    """Yield the splits of one data set by ``cv``.

    ``clusters`` are numbers of the documents' clusters, or None. Refuses splits that cut a query,
    that test a row twice, that learn from or test no judged documents, or that test too few queries
    with labels by people.
    """
    pairs = _index_pairs(data, human, clusters, cv, random_state)
    is_judged = are_judged(as_passed(data.y))
    is_tested = is_judged if human is None else are_judged(human.without(data.y))
    if human is not None:
        tested = np.unique(np.concatenate([test for _, test in pairs]))
        human.take(tested).check_size(data.qid[tested])
    width = len(str(len(pairs)))
    for number, (train, test) in enumerate(pairs, start=1):
        shared = np.intersect1d(data.qid[train], data.qid[test])
        if len(shared):
            query = shared.tolist()[0]
            raise ValueError(
                f"cv must keep queries whole; split {number} has {quote(query)} twice."
            )
        if len(np.unique(test)) < len(test):
            raise ValueError(f"cv must test each row once; split {number} has one twice.")
        for part, judged in (("training", is_judged[train]), ("test", is_tested[test])):
            if not judged.any():
                whose = "labels" if human is None else "labels by the LLM"
                raise ValueError(
                    f"cv must leave documents with {whose} in each {part} set; split {number} has "
                    f"none among {len(judged):,} documents. Pass judged queries alone, or cv=5, "
                    "whose folds have equally many of them."
                )
        name = f"{number:0{width}d}"
        split = partial(_rows_of, data, name, train, test)
        beside: dict[str, Any] = {"human": human and human.take(test)}
        if clusters is not None:
            is_cut = bool(np.isin(clusters[test], clusters[train]).any())
            beside["clusters"] = Clusters(clusters[test], in_training=is_cut)
        yield SplitSource(name, split, data.y.dtype.names, **beside)


def check_cv(name: str, cv: Any) -> None:
    """Refuse a value that is no number from 2, no splitter and no iterable of pairs of rows."""
    if isinstance(cv, numbers.Number):
        check_count(name, cv, at_least=2)
    elif isinstance(cv, str | bytes) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise TypeError(f"{name} must be a number, a splitter or pairs of rows; got {quote(cv)}.")


def _index_pairs(data, human, clusters, cv, random_state):
    """Return a list of tuples (training rows, test rows), one for each split.

    ``cv`` is a number of folds, 5 if None, a splitter or the pairs themselves. Rows are masks or
    row numbers; negative numbers are refused. ``human`` are human labels, or None. A number of
    folds has equally many judged queries in each fold. Splitters, except by time, and folds keep
    ``clusters`` whole, if there are any.
    """
    cv = 5 if cv is None else cv
    check_cv("cv", cv)
    judged_rows = _judged_rows(data, human)
    codes = QueryGroups.from_qid(data.qid, len(data)).codes
    is_judged = np.bincount(codes, judged_rows) > 0
    n_unjudged = np.count_nonzero(~is_judged)
    if isinstance(cv, numbers.Integral):
        _check_n_clusters(clusters, judged_rows, cv)
        cv = QueryKFold(int(cv), shuffle=True, random_state=random_state)
        if 0 < n_unjudged < len(is_judged):
            n_judged = len(is_judged) - n_unjudged
            if cv.n_splits > n_judged:
                raise ValueError(
                    f"{spelled('cv')} must be at most the number of judged queries, {n_judged}; "
                    f"got {cv.n_splits}."
                )
            return _folds_of_judged(codes, judged_rows, is_judged, clusters, cv)
    elif 0 < n_unjudged < len(is_judged):
        advice = "Pass judged queries alone, as data.judged() of read_runs and RankingData does, or"
        if not has_spelling("X"):
            advice = "Leave out the rows of these queries, or, without other splits, write"
        warn_user(
            f"{n_unjudged} of {len(is_judged)} queries have no judgment, and are split like the "
            "others: a test set with few judged queries counts as much as one with many. "
            f"{advice} {spelled('cv', 5)}, whose folds have equally many of them."
        )
    if hasattr(cv, "split"):
        # scikit-learn's splitters call the query ids groups.
        if isinstance(cv, QuerySplitter):
            is_by_time = isinstance(cv, QueryTimeSplit)
            groups = {"qid": data.qid, "groups": None if is_by_time else clusters}
        else:
            groups = {"groups": data.qid if clusters is None else clusters}
        with naming("cv") if has_spelling("X") else nullcontext():  # the shell makes it of --folds
            y = data.y[data.y.dtype.names[0]] if data.y.dtype.names else data.y
            cv = list(cv.split(y.reshape(-1, 1), y, **groups))
    try:
        given = [[*pair] for pair in cv]
        rows, pairs = np.arange(len(data)), [[*map(np.asarray, pair)] for pair in given]
        if any(np.min(part, initial=0) < 0 for pair in pairs for part in pair):
            raise ValueError("they count from 0")
        splits = [(rows[train], rows[test]) for train, test in pairs]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"cv must hold pairs of rows of the data; {error}.") from error
    for number, pair in enumerate(given):  # masks of pandas; row numbers have an index of their own
        for part, values in enumerate(pair):
            if np.asarray(values).dtype.kind == "b":
                refuse_other_order({"X": data.X, f"cv[{number}][{part}]": values})
    return splits


def _check_n_clusters(clusters, judged_rows, n_folds):
    """Refuse more folds than clusters with a judged document, which are kept whole."""
    if clusters is None:
        return
    n_clusters = len(np.unique(clusters[judged_rows]))
    if n_folds > n_clusters:
        advice = f"Write {spelled('cv', n_clusters)}" if n_clusters > 1 else "Pass more data"
        raise ValueError(
            f"{spelled('cv')} must be at most the number of {spelled('clusters')} with a judged "
            f"query, {n_clusters}, since folds keep clusters whole; got {n_folds} folds. {advice}, "
            "or compare rankers that are fitted."
        )


def _judged_rows(data, human):
    """Return a mask of the documents with a label, or with one by people; these may be None."""
    rows = are_judged(as_passed(data.y))
    return rows if human is None else rows | ~np.isnan(human.y)


def _folds_of_judged(codes, judged_rows, is_judged, clusters, folds):
    """Return a list of tuples (training rows, test rows): folds of the judged queries.

    These are the folds that ``data.judged()`` would have. Otherwise a query would count more if few
    other queries of its fold are judged, since values are means over folds. Queries without a
    judgment change no value, and are assigned to the folds one after the other.

    ``codes`` are the numbers of the documents' queries, ``judged_rows`` and ``is_judged`` masks of
    documents and of queries. ``clusters`` are numbers of the documents' clusters, which are kept
    whole, or None.
    """
    units = codes if clusters is None else clusters
    rows = np.flatnonzero(judged_rows)
    fold = np.full(units.max() + 1, -1)
    for number, (_, test) in enumerate(folds.split(rows, qid=codes[rows], groups=units[rows])):
        fold[units[rows[test]]] = number
    unjudged_units = np.flatnonzero(fold < 0)
    fold[unjudged_units] = np.arange(len(unjudged_units)) % folds.n_splits
    fold_of_row = fold[units]
    return [
        (np.flatnonzero(fold_of_row != number), np.flatnonzero(fold_of_row == number))
        for number in range(folds.n_splits)
    ]
