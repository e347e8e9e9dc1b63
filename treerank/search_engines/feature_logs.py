"""Feature logs: what a search engine computes for documents of queries, as a training set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treerank.checks import check_instance, check_sequence, quote, warn_user
from treerank.datasets.qrels import NO_JUDGMENTS, Qrels, pairs_of, texts_of
from treerank.documents.ranking_data import RankingData
from treerank.search_engines.judgments import json_of, read_judgments
from treerank.search_engines.search_answers import (
    LoggedDocument,
    is_answer,
    json_of_client,
    logged_documents,
)


@dataclass(frozen=True, eq=False, repr=False)
class FeatureLog(RankingData):
    """Logged documents of queries; unpacks as ``X, y, qid``, and ``y`` is NaN if not judged.

    All other parameters are those of :class:`~treerank.documents.ranking_data.RankingData`.

    Parameters
    ----------
    unlogged : Qrels, default=no judgments
        Judgments of documents that the log lacks.

    Examples
    --------
    >>> log = read_feature_log({"shoes": {"a": [1.5]}}, features=["bm25"])
    >>> log.X.column_names, log.qid, log.doc_ids, log.y
    (['bm25'], array(['shoes'], dtype='<U5'), array(['a'], dtype='<U1'), array([nan]))
    """

    unlogged: Qrels = NO_JUDGMENTS

    def unjoined(self) -> dict[str, np.ndarray]:
        """Return a table of what stands in the log alone or in the judgments alone."""
        logged, judged = np.isnan(self.y), self.unlogged
        where = ["log"] * int(logged.sum()) + ["judgments"] * len(judged.y)
        return {
            "query": np.append(self.qid[logged], judged.qid),
            "document": np.append(self.doc_ids[logged], judged.doc_ids),
            "only_in": np.array(where, dtype=str),
        }


def read_feature_log(
    source: Any,
    judgments: Qrels | str | Path | None = None,
    *,
    features: Sequence[str] | str | Path | None = None,
    queries: Sequence[Any] | None = None,
    entry: str | None = None,
    document: str | None = None,
) -> FeatureLog:
    """Read the features that a search engine logged, and join them with judgments.

    A source is an answer of a search or several of them: of the learning-to-rank plugins of
    Elasticsearch and OpenSearch, of Elastic's own extraction of features (which eland returns), of
    Solr's ``[features]``, dense or sparse, or of Vespa's match or summary features.

    Parameters
    ----------
    source : path, mapping or sequence of mappings
        A mapping from queries to answers, an answer, a list of answers, what a search of many
        queries returned, or the path of a JSON file of one of these, which may have an answer in
        each line. An answer may be what the clients of Elasticsearch, Vespa or pysolr return.
    judgments : Qrels or path, default=None
        Labels by query and document, as of
        :func:`~treerank.search_engines.judgments.read_judgments`, which reads a path.
    features : sequence of str or path, default=None
        The set of features that the log must be of, in their order: names, such as
        ``ranker.feature_names_in_``, or the file of a set, as
        :func:`~treerank.exports.uploads.write_feature_set` writes it. Eland's lists need it.
    queries : sequence, default=None
        The query of each answer, unless the source maps from it. ``None`` is what Solr repeats.
    entry : str, default=None
        Name of the log where documents have several, such as that of a ``log_spec``, the name of
        Solr's field or "summaryfeatures".
    document : str, default=None
        Field with the document's id, if not the engine's own.

    Returns
    -------
    FeatureLog
        ``X`` is a table of pyarrow, without tensors of Vespa. What the log leaves out is NaN, and
        of Solr's sparse format the default of the feature: 0, or as the file of the set says.

    Raises
    ------
    ValueError
        If the log is of another set of features, or one answer is of another shape.

    Examples
    --------
    >>> values = [{"name": "bm25", "value": 1.5}, {"name": "price"}]
    >>> hit = {"_id": "a", "fields": {"_ltrlog": [{"main": values}]}}
    >>> judged = Qrels(np.array(["shoes"]), np.array(["a"]), np.array([3.0]))
    >>> X, y, qid = read_feature_log({"shoes": {"hits": {"hits": [hit]}}}, judged)
    >>> X.to_pylist(), y, qid
    ([{'bm25': 1.5, 'price': nan}], array([3.]), array(['shoes'], dtype='<U5'))
    """
    if isinstance(judgments, str | Path):
        judgments = read_judgments(judgments)
    check_instance("judgments", judgments, [Qrels, type(None)])
    place = f"{source}: " if isinstance(source, str | Path) else ""
    whole = json_of(source) if place else json_of_client(source)
    defaults = _feature_set(features)
    names = None if defaults is None else list(defaults)
    found, query = list[tuple[str, LoggedDocument | None]](), None
    try:
        answers, ids = _answers(whole, queries)
        for query, answer in zip(ids, map(json_of_client, answers), strict=True):
            documents = logged_documents(answer, entry, document, names)
            found += [(query, each) for each in documents]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        where = "" if query is None else f"that to {quote(query)}: "
        rule = f"{place}source must hold answers of a known shape"
        raise ValueError(f"{rule}; {where}{what}") from error
    rows: dict[tuple[str, str], LoggedDocument] = {}
    for query, each in found:
        if each is not None and rows.setdefault((query, each.document), each) != each:
            pair = quote((query, each.document))
            raise ValueError(f"{place}source must have one log of {pair}; got two that differ.")
    if not any(names or each.features for each in rows.values()):
        named = "" if entry is None else f" in {quote(entry)}"
        raise ValueError(
            f"{place}source must hold a document with features{named}; got none. Searches log them "
            "if asked: by ext.ltr_log in Elasticsearch and OpenSearch, fl=[features] in Solr, and "
            "match-features in Vespa."
        )
    X = _matrix(list(rows.values()), defaults, place)
    qid, doc_ids = (np.array(column) for column in zip(*rows, strict=True))
    n_bare = sum(each is None for _, each in found)
    if n_bare:
        warn_user(f"{n_bare} documents of the answers have no features logged; they are left out.")
    return _joined(X, qid, doc_ids, NO_JUDGMENTS if judgments is None else judgments)


def _answers(whole: Any, queries: Sequence[Any] | None) -> tuple[list[Any], list[str]]:
    """Return the answers, and the query of each."""
    if isinstance(whole, Mapping) and isinstance(whole.get("responses"), list):
        whole = whole["responses"]
    if isinstance(whole, Mapping) and is_answer(whole):
        whole = [whole]
    if isinstance(whole, Mapping):
        if queries is not None:
            raise ValueError(f"queries must be None for a mapping from them; got {quote(queries)}.")
        return list(whole.values()), texts_of("queries", [*whole])
    if not isinstance(whole, Sequence) or isinstance(whole, str):
        raise ValueError(f"source must hold answers of searches; got {quote(whole)}.")
    if queries is None:
        queries = [_repeated(answer) for answer in whole]
    if len(queries) != len(whole):
        raise ValueError(f"queries must name {len(whole)} answers; got {len(queries)} of them.")
    return list(whole), texts_of("queries", queries)


def _repeated(answer: Any) -> str:
    """Return the query that an answer of Solr repeats."""
    header = answer.get("responseHeader", {}) if isinstance(answer, Mapping) else {}
    query = header.get("params", {}).get("q")
    if not isinstance(query, str):
        rule = "queries must name the query of each answer, which the answers do not"
        raise ValueError(f"{rule}: write queries=['shoes'], or {{'shoes': answer}}.")
    return query


def _feature_set(features: Any) -> dict[str, float] | None:
    """Return the names of a set, and the values of those that the sparse format leaves out."""
    if features is None:
        return None
    if not isinstance(features, str | Path):
        check_sequence("features", features)
        return {str(name): 0.0 for name in features}
    whole = json_of(features)
    for inner in ("_source", "featureset", "features"):
        whole = whole.get(inner, whole) if isinstance(whole, Mapping) else whole
    try:
        params = {each["name"]: each.get("params") for each in whole}
        return {
            str(name): float(own.get("defaultValue", 0)) if isinstance(own, Mapping) else 0.0
            for name, own in params.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{features}: must be a set of features; got {quote(whole)}.") from error


def _matrix(rows: list[LoggedDocument], defaults: dict[str, float] | None, place: str) -> pa.Table:
    """Return the features as a table; refuse a log of another set, or of two sets."""
    if defaults is None:
        defaults = dict.fromkeys((name for row in rows for name in row.features), 0.0)
    for row in rows:
        lacking = defaults.keys() - row.features.keys() if row.is_whole else set()
        more = row.features.keys() - defaults.keys()
        if lacking or more:
            raise ValueError(
                f"{place}features must be those of the log: that of document "
                f"{quote(row.document)} lacks {quote(sorted(lacking))}, and it alone has "
                f"{quote(sorted(more))}."
            )
    columns = {}
    for name, default in defaults.items():  # which Solr leaves out
        values = [row.features.get(name, default if row.is_sparse else np.nan) for row in rows]
        columns[name] = np.array(values, dtype=np.float64)
    return pa.table(columns)


def _joined(X: pa.Table, qid: np.ndarray, ids: np.ndarray, judgments: Qrels) -> FeatureLog:
    """Return the log with labels; say how many judgments are of no document in it."""
    y = judgments.labels_of(qid, ids, unjudged=np.nan)
    logged, pairs = set(pairs_of(qid, ids)), pairs_of(judgments.qid, judgments.doc_ids)
    alone = np.array([pair not in logged for pair in pairs], dtype=bool)
    if pairs and alone.all():
        found = f"{quote(pairs[0])}, and {quote((str(qid[0]), str(ids[0])))} in the log"
        raise ValueError(f"judgments must be of documents in the log; got {found}.")
    if alone.any():
        warn_user(
            f"{alone.sum()} of {len(alone)} judgments are of documents that are not in the log; "
            "see unjoined()."
        )
    unlogged = Qrels(*(np.asarray(column)[alone] for column in judgments))
    return FeatureLog(X, y, qid, None, ids, unlogged)
