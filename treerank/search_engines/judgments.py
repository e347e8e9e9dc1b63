"""Judgment lists, in the file formats of the programs that collect them.

The formats are defined in these repositories: o19s/quepid ``app/views/api/v1/export`` and
``app/controllers/api/v1/judgements_controller.rb``, SeaseLtd/rated-ranking-evaluator ``rre-core``
(``ratings_example.json`` and ``Engine.relevantDocuments``), opensearch-project/search-relevance
``ImportJudgments.json``, o19s/hello-ltr ``ltr/judgments.py``, elastic/elasticsearch
``rank-eval.asciidoc``. To add a JSON format, write a generator of (query, document,
rating) and list it in ``_FORMATS`` under a key that only such a file has at its top level.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import naming, quote
from treerank.datasets.csv_files import OTHER_DELIMITERS
from treerank.datasets.qrels import NO_JUDGMENTS, Qrels, texts_of
from treerank.datasets.trec import finite_number, read_trec_qrels
from treerank.documents.columns import BEHAVIOR_NAMES
from treerank.documents.number_texts import MISSING_TEXTS, NUMBER
from treerank.files.compression import TEXT_IN_UTF8, is_regular_file, open_text
from treerank.parameters import check_arguments
from treerank.spelling import has_spelling

Triples = Iterator[tuple[Any, Any, Any]]
#: Names of columns of CSV files, in lower case.
_QUERY = ("query", "query_text", "keywords", "qid", "query_id", "question", "question_id")
_DOCUMENT = (
    *("docid", "doc_id", "document", "document_id", "corpus_id", "doc", "docno", "pid"),
    *("passage_id", "product_id", "item_id", "id"),
)
_LABEL = ("rating", "grade", "label", "relevance", "judgment", "judgement")
#: Name of the index of a data frame, as pandas writes it, and as it then reads and writes it again.
_INDEX = re.compile(r"(Unnamed: \d+)?")
#: Last words of the names of columns that a program has computed.
_COMPUTED = ("score", "scores", "rank", "ranking", "probability", "confidence", "weight", "count")
#: A grade, in a file without a column that is named like a label.
_GRADE = re.compile(r"\s*(10|[0-9])([.,]0*)?\s*")
#: Beginning of a line of a training set, and a whole line of qrels.
_QUERIES = re.compile(rb"\s*(#|\S+\s)\s*qid:")
_QRELS = re.compile(rb"\S+\s+Q?0\s+\S+\s" + NUMBER.removeprefix("^").encode())
#: A line of a training set without features, and a comment that names a query.
_LINE = re.compile(r"(\S+)\s+qid:(\S+)\s.*?#\s*(?:docid\s*=\s*)?(\S+?);?(?:\s|$)")
_QUERY_LINE = re.compile(r"#\s*qid:([^\s:]+):\s*(.*?)(\*[0-9.]+)?\s*")


@check_arguments
def read_judgments(
    path: str | Path,
    *,
    query: str | None = None,
    document: str | None = None,
    label: str | Sequence[str] | None = None,
) -> Qrels:
    r"""Read a judgment list from a file; the judgments of several judges follow one another.

    A JSON or JSON Lines file may be an export of Quepid (ratings, a case or a book), ratings of
    RRE, judgments of OpenSearch's search-relevance plugin, or a request of ``_rank_eval``. A CSV or
    TSV file may be one of Quepid's or any with column names. Any other file, and a TSV file without
    names, is TREC qrels, or has lines such as ``3 qid:1 # document``, where
    ``# qid:1: red shoes`` may name the query. Files may be compressed. Documents without a rating,
    or with ``NA``, ``null`` or the like as in :func:`~treerank.datasets.read_csv`, are unjudged and
    skipped. In a CSV file with semicolons, the comma in ``1,5`` is a decimal one.

    Parameters
    ----------
    path : str or path
        File to read.
    query, document : str, default=None
        Columns of a CSV file; by default, the one named "query" or "docid" or the like.
    label : str or sequence of str, default=None
        Column of the labels of a CSV file, or one column per judge; by default, the one named
        "rating", "grade" or the like, such as "relevance_label". Without such a column, all other
        columns with names are judges, as in Quepid's books, provided that all cells are whole
        numbers from 0 to 10 and no column is named like clicks, positions or scores.

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
        first_line = text.lstrip("\r\n").partition("\n")[0]
        alternatives = (sign for sign in OTHER_DELIMITERS if sign in first_line)
        delimiter = usual if usual in first_line else next(alternatives, usual)
        triples = _of_table(text, delimiter, query, document, label)
    elif query or document or label:
        raise ValueError(
            f"query, document and label must be None for {quote(str(path))}, which is no CSV file."
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
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path}: must hold judgments in a known format; {reason}") from error
    if not rows:
        raise ValueError(f"{path}: must hold a judgment; got none.")
    qid, doc_ids, y = zip(*rows, strict=True)
    return Qrels(np.array(qid), np.array(doc_ids), np.array(y, dtype=np.float64))


