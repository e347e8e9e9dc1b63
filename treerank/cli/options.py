"""Options that several commands share, and how names and files are checked."""

from pathlib import Path
from typing import Annotated

import typer

from treerank.datasets.letor import read_letor
from treerank.metrics.registry import get_metric
from treerank.registry import load


def one_of(names):
    """Return a check that an option is one of the names."""

    def check(value: str):
        if value is not None and value not in names:
            raise typer.BadParameter(f"must be one of {', '.join(names)}; got {value!r}.")
        return value

    return check


def check_positive(value: float):
    """Refuse 0 and less."""
    if not value > 0:
        raise typer.BadParameter(f"must be positive; got {value!r}.")
    return value


def check_metrics(names: list[str]):
    """Refuse metrics that there are not."""
    for name in names or []:
        check_metric(name)
    return names


def check_metric(name: str):
    """Refuse a metric that there is not."""
    try:
        get_metric(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return name


ModelFile = Annotated[Path, typer.Argument(help="Model that `treerank fit` wrote.")]
DataFile = Annotated[Path, typer.Argument(help="LETOR file, plain or gzip.")]
Cache = Annotated[
    bool, typer.Option("--cache", help="Keep a binary copy beside the data, to read faster.")
]
Sparse = Annotated[
    bool,
    typer.Option(
        "--sparse", help="Keep features sparse in memory, for files of very many of them."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]


def read_data(reporter, path, **options):
    """Read a LETOR file and say what is in it."""
    with reporter.counting(f"reading {path}"):
        data = read_letor(path, **options)
    n_documents, n_features = data.X.shape
    n_queries = len(set(data.qid.tolist()))
    reporter.say(f"{path}: {n_documents} documents, {n_queries} queries, {n_features} features")
    return data


def read_model_and_data(reporter, model, path, **options):
    """Read a model and a file of as many features."""
    ranker = load(model)
    return ranker, read_data(reporter, path, n_features=ranker.n_features_in_, **options)
