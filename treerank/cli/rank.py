"""``treerank rank``: from a model and a LETOR file to result lists."""

import contextlib
import io
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from treerank.cli.console import Reporter
from treerank.cli.options import (
    Cache,
    DataFile,
    ModelFile,
    Quiet,
    Sparse,
    one_of,
    read_model_and_data,
)
from treerank.files.replaced import replaced_file
from treerank.inputs.grouping import QueryGroups

#: Query, document, rank and score by format; the run's name ends a line of TREC's.
LINES = {"tsv": "{}\t{}\t{}\t{!r}\n", "trec": "{} Q0 {} {} {!r} treerank\n"}
HEADERS = {"tsv": "qid\tdocument\trank\tscore\n", "trec": ""}


def rank(
    model: ModelFile,
    data: DataFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; by default stdout.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only so many documents of each query.")
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            "--format",
            callback=one_of(tuple(LINES)),
            metavar="NAME",
            help="tsv: tab-separated, with a header. trec: lines as trec_eval reads them.",
        ),
    ] = "tsv",
    sparse: Sparse = False,
    cache: Cache = False,
    quiet: Quiet = False,
):
    """Rank the documents of each query of a LETOR file, best first.

    One line per document: query, document, rank and score. A document is named by the `docid =`
    of its comment or, where there is none, by its number in the file, from 1. Queries come as in
    the file; of equal scores, the earlier document comes first.
    """
    options = {"comments": True, "sparse": sparse, "cache": cache}
    ranker, documents = read_model_and_data(Reporter(quiet), model, data, **options)
    scores = ranker.predict(documents.X)
    rows, ranks = best_first(scores, documents.qid)
    shown = ranks <= (top or len(ranks))
    rows, ranks = rows[shown], ranks[shown]
    columns = documents.qid[rows], _names(documents.doc_ids)[rows], ranks, scores[rows]
    with _text_output(output) as stream:
        stream.write(HEADERS[layout])
        lines = zip(*(column.tolist() for column in columns), strict=True)
        stream.writelines(LINES[layout].format(*line) for line in lines)


def best_first(scores, qid):
    """Return rows, best first query by query as they come in the file, and their ranks.

    Examples
    --------
    >>> best_first(np.array([0.1, 0.9, 0.5]), np.array(["b", "b", "a"]))
    (array([1, 0, 2]), array([1, 2, 1]))
    """
    codes = QueryGroups.from_qid(qid).codes
    _, first_rows = np.unique(codes, return_index=True)
    starts = first_rows[codes]  # of equal scores, lexsort keeps the earlier row first
    rows = np.lexsort((-scores, starts))
    begins = np.append(True, np.diff(starts[rows]) != 0)
    places = np.arange(len(rows))
    return rows, places - np.maximum.accumulate(np.where(begins, places, 0)) + 1


def _names(doc_ids):
    numbers = np.arange(1, len(doc_ids) + 1).astype(str).astype(object)
    return np.where(doc_ids == "", numbers, doc_ids)


@contextlib.contextmanager
def _text_output(path):
    """Open stdout, or a file that appears only once it is whole."""
    if path is None:
        yield sys.stdout
        return
    with replaced_file(path) as file:
        text = io.TextIOWrapper(file, "utf-8", "surrogateescape")
        yield text
        text.detach()  # flushes, and leaves the closing to the other
