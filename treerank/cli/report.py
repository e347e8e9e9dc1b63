"""``treerank report``: an HTML page on how good a model is, where it fails, and why."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from treerank.checks import as_numbers
from treerank.cli import options as shared
from treerank.cli.console import Reporter
from treerank.cli.memory import score_data
from treerank.cli.rank import document_names
from treerank.clicks.tables import named_columns
from treerank.datasets.formats import PARQUET, format_of
from treerank.datasets.parquet_files import ParquetFiles, column_names
from treerank.documents.embeddings import sources_of, with_entries
from treerank.files.compression import STANDARD_INPUT
from treerank.files.object_stores import shown
from treerank.rankers.column_ranker import score_below
from treerank.reports.reporting import report as make_report

PAGE = Path("report.html")
_HELP = {
    "output": "HTML file to write.",
    "baseline": "Model to compare with, or a column of the data.",
    "train": "Training data, to look for drift and leaks.",
    "metric": "Metric to show; may be repeated. The first decides which queries are worst.",
    "examples": "Number of badly ranked queries to explain.",
    "texts": "Table with the columns id and text: texts of queries and titles of documents.",
}


def _file(panel: str, name: str) -> Any:
    return shared.option(panel, _HELP[name], f"--{name}", metavar="FILE")


_OUTPUT = shared.option(shared.OUTPUT, _HELP["output"], "--output", "-o", metavar="FILE")
_METRIC = shared.metric_option(shared.OUTPUT, _HELP["metric"])
_EXAMPLES = shared.option(shared.OUTPUT, _HELP["examples"], min=1, metavar="N")


def report(
    model: shared.ModelFile,
    data: shared.DataFile,
    output: Annotated[Path, _OUTPUT] = PAGE,
    baseline: Annotated[Path | None, _file(shared.DATA, "baseline")] = None,
    train: Annotated[Path | None, _file(shared.DATA, "train")] = None,
    texts: Annotated[Path | None, _file(shared.DATA, "texts")] = None,
    metric: Annotated[list[str] | None, _METRIC] = None,
    examples: Annotated[int, _EXAMPLES] = 20,
    label: shared.LabelOfModel = None,
    query: shared.QueryOfModel = None,
    document: shared.Document = None,
    days_since: shared.DaysSinceOfModel = None,
    random_state: shared.RandomState = 0,
    sparse: shared.Sparse = False,
    quiet: shared.Quiet = False,
) -> None:
    """Write an HTML page on how good a model is, where it fails, and why.

    The page is one file that loads nothing. It shows queries and values of documents.
    """
    shared.check_written(output, model, data, baseline, train, texts)
    if output.suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(f"{output}: the page is HTML; write a name that ends in .html.")
    is_model = baseline is not None and baseline.exists()
    if is_model and str(data) == STANDARD_INPUT:
        raise ValueError(
            f"{data}: is standard input, which can be read only once, and a model as --baseline "
            "reads the data again. Write the rows to a file, and name that."
        )
    reporter, ranker = Reporter(quiet), shared.read_model(model)
    columns = shared.columns_for(
        [model], data, label=label, query=query, document=document, days_since=days_since
    )
    named = {"comments": True} | shared.given(document=columns.pop("document", None))
    reading = {"sparse": sparse} | columns
    test = shared.read_for(ranker, reporter, data, **named, **reading)
    files = {"model": model, "data": data, "baseline": baseline, "training data": train}
    extra: dict[str, Any] = {}
    if baseline is not None:
        if is_model or format_of(data) is not PARQUET:
            dates = shared.columns_for([baseline], data, days_since=days_since)
            extra["baseline"] = score_data(reporter, baseline, data, None, **reading | dates)[0]
        else:
            extra["baseline"] = _column_scores(data, str(baseline))
    if train is not None:
        extra["train"] = tuple(shared.read_for(ranker, reporter, train, **reading))
    if texts is not None:
        extra["texts"] = _texts_by_id(texts)
    with reporter.step("writing the report") as step:
        page = make_report(
            ranker,
            *test,
            **extra,
            metrics=metric or (),
            document_names=document_names(test),
            title=f"{model.name} on {data.name}",
            about={name: shown(path) for name, path in files.items() if path is not None},
            n_examples=examples,
            random_state=random_state,
        )
        page.save(output)
        step.done = f"wrote {output}"


def _column_scores(path: Path, name: str) -> np.ndarray:
    """Return the scores in a column of a table, a feature or not; missing ones are below all.

    ``title_0`` is the first entry of the embeddings in a column ``title``.
    """
    names = column_names(path)
    (source,) = sources_of([name], names)
    column = None
    if name in names:
        (column,) = named_columns(path, {"baseline": name}, ids=())
    elif source in names:
        (lists,) = ParquetFiles.open(path, None, None, [source]).columns([source])
        entries = with_entries(pa.table({source: lists}))
        column = entries[name].to_numpy() if name in entries.column_names else None
    if column is None:
        raise ValueError(f"--baseline must be a file or one of {names}; got {name}.")
    scores = as_numbers("baseline", column)
    return np.where(np.isnan(scores), score_below(scores), scores)


def _texts_by_id(path: Path) -> dict[str, str]:
    """Return the texts of a table by id; rows without an id or a text are left out."""
    names = ["id", "text"]
    arguments = {"id": "ids of --texts", "text": "texts of --texts"}
    files = ParquetFiles.open(path, None, None, names, arguments=arguments, ids=names)
    ids, texts = (column.cast(pa.string()).to_pylist() for column in files.columns(names))
    pairs = zip(ids, texts, strict=True)
    return {id: text for id, text in pairs if id is not None and text is not None}
