"""``treerank compare``: from data with labels to a table of rankers, with what is significant."""

from pathlib import Path
from typing import Annotated

import typer

from treerank.cli.console import Reporter
from treerank.cli.options import Cache, Quiet, check_metrics, one_of, read_data
from treerank.metrics.conventions import CONVENTIONS
from treerank.progress import listening
from treerank.registry import RANKERS, ranker_class

DEFAULT_METRICS = ("ndcg@10", "map")


def check_rankers(names: list[str]):
    """Refuse rankers that there are not."""
    for name in names or []:
        one_of(tuple(RANKERS))(name)
    return names


def compare(
    data: Annotated[Path, typer.Argument(help="Folder with Fold1, Fold2, ..., or a LETOR file.")],
    ranker: Annotated[
        list[str],
        typer.Option(
            callback=check_rankers,
            metavar="NAME",
            help=f"With its default settings; to be repeated. One of {', '.join(RANKERS)}.",
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            callback=check_metrics,
            metavar="NAME",
            help=f"May be repeated. By default {', '.join(DEFAULT_METRICS)}.",
        ),
    ] = None,
    convention: Annotated[
        str,
        typer.Option(
            callback=one_of(tuple(CONVENTIONS)),
            metavar="NAME",
            help=f"How to score: {', '.join(CONVENTIONS)}.",
        ),
    ] = "treerank",
    folds: Annotated[int, typer.Option(min=2, help="Folds of a LETOR file, by query.")] = 5,
    hold_outs: Annotated[
        int | None, typer.Option(min=2, help="Random 80:20 splits of a LETOR file instead.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Folder to keep fits in, and to go on from after a kill.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write to: .txt, .md, .tex or .html.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits and rankers.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    cache: Cache = False,
    quiet: Quiet = False,
):
    """Fit rankers to the same splits, score them, and say what is significant."""
    from treerank.evaluation.data_splits import make_splits
    from treerank.evaluation.running import compare as compare_rankers
    from treerank.evaluation.summary import check_path
    from treerank.model_selection import QueryShuffleSplit

    if output is not None:
        check_path(output)
    reporter = Reporter(quiet)
    documents, cv = data, None
    if not data.is_dir():
        documents = read_data(reporter, data, cache=cache)
        cv = folds if hold_outs is None else QueryShuffleSplit(hold_outs, random_state=seed)
    rankers = {name: ranker_class(name)() for name in ranker}
    n_fits = len(rankers) * len(make_splits(documents, cv, random_state=seed))
    with reporter.counting(f"comparing {', '.join(rankers)}", n_fits) as show, listening(show):
        comparison = compare_rankers(
            rankers,
            documents,
            cv=cv,
            metrics=metric or DEFAULT_METRICS,
            convention=convention,
            n_jobs=jobs,
            store=store,
            random_state=seed,
        )
    summary = comparison.summary()
    typer.echo(summary)
    if output is not None:
        summary.save(output)
        reporter.say(f"wrote {output}")
