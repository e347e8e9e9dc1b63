"""Runs of several retrievers as a table of candidates, for hybrid search; see :func:`read_runs`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from treerank.checks import (
    check_choice,
    check_instance,
    check_number,
    quote,
    refuse_other_order,
    warn_user,
)
from treerank.datasets.qrels import NO_JUDGMENTS, Qrels, judgments_of_queries, pairs_of, texts_of
from treerank.datasets.trec import TrecRun, read_trec_run
from treerank.documents.queries import QueryGroups, is_missing
from treerank.documents.ranking_data import RankingData
from treerank.documents.reading import take_columns
from treerank.parameters import check_arguments
from treerank.reranking.fusion import reciprocal_ranks
from treerank.reranking.normalization import (
    Engine,
    check_scores,
    normalized_by_query,
    refuse_foreign,
)
from treerank.search_engines.judgments import as_qrels

#: End of the names of columns of normalized scores.
NORMALIZED = ".min_max"
#: Name of the column of reciprocal rank fusion.
_FUSED = "rrf"
#: Steps from document to document after which it is no chance that all scores rise or fall.
_MANY_STEPS = 5


@dataclass(frozen=True, eq=False, repr=False)
class Candidates(RankingData):
    """Documents that some retriever found, with its scores; unpacks as ``X, y, qid``.

    All other parameters are as in :class:`~treerank.documents.ranking_data.RankingData`.

    Parameters
    ----------
    unretrieved : Qrels, default=no judgments
        Judgments of documents that no retriever found, so that no reranking can show them. ``take``
        and ``split`` keep the judgments of the queries that they keep.

    Examples
    --------
    >>> candidates = read_runs({"bm25": {"shoes": {"a": 7.5}}}, {"shoes": {"a": 1, "b": 0}})
    >>> candidates.doc_ids, candidates.unretrieved.doc_ids
    (array(['a'], dtype='<U1'), array(['b'], dtype='<U1'))
    """

    unretrieved: Qrels = NO_JUDGMENTS

    def take(self, rows: ArrayLike) -> Self:
        """Return some documents, by row numbers or a mask, and the judgments of their queries."""
        taken = super().take(rows)
        _, (qid,) = take_columns(taken.X, qid=taken.qid)
        unretrieved = judgments_of_queries(self.unretrieved, qid)
        return replace(taken, unretrieved=unretrieved)

    def normalized(self) -> RankingData:
        """Return the candidates with their normalized scores alone, which search engines weigh.

        Examples
        --------
        >>> candidates = read_runs({"bm25": {"shoes": {"a": 7.5}}})
        >>> candidates.normalized().X.column_names
        ['bm25.min_max']
        """
        names = [name for name in self.X.column_names if name.endswith(NORMALIZED)]
        return RankingData(self.X.select(names), self.y, self.qid, None, self.documents)


@check_arguments
def read_runs(
    runs: Mapping[str, Any],
    judgments: Any = None,
    *,
    smaller_is_better: str | Collection[str] = (),
    unjudged: float = np.nan,
    engine: Engine = None,
) -> Candidates:
    """Return the documents that any of several retrievers found, with the scores of each.

    Each row is a document that at least one run contains for a query; rows are sorted by query and
    document. For a run named "bm25", ``X`` has the columns

    * ``bm25``: the score, higher is better; NaN where the run does not hold the document.
    * ``bm25.min_max``: the score normalized in the query, from 0 to 1, and 0 where the document is
      missing, see :func:`~treerank.reranking.normalize_scores`.
    * ``bm25.reciprocal_rank``: ``1 / (k + rank)``, with the mean rank of equal scores, and 0 where
      the document is missing; :func:`~treerank.reranking.fuse` says how k is chosen.

    The last column, ``rrf``, is the sum of the reciprocal ranks: reciprocal rank fusion.

    In production, call it without judgments on the lists of the live query, of the same depth, and
    score ``X``, so that all columns are computed in the same way. Pass an empty list for a
    retriever that finds nothing, so that its columns are there.

    Parameters
    ----------
    runs : dict from str to path, TrecRun or dict
        Runs by the name of the retriever: the path of a TREC run file; a
        :class:`~treerank.datasets.trec.TrecRun`; scores, ``{query: {document: score}}``; or lists
        without scores, ``{query: [document, ...]}``, best first, whose scores decrease by 1
        from one document to the next. A run has each document of a query once.
    judgments : Qrels, path or dict, default=None
        Labels by query and document: of
        :func:`~treerank.search_engines.judgments.read_judgments`, which reads a path, or
        ``{query: {document: label}}``. Without them, ``y`` is NaN.
    smaller_is_better : str or list of str, default=()
        Names of the runs whose scores are distances. Their columns hold the negative.
    unjudged : float, default=nan
        Label of documents without a judgment, in queries that have judgments of others. NaN leaves
        them out of fits and metrics; 0 takes them as not relevant, as trec_eval does. Documents of
        a query without any judgment always have the label NaN: nothing is known about it.
    engine : {None, "opensearch", "elasticsearch"}, default=None
        Search engine whose own normalization the columns ``min_max`` have. Fitted to
        :meth:`Candidates.normalized`, a linear model learns the weights of its hybrid queries,
        which :func:`treerank.export` writes. Scores of engines are never negative.

    Returns
    -------
    Candidates
        ``X`` is a table of pyarrow. ``unretrieved`` are judgments of documents that no run holds.

    Raises
    ------
    ValueError
        If a run holds a document of a query twice, or no judgment is of a document of the runs.

    Examples
    --------
    >>> bm25 = {"shoes": {"a": 9.0, "b": 6.0}}
    >>> dense = {"shoes": {"b": 0.8, "c": 0.7}}
    >>> X, y, qid = read_runs({"bm25": bm25, "dense": dense}, {"shoes": {"b": 1, "c": 0}})
    >>> X.column_names[:3]
    ['bm25', 'bm25.min_max', 'bm25.reciprocal_rank']
    >>> X["bm25"].to_pylist(), X["dense.min_max"].to_pylist(), y
    ([9.0, 6.0, nan], [0.0, 1.0, 0.0], array([nan,  1.,  0.]))
    """
    distances = [smaller_is_better] if isinstance(smaller_is_better, str) else smaller_is_better
    for name in distances:
        check_choice("each name of smaller_is_better", name, [*runs])
    if not is_missing(unjudged):
        check_number("unjudged", unjudged)
    if not runs:
        raise ValueError("runs must hold the lists of a retriever; got none.")
    for name in runs:
        _check_name(name)
    lists = {name: _run_of(name, run, name in distances) for name, run in runs.items()}
    if engine is not None:
        for name in distances:
            raise ValueError(
                f"smaller_is_better must be empty for engine={quote(engine)}, whose scores are "
                f"larger for better documents; got {quote(name)}. Write 1 / (1 + distance) in "
                "place of distances: run._replace(scores=1 / (1 + run.scores)) of a TrecRun."
            )
        for name, run in lists.items():
            _refuse_lists_without_scores(name, runs[name], engine)
            refuse_foreign(f"runs[{quote(name)}]", run.scores, engine)
    pairs = sorted({pair for run in lists.values() for pair in pairs_of(run.qid, run.doc_ids)})
    if not pairs:
        raise ValueError(f"runs must hold a document of some query; got none in {quote([*runs])}.")
    qid, documents = (np.array(column) for column in zip(*pairs, strict=True))
    scores, groups = runs_as_features(lists, qid, documents), QueryGroups.from_qid(qid)
    ranks, columns = reciprocal_ranks(scores, groups), {}
    for name, values in scores.items():
        columns[name] = values
        columns[name + NORMALIZED] = normalized_by_query(values, groups, "min_max", engine)
        columns[f"{name}.reciprocal_rank"] = ranks[name]
    columns[_FUSED] = np.sum([*ranks.values()], axis=0)
    y, unretrieved = _joined(as_qrels(judgments), pairs, unjudged)
    return Candidates(pa.table(columns), y, qid, None, documents, unretrieved)


@check_arguments
def runs_as_features(
    runs: Mapping[str, TrecRun], qid: ArrayLike, doc_ids: ArrayLike
) -> dict[str, np.ndarray]:
    """Return a column of scores for each run, with NaN for documents that are not in the run.

    Parameters
    ----------
    runs : dict from str to TrecRun
        Runs by name, as :func:`treerank.datasets.read_trec_run` returns them.
    qid, doc_ids : array-like of shape (n_documents,)
        Query and id of each document.

    Returns
    -------
    dict from str to ndarray of shape (n_documents,)
        Features, for a data frame or for :func:`treerank.reranking.fuse`.

    See Also
    --------
    treerank.read_runs : Finds the documents, too, and normalizes their scores.

    Examples
    --------
    >>> run = TrecRun(np.array(["q"]), np.array(["a"]), np.array([0.5]))
    >>> runs_as_features({"words": run}, ["q", "q"], ["a", "b"])
    {'words': array([0.5, nan])}
    """
    pairs, columns = pairs_of(qid, doc_ids), {}
    for name, run in runs.items():
        check_instance(f"runs[{quote(name)}]", run, [TrecRun])
        _check_order(name, run)
        values = check_scores(f"scores of runs[{quote(name)}]", run.scores)
        scores = dict(zip(pairs_of(run.qid, run.doc_ids), values.tolist(), strict=True))
        if len(scores) < len(run.scores):
            _refuse_duplicate(name, run)
        columns[name] = np.array([scores.get(pair, np.nan) for pair in pairs], np.float64)
    return columns


def _check_name(name: str) -> None:
    """Refuse a name of a run that is, or ends like, the name of another column."""
    if name == _FUSED or name.rpartition(".")[2] in ("min_max", "reciprocal_rank"):
        raise ValueError(
            "runs must have names that no other column has, so neither 'rrf' nor one that ends in "
            f"'.min_max' or '.reciprocal_rank'; got {quote(name)}."
        )


def _run_of(name: str, run: Any, is_distance: bool) -> TrecRun:
    """Return the run ``name`` with scores of which higher is better.

    ``run`` is the argument of the user. Scores that are distances are negated. Refuses missing
    scores.
    """
    scores_name = f"runs[{quote(name)}].scores"
    if isinstance(run, str | Path):
        run = read_trec_run(run)
    elif isinstance(run, Mapping):
        run, scores_name = _run_of_lists(name, run), f"scores of runs[{quote(name)}]"
    if not isinstance(run, TrecRun):
        raise TypeError(
            f"runs[{quote(name)}] must be the path of a run file, {{query: {{document: score}}}}, "
            f"{{query: [document, ...]}} or a TrecRun; got {quote(run)}. Of a data frame, write "
            "TrecRun(frame['query'], frame['document'], frame['score'])."
        )
    _check_order(name, run)
    scores = check_scores(scores_name, run.scores)
    queries = texts_of("qid", run.qid, len(scores))
    documents = texts_of("doc_ids", run.doc_ids, len(scores))
    if np.isnan(scores).any():
        missing = quote(documents[int(np.argmax(np.isnan(scores)))])
        raise ValueError(
            f"runs[{quote(name)}] must have a score for each document; got NaN for {missing}. "
            "Leave out what was not found, or pass lists without scores, {query: [document, ...]}."
        )
    run = TrecRun(np.array(queries), np.array(documents), -scores if is_distance else scores)
    _warn_of_order(name, run, is_distance)
    return run


def _run_of_lists(name: str, lists: Mapping[Any, Any]) -> TrecRun:
    """Return the run of ``{query: {document: score}}`` or ``{query: [document, ...]}``.

    Documents of a list have the scores -1, -2, -3 and so on.
    """
    rows = list[tuple[Any, Any, Any]]()
    for query, ranking in lists.items():
        if isinstance(ranking, Mapping):
            rows += ((query, document, score) for document, score in ranking.items())
        elif isinstance(ranking, list | tuple | np.ndarray):
            rows += ((query, document, -rank) for rank, document in enumerate(ranking, 1))
        else:
            raise TypeError(
                f"runs[{quote(name)}] must map each query to {{document: score}} or to a list of "
                f"documents, best first; got {quote(ranking)} for {quote(query)}."
            )
    queries, documents, scores = zip(*rows, strict=True) if rows else ((), (), ())
    return TrecRun(queries, documents, np.array(scores, object))  # type: ignore[arg-type]


def _refuse_lists_without_scores(name: str, run: Any, engine: str) -> None:
    """Refuse lists of documents, where columns have to hold the scores of an engine."""
    lists = run.items() if isinstance(run, Mapping) else ()
    for query, ranking in lists:
        if not isinstance(ranking, Mapping) and len(ranking) > 0:
            raise ValueError(
                f"runs[{quote(name)}] must have the scores of {quote(engine)}, as in {{query: "
                f"{{document: score}}}}; got a list of documents for {quote(query)}. Without "
                "engine=, lists rank by their positions."
            )


def _check_order(name: str, run: TrecRun) -> None:
    """Refuse columns of pandas that do not have the rows of the run ``name`` in one order."""
    columns = run._asdict().items()
    refuse_other_order({f"runs[{quote(name)}].{field}": column for field, column in columns})


def _refuse_duplicate(name: str, run: TrecRun) -> None:
    """Raise the error of a run that holds a document of a query twice."""
    seen = set[tuple[str, str]]()
    for pair in pairs_of(run.qid, run.doc_ids):
        if pair in seen:
            raise ValueError(
                f"runs[{quote(name)}] must have each document of a query once; got "
                f"{quote(pair[1])} twice for {quote(pair[0])}. Of several passages of a document, "
                "keep the best."
            )
        seen.add(pair)


def _warn_of_order(name: str, run: TrecRun, is_distance: bool) -> None:
    """Warn of lists that all begin with the worst score, and of scores that are all equal.

    ``is_distance`` tells whether the user said that smaller is better.
    """
    groups = QueryGroups.from_qid(run.qid)
    order = groups.order  # query by query, and in the order of the list
    is_same_query = np.diff(groups.codes[order]) == 0
    steps = np.diff(run.scores[order])[is_same_query]
    if len(steps) and not steps.any():
        warn_user(
            f"runs[{quote(name)}] has equal scores for all documents of each query. The ranks of a "
            "file are ignored, as by trec_eval; if they are what counts, pass lists without "
            "scores, {query: [document, ...]}, best first."
        )
    elif np.count_nonzero(steps > 0) >= _MANY_STEPS and not (steps < 0).any():
        first, advice = (
            "smallest",
            f"If smaller is better, write smaller_is_better=[{quote(name)}].",
        )
        if is_distance:
            first, advice = "largest", "Is smaller better, as smaller_is_better says?"
        warn_user(f"All lists of runs[{quote(name)}] begin with the {first} score. {advice}")


def _joined(
    qrels: Qrels, pairs: list[tuple[str, str]], unjudged: float
) -> tuple[np.ndarray, Qrels]:
    """Return ``(labels, rest)``: the label of each candidate, and the judgments of other documents.

    ``pairs`` are (query, document) of the candidates; those that are not judged have the label
    ``unjudged`` if others of the query are, else NaN. Warns of relevant documents that no run
    holds, and refuses judgments of such alone.
    """
    qid, documents = zip(*pairs, strict=True)
    y = qrels.labels_of(qid, documents, unjudged=np.nan)
    judged = dict(zip(pairs_of(qrels.qid, qrels.doc_ids), qrels.y, strict=True))  # judges agree
    queries = {query for query, _ in judged}
    y[np.isnan(y) & np.array([query in queries for query in qid], dtype=bool)] = unjudged
    candidates = set(pairs)
    lost = {pair: label for pair, label in judged.items() if pair not in candidates}
    if not lost:
        return y, NO_JUDGMENTS
    if len(lost) == len(judged):
        first = next(iter(judged))
        kind, got, other = "documents", quote(first), quote(pairs[0])
        if queries.isdisjoint(qid):
            kind, got, other = "queries", quote(first[0]), quote(qid[0])
        raise ValueError(
            f"judgments must be of {kind} in the runs; got {got}, and {other} in the runs."
        )
    n_lost = sum(label > 0 for label in lost.values())
    if n_lost:
        n_relevant = sum(label > 0 for label in judged.values())
        warn_user(
            f"{n_lost} of {n_relevant} judged documents with a label above 0 are in no run: no "
            "reranking can show them, and metrics are over the candidates alone. See unretrieved."
        )
    lost_qid, lost_documents = zip(*lost, strict=True)
    return y, Qrels(np.array(lost_qid), np.array(lost_documents), np.array([*lost.values()]))
