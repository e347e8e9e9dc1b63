"""``treerank sample``: small data files to try the other commands on."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from treerank.cli.console import Reporter
from treerank.cli.options import OUTPUT, Quiet, RandomState, option
from treerank.datasets.letor import write_letor
from treerank.datasets.web_search import make_web_search

#: Share of the queries in each file.
SHARES = {"train.txt": 0.6, "vali.txt": 0.2, "test.txt": 0.2}

_QUERIES = option("Options", "Number of queries.", min=5, max=100_000, metavar="N")


def sample(
    folder: Annotated[
        Path, typer.Argument(help="Folder to write to; created if it does not exist.")
    ],
    queries: Annotated[int, _QUERIES] = 200,
    random_state: RandomState = 0,
    force: Annotated[bool, option(OUTPUT, "Replace existing files.", "--force")] = False,
    quiet: Quiet = False,
) -> None:
    """Write small files of synthetic web searches: train.txt, vali.txt and test.txt.

    The same options give the same files. Existing files are replaced only with --force.
    """
    paths = {name: folder / name for name in SHARES}
    for path in paths.values():
        if path.exists() and not force:
            raise FileExistsError(f"{path}: is there already; --force replaces it.")
    folder.mkdir(parents=True, exist_ok=True)
    size = {"documents_per_query": 20, "n_features": 30}
    X, y, qid = make_web_search(queries, **size, random_state=random_state)
    ends = np.round(np.cumsum([*SHARES.values()]) * queries)
    reporter = Reporter(quiet)
    for number, path in enumerate(paths.values()):
        rows = np.searchsorted(ends, qid, side="right") == number
        write_letor(path, X[rows].round(4), y[rows], qid[rows] + 1)
        reporter.say(f"wrote {path}: {rows.sum():,} documents")
