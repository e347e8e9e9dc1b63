"""Judgments in the files of the programs that collect them; see :func:`read_judgments`.

The shapes are those of these repositories: o19s/quepid ``app/views/api/v1/export`` and
``app/controllers/api/v1/judgements_controller.rb``, SeaseLtd/rated-ranking-evaluator ``rre-core``
(``ratings_example.json`` and ``Engine.relevantDocuments``), opensearch-project/search-relevance
``ImportJudgments.json``, o19s/hello-ltr ``ltr/judgments.py``, elastic/elasticsearch
``rank-eval.asciidoc``. To add a shape of JSON, write what yields its triples, and list it in
``_SHAPES`` by a name that only such a file has at its top.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.datasets.csv_files import OTHER_DELIMITERS
from treerank.datasets.qrels import Qrels
from treerank.datasets.trec import finite_number, read_trec_qrels
from treerank.documents.columns import BEHAVIOR_NAMES
from treerank.files.compression import is_regular_file, open_text

Triples = Iterator[tuple[Any, Any, Any]]
#: Names that columns of CSV files have, in small letters.
_QUERY = ("query", "query_text", "keywords", "qid", "query_id")
_DOCUMENT = ("docid", "doc_id", "document", "document_id", "corpus_id", "id")
_LABEL = ("rating", "grade", "label", "relevance", "judgment", "judgement")
#: Last words of names of columns that hold what an engine or a program has computed.
_COMPUTED = ("score", "scores", "rank", "ranking", "probability", "confidence", "weight", "count")
#: What a judge writes, if no column has the name of a label.
_GRADE = re.compile(r"\s*(10|[0-9])(\.0*)?\s*")
#: Begin of a line that only training sets have, and a whole line of qrels.
_QUERIES, _QRELS = re.compile(rb"\s*(#|\S+\s)\s*qid:"), re.compile(rb"\S+\s+Q?0\s+\S+\s+-?\d+\s*$")
#: A line of a training set that holds no features yet, and one that says what a query is.
_LINE = re.compile(r"(\S+)\s+qid:(\S+)\s.*?#\s*(?:docid\s*=\s*)?(\S+?);?(?:\s|$)")
_QUERY_LINE = re.compile(r"#\s*qid:([^\s:]+):\s*(.*?)(\*[0-9.]+)?\s*")


def read_judgments(
    path: str | Path,
    *,
    query: str | None = None,
    document: str | None = None,
    label: str | Sequence[str] | None = None,
) -> Qrels:
    r"""Read the judgments of a file; one judge after the other if there are several.

    A file of JSON (also of lines) is an export of Quepid (ratings, a case or a book), ratings of
    RRE, judgments of OpenSearch's search-relevance plugin, or a request of ``_rank_eval``. A CSV or
    TSV file is one of Quepid's or any with names of columns. Any other file, and a TSV file without
    names, is qrels of TREC, or has lines such as ``3 qid:1 # document``, where
    ``# qid:1: red shoes`` may name the query. Each may be compressed. What has no rating is not
    judged and left out.

    Parameters
    ----------
    path : str or path
        File to read.
    query, document : str, default=None
        Columns of a CSV file; by default, the one named "query" or "docid" or the like.
    label : str or sequence of str, default=None
        Column of the labels of a CSV file, or a column for each judge; by default, the one named
        "rating", "grade" or the like, such as "relevance_label". If there is none, all others are
        judges, as in Quepid's books, unless a cell is no whole number from 0 to 10, or a name is
        that of clicks, of positions or of scores.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "book.csv"
    >>> path.write_text("query,docid,Ann,Bob\nshoes,a,3,2\nshoes,b,,0\n") > 0
    True
    >>> judges = read_judgments(path)
    >>> judges.doc_ids, judges.y
    (array(['a', 'a', 'b'], dtype='<U1'), array([3., 2., 0.]))
    >>> judges.merged().y
    array([2.5, 0. ])
    """
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(".tsv") and _has(path, _QRELS, n_lines=1):
        name = "qrels"
    if name.endswith((".csv", ".tsv")):
        text, usual = _text(path), "," if name.endswith(".csv") else "\t"
        first_line = text.partition("\n")[0]
        others = (other for other in OTHER_DELIMITERS if other in first_line)
        delimiter = usual if usual in first_line else next(others, usual)
        triples = _of_table(text, delimiter, query, document, label)
    elif query or document or label:
        raise ValueError(
            f"query, document and label must be None for {path}, which is no CSV file."
        )
    elif name.endswith((".json", ".jsonl", ".ndjson")):
        triples = _of_json(json_of(path))
    elif _has(path, _QUERIES, n_lines=100):
        triples = _of_lines(_text(path))
    else:
        return read_trec_qrels(path)
    try:
        rows = [row for row in map(_row, triples) if row is not None]
    except (AttributeError, KeyError, TypeError, ValueError, csv.Error) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path}: must hold judgments of a known shape; {what}") from error
    if not rows:
        raise ValueError(f"{path}: must hold a judgment; got none.")
    qid, doc_ids, y = zip(*rows, strict=True)
    return Qrels(np.array(qid), np.array(doc_ids), np.array(y, dtype=np.float64))


def json_of(path: str | Path) -> Any:
    """Return what a JSON file holds, or the lines of one with a value in each line."""
    text = _text(path)
    try:
        try:
            return json.loads(text)
        except ValueError:
            lines = [line for line in text.split("\n") if line.strip()]
            if len(lines) < 2:
                raise
            return [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: must be JSON; {error}") from error


def _text(path: str | Path) -> str:
    with open_text(path) as text:
        try:
            return str(text.stream.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: must be text in UTF-8; {error}") from error


def _row(triple: tuple[Any, Any, Any]) -> tuple[str, str, float] | None:
    """Return query, document and label, or None for a document that is not judged."""
    query, document, rating = (x.strip() if isinstance(x, str) else x for x in triple)
    if rating in (None, ""):
        return None
    for what, value in {"query": query, "document": document, "rating": rating}.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            raise TypeError(f"{what} must be text or a number; got {quote(value)}.")
    if (number := finite_number(rating)) is None:
        raise ValueError(f"rating must be a finite number; got {quote(rating)}.")
    return str(query), str(document), number


def _has(path: str | Path, line: re.Pattern[bytes], n_lines: int) -> bool:
    """Tell whether a file has such a line among its first ones."""
    if not is_regular_file(path):  # a pipe is read only once
        return False
    with open_text(path) as text:
        return any(line.match(each) for each in islice(text.stream, n_lines))


def _of_lines(text: str) -> Triples:
    lines = [line.strip() for line in text.split("\n")]
    named = {found[1]: found[2] for found in map(_QUERY_LINE.fullmatch, lines) if found}
    for line in lines:
        found = _LINE.match(line)
        if found:
            yield named.get(found[2], found[2]), found[3], found[1]
        elif line and not line.startswith("#"):
            raise ValueError(f"a line must be as '3 qid:1 # document'; got {quote(line)}.")


def _of_table(text, delimiter, query, document, label):
    """Yield a triple for each judge of each row."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names = [name.strip() for name in next(rows, [])]
    cells = [row for row in rows if row]
    for row in cells:
        if len(row) != len(names):
            raise ValueError(f"a row must have {len(names)} cells; got {quote(row)}.")
    query_column = _column("query", query, names, _QUERY)
    document_column = _column("document", document, names, _DOCUMENT)
    if label is not None:
        wanted = [label] if isinstance(label, str) else label
        labels = [_column("label", each, names, _LABEL) for each in wanted]
    elif any(map(_is_label, names)):
        labels = [_column("label", None, names, _LABEL)]
    else:
        labels = [i for i in range(len(names)) if i not in (query_column, document_column)]
        _check_judges(names, labels, cells)
    for row in cells:
        for column in labels:
            yield row[query_column], row[document_column], row[column]


