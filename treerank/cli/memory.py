"""Memory: data files that are read in batches because they are larger than memory."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from treerank.checks import quote
from treerank.cli.console import Reporter
from treerank.cli.options import (
    DATA,
    adopt_columns,
    checked,
    option,
    read_for,
    read_model,
    size_of,
    width_for,
)
from treerank.datasets.formats import PARQUET, format_of, read_batches
from treerank.datasets.parquet_files import numbers_per_row
from treerank.documents.canonical_order import row_hashes
from treerank.documents.queries import joined_ids
from treerank.documents.ranking_data import Batches, RankingData, rows_at_once
from treerank.documents.reading import read_documents
from treerank.documents.training_queries import TrainingQueries, warn_of_seen_queries
from treerank.files.object_stores import shown

#: A batch, with its copies, may take so small a share of the memory.
_BATCHES_IN_MEMORY = 100
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def memory_size(text: str) -> int:
    """Return the number of bytes of a size such as 4G, 4GB or 4GiB.

    Examples
    --------
    >>> memory_size("4G") == memory_size("4 GB") == memory_size("4gib") == 4 * 2**30
    True
    """
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", text.strip().upper())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if size < 2**20:
        raise ValueError(f"--memory must be a size of at least 1M, such as 4G; got {quote(text)}.")
    return size


_HELP = "Read the data in batches, for files larger than memory; such as 4G."
Memory = Annotated[
    str | None, option(DATA, _HELP, "--memory", callback=checked(memory_size), metavar="SIZE")
]


def in_batches(path: Path, memory: str, **options: Any) -> Batches:
    """Return the rows of a file in batches, each of at most a hundredth of the memory.

    ``memory`` is a size such as "4G". ``options`` are passed to :func:`read_batches`. If they do
    not say the number of features, the file's first rows are read once more to find it.
    """
    names = options.get("features")
    width = options.get("n_features") or len(names or ())
    if not width:
        X = next(iter(read_batches(path, batch_size=1, **options))).X
        width, names = X.shape[1], getattr(X, "column_names", None)
        options |= {} if format_of(path) is PARQUET else {"n_features": width}
    if names:
        width = numbers_per_row(path, names)
    share = memory_size(memory) // (_BATCHES_IN_MEMORY * 8 * width)
    return read_batches(path, batch_size=max(1, min(share, rows_at_once(width))), **options)


def score_data(
    reporter: Reporter,
    model: Path,
    path: Path,
    memory: str | None,
    *,
    is_test: bool = False,
    **options: Any,
) -> tuple[np.ndarray, RankingData]:
    """Return ``(scores, data)`` of a data file.

    ``data`` has labels, queries and comments, no ``X``. ``memory`` limits the size of batches, and
    None reads all at once. With ``is_test``, a warning names queries that the model was fitted to.
    ``options`` go to the reader.
    """
    ranker = read_model(model)
    trained: TrainingQueries | None = ranker.training_queries_ if is_test else None
    hashes: list[np.ndarray] = []

    def scored(X: Any) -> np.ndarray:
        if trained is not None:
            hashes.append(row_hashes(read_documents(ranker, X)[0]))
        return np.asarray(ranker.predict(X))

    scores, data = _scored_data(scored, ranker, reporter, path, memory, **options)
    if trained is not None:
        warn_of_seen_queries(trained.look_up(np.concatenate(hashes), data.y, data.qid))
    return scores, data


def _scored_data(
    scored: Callable[[Any], np.ndarray],
    ranker: Any,
    reporter: Reporter,
    path: Path,
    memory: str | None,
    **options: Any,
) -> tuple[np.ndarray, RankingData]:
    """Return ``(scores, data)`` of a data file, read in batches if ``memory`` is limited.

    ``scored`` maps features to scores. ``data`` read in batches have no ``X``.
    """
    if memory is None:
        data = read_for(ranker, reporter, path, **options)
        return scored(data.X), data
    adopt_columns(ranker, path)
    scores, parts = [], []
    with reporter.step(f"scoring {shown(path)}") as step:
        for part in in_batches(path, memory, **width_for(ranker, path), **options):
            scores.append(scored(part.X))
            parts.append(replace(part, X=None))
        y = np.concatenate([part.y for part in parts])
        qid = joined_ids([part.qid for part in parts])
        step.done = f"scored {shown(path)}: {size_of(y, qid)}"
    columns = [[getattr(part, name) for part in parts] for name in ("comments", "documents")]
    text_columns = [None if column[0] is None else joined_ids(column) for column in columns]
    return np.concatenate(scores), RankingData(None, y, qid, *text_columns)