def as_qrels(judgments: Any) -> Qrels:
    """Return judgments as Qrels, of Qrels, a path, ``{query: {document: label}}`` or None.

    Examples
    --------
    >>> as_qrels({"shoes": {"a": 3, "b": None}}).doc_ids
    array(['a'], dtype='<U1')
    """
    if judgments is None:
        return NO_JUDGMENTS
    if isinstance(judgments, str | Path):
        return read_judgments(judgments)
    if isinstance(judgments, Mapping):
        rows = [*_of_mapping(judgments)]
        if not rows:
            raise ValueError("judgments must hold a label; got none.")
        queries, documents, labels = zip(*rows, strict=True)
        qid, doc_ids = texts_of("qid", queries), texts_of("doc_ids", documents)
        judgments = Qrels(np.array(qid), np.array(doc_ids), np.array(labels, dtype=object))
    if not isinstance(judgments, Qrels):
        raise TypeError(
            "judgments must be the path of a file, {query: {document: label}} or Qrels; got "
            f"{quote(judgments)}. Of a data frame, write "
            "Qrels(frame['query'], frame['document'], frame['label'])."
        )
    with naming("judgments"):
        return judgments.judged()


def json_of(path: str | Path) -> Any:
    """Return the value in a JSON file, or the list of values in a JSON Lines file.

    Refuses anything else.
    """
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


def _of_mapping(judgments: Mapping[Any, Any]) -> Triples:
    """Yield (query, document, label) of ``{query: {document: label}}``."""
    for query, labels in judgments.items():
        if not isinstance(labels, Mapping):
            raise TypeError(
                f"judgments must be {{query: {{document: label}}}}; got {quote(labels)} for "
                f"{quote(query)}."
            )
        yield from ((query, document, label) for document, label in labels.items())