def _is_label(name: str) -> bool:
    """Tell whether a column is one of labels by its name, such as "relevance_label"."""
    words = re.split(r"[\W_]+", name.lower())
    return not {*words}.isdisjoint(_LABEL) and not _is_behavior_or_computed(name)


def _is_behavior_or_computed(name: str) -> bool:
    """Tell by its name whether a column holds what users did, positions, or an engine's scores.

    A column named "score" alone may well hold grades, as in the files of BEIR.
    """
    words = re.split(r"[\W_]+", name.lower())
    if words == ["score"]:
        return False
    return "_".join(words) in BEHAVIOR_NAMES or words[-1] in (*BEHAVIOR_NAMES, *_COMPUTED)


def _check_judges(names: list[str], judges: list[int], rows: list[list[str]]) -> None:
    """Refuse columns without the name of a label that hold more than the grades of judges."""
    for column in judges:
        for row in rows:
            if row[column].strip() and not _GRADE.fullmatch(row[column]):
                raise ValueError(
                    f"label must name the column of labels, or one for each judge, where no column "
                    f"is named {' or '.join(_LABEL[:3])}, since {quote(names[column])} holds no "
                    f"grades; got {quote(row[column])} in it. Columns are {quote(names)}."
                )
    for column in judges:
        if _is_behavior_or_computed(names[column]):
            raise ValueError(
                f"label must name the column of labels, or one for each judge, where no column is "
                f"named {' or '.join(_LABEL[:3])}, since {quote(names[column])} is by its name no "
                f"judge. Columns are {quote(names)}."
            )


