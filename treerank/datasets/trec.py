"""TREC files: runs, which are result lists of a system, and qrels, which are judgments.

A line of a run is ``query Q0 document rank score tag``, one of qrels ``query 0 document label``.
Readers ignore the second column, and the rank, as trec_eval does.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, quote
from treerank.datasets.qrels import Qrels, texts_of
from treerank.display.results import html_of, shown_by_columns, text_of
from treerank.display.tables import Table, counted
from treerank.documents.queries import QueryGroups
from treerank.files.compression import TEXT_IN_UTF8, compressed, open_text
from treerank.files.replaced import replaced_file
from treerank.parameters import check_arguments


class TrecRun(NamedTuple):
    """Result lists.

    Attributes
    ----------
    qid, doc_ids : ndarray of str
        Query and document of each line.
    scores : ndarray of shape (n_lines,)
        Scores; higher is better.

    Examples
    --------
    >>> TrecRun(np.array(["shoes"]), np.array(["a"]), np.array([7.5])).doc_ids
    array(['a'], dtype='<U1')
    """

    qid: np.ndarray
    doc_ids: np.ndarray
    scores: np.ndarray

    def _shown(self) -> Table:
        return shown_by_columns(
            f"Lists of {counted(len(self.scores), 'document')}.", self._asdict()
        )

    def __repr__(self) -> str:
        return text_of(self._shown())

    def _repr_html_(self) -> str:
        return html_of(self._shown())


@check_arguments
def read_trec_run(path: str | Path) -> TrecRun:
    """Return the result lists of a run file, which may be compressed.

    As in trec_eval, a list that contains a document twice is refused, because the document would
    count twice.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "run.txt"
    >>> write_trec_run(path, scores=[0.5, 0.7], qid=["q", "q"], doc_ids=["a", "b"])
    >>> read_trec_run(path).doc_ids
    array(['b', 'a'], dtype='<U1')
    """
    run = TrecRun(*_columns(Path(path), n_fields=6, field_numbers=(0, 2, 4)))
    seen: set[tuple[str, str]] = set()
    for pair in zip(run.qid.tolist(), run.doc_ids.tolist(), strict=True):
        if pair in seen:
            query, document = map(quote, pair)
            rule = f"a document must occur once in the list of a query; got {document} twice"
            raise ValueError(f"{path}: {rule} in that of {query}.")
        seen.add(pair)
    return run


@check_arguments
def read_trec_qrels(path: str | Path) -> Qrels:
    r"""Return the judgments of a qrels file, which may be compressed.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "qrels.txt"
    >>> n_bytes = path.write_text("q 0 a 1\nq 0 b 0\n")
    >>> read_trec_qrels(path).y
    array([1., 0.])
    """
    return Qrels(*_columns(Path(path), n_fields=4, field_numbers=(0, 2, 3)))


@check_arguments
def write_trec_run(
    path: str | Path,
    *,
    scores: ArrayLike,
    qid: ArrayLike,
    doc_ids: ArrayLike,
    tag: str = "treerank",
) -> None:
    """Write result lists, best document first; ties are broken by row.

    Parameters
    ----------
    path : str or Path
        File to write.
    scores, qid, doc_ids : array-like of shape (n_documents,)
        Score, query and name of each document.
    tag : str, default="treerank"
        Name of the system.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "run.txt"
    >>> write_trec_run(path, scores=[0.5, 0.7], qid=["q", "q"], doc_ids=["a", "b"])
    >>> print(path.read_text())
    q Q0 b 1 0.7 treerank
    q Q0 a 2 0.5 treerank
    """
    scores = check_column("scores", scores)
    groups = QueryGroups.from_qid(qid, len(scores))
    queries, documents = _words("qid", qid, len(scores)), _words("doc_ids", doc_ids, len(scores))
    _words("tag", [tag], 1)
    order = np.lexsort((-scores, groups.codes))
    with replaced_file(path) as file, compressed(file, path) as stream:
        for row, rank in zip(order, groups.positions + 1, strict=True):
            line = f"{queries[row]} Q0 {documents[row]} {rank} {float(scores[row])!r} {tag}\n"
            stream.write(line.encode())


def finite_number(value: Any) -> float | None:
    """Return a number, or the number that a text holds; None if it is not finite or not a number.

    Examples
    --------
    >>> finite_number("1e3"), finite_number("1_000"), finite_number("inf")
    (1000.0, None, None)
    """
    try:
        number = math.nan if isinstance(value, str) and "_" in value else float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _words(name: str, values: ArrayLike, n: int) -> list[str]:
    """Return ``n`` names as text; refuse those with spaces, NUL or characters outside of UTF-8.

    ``name`` is the argument's name in the message.
    """
    texts = texts_of(name, values, n)
    for word, value in zip(texts, np.array(values, object), strict=True):  # text loses a last NUL
        if word.split() != [word] or "\0" in f"{word}{value}":
            raise ValueError(f"{name} must be words without spaces or NUL; got {quote(value)}.")
        if word.encode("utf-8", "replace").decode("utf-8") != word:  # half of a pair of UTF-16
            raise ValueError(f"{name} must be text in UTF-8; got {quote(value)}.")
    return texts


def _columns(
    path: Path, n_fields: int, field_numbers: tuple[int, int, int]
) -> tuple[Any, Any, Any]:
    """Return three fields of each line of a file: two as text and one as float.

    A line must have ``n_fields`` fields, separated by spaces; ``field_numbers`` are the indices of
    the three. Empty lines are skipped.
    """
    rows = list[tuple[str, str, float]]()
    with open_text(path) as text:
        for number, line in enumerate(text.stream, 1):
            where = f"{text.name}:{number}"
            try:
                content = line.decode("utf-8-sig").rstrip("\r\n")
            except UnicodeDecodeError as error:
                rule = f"a line must be {TEXT_IN_UTF8}"
                raise ValueError(f"{where}: {rule}; got {quote(line)}.") from error
            fields = content.split()
            if not fields:
                continue
            if len(fields) != n_fields:
                rule = f"a line must have {n_fields} fields"
                raise ValueError(f"{where}: {rule}; got {quote(content)}.")
            number_text = fields[field_numbers[2]]
            value = finite_number(number_text)
            if value is None:
                raise ValueError(f"{where}: it must have a number; got {quote(number_text)}.")
            rows.append((fields[field_numbers[0]], fields[field_numbers[1]], value))
    queries, documents, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(queries, str), np.array(documents, str), np.array(numbers, np.float64)
