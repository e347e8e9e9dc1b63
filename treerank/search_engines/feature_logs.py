"""Feature logs: features that a search engine computed and logged, as a training set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from treerank.checks import check_sequence, quote, warn_user
from treerank.datasets.qrels import NO_JUDGMENTS, Qrels, judgments_of_queries, pairs_of, texts_of
from treerank.documents.ranking_data import RankingData
from treerank.documents.reading import take_columns
from treerank.parameters import check_arguments
from treerank.search_engines.judgments import as_qrels, json_of
from treerank.search_engines.search_answers import (
    LoggedDocument,
    is_answer,
    json_of_client,
    logged_documents,
)
from treerank.spelling import has_spelling


@dataclass(frozen=True, eq=False, repr=False)
class FeatureLog(RankingData):
    """Documents with logged features; unpacks as ``X, y, qid``. ``y`` of unjudged ones is NaN.

    All other parameters are as in :class:`~treerank.documents.ranking_data.RankingData`.

    Parameters
    ----------
    unlogged : Qrels, default=no judgments
        Judgments of documents that are not in the log. ``take`` and ``split`` keep the judgments of
        the queries that they keep.

    Examples
    --------
    >>> log = read_feature_log({"shoes": {"a": [1.5]}}, features=["bm25"])
    >>> log.X.column_names, log.qid, log.doc_ids, log.y
    (['bm25'], array(['shoes'], dtype='<U5'), array(['a'], dtype='<U1'), array([nan]))
    """

    unlogged: Qrels = NO_JUDGMENTS

    def take(self, rows: ArrayLike) -> Self:
        """Return some documents, by row numbers or a mask, and the judgments of their queries."""
        taken = super().take(rows)
        _, (qid,) = take_columns(taken.X, qid=taken.qid)
        unlogged = judgments_of_queries(self.unlogged, qid)
        return replace(taken, unlogged=unlogged)

    def unjoined(self) -> dict[str, np.ndarray]:
        """Return a table of documents that are only in the log, or only in the judgments.

        Its columns are "query", "document" and "only_in", which is "log" or "judgments".
        """
        unjudged, unlogged = np.isnan(self.y), self.unlogged
        only_in = ["log"] * int(unjudged.sum()) + ["judgments"] * len(unlogged.y)
        return {
            "query": np.append(self.qid[unjudged], unlogged.qid),
            "document": np.append(self.doc_ids[unjudged], unlogged.doc_ids),
            "only_in": np.array(only_in, dtype=str),
        }


@check_arguments
def read_feature_log(
    source: Any,
    judgments: Any = None,
    *,
    features: Sequence[str] | str | Path | None = None,
    queries: Sequence[Any] | None = None,
    entry: str | None = None,
    document: str | None = None,
) -> FeatureLog:
    """Read the features that a search engine logged, and join them with judgments.

    A source is one or several search responses: of the learning-to-rank plugins of Elasticsearch
    and OpenSearch, of Elastic's own feature extraction (as eland returns it), of Solr's
    ``[features]``, dense or sparse, or of Vespa's match or summary features.

    Parameters
    ----------
    source : path, mapping or sequence of mappings
        A mapping from queries to responses, a response, a list of responses, the response of a
        multi-search, or the path of a JSON or JSON Lines file of one of these. A response may also
        be an object of the clients of Elasticsearch, Vespa or pysolr.
    judgments : Qrels, path or dict, default=None
        Labels by query and document: of
        :func:`~treerank.search_engines.judgments.read_judgments`, which reads a path, or
        ``{query: {document: label}}``.
    features : sequence of str or path, default=None
        The feature set that the log must have, in this order: names, such as
        ``ranker.feature_names_in_``, or the path of a feature set that
        :func:`~treerank.exports.uploads.write_feature_set` wrote. Required for eland's lists.
    queries : sequence, default=None
        The query of each response, unless the source maps from it. By default, it is read from
        Solr's response header.
    entry : str, default=None
        Name of the log, if documents have several: the name of a ``log_spec``, of Solr's field, or
        "summaryfeatures".
    document : str, default=None
        Field with the document's id; by default, the engine's own id.

    Returns
    -------
    FeatureLog
        ``X`` is a pyarrow table, without Vespa's tensors. Features missing in the log are NaN; in
        Solr's sparse format they have their default: 0, or the default in the feature set.

    Raises
    ------
    ValueError
        If the log has another feature set, or a response has an unknown format.

    Examples
    --------
    >>> values = [{"name": "bm25", "value": 1.5}, {"name": "price"}]
    >>> hit = {"_id": "a", "fields": {"_ltrlog": [{"main": values}]}}
    >>> judged = Qrels(np.array(["shoes"]), np.array(["a"]), np.array([3.0]))
    >>> X, y, qid = read_feature_log({"shoes": {"hits": {"hits": [hit]}}}, judged)
    >>> X.to_pylist(), y, qid
    ([{'bm25': 1.5, 'price': nan}], array([3.]), array(['shoes'], dtype='<U5'))
    """
    qrels = as_qrels(judgments)
    prefix = f"{source}: " if isinstance(source, str | Path) else ""
    responses = json_of(source) if prefix else json_of_client(source)
    defaults = _feature_set(features)
    names = None if defaults is None else list(defaults)
    documents, query = list[tuple[str, LoggedDocument | None]](), None
    try:
        answers, ids = _answers(responses, queries)
        for query, answer in zip(ids, map(json_of_client, answers), strict=True):
            logged = logged_documents(answer, entry, document, names)
            documents += [(query, log) for log in logged]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        where = "" if query is None else f"that to {quote(query)}: "
        rule = f"{prefix}source must hold search responses in a known format"
        raise ValueError(f"{rule}; {where}{reason}") from error
    rows: dict[tuple[str, str], LoggedDocument] = {}
    for query, log in documents:
        if log is not None and rows.setdefault((query, log.document), log) != log:
            pair = quote((query, log.document))
            raise ValueError(f"{prefix}source must have one log of {pair}; got two that differ.")
    if not any(names or log.features for log in rows.values()):
        named = "" if entry is None else f" in {quote(entry)}"
        raise ValueError(
            f"{prefix}source must hold a document with features{named}; got none. Request them in "
            "the search: by ext.ltr_log in Elasticsearch and OpenSearch, fl=[features] in Solr, "
            "and match-features in Vespa."
        )
    X = _matrix(list(rows.values()), defaults, prefix)
    qid, doc_ids = (np.array(column) for column in zip(*rows, strict=True))
    n_bare = sum(log is None for _, log in documents)
    if n_bare:
        rule = "documents of the responses have no logged features"
        warn_user(f"{n_bare} {rule}; they are skipped.")
    return _joined(X, qid, doc_ids, qrels)


def _answers(source: Any, queries: Sequence[Any] | None) -> tuple[list[Any], list[str]]:
    """Return ``(responses, queries)``: the responses of a source, and the query of each."""
    if isinstance(source, Mapping) and isinstance(source.get("responses"), list):
        source = source["responses"]
    if isinstance(source, Mapping) and is_answer(source):
        source = [source]
    if isinstance(source, Mapping):
        if queries is not None:
            raise ValueError(f"queries must be None for a mapping from them; got {quote(queries)}.")
        return list(source.values()), texts_of("queries", [*source])
    if not isinstance(source, Sequence) or isinstance(source, str):
        raise ValueError(f"source must hold search responses; got {quote(source)}.")
    if queries is None:
        queries = [_repeated(answer) for answer in source]
    if len(queries) != len(source):
        raise ValueError(f"queries must name {len(source)} responses; got {len(queries)} of them.")
    return list(source), texts_of("queries", queries)


def _repeated(answer: Any) -> str:
    """Return the query that the header of Solr's response repeats; refuse other responses."""
    header = answer.get("responseHeader", {}) if isinstance(answer, Mapping) else {}
    query = header.get("params", {}).get("q")
    if not isinstance(query, str):
        rule = "queries must name the query of each response, which the responses do not"
        raise ValueError(f"{rule}: write queries=['shoes'], or {{'shoes': answer}}.")
    return query


