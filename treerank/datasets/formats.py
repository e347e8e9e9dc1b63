"""Formats: the kinds of files that hold ranking data, by the suffix of the file's name.

To add a format, write functions that read such a file, as a whole and in batches, and one that
writes batches, and add an entry for its suffix to ``FORMATS``.
"""

from pathlib import Path
from typing import Any, NamedTuple

from treerank.checks import quote
from treerank.documents.ranking_data import Batches, RankingData
from treerank.files.object_stores import as_url, shown
from treerank.lazy import load_object
from treerank.parameters import check_arguments
from treerank.spelling import spelled


class FileFormat(NamedTuple):
    """A file format and its functions, each named as ``"module:function"``.

    Attributes
    ----------
    name : str
        Name of the format in messages.
    reader : str
        Function that reads a whole file as ``RankingData``.
    batch_reader : str
        Function that reads a file in batches.
    batch_writer : str
        Function that writes batches to one file.
    options : tuple of str
        Names of the keyword arguments that the readers take.
    """

    name: str
    reader: str
    batch_reader: str
    batch_writer: str
    options: tuple[str, ...] = ("comments",)


LETOR = FileFormat(
    "LETOR",
    "treerank.datasets.letor:read_letor",
    "treerank.datasets.letor:letor_batches",
    "treerank.datasets.letor:write_letor_batches",
    ("n_features", "sparse", "dtype", "comments"),
)
PARQUET = FileFormat(
    "Parquet, CSV or TSV",
    "treerank.datasets.parquet:read_parquet",
    "treerank.datasets.parquet:parquet_batches",
    "treerank.datasets.parquet:write_parquet_batches",
    (
        *("label", "query", "features", "document", "drop", "comments", "days_since"),
        *("filesystem", "categories"),
    ),
)
#: The format of each suffix; a file with any other suffix is read as a LETOR file.
FORMATS = {".txt": LETOR, ".txt.gz": LETOR, ".parquet": PARQUET}
FORMATS |= dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), PARQUET)


def format_of(path: str | Path) -> FileFormat:
    """Return the format of a file by the suffix of its name; the longest suffix decides.

    A folder of Parquet files has their format, and so has a URL without a suffix.
    """
    url = as_url(path)
    name = (str(path) if url is None else shown(url)).lower()
    matches = [suffix for suffix in FORMATS if name.endswith(suffix)]
    if matches:
        return FORMATS[max(matches, key=len)]
    if url is not None:
        return PARQUET
    if not Path(path).is_dir():
        return LETOR
    has_parquet = load_object("treerank.datasets.parquet_folders:has_parquet")
    return PARQUET if has_parquet(path) else LETOR


def format_to_write(path: str | Path) -> FileFormat:
    """Return the format of a file to write; refuse a suffix that no format has.

    A name without a suffix means a LETOR file.

    Examples
    --------
    >>> format_to_write("train.xls")
    Traceback (most recent call last):
    ...
    ValueError: train.xls: the suffix must be one of LETOR (.txt, .txt.gz), Parquet, CSV or TSV \
(.parquet, .csv, .csv.gz, .tsv, .tsv.gz); got the suffix '.xls'.
    """
    suffix = Path(path).suffix
    if suffix and not str(path).lower().endswith(tuple(FORMATS)):
        raise ValueError(
            f"{path}: the suffix must be one of {format_names()}; got the suffix {quote(suffix)}."
        )
    return format_of(path)


def format_names() -> str:
    """Return the names and suffixes of all formats, as help texts show them.

    Examples
    --------
    >>> format_names()
    'LETOR (.txt, .txt.gz), Parquet, CSV or TSV (.parquet, .csv, .csv.gz, .tsv, .tsv.gz)'
    """
    suffixes = {f: [s for s in FORMATS if FORMATS[s] == f] for f in FORMATS.values()}
    return ", ".join(f"{f.name} ({', '.join(names)})" for f, names in suffixes.items())


def read_ranking_data(path: str | Path, **options: Any) -> RankingData:
    """Read a file of ranking data in the format that its name says.

    Options are as in :func:`~treerank.datasets.letor.read_letor` and
    :func:`~treerank.datasets.parquet.read_parquet`. A format need not have those that are None or
    False.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.txt"
    >>> n_bytes = path.write_text("2 qid:7 1:0.5 2:3")
    >>> X, y, qid = read_ranking_data(path)
    >>> X, y, qid
    (array([[0.5, 3. ]]), array([2.]), array([7]))
    """
    file_format = PARQUET if options.get("filesystem") is not None else format_of(path)
    checked = _checked_options(
        options, file_format.options, f"a file of format {file_format.name}", path
    )
    data: RankingData = load_object(file_format.reader)(path, **checked)
    return data


@check_arguments
def read_batches(path: str | Path, *, batch_size: int | None = None, **options: Any) -> Batches:
    """Return the rows of a file in batches; its suffix gives the format.

    Parameters
    ----------
    path : str or path
        File or folder to read, or the URL of one in an object store.
    batch_size : int, default=None
        About how many rows a batch has; ``None`` is as many as hold four million numbers.
    **options
        As in :func:`~treerank.datasets.letor.read_letor`, but for ``sparse`` and ``dtype``,
        and of :func:`~treerank.datasets.parquet.read_parquet`.

    Returns
    -------
    Batches
        Reads the file in every iteration.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "train.txt"
    >>> n_bytes = path.write_text("2 qid:7 1:0.5 2:3")
    >>> [batch.y for batch in read_batches(path)]
    [array([2.])]
    """
    file_format = PARQUET if options.get("filesystem") is not None else format_of(path)
    names = [name for name in file_format.options if name not in ("sparse", "dtype")]
    checked = _checked_options(options, names, f"batches of a {file_format.name} file", path)
    batches: Batches = load_object(file_format.batch_reader)(path, batch_size=batch_size, **checked)
    return batches


def _checked_options(options, names, kind, path):
    """Return the options that are in ``names``; refuse any other option that is set.

    An option that is ``None`` or ``False`` counts as not set. ``kind`` describes in the message
    what is read from ``path``.
    """
    for name, value in options.items():
        if name not in names and value not in (None, False):
            got = f"got {quote(value)} for {path}. By its name, a file is {format_names()}."
            raise ValueError(f"{spelled(name)} must not be set for {kind}; {got}")
    return {name: value for name, value in options.items() if name in names}
