"""Options that several commands share, and the reading of their files."""

import csv
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.checks import check_choice, quote
from treerank.cli.console import Reporter
from treerank.datasets.formats import (
    PARQUET,
    format_names,
    format_of,
    read_batches,
    read_ranking_data,
)
from treerank.datasets.parquet_files import ParquetFiles, as_floats, as_ids, column_names
from treerank.documents.columns import default_names
from treerank.documents.embeddings import embedding_sizes, sources_of
from treerank.documents.features import feature_names_of
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import RankingData
from treerank.files.archive import is_archive
from treerank.files.compression import STANDARD_INPUT, is_regular_file
from treerank.files.object_stores import as_url, shown
from treerank.files.replaced import check_output
from treerank.forests.reading import READERS, UnknownFormatError, read_forest
from treerank.metrics.registry import get_metric
from treerank.rankers.forest_ranker import ForestRanker
from treerank.rankers.model_file import columns_in
from treerank.registry import load
from treerank.spelling import spelled

#: Panels of the help.
DATA, RANKER, TREES, SPLITS, OUTPUT = "Data", "Ranker", "Trees", "Splits", "Output"


def option(panel: str, help: str, *names: str, **settings: Any) -> Any:
    """Return a Typer option listed under the title ``panel`` of the help.

    ``names`` are its spellings, by default the name of the parameter.
    """
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