def _column(what: str, wanted: str | None, names: list[str], known: Sequence[str]) -> int:
    """Return the number of the column of this name, or of the first of the known names."""
    small = [re.sub("[ -]", "_", name.lower()) for name in names]
    columns = [i for i, name in enumerate(names) if name == wanted]
    if wanted is None:
        columns = [small.index(name) for name in known if name in small]
        if known is _LABEL:
            columns = columns or [i for i, name in enumerate(names) if _is_label(name)]
    if not columns:
        rule = f"one of {[*known]}" if wanted is None else f"{quote(wanted)}"
        raise ValueError(f"{what} must be a column, {rule}; got {quote(names)}.")
    if known is _LABEL and wanted is None and len(columns) > 1:
        rule = f"{what} must name the column of labels; got None and {[names[i] for i in columns]}"
        raise ValueError(f"{rule}. The shell takes a file with one of them.")
    if names.count(names[columns[0]]) > 1:
        raise ValueError(
            f"{what} must be one column; {quote(names[columns[0]])} is there twice in "
            f"{quote(names)}."
        )
    return columns[0]


def _of_json(whole: Any) -> Triples:
    if isinstance(whole, list):
        for each in whole:
            yield from _of_json(each)
        return
    shape = next((shape for name, shape in _SHAPES.items() if name in whole), None)
    if shape is None:
        raise ValueError(f"it must have one of {[*_SHAPES]} at its top; got {quote(whole)}.")
    yield from shape(whole)


def _of_pairs(outer: str, query: str, inner: str, document: str, whole: Any) -> Triples:
    """Yield the ratings of each query; the names are those of its parts."""
    for own in whole[outer]:
        for each in own[inner]:
            yield own[query], (own | each)[document], each["rating"]


def _of_rre_query(placeholders: dict[str, Any], judged: dict[str, Any]) -> Triples:
    """Yield the documents of a query: ``{document: {"gain": 3}}`` or ``{"3": [document]}``."""
    (query,) = [placeholders["$query"]] if len(placeholders) > 1 else placeholders.values()
    for key, value in judged.items():
        if isinstance(value, list):
            yield from ((query, document, key) for document in value)
        else:
            yield query, key, value["gain"] if "gain" in value else value["rating"]


def _of_queries(whole: dict[str, Any]) -> Triples:
    """Yield those of queries of Quepid, or of RRE, which may be parts of groups and topics."""
    for part in (*whole.get("topics", ()), *whole.get("query_groups", ())):
        yield from _of_queries(part)
    judged = whole.get("relevant_documents", {})
    for query in whole.get("queries", ()):
        if "placeholders" in query:
            own = judged | query.get("relevant_documents", {})
            yield from _of_rre_query(query["placeholders"], own)
            continue
        text, ratings = query.get("query_text", query.get("query")), query["ratings"]
        if isinstance(ratings, dict):
            yield from ((text, document, rating) for document, rating in ratings.items())
        else:
            yield from ((text, each["doc_id"], each["rating"]) for each in ratings)


_SHAPES: dict[str, Callable[[Any], Triples]] = {
    "judgmentRatings": partial(_of_pairs, "judgmentRatings", "query", "ratings", "docId"),
    "hits": lambda whole: _of_json([hit["_source"] for hit in whole["hits"]["hits"]]),  # a search
    "requests": partial(_of_pairs, "requests", "id", "ratings", "_id"),
    "query_doc_pairs": partial(_of_pairs, "query_doc_pairs", "query_text", "judgements", "doc_id"),
    **dict.fromkeys(("topics", "query_groups", "queries"), _of_queries),
}