def _feature_set(features: Any) -> dict[str, float] | None:
    """Return the features of a set with their defaults, which sparse logs omit; or None.

    ``features`` are names, whose default is 0, or the path of a JSON file of a feature set.
    """
    if features is None:
        return None
    if not isinstance(features, str | Path):
        check_sequence("features", features)
        return {str(name): 0.0 for name in features}
    feature_set = json_of(features)
    for inner in ("_source", "featureset", "features"):
        feature_set = (
            feature_set.get(inner, feature_set) if isinstance(feature_set, Mapping) else feature_set
        )
    try:
        params = {feature["name"]: feature.get("params") for feature in feature_set}
        return {
            str(name): float(values.get("defaultValue", 0)) if isinstance(values, Mapping) else 0.0
            for name, values in params.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{features}: must be a feature set; got {quote(feature_set)}.") from error


def _matrix(rows: list[LoggedDocument], defaults: dict[str, float] | None, prefix: str) -> pa.Table:
    """Return the features of logged documents as a table; ``prefix`` begins messages.

    ``defaults`` are the feature set's defaults by name; None takes all names in the log. Refuses a
    document with other features.
    """
    if defaults is None:
        defaults = dict.fromkeys((name for row in rows for name in row.features), 0.0)
    for row in rows:
        lacking = defaults.keys() - row.features.keys() if row.is_whole else set()
        more = row.features.keys() - defaults.keys()
        if lacking or more:
            raise ValueError(
                f"{prefix}features must be the same for all documents of the log; got document "
                f"{quote(row.document)}, which lacks {quote(sorted(lacking))} and alone has "
                f"{quote(sorted(more))}."
            )
    columns = {}
    for name, default in defaults.items():  # which Solr omits
        values = [row.features.get(name, default if row.is_sparse else np.nan) for row in rows]
        columns[name] = np.array(values, dtype=np.float64)
    return pa.table(columns)


def _joined(X: pa.Table, qid: np.ndarray, ids: np.ndarray, judgments: Qrels) -> FeatureLog:
    """Return the log with the labels of its documents, NaN if not judged.

    Warns of judgments of documents that are not in the log, and refuses judgments of such alone.
    """
    y = judgments.labels_of(qid, ids, unjudged=np.nan)
    logged, pairs = set(pairs_of(qid, ids)), pairs_of(judgments.qid, judgments.doc_ids)
    alone = np.array([pair not in logged for pair in pairs], dtype=bool)
    if pairs and alone.all():
        got = f"{quote(pairs[0])}, and {quote((str(qid[0]), str(ids[0])))} in the log"
        raise ValueError(f"judgments must be of documents in the log; got {got}.")
    if alone.any():
        advice = "; see unjoined()" if has_spelling("source") else ""
        rule = "judgments are of documents that are not in the log"
        warn_user(f"{alone.sum()} of {len(alone)} {rule}{advice}.")
    unlogged = Qrels(*(np.asarray(column)[alone] for column in judgments))
    return FeatureLog(X, y, qid, None, ids, unlogged)
