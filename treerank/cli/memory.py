"""Memory: data files that are read in batches because they are larger than memory."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.checks import quote
from treerank.cli.console import Reporter
from treerank.cli.options import checked, read_for, read_model, width_for
from treerank.datasets.formats import PARQUET, format_of, read_batches
from treerank.documents.queries import joined_ids
from treerank.documents.ranking_data import Batches, RankingData, rows_at_once

#: A batch, with its copies, may take so small a share of the memory.
_BATCHES_IN_MEMORY = 100
_UNITS = {"": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def memory_size(text: str) -> int:
    """Return the number of bytes of a size such as 4GB.

    Examples
    --------
    >>> memory_size("4GB") == 4 * 2**30
    True
    """
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*([KMGT]?B|)", text.strip().upper())
    size = int(float(match[1]) * _UNITS.get(match[2], 1)) if match else 0
    if size < 2**20:
        raise ValueError(f"memory must be a size of at least 1MB, such as 4GB; got {quote(text)}.")
    return size


_HELP = "Read the data in batches, for files larger than memory; such as 4GB."
Memory = Annotated[
    str | None, typer.Option(callback=checked(memory_size), metavar="SIZE", help=_HELP)
]


def in_batches(path: Path, memory: str, **options: Any) -> Batches:
    """Return the rows of a file in batches that take a small share of the memory."""
    width = options.get("n_features") or len(options.get("features") or ())
    if not width:
        width = next(iter(read_batches(path, batch_size=1, **options))).X.shape[1]
        options |= {} if format_of(path) is PARQUET else {"n_features": width}
    share = memory_size(memory) // (_BATCHES_IN_MEMORY * 8 * width)
    return read_batches(path, batch_size=max(1, min(share, rows_at_once(width))), **options)


def score_data(
    reporter: Reporter, model: Path, path: Path, memory: str | None, **options: Any
) -> tuple[np.ndarray, RankingData]:
    """Return the scores of a model for a data file, and the file's labels, queries and comments."""
    ranker = read_model(model)
    if memory is None:
        data = read_for(ranker, reporter, path, **options)
        return ranker.predict(data.X), data
    scores, parts = [], []
    with reporter.counting(f"reading {path}"):
        for part in in_batches(path, memory, **width_for(ranker, path), **options):
            scores.append(ranker.predict(part.X))
            parts.append(replace(part, X=None))
    y, qid = np.concatenate([part.y for part in parts]), joined_ids([part.qid for part in parts])
    columns = [[getattr(part, name) for part in parts] for name in ("comments", "documents")]
    others = [None if column[0] is None else joined_ids(column) for column in columns]
    return np.concatenate(scores), RankingData(None, y, qid, *others)
