"""``treerank convert``: write a data file in another format."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.checks import quote, warn_user
from treerank.cli import options as shared
from treerank.cli.console import Reporter
from treerank.datasets.formats import PARQUET, format_names, format_of, format_to_write
from treerank.datasets.formats import read_batches as read_any
from treerank.datasets.parquet_files import column_names
from treerank.documents.ranking_data import Batches, RankingData
from treerank.lazy import load_object
from treerank.search_engines.judgments import read_judgments

_HELP = {
    "judgments": "Labels of the documents of DATA, if DATA is a feature log: JSON that a search "
    "engine returned, by query. The labels of several judges are averaged. Documents without "
    "a judgment have the label nan in a table, and are left out of a LETOR file.",
    "feature_set": "Feature set with which the feature log must have been written.",
    "n_features": "Number of features; by default, the highest index in DATA.",
}


def _file(name: str) -> Any:
    return shared.option("Feature log", _HELP[name], metavar="FILE")


_N_FEATURES = shared.option(shared.DATA, _HELP["n_features"], min=1, metavar="N")


def convert(
    data: shared.DataFile,
    target: Annotated[Path, typer.Argument(help=f"File to write: {format_names()}.")],
    label: shared.Label = None,
    query: shared.Query = None,
    document: shared.Document = None,
    features: shared.Features = None,
    drop: shared.Drop = None,
    days_since: shared.DaysSince = None,
    judgments: Annotated[Path | None, _file("judgments")] = None,
    feature_set: Annotated[Path | None, _file("feature_set")] = None,
    n_features: Annotated[int | None, _N_FEATURES] = None,
    quiet: shared.Quiet = False,
) -> None:
    """Write a data file, or a feature log, in another format: LETOR, Parquet, CSV or TSV.

    The suffix of the new file decides the format. Rows are read and written in batches, so a file
    may be larger than memory. An existing file is replaced only once the new one is complete.
    """
    shared.check_written(target, data, judgments, feature_set)
    writer = format_to_write(target)
    reporter = Reporter(quiet)
    columns = shared.given(label=label, query=query)
    chosen = shared.given(document=document, features=features, drop=drop, days_since=days_since)
    reading = (columns if format_of(data) is PARQUET else {}) | chosen
    writing = columns | shared.given(document=document) if writer is PARQUET else {}
    if columns and not reading and not writing:
        raise typer.BadParameter("must come with a table.", param_hint="--label, --query")
    if judgments is None and feature_set is None:
        batches = read_any(data, n_features=n_features, comments=True, **reading)
    elif judgments is None or reading or n_features is not None:
        wrong = "must come with --judgments, and with no options for the columns of DATA."
        raise typer.BadParameter(wrong, param_hint="a feature log")
    else:
        batches = Batches([_feature_log(reporter, data, judgments, feature_set, target)])
    with reporter.step(f"writing {target}") as step:
        n_rows: list[int] = []
        counted = _counted(batches, n_rows)
        if writer is not PARQUET:
            counted = (_with_ids(target, batch) for batch in counted)
        elif format_of(data) is PARQUET and "comment" not in column_names(data):
            counted = (replace(batch, comments=None) for batch in counted)
        load_object(writer.batch_writer)(target, counted, **writing)
        step.done = f"wrote {target}: {sum(n_rows):,} documents"


def _feature_log(
    reporter: Reporter, path: Path, judgments: Path, feature_set: Path | None, target: Path
) -> RankingData:
    """Return the documents of a feature log at ``path``, with the labels of ``judgments``.

    ``judgments`` is a qrels file or the like, several judges being averaged; ``feature_set`` is the
    file that names features, or None. Documents without a judgment stay, with label NaN, unless
    ``target``, the file to write, is a LETOR file: then they are left out, with a warning.
    """
    read = load_object("treerank.search_engines.feature_logs:read_feature_log")
    log = read(path, read_judgments(judgments).merged(), features=feature_set)
    judged = log.judged()
    n_unjudged = len(log) - len(judged)
    reporter.say(f"{path}: {len(log):,} documents, {n_unjudged:,} of them not judged")
    if n_unjudged == 0 or format_to_write(target) is PARQUET:
        return log
    warn_user(
        f"{target}: documents must be judged in a LETOR file, where each row has a label; got "
        f"{n_unjudged:,} of {len(log):,} that are not, which are left out. Write a CSV or Parquet "
        "file to keep them."
    )
    return judged


def _counted(batches: Iterable[RankingData], n_rows: list[int]) -> Iterator[RankingData]:
    """Yield the batches, and append the number of rows of each to ``n_rows``."""
    for batch in batches:
        n_rows.append(len(batch))
        yield batch


def _with_ids(path: Path, batch: RankingData) -> RankingData:
    """Return documents whose ids are in the comments as "docid = <id>", as LETOR files have it.

    Comments with this id already stay as they are. Refuses ids that would be others when they are
    read, as those with spaces would; ``path`` is for the message.
    """
    if batch.documents is None:
        return batch
    ids, comments = batch.documents.astype(str).astype(object), batch.comments
    if comments is None:  # of a feature log
        comments = np.full(len(batch), "", dtype=object)
    pairs = zip(ids, comments, strict=True)
    added = np.array([f"docid = {name} {text}".strip() for name, text in pairs], dtype=object)
    is_noted = replace(batch, comments=comments, documents=None).doc_ids == ids
    noted = replace(batch, comments=np.where(is_noted, comments, added), documents=None)
    wrong = ids[noted.doc_ids != ids]
    if len(wrong):
        raise ValueError(
            f"{path}: ids of documents must be without white space in a LETOR file; got "
            f"{quote(wrong[0])}. Change them, or write a CSV or Parquet file."
        )
    return noted