def checked(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a Typer callback that calls ``check`` with the value, or each of several.

    A ``ValueError`` becomes a usage error of the option. Values that are None are not checked.
    """

    def callback(value: Any) -> Any:
        for one in value if isinstance(value, list) else [value]:
            try:
                if one is not None:
                    check(one)
            except ValueError as error:
                raise typer.BadParameter(str(error)) from error
        return value

    return callback


def choice(
    panel: str,
    name: str,
    names: Iterable[str],
    help: str,
    instead: Mapping[str, str] | None = None,
) -> Any:
    """Return a Typer option that takes one of ``names``, which are listed after its help.

    ``name`` is the name of the parameter. ``instead`` maps wrong values that users are likely to
    try to advice for the message.
    """
    allowed = list(names)

    def check(value: str) -> None:
        try:
            check_choice(name, value, allowed)
        except ValueError as error:
            advice = (instead or {}).get(value.lower())
            raise ValueError(f"{error} {advice}." if advice else str(error)) from error

    return option(
        panel,
        f"{help}: {', '.join(allowed)}.",
        f"--{name.replace('_', '-')}",
        callback=checked(check),
        metavar="NAME",
    )


def _metrics(values: Any) -> Any:
    """Return a list of metric names from option values, which may be lists such as "ndcg,map".

    A single value, which is not a list, must name one metric. Refuses unknown metrics and
    repetitions.
    """
    lists = values if isinstance(values, list) else [values or ""]
    names = [name for value in lists for name in _at_commas(value)]
    if not isinstance(values, list):
        if len(names) > 1:
            raise typer.BadParameter("must be a single metric, which decides when the fit stops.")
        return checked(get_metric)(values)
    checked(get_metric)(names or None)
    by_name = [get_metric(name).name for name in names]
    twice = next((name for name in by_name if by_name.count(name) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"must be metrics that differ; got {quote(twice)} twice.")
    return names or None


def _at_commas(text: str) -> list[str]:
    """Return the parts of a text between commas; those within brackets are between two settings.

    Examples
    --------
    >>> _at_commas("ndcg(ties='stable', gain=(0.0, 1.0))@5,map")
    ["ndcg(ties='stable', gain=(0.0, 1.0))@5", 'map']
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def metric_option(panel: str, help: str) -> Any:
    """Return a Typer option that takes names of metrics and checks them."""
    return option(panel, help, callback=_metrics, metavar="NAME")


_MODEL = f"Model that `treerank fit` wrote, or trees of {', '.join(sorted(READERS))}."
DATA_HELP = (
    "Data file, folder of Parquet files, URL of either such as s3://bucket/train, or - for LETOR "
    f"rows on stdin: {format_names()}."
)
ModelFile = Annotated[Path, typer.Argument(help=_MODEL)]
DataFile = Annotated[Path, typer.Argument(help=DATA_HELP)]
Sparse = Annotated[bool, option(DATA, "Keep the features as a sparse matrix.", "--sparse")]
Quiet = Annotated[bool, option(OUTPUT, "Show no progress on stderr.", "--quiet", "-q")]
RandomState = Annotated[
    int, option("Options", "Seed of all random numbers.", min=0, metavar="SEED")
]


def _names(values: list[str] | None) -> list[str] | None:
    """Return a flat list of column names from option values such as "a,b", as a row of a CSV file.

    None if there are none.

    Examples
    --------
    >>> _names(["a,b", '"price, net", tax'])
    ['a', 'b', 'price, net', 'tax']
    """
    rows = [next(csv.reader([value], skipinitialspace=True), []) for value in values or ()]
    return [name for row in rows for name in row] if values else None


_COLUMN: Any = {"metavar": "COLUMN"}
_LABEL, _QUERY = "Label column of a table", "Query column of a table"
Label = Annotated[str | None, option(DATA, f"{_LABEL}; by default label.", **_COLUMN)]
Query = Annotated[str | None, option(DATA, f"{_QUERY}; by default query.", **_COLUMN)]
_AS_FITTED = "by default as in the model's training file, or"
LabelOfModel = Annotated[
    str | None, option(DATA, f"{_LABEL}; {_AS_FITTED} label.", "--label", **_COLUMN)
]
QueryOfModel = Annotated[
    str | None, option(DATA, f"{_QUERY}; {_AS_FITTED} query.", "--query", **_COLUMN)
]
Document = Annotated[str | None, option(DATA, "Document id column of a table.", "--id", **_COLUMN)]
_DAYS = "Turn the dates and times of a table into features: days since this date"
DaysSince = Annotated[str | None, option(DATA, f"{_DAYS}.", "--days-since", metavar="DATE")]
DaysSinceOfModel = Annotated[
    str | None,
    option(DATA, f"{_DAYS}; by default the model's date.", "--days-since", metavar="DATE"),
]
_COLUMNS: Any = {"callback": _names, "metavar": "A,B"}
_QUOTED = "a name with a comma in quotes: '\"a,b\",c'"
_FEATURES = f"Feature columns, by default all others; {_QUOTED}."
Features = Annotated[list[str] | None, option(DATA, _FEATURES, **_COLUMNS)]
Drop = Annotated[list[str] | None, option(DATA, f"Columns to ignore; {_QUOTED}.", **_COLUMNS)]


def given(**options: Any) -> dict[str, Any]:
    """Return the keyword arguments that are not None, so that a reader's own defaults hold."""
    return {name: value for name, value in options.items() if value is not None}


def width_of(
    path: Path, n_features: int, names: Iterable[str] | None, categories: Iterable[str] = ()
) -> dict[str, Any]:
    """Return reader options by which a file gives ``n_features`` features, or in a table ``names``.

    ``names`` may be None: then all columns of a table are read. ``categories`` name those that
    were text in training.
    """
    if format_of(path) is PARQUET:
        columns = column_names(path)
        features = names if names is None else sources_of(names, columns)
        return given(features=features, categories=[c for c in categories if c in columns])
    return {"n_features": n_features}


def categories_of(ranker: Any) -> list[str]:
    """Return the names of the features that were text or categories of text in training."""
    names = feature_names_of(ranker)
    if names is None:
        return []
    by_position = ranker.columns_.categories.items()
    are_text = {k: all(isinstance(level, str) for level in levels) for k, levels in by_position}
    return [names[position] for position, is_text in are_text.items() if is_text]


def check_written(path: Path, *read: Path | None) -> None:
    """Refuse an output ``path`` that cannot be written, or that is one of the files read.

    ``read`` are the input files, None where not given. Only one of them may be standard input.
    """
    if as_url(path) is not None:
        raise ValueError(f"{shown(path)}: files are written to this machine only.")
    if str(path) == STANDARD_INPUT:
        raise ValueError(f"{path}: is standard input; a file to write needs a name.")
    check_output(path)
    if list(map(str, read)).count(STANDARD_INPUT) > 1:
        raise ValueError(f"{STANDARD_INPUT}: is standard input, which can be read only once.")
    for other in read:
        if other is not None and path.is_file() and other.exists() and path.samefile(other):
            raise ValueError(f"{path}: an input file must not be overwritten.")


def read_data(reporter: Reporter, path: Path, **options: Any) -> RankingData:
    """Read a data file and show its size."""
    with reporter.step(f"reading {shown(path)}") as step:
        data = read_ranking_data(path, **options)
        n_features = counted(_n_features(data.X), "feature")
        step.done = f"read {shown(path)}: {size_of(data.y, data.qid)}, {n_features}"
    return data


def _n_features(X: Any) -> int:
    """Return the number of features of a matrix or table, each entry of an embedding being one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> _n_features(pa.table({"price": [9.5, 7.0], "title": [None, [0.5, 0.25]]}))
    3
    """
    n_features: int = X.shape[1]
    with suppress(ValueError):  # of lists that are all missing, which only a fit refuses
        n_features += sum(size - 1 for size in embedding_sizes([X]).values())
    return n_features


def size_of(y: Any, qid: Any) -> str:
    """Return a phrase with the numbers of documents, queries and unjudged documents.

    Examples
    --------
    >>> size_of([1.0, np.nan, 0.0], ["a", "a", "b"])
    '3 documents of 2 queries, 1 not judged'
    """
    unjudged = np.isnan(y).sum()  # all of them where no column is read as the label
    n_queries = QueryGroups.from_qid(qid).n_queries
    gaps = f", {unjudged:,} not judged" if 0 < unjudged < len(y) else ""
    return f"{counted(len(y), 'document')} of {counted(n_queries, 'query', 'queries')}{gaps}"


def counted(n: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1200, "document"), counted(1, "query", "queries")
    ('1,200 documents', '1 query')
    """
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


def is_model(path: Path) -> bool:
    """Return whether a file where data should be begins as a model does; an empty one does not."""
    return path.is_file() and path.stat().st_size > 0 and is_archive(path)


def read_model(path: Path) -> Any:
    """Load a ranker, or read the trees of another library's model file as one."""
    if is_archive(path):
        return load(path)
    if format_of(path) is PARQUET:
        raise ValueError(f"{path}: is data; write the model first, then the data.")
    try:
        return ForestRanker(read_forest(path))
    except ValueError as error:
        if not isinstance(error.__cause__, UnknownFormatError):
            raise
        raise ValueError(f"{error}. Write the model first, then the data.") from error


def read_for(ranker: Any, reporter: Reporter, path: Path, **options: Any) -> RankingData:
    """Read a data file with the features of a ranker, as ``RankingData``; refuse another number."""
    adopt_columns(ranker, path)
    names = feature_names_of(ranker)
    if names is not None and format_of(path) is not PARQUET:
        reporter.say(f"{path}: features are taken in the order of the model; 1 is {names[0]}")
    data = read_data(reporter, path, **width_for(ranker, path), **options)
    if names is None and data.X.shape[1] != ranker.n_features_in_:
        raise ValueError(
            f"{path}: the model's features have no names, so there must be {ranker.n_features_in_} "
            f"columns of features; got {data.X.shape[1]}. `treerank convert {path} FILE.txt` "
            "writes such a file: --label, --query, --id and --drop say what is no feature."
        )
    return data


def adopt_columns(ranker: Any, path: Path) -> None:
    """Give trees that know only the features they use the columns of a data file.

    Refuses LETOR rows if these features have names, which tell no order of columns. Features
    without names are the first ones of LETOR rows, or columns of a table with default names.
    Nothing is changed for other tables, for folds, and for what can be read only once.
    """
    if not isinstance(ranker, ForestRanker) or ranker.trees.has_all_columns:
        return
    trees = ranker.trees
    if trees.feature_names is not None:
        if format_of(path) is not PARQUET:
            raise ValueError(
                f"{path}: must be a CSV or Parquet file, whose columns have names, since the model "
                "names only the features that its trees use, in no order of columns; got LETOR "
                f"rows for features such as {quote(trees.feature_names[0])}. Or use a model file "
                "of all features, such as XGBoost's save_model writes; in Python, "
                "ForestRanker(read_forest(MODEL, feature_names=[...])).save(FILE) does."
            )
    elif format_of(path) is PARQUET:
        names = default_names(column_names(path), trees.n_features)
        if names is not None:
            named = replace(trees, feature_names=tuple(names), has_all_columns=True)
            ranker.set_params(trees=named)
    elif is_regular_file(path):
        width = next(iter(read_batches(path, batch_size=1))).X.shape[1]
        widened = replace(trees, n_features=max(width, trees.n_features), has_all_columns=True)
        ranker.set_params(trees=widened)


def column_of(path: Path, name: str, role: str) -> np.ndarray:
    """Return a column of a table for splits or positions, such as times, as an array.

    ``role`` is the option that named it, for messages; "groups" and "clusters" are read as ids.
    """
    ids = [name] if role in ("groups", "clusters") else []
    files = ParquetFiles.open(path, None, name, [name], arguments={name: role}, ids=ids)
    (column,) = files.columns([name])
    values: np.ndarray = as_ids(str(path), name, column)
    return values


def labels_of(path: Path, name: str) -> np.ndarray:
    """Return a second label column of a table as floats; NaN where a document is unjudged."""
    files = ParquetFiles.open(path, name, None, [name], arguments={name: "human_label"}, ids=[])
    (column,) = files.columns([name])
    return as_floats(column, np.float64)


def columns_for(models: Iterable[Path], path: Path, **given_columns: Any) -> dict[str, Any]:
    """Return reader options for the columns of a table: as given, or else as the models have them.

    ``given_columns`` has all options that the command takes, None where not given. The label, query
    and document columns that a model was fitted with count where the table has them, and so does
    the date from which it counts days. Models that differ in one are an error.
    """
    columns = given(**given_columns)
    if format_of(path) is not PARQUET:
        return columns
    saved = {model: columns_in(model) for model in models if is_archive(model)}
    names = set(column_names(path)) if any(saved.values()) else set()
    for role in ("label", "query", "document"):
        candidates = {
            roles[role]: model for model, roles in saved.items() if roles.get(role) in names
        }
        if role in columns or role not in given_columns or not candidates:
            continue
        if len(candidates) > 1:
            fitted = " and ".join(f"{model} with {name}" for name, model in candidates.items())
            raise ValueError(f"{spelled(role)} must be given: {fitted} was fitted.")
        columns[role] = next(iter(candidates))
    if "days_since" not in columns and "days_since" in given_columns:
        dates = {
            roles["days_since"]: model for model, roles in saved.items() if "days_since" in roles
        }
        if len(dates) > 1:
            fitted = " and ".join(f"{model} with {date}" for date, model in dates.items())
            raise ValueError(
                f"{spelled('days_since')} must be given: {fitted} was fitted, so scores of one of "
                "them would be wrong. Convert the dates to numbers in the table."
            )
        columns |= given(days_since=next(iter(dates), None))
    return columns


def width_for(ranker: Any, path: Path) -> dict[str, Any]:
    """Return reader options by which a file gives the features of a ranker."""
    names = feature_names_of(ranker)
    return width_of(path, ranker.n_features_in_, names, categories_of(ranker))
