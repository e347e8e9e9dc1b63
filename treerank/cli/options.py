"""Options that several commands share, and the reading of their files."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.checks import check_choice
from treerank.cli.console import Reporter
from treerank.datasets.formats import PARQUET, format_names, format_of, read_ranking_data
from treerank.documents.features import feature_names_of
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import RankingData
from treerank.files.archive import is_archive
from treerank.files.compression import STANDARD_INPUT
from treerank.files.replaced import check_output
from treerank.forests.reading import READERS, read_forest
from treerank.metrics.registry import get_metric
from treerank.rankers.forest_ranker import ForestRanker
from treerank.registry import load


def checked(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a callback for an option, by which a ``ValueError`` of the check is wrong usage."""

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
    name: str, names: Iterable[str], help: str, instead: Mapping[str, str] | None = None
) -> Any:
    """Return an option that takes one of some names, which its help lists.

    ``instead`` are names that are looked for, and what to say of them.
    """
    allowed = list(names)

    def check(value: str) -> None:
        try:
            check_choice(name, value, allowed)
        except ValueError as error:
            advice = (instead or {}).get(value.lower())
            raise ValueError(f"{error} {advice}." if advice else str(error)) from error

    return typer.Option(
        f"--{name.replace('_', '-')}",
        callback=checked(check),
        metavar="NAME",
        help=f"{help}: {', '.join(allowed)}.",
    )


def _metrics(values: Any) -> Any:
    """Return the names of metrics; lists such as ndcg,map are taken apart."""
    lists = values if isinstance(values, list) else [values or ""]
    # A comma within brackets is between two settings.
    names = [name for value in lists for name in re.split(r",(?![^(]*\))", value)]
    if not isinstance(values, list):
        if len(names) > 1:
            raise typer.BadParameter("must be one metric, by which the fit stops.")
        return checked(get_metric)(values)
    checked(get_metric)(names or None)
    by_name = [get_metric(name).name for name in names]
    twice = next((name for name in by_name if by_name.count(name) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"must be metrics that differ; got {twice!r} twice.")
    return names or None


def metric_option(help: str) -> Any:
    """Return an option that takes the names of metrics."""
    return typer.Option(callback=_metrics, metavar="NAME", help=help)


_MODEL = f"Model that `treerank fit` wrote, or trees of {', '.join(sorted(READERS))}."
_DATA = f"Data file, folder of Parquet files, or - for stdin: {format_names()}."
ModelFile = Annotated[Path, typer.Argument(help=_MODEL)]
DataFile = Annotated[Path, typer.Argument(help=_DATA)]
Sparse = Annotated[bool, typer.Option("--sparse", help="Keep very many features sparse.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress on stderr.")]
RandomState = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]


def _names(values: list[str] | None) -> list[str] | None:
    """Return the names of columns in lists such as a,b."""
    return [name for value in values for name in value.split(",")] if values else None


Label = Annotated[str | None, typer.Option(help="Label column of a table; by default label.")]
Query = Annotated[str | None, typer.Option(help="Query column of a table; by default query.")]
Document = Annotated[str | None, typer.Option("--id", help="Column of document ids of a table.")]
_COLUMNS: Any = {"callback": _names, "metavar": "A,B"}
Features = Annotated[
    list[str] | None, typer.Option(help="Columns of features; by default others.", **_COLUMNS)
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns that are no features.", **_COLUMNS)]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given, for a reader that has defaults of its own."""
    return {name: value for name, value in options.items() if value is not None}


def width_of(path: Path, n_features: int, names: Iterable[str] | None) -> dict[str, Any]:
    """Return the options by which a reader gives so many features, or those of these names."""
    if format_of(path) is PARQUET:
        return given(features=None if names is None else list(names))
    return {"n_features": n_features}


def check_written(path: Path, *read: Path | None) -> None:
    """Refuse before any work a file that cannot be written, or that the command reads."""
    if str(path) == STANDARD_INPUT:
        raise ValueError(f"{path}: is standard input; a file to write needs a name.")
    check_output(path)
    if list(map(str, read)).count(STANDARD_INPUT) > 1:
        raise ValueError(f"{STANDARD_INPUT}: is standard input, which can be read only once.")
    for other in read:
        if other is not None and path.is_file() and other.exists() and path.samefile(other):
            raise ValueError(f"{path}: a file that is read must not be replaced.")


def read_data(reporter: Reporter, path: Path, **options: Any) -> RankingData:
    """Read a data file and show its size."""
    with reporter.counting(f"reading {path}"):
        data = read_ranking_data(path, **options)
    n_documents, n_features = data.X.shape
    n_queries = QueryGroups.from_qid(data.qid).n_queries
    unjudged = np.isnan(data.y).sum()  # all of them where no column is read as the label
    said = f", {unjudged} not judged" if 0 < unjudged < n_documents else ""
    reporter.say(
        f"{path}: {n_documents} documents{said}, {n_queries} queries, {n_features} features"
    )
    return data


def read_model(path: Path) -> Any:
    """Read a ranker, or the trees of another program as one."""
    if is_archive(path):
        return load(path)
    if format_of(path) is PARQUET:
        raise ValueError(f"{path}: is data; write the model first, then the data.")
    try:
        return ForestRanker(read_forest(path))
    except ValueError as error:
        raise ValueError(f"{error}. Write the model first, then the data.") from error


def read_for(ranker: Any, reporter: Reporter, path: Path, **options: Any) -> RankingData:
    """Read a data file with the features of a ranker."""
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


def width_for(ranker: Any, path: Path) -> dict[str, Any]:
    """Return the options by which a reader gives the features of a ranker."""
    return width_of(path, ranker.n_features_in_, feature_names_of(ranker))
