"""Formats: the kinds of files that hold ranking data, by the suffix of the file's name.

To add a format, write a module with a function that reads such a file and one that writes it, with
the parameters of :func:`~treerank.datasets.letor.read_letor` and
:func:`~treerank.datasets.letor.write_letor`, and add a line for its suffix to ``FORMATS``.
"""

from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from treerank.datasets.ranking_data import RankingData


class Format(NamedTuple):
    """A file format; ``reader`` and ``writer`` are functions, written ``module:function``."""

    name: str
    reader: str
    writer: str


LETOR = Format("LETOR", "treerank.datasets.letor:read_letor", "treerank.datasets.letor:write_letor")
#: The format of each suffix; a file with any other suffix is a LETOR file.
FORMATS = {".txt": LETOR, ".txt.gz": LETOR}


def format_of(path: str | Path) -> Format:
    """Return the format of a file by the suffix of its name; the longest suffix decides."""
    matches = [suffix for suffix in FORMATS if str(path).endswith(suffix)]
    return FORMATS[max(matches, key=len)] if matches else LETOR


def format_names() -> str:
    """Return the names and suffixes of all formats, as help texts show them.

    Examples
    --------
    >>> format_names()
    'LETOR (.txt, .txt.gz)'
    """
    suffixes = {each: [s for s in FORMATS if FORMATS[s] == each] for each in FORMATS.values()}
    return ", ".join(f"{each.name} ({', '.join(known)})" for each, known in suffixes.items())


def read_ranking_data(path: str | Path, **options: Any) -> RankingData:
    """Read a file of ranking data in the format that its name says.

    Parameters
    ----------
    path : str or path
        File to read; see :data:`FORMATS`.
    **options
        Options of the reader, as those of :func:`~treerank.datasets.letor.read_letor`.

    Returns
    -------
    RankingData
        Unpacks as ``X, y, qid``.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.txt"
    >>> write_ranking_data(path, [[0.5, 3.0]], [2], [7])
    >>> X, y, qid = read_ranking_data(path)
    >>> X, y, qid
    (array([[0.5, 3. ]]), array([2.]), array([7]))
    """
    return resolve_name(format_of(path).reader)(path, **options)


def write_ranking_data(
    path: str | Path, X: Any, y: ArrayLike, qid: ArrayLike, **options: Any
) -> None:
    r"""Write a file of ranking data in the format that its name says.

    Parameters
    ----------
    path : str or path
        File to write; see :data:`FORMATS`.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Features.
    y : array-like of shape (n_documents,)
        Relevance.
    qid : array-like of shape (n_documents,)
        Query ids.
    **options
        Options of the writer, as those of :func:`~treerank.datasets.letor.write_letor`.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.txt"
    >>> write_ranking_data(path, [[0.5, 3.0]], [2], [7], comments=["docid = GX1"])
    >>> path.read_text()
    '2 qid:7 1:0.5 2:3 # docid = GX1\n'
    """
    resolve_name(format_of(path).writer)(path, X, y, qid, **options)