def _text(path: str | Path) -> str:
    with open_text(path) as text:
        try:
            return str(text.stream.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: must be {TEXT_IN_UTF8}; {error}") from error


def _row(triple: tuple[Any, Any, Any]) -> tuple[str, str, float] | None:
    """Return ``(query, document, label)``, two texts and a number, or None if unjudged."""
    query, document, rating = (x.strip() if isinstance(x, str) else x for x in triple)
    if rating is None or rating in MISSING_TEXTS:
        return None
    for name, value in {"query": query, "document": document, "rating": rating}.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            raise TypeError(f"{name} must be text or a number; got {quote(value)}.")
    if (number := finite_number(rating)) is None:
        raise ValueError(f"rating must be a finite number; got {quote(rating)}.")
    return str(query), str(document), number


def _has(path: str | Path, pattern: re.Pattern[bytes], n_lines: int) -> bool:
    """Tell whether one of the first ``n_lines`` lines of a file matches a pattern.

    A pipe has none.
    """
    if not is_regular_file(path):  # a pipe is read only once
        return False
    with open_text(path) as text:
        return any(pattern.match(line) for line in islice(text.stream, n_lines))


def _of_lines(text: str) -> Triples:
    lines = [line.strip() for line in text.split("\n")]
    texts = {match[1]: match[2] for match in map(_QUERY_LINE.fullmatch, lines) if match}
    for line in lines:
        match = _LINE.match(line)
        if match:
            yield texts.get(match[2], match[2]), match[3], match[1]
        elif line and not line.startswith("#"):
            raise ValueError(f"a line must be as '3 qid:1 # document'; got {quote(line)}.")


def _of_table(text, delimiter, query, document, label):
    """Yield (query, document, rating) for each row of a CSV text and each of its label columns.

    ``query``, ``document`` and ``label`` are names of columns, or None to find them by usual names.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = filter(None, reader)  # without empty lines
    names = [name.strip() for name in next(rows, [])]
    cells = [*rows]
    for row in cells:
        if len(row) != len(names):
            raise ValueError(f"a row must have {len(names)} cells; got {quote(row)}.")
    query_column = _column("query", query, names, _QUERY)
    document_column = _column("document", document, names, _DOCUMENT)
    judges = list[int]()
    if label is not None:
        label_names = [label] if isinstance(label, str) else label
        labels = [_column("label", name, names, _LABEL) for name in label_names]
    elif any(map(_is_label, names)):
        labels = [_column("label", None, names, _LABEL)]
    else:
        named = [i for i, name in enumerate(names) if not _INDEX.fullmatch(name)]
        labels = judges = [i for i in named if i not in (query_column, document_column)]
    _check_judges(names, judges, cells)  # which quotes cells as they are in the file
    if delimiter == ";":
        for column in labels:
            _replace_decimal_commas(names[column], column, cells)
    for row in cells:
        for column in labels:
            yield row[query_column], row[document_column], row[column]


def _replace_decimal_commas(name: str, column: int, rows: list[list[str]]) -> None:
    """Write points for decimal commas in a column of rows; refuse a column that has both.

    ``name`` is the name of the column in the message.
    """
    numbers = [row for row in rows if finite_number(row[column].replace(",", ".")) is not None]
    if any("," in row[column] for row in numbers):
        for row in numbers:
            if "." in row[column]:  # 1.000 is one, or a thousand
                raise ValueError(
                    f"column {quote(name)} must have decimal commas or decimal points, not both; "
                    f"got {quote(row[column])}."
                )
            row[column] = row[column].replace(",", ".")


def _is_label(name: str) -> bool:
    """Return whether a column is named like a label, such as "relevance_label"."""
    name_parts = re.split(r"[\W_]+", name.lower())
    return not {*name_parts}.isdisjoint(_LABEL) and not _is_behavior_or_computed(name)


def _is_behavior_or_computed(name: str) -> bool:
    """Return whether a column is named like user behavior, positions, or an engine's scores.

    A column named just "score" may hold grades, as in the files of BEIR.
    """
    name_parts = re.split(r"[\W_]+", name.lower())
    if name_parts == ["score"]:
        return False
    return "_".join(name_parts) in BEHAVIOR_NAMES or name_parts[-1] in (*BEHAVIOR_NAMES, *_COMPUTED)


def _check_judges(names: list[str], judges: list[int], rows: list[list[str]]) -> None:
    """Refuse columns as judges whose cells are not whole numbers from 0 to 10.

    ``judges`` are column indices of a file without a column named like a label. Refuses columns
    named like user behavior or scores, too.
    """
    for column in judges:
        for row in rows:
            is_missing = row[column].strip() in MISSING_TEXTS
            if not is_missing and not _GRADE.fullmatch(row[column]):
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


def _column(role: str, requested: str | None, names: list[str], usual: Sequence[str]) -> int:
    """Return the index of a column: the one named ``requested``, or else the first usual name.

    ``usual`` names are compared in lower case, with ``_`` for spaces and hyphens, in their order.
    ``role`` is the argument that errors name: if there is no such column, if its name is there
    twice, or if several columns could be the label.
    """
    lower = [re.sub("[ -]", "_", name.lower()) for name in names]
    columns = [i for i, name in enumerate(names) if name == requested]
    if requested is None:
        columns = [lower.index(name) for name in usual if name in lower]
        if usual is _LABEL:
            columns = columns or [i for i, name in enumerate(names) if _is_label(name)]
    if not columns:
        rule, advice = f"{quote(requested)}", ""
        if requested is None:
            rule = f"one of {[*usual]}"
            advice = " Rename the column."
            if has_spelling("path"):
                advice = f" For another one, write read_judgments(path, {role}=...)."
        raise ValueError(f"{role} must be a column, {rule}; got {quote(names)}.{advice}")
    if usual is _LABEL and requested is None and len(columns) > 1:
        rule = f"{role} must name the column of labels; got None and {[names[i] for i in columns]}"
        raise ValueError(f"{rule}. The shell takes a file with one of them.")
    if names.count(names[columns[0]]) > 1:
        raise ValueError(
            f"{role} must be one column; {quote(names[columns[0]])} is there twice in "
            f"{quote(names)}."
        )
    return columns[0]


def _of_json(value: Any) -> Triples:
    if isinstance(value, list):
        for item in value:
            yield from _of_json(item)
        return
    reader = next((reader for key, reader in _FORMATS.items() if key in value), None)
    if reader is None:
        raise ValueError(f"it must have one of {[*_FORMATS]} at its top; got {quote(value)}.")
    yield from reader(value)


def _of_pairs(outer: str, query: str, inner: str, document: str, value: Any) -> Triples:
    """Yield (query, document, rating) of a JSON object whose arguments are the keys of its format.

    ``value[outer]`` is a list of queries, and ``inner`` the key of the ratings of each.
    """
    for item in value[outer]:
        for rating in item[inner]:
            yield item[query], (item | rating)[document], rating["rating"]


def _of_rre_query(placeholders: dict[str, Any], judged: dict[str, Any]) -> Triples:
    """Yield (query, document, label) for the judged documents of one query of an RRE file.

    The query's text is the placeholder ``$query`` of ``placeholders``, or the only one. ``judged``
    is ``{document: {"gain": 3}}``, with "rating" instead of "gain", or ``{"3": [document, ...]}``.
    """
    (query,) = [placeholders["$query"]] if len(placeholders) > 1 else placeholders.values()
    for key, value in judged.items():
        if isinstance(value, list):
            yield from ((query, document, key) for document in value)
        else:
            yield query, key, value["gain"] if "gain" in value else value["rating"]


def _of_queries(value: dict[str, Any]) -> Triples:
    """Yield (query, document, rating) of a JSON object of Quepid or of RRE.

    Topics and query groups of RRE, which nest queries, are read recursively.
    """
    for part in (*value.get("topics", ()), *value.get("query_groups", ())):
        yield from _of_queries(part)
    judged = value.get("relevant_documents", {})
    for query in value.get("queries", ()):
        if "placeholders" in query:
            documents = judged | query.get("relevant_documents", {})
            yield from _of_rre_query(query["placeholders"], documents)
            continue
        text, ratings = query.get("query_text", query.get("query")), query["ratings"]
        if isinstance(ratings, dict):
            yield from ((text, document, rating) for document, rating in ratings.items())
        else:
            yield from ((text, rating["doc_id"], rating["rating"]) for rating in ratings)


_FORMATS: dict[str, Callable[[Any], Triples]] = {
    "judgmentRatings": partial(_of_pairs, "judgmentRatings", "query", "ratings", "docId"),
    "hits": lambda answer: _of_json([hit["_source"] for hit in answer["hits"]["hits"]]),
    "requests": partial(_of_pairs, "requests", "id", "ratings", "_id"),
    "query_doc_pairs": partial(_of_pairs, "query_doc_pairs", "query_text", "judgements", "doc_id"),
    **dict.fromkeys(("topics", "query_groups", "queries"), _of_queries),
}
