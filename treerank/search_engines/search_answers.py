"""Search responses with logged features of their documents.

The formats are defined in these repositories: o19s/elasticsearch-learning-to-rank
``docs/logging-features.rst`` and ``LoggingFetchSubPhase.java`` (``_ltrlog``, also OpenSearch's),
elastic/eland ``eland/ml/ltr/feature_logger.py``, apache/solr ``CSVFeatureLogger.java`` and
vespa-engine/vespa (``matchfeatures``).
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from treerank.checks import quote

#: Attributes of client objects that hold the JSON of a response.
_CLIENTS = ("body", "json", "raw_response")
#: An entry that plugins add to a log and that is not a feature.
_EXTRA = "extra_logging"
_SOLR = re.compile(r"[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*")
_VESPA = ("matchfeatures", "summaryfeatures", "rankfeatures")


class LoggedDocument(NamedTuple):
    """Features of a document that a search engine has logged.

    Attributes
    ----------
    document : str
        Id of the document.
    features : dict from str to float
        Features by name; NaN is a missing value.
    is_whole : bool
        Whether all features of the set are named.
    is_sparse : bool
        Whether features that are not named have their default; otherwise they are missing.
    """

    document: str
    features: dict[str, float]
    is_whole: bool = True
    is_sparse: bool = False


def logged_documents(
    answer: Any, entry: str | None, document: str | None, names: Sequence[str] | None
) -> Iterator[LoggedDocument | None]:
    """Yield the documents of a response; None for a document without features.

    Parameters
    ----------
    answer : mapping
        The response, as parsed JSON.
    entry : str or None
        Name of the log, needed if documents have several.
    document : str or None
        Field with the document's id; None is the engine's own id.
    names : sequence of str or None
        Names of the features of plain lists, as eland returns them.
    """
    if not isinstance(answer, Mapping):
        raise ValueError(f"a response must be a JSON object; got {quote(answer)}.")
    kind = next((kind for kind in _ENGINES if isinstance(answer.get(kind), Mapping)), None)
    body = answer if kind is None else answer[kind]
    error = body.get("errors", body.get("error"))  # of Vespa, and of the other engines
    if error is not None and "children" not in body:
        raise ValueError(f"a response must be the result of a search; got {quote(error)}.")
    if kind is not None:
        yield from _ENGINES[kind][1](body, entry, document)
    else:
        yield from _of_lists(answer, names)


def json_of_client(answer: Any) -> Any:
    """Return the JSON inside a client's response object; other values are returned unchanged."""
    if isinstance(answer, Mapping):
        return answer
    inner = (getattr(answer, name, None) for name in _CLIENTS)
    values = (value() if callable(value) else value for value in inner)
    return next((value for value in values if isinstance(value, Mapping)), answer)


def is_answer(response: Mapping[str, Any]) -> bool:
    """Return whether a mapping is a response, rather than a mapping from queries to responses."""
    return any(
        isinstance(response.get(kind), Mapping)
        and isinstance(response[kind].get(inner), list | str)
        for kind, (inner, _) in _ENGINES.items()
    )


def _of_hits(hits, entry, document):
    """Yield documents of Elasticsearch and OpenSearch: plugin logs, or named query scores."""
    # Eland asks for the scores of queries that have the names of features. Where none matches, the
    # hit names none, but others of the answer do.
    has_scores = any(isinstance(hit.get("matched_queries"), Mapping) for hit in hits["hits"])
    for hit in hits["hits"]:
        name = hit["_id"] if document is None else hit["_source"][document]
        logs = hit.get("fields", {}).get("_ltrlog")
        if logs is not None:
            log = _chosen(logs[0], entry)
            if not isinstance(log, Mapping | None):
                log = {item["name"]: item.get("value") for item in log if item["name"] != _EXTRA}
            yield _document(name, log)
        else:
            yield _document(name, hit.get("matched_queries", {}) if has_scores else None, False)


def _of_docs(response, entry, document):
    """Yield documents of Solr, whose sparse format omits defaults."""
    for doc in response["docs"]:
        text = doc.get("[features]") if entry is None else doc.get(entry)
        if text is None and entry is None:  # the field may have another name
            text = _chosen({key: doc[key] for key in doc if _SOLR.fullmatch(str(doc[key]))}, None)
        pairs = None if text is None else dict(map(_pair, filter(None, text.split(","))))
        yield _document(doc["id" if document is None else document], pairs, False, True)


def _pair(text):
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError as error:
        rule = "features must be name=number,name=number"
        raise ValueError(f"{rule}; got {quote(text)}.") from error


def _of_root(root, entry, document):
    """Yield documents of Vespa, without tensors and Vespa's internal numbers."""
    for hit in root.get("children", []):
        fields = hit.get("fields", {})  # a group of hits has none
        chosen = _chosen({key: fields[key] for key in _VESPA if key in fields}, entry)
        name = fields.get("documentid", hit["id"]) if document is None else fields.get(document)
        kept = [key for key in chosen or () if not key.startswith("vespa.")]
        numbers = {key: chosen[key] for key in kept if not isinstance(chosen[key], Mapping)}
        yield _document(name, None if chosen is None else numbers)


def _of_lists(answer, names):
    """Yield documents of eland: a list of feature values for each document."""
    for document, values in answer.items():
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise ValueError(
                "a response must be one of Elasticsearch, OpenSearch, Solr or Vespa, or lists of "
                f"features by document; got {quote(answer)}."
            )
        if names is None or len(names) != len(values):
            raise ValueError(
                "features must name the values of each document, which are plain lists; got "
                f"{quote(names)} for {quote(values)}."
            )
        yield _document(document, dict(zip(names, values, strict=True)))


#: By key at the top level of a response: a key one level below, and the reader.
_ENGINES = {"hits": ("hits", _of_hits), "response": ("docs", _of_docs), "root": ("id", _of_root)}


def _chosen(logs, entry):
    """Return the log named ``entry``, or the only one; None if there is none.

    Refuses several logs without a name.
    """
    if entry is None and len(logs) > 1:
        raise ValueError(f"entry must name one of the logs {quote([*logs])}; got None.")
    return logs.get(entry) if entry is not None else next(iter(logs.values()), None)


def _document(name, features, is_whole=True, is_sparse=False):
    """Return a :class:`LoggedDocument`, with features as numbers; None stays None.

    ``name`` is its id.
    """
    if features is None:
        return None
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise ValueError(f"the id of a document must be text or a number; got {quote(name)}.")
    numbers = {key: _number(key, value) for key, value in features.items()}
    return LoggedDocument(str(name), numbers, is_whole, is_sparse)


def _number(name: Any, value: Any) -> float:
    if not isinstance(name, str):
        raise ValueError(f"the name of a feature must be text; got {quote(name)}.")
    if value is None or value == "NaN" or value != value:  # one object, so that logs are equal
        return np.nan
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or abs(value) > sys.float_info.max:
        raise ValueError(f"feature {quote(name)} must be a number; got {quote(value)}.")
    return float(value)
