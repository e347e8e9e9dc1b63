"""Data sets: where they come from, and their training, validation and test parts.

The public ones are read from a folder (``--data``, or the environment variable
``TREERANK_BENCHMARK_DATA``); a set that is not there is left out of a run. "synthetic" ones are
queries of ``make_web_search``, treerank's own generator, a third of whose labels is shuffled.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treerank import QueryShuffleSplit, make_web_search, read_letor


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Attributes
    ----------
    name : str
        Name in tables and charts.
    folder : str or None
        Folder of a public data set.
    about : str
        What the documents and queries are.
    queries, documents, features : int
        Numbers of them, all parts together.
    license, link : str
        Terms, and where to get it.
    """

    name: str
    folder: str | None
    about: str
    queries: int
    documents: int
    features: int
    license: str
    link: str

    @property
    def is_public(self) -> bool:
        """Whether others have published it."""
        return self.folder is not None


DATA_SETS = {
    each.name: each
    for each in (
        DataSet(
            "MQ2008",
            "mq2008",
            "web search (LETOR 4.0)",
            784,
            15_211,
            46,
            "Microsoft Research license",
            "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/letor-4-0/",
        ),
        DataSet(
            "OHSUMED",
            "ohsumed",
            "medical abstracts (LETOR 3.0)",
            106,
            16_140,
            45,
            "Microsoft Research license",
            "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
        ),
        DataSet(
            "ClueWeb09",
            "clueweb09",
            "web search",
            61,
            26_646,
            42,
            "CC BY-SA 4.0",
            "https://lemurproject.org/clueweb09/",
        ),
        DataSet(
            "MSLR sample",
            "mslr_web30k_sample",
            "web search (part of MSLR-WEB30K, fold 1)",
            89,
            9_122,
            136,
            "Microsoft Research license",
            "https://www.microsoft.com/en-us/research/project/mslr/",
        ),
        DataSet(
            "MSRD",
            "msrd",
            "movie search",
            11_437,
            270_021,
            39,
            "CC BY-SA 4.0",
            "https://github.com/metarank/msrd",
        ),
        DataSet(
            "synthetic, 50 queries",
            None,
            "40 documents per query",
            1_050,
            42_000,
            136,
            "MIT",
            "",
        ),
        DataSet(
            "synthetic, 300 queries",
            None,
            "40 documents per query",
            1_300,
            52_000,
            136,
            "MIT",
            "",
        ),
    )
}
TINY = "tiny"
PUBLIC = tuple(name for name, each in DATA_SETS.items() if each.is_public)
FIVE_FOLDS = ("MQ2008", "OHSUMED")
_SYNTHETIC = {
    "synthetic, 50 queries": (50, 40),
    "synthetic, 300 queries": (300, 40),
    TINY: (12, 8),
}
Part = tuple  # X, y, qid


def is_available(options, name: str) -> bool:
    """Tell whether a data set can be read."""
    return name in _SYNTHETIC or (options.data / DATA_SETS[name].folder).is_dir()


def folds(options, name: str, *, validation: bool = False) -> Iterator[tuple]:
    """Yield (train, validation, test) of each fold, each X, y, qid.

    Without ``validation`` that part is None, and no ranker may look at it. MSRD's folds 0 to 2
    train and its folds 3 and 4 test. MSRD and synthetic data have no validation part, so it is a
    fifth of the training queries.
    """
    if name in _SYNTHETIC or name == "MSRD":
        train, test = _synthetic(*_SYNTHETIC[name]) if name in _SYNTHETIC else _msrd(options.data)
        held_out = None
        if validation:
            rows = next(QueryShuffleSplit(1, random_state=0).split(*train))
            train, held_out = (tuple(column[part] for column in train) for part in rows)
        yield train, held_out, test
        return
    for train, held_out, test in _letor_folds(options.data / DATA_SETS[name].folder, name):
        yield train, held_out if validation else None, test


def _letor_folds(folder, name):
    if name == "ClueWeb09":
        parts = [letor(folder / f"S{number}.txt") for number in range(1, 6)]
        for number, test in enumerate(parts):
            out = number, (number + 1) % 5
            yield joined(*(parts[n] for n in range(5) if n not in out)), parts[out[1]], test
        return
    for fold in [f"Fold{number}" for number in range(1, 6)] if name in FIVE_FOLDS else ["."]:
        yield tuple(letor(folder / fold / f"{part}.txt") for part in ("train", "vali", "test"))


@functools.cache
def letor(path: Path) -> Part:
    """Return X, y, qid of a LETOR file."""
    return tuple(read_letor(path))


def joined(*parts: Part) -> Part:
    """Return the rows of several parts as one."""
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def of_queries(part: Part, queries) -> Part:
    """Return the rows of some queries."""
    rows = np.isin(part[2], queries)
    return tuple(column[rows] for column in part)


@functools.cache
def msrd_by_fold(data: Path) -> tuple:
    """Return X, y, qid and the fold of each row of MSRD."""
    with np.load(data / DATA_SETS["MSRD"].folder / "msrd.npz") as archive:
        return tuple(archive[column] for column in ("X", "y", "qid", "fold"))


def _msrd(data):
    *columns, fold = msrd_by_fold(data)
    return tuple(tuple(column[part] for column in columns) for part in (fold < 3, fold > 2))


@functools.cache
def _synthetic(n_queries, documents):
    n_test = 20 if n_queries < 20 else 1000
    X, y, qid = make_web_search(n_queries + n_test, documents_per_query=documents, random_state=0)
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(rng.random(len(y)) < 1 / 3)
    y[rows] = y[rng.permutation(rows)]
    train = qid < n_queries
    return tuple(tuple(column[part] for column in (X, y, qid)) for part in (train, ~train))
