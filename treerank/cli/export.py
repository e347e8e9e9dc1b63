"""``treerank export``: a model for another program."""

from pathlib import Path
from typing import Annotated, Any

import typer

from treerank.cli import options as shared
from treerank.cli.console import Reporter, print_table
from treerank.datasets.formats import PARQUET, format_of
from treerank.exports.exporting import REASONS, check_reason, formats_for
from treerank.exports.exporting import export as export_ranker
from treerank.exports.formats import FORMATS, check_format, format_of_version
from treerank.exports.hybrid import HYBRID_FORMATS
from treerank.exports.solr import NAME
from treerank.exports.uploads import FEATURE_SETS, check_feature_set, write_feature_set
from treerank.files.archive import is_archive
from treerank.rankers.model_file import columns_in
from treerank.renamed import RENAMED_FORMATS

_HELP = {
    "formats": "List the formats of --format that can hold the model, and write nothing.",
    "check": "Data file of documents that the other program must rank in the same order.",
    "allow": f"Accept this difference with a warning; may be repeated: {', '.join(REASONS)}.",
    "features": f"File for a draft of the feature set, .json; for {', '.join(FEATURE_SETS)}.",
    "version": "Version of the search engine, such as 2.18; by default the newest. For "
    "elasticsearch-plugin, the month in which the plugin was released, such as 2024-02.",
    "feature_set": "Feature set, or in Solr feature store, that the engine has already; by default "
    "it is called like the model.",
    "name": "Name of the model in a search engine (the file is then the request that uploads it), "
    "of the functions in C, or of the table in SQL.",
}
_INSTEAD = {name: f"It is now {new}" for name, new in RENAMED_FORMATS.items()}
_INSTEAD |= dict.fromkeys(HYBRID_FORMATS, "In Python, treerank.export writes it")
_FORMAT = shared.choice(shared.OUTPUT, "format", FORMATS, "Format of the file", _INSTEAD)
_OUTPUT: Any = typer.Argument(help="File to write.", show_default=False)
_FORMATS = shared.option(shared.OUTPUT, _HELP["formats"], "--formats")
_VERSION = shared.option(shared.OUTPUT, _HELP["version"], "--version", metavar="N")
_CHECK = shared.option(shared.DATA, _HELP["check"], metavar="FILE")
_ALLOW = shared.option(
    shared.OUTPUT, _HELP["allow"], callback=shared.checked(check_reason), metavar="REASON"
)
_FEATURES = shared.option(shared.OUTPUT, _HELP["features"], metavar="FILE")
_FEATURE_SET = shared.option(shared.OUTPUT, _HELP["feature_set"], "--feature-set", metavar="NAME")
_NAME = shared.option(shared.OUTPUT, _HELP["name"], metavar="NAME")


def export(
    model: shared.ModelFile,
    output: Annotated[
        Path | None, typer.Argument(help="File to write.", show_default=False)
    ] = None,
    format: Annotated[str | None, _FORMAT] = None,
    formats: Annotated[bool, _FORMATS] = False,
    version: Annotated[str | None, _VERSION] = None,
    check: Annotated[Path | None, _CHECK] = None,
    allow: Annotated[list[str] | None, _ALLOW] = None,
    features: Annotated[Path | None, _FEATURES] = None,
    name: Annotated[str | None, _NAME] = None,
    feature_set: Annotated[str | None, _FEATURE_SET] = None,
    label: shared.LabelOfModel = None,
    query: shared.QueryOfModel = None,
    document: shared.Document = None,
    days_since: shared.DaysSinceOfModel = None,
    sparse: shared.Sparse = False,
    quiet: shared.Quiet = False,
) -> None:
    """Write a model in the format of another program, such as a search engine.

    The documents of --check are scored as the other program would score them. A model that would
    rank them differently is refused with the reason, or written with a warning by --allow.
    """
    if formats:
        if output is not None or format is not None:
            raise typer.BadParameter(
                "must come with a model alone, of which it writes nothing.", param_hint="--formats"
            )
        possible = formats_for(shared.read_model(model))
        print_table(["format"], [[name] for name in possible if name in FORMATS])
        return
    if output is None or format is None:
        lacking = "argument 'OUTPUT'" if output is None else "option '--format'"
        raise typer.BadParameter(f"Missing {lacking}, or --formats to list the formats of MODEL.")
    of_version = format_of_version(format, version)  # or refuse it before all work
    check_feature_set(of_version, name, feature_set)
    shared.check_written(output, model, check)
    if format_of(output) is PARQUET:
        raise ValueError(f"{output}: has a name of data; write --check {output} to check by it.")
    if features is not None:
        if features.suffix != ".json":
            rule = "must be a file to write, such as features.json; the model has its columns"
            raise typer.BadParameter(f"{rule}.", param_hint="--features")
        check_format(format, FEATURE_SETS)
        shared.check_written(features, model, check)
        if features.resolve() == output.resolve():
            raise ValueError(
                f"{features}: the features must not be written to the file of the model."
            )
    reporter, ranker = Reporter(quiet), shared.read_model(model)
    documents: tuple[Any, ...] | None = None
    if check is not None:
        columns = shared.columns_for(
            [model], check, label=label, query=query, days_since=days_since
        )
        options = {"sparse": sparse} | columns | shared.given(document=document)
        try:
            documents = tuple(shared.read_for(ranker, reporter, check, **options))
        except ValueError:  # the labels of a table are not needed, only told of
            if label is not None or format_of(check) is not PARQUET:
                raise
            X, _, qid = shared.read_for(ranker, reporter, check, **options | {"label": None})
            documents = X, None, qid
    allowed = allow or ()
    of_engine: dict[str, Any] = {"format": format, "version": version}
    names: dict[str, Any] = {"name": name, "feature_set": feature_set}
    report = export_ranker(ranker, output, **of_engine, check=documents, allow=allowed, **names)
    if features is not None:
        request = write_feature_set(ranker, features, **of_engine, name=feature_set or name or NAME)
        reporter.say(f"wrote {features}: send it by {request}")
    since = columns_in(model).get("days_since") if is_archive(model) else None
    if since is not None:
        reporter.say(f"{output}: takes dates as numbers, the days since {since}")
    typer.echo(str(report))
