"""``treerank rank``: result lists of a model for a data file."""

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from treerank.checks import quote
from treerank.cli import options as shared
from treerank.cli.console import Reporter
from treerank.cli.memory import Memory, score_data
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import RankingData
from treerank.files.replaced import replaced_file

#: A line of each format: query, document, rank and score. To add a format, add to all four.
LINES = {"tsv": "{}\t{}\t{}\t{}\n", "trec": "{} Q0 {} {} {} treerank\n"}
HEADERS = {"tsv": "qid\tdocument\trank\tscore\n", "trec": ""}
#: What ends a field of each format, so that no id may hold it, and its name in a message.
ENDS = {"tsv": r"[\t\r\n]", "trec": r"\s"}
ENDS_NAMED = {"tsv": "tabs and newlines", "trec": "white space"}
STDOUT = Path("-")
#: Digits of scores; tools that read lines of TREC sort by the score, and get all of them.
DIGITS = {"tsv": 7, "trec": 17}
_HELP = {
    "output": "File to write, or - for stdout.",
    "top": "Number of documents to print per query.",
    "format": "Table, or lines for trec_eval",
    "digits": "Significant digits of scores; by default 7, or 17, all of them, for trec.",
}
_OUTPUT = shared.option(shared.OUTPUT, _HELP["output"], "--output", "-o", metavar="FILE")
_TOP = shared.option(shared.OUTPUT, _HELP["top"], min=1, metavar="K")
_FORMAT = shared.choice(shared.OUTPUT, "format", LINES, _HELP["format"])
_DIGITS = shared.option(shared.OUTPUT, _HELP["digits"], min=1, max=17, metavar="N")


def rank(
    model: shared.ModelFile,
    data: shared.DataFile,
    output: Annotated[Path, _OUTPUT] = STDOUT,
    top: Annotated[int | None, _TOP] = None,
    format: Annotated[str, _FORMAT] = "tsv",
    digits: Annotated[int | None, _DIGITS] = None,
    query: shared.QueryOfModel = None,
    document: shared.Document = None,
    days_since: shared.DaysSinceOfModel = None,
    memory: Memory = None,
    sparse: shared.Sparse = False,
    quiet: shared.Quiet = False,
) -> None:
    """Rank the documents of each query of a data file, best first.

    Each line has a query, a document, its rank and its score. The name of a document is its --id,
    or the `docid =` of its comment, or else its number in the file, from 1. Queries are in the
    order of the file, and so are documents with equal scores.
    """
    if output != STDOUT:
        shared.check_written(output, model, data)
    reporter = Reporter(quiet)
    options: dict[str, Any] = {"comments": True, "sparse": sparse, "label": None}
    options |= shared.columns_for(
        [model], data, query=query, document=document, days_since=days_since
    )
    scores, documents = score_data(reporter, model, data, memory, **options)
    rows, ranks = best_first(scores, documents.qid)
    is_shown = ranks <= (top or len(ranks))
    rows, ranks = rows[is_shown], ranks[is_shown]
    columns = documents.qid[rows], document_names(documents)[rows], ranks, scores[rows]
    _check_ids(format, *columns[:2])
    with _text_output(output) as stream:
        stream.write(HEADERS[format])
        *names, ordered = (column.tolist() for column in columns)
        n_digits = digits or DIGITS[format]
        texts = [repr(score) if n_digits == 17 else f"{score:.{n_digits}g}" for score in ordered]
        lines = zip(*names, texts, strict=True)
        stream.writelines(LINES[format].format(*line) for line in lines)


def best_first(scores: np.ndarray, qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(rows, ranks)``: the rows by query, best first, and the rank of each from 1.

    Queries are in the order of the file, and so are rows of equal scores.

    Examples
    --------
    >>> best_first(np.array([0.1, 0.9, 0.5]), np.array(["b", "b", "a"]))
    (array([1, 0, 2]), array([1, 2, 1]))
    """
    groups, rows_in_order = QueryGroups.from_qid(qid), np.arange(len(scores))
    starts = groups.first_of(rows_in_order)[groups.codes]
    rows = np.lexsort((-scores, starts))  # keeps the order of rows with equal scores
    return rows, rows_in_order - np.searchsorted(starts[rows], starts[rows]) + 1


def document_names(documents: RankingData) -> np.ndarray:
    """Return the id of each document as text, or its row number from 1 where it has none.

    Examples
    --------
    >>> comments = np.array(["docid = GX1", ""], dtype=object)
    >>> document_names(RankingData(np.eye(2), np.zeros(2), np.zeros(2), comments))
    array(['GX1', '2'], dtype=object)
    """
    doc_ids = documents.doc_ids.astype(str).astype(object)
    numbers = np.arange(1, len(doc_ids) + 1).astype(str).astype(object)
    return np.where(doc_ids == "", numbers, doc_ids)


def _check_ids(format: str, *columns: np.ndarray) -> None:
    """Refuse ids in ``columns`` with characters that end a field in the output format."""
    for value in np.unique(np.concatenate([column.astype(str) for column in columns])).tolist():
        if re.search(ENDS[format], value):
            rule = f"ids must be without {ENDS_NAMED[format]} in format {format!r}"
            other = " Write --format tsv." if format == "trec" else " Change them in the file."
            raise ValueError(f"{rule}; got {quote(value)}.{other}")


@contextlib.contextmanager
def _text_output(path: Path) -> Iterator[Any]:
    """Open stdout or a file for text; the file is replaced once it is whole.

    Bytes in ids that are not UTF-8 are written as they were read.
    """
    if path == STDOUT:
        sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
        yield sys.stdout
        return
    with replaced_file(path) as file:
        text = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="\n")
        yield text
        text.detach()  # writes what is buffered, but leaves the file open
