"""Folds: the splits of a data set into training, validation and test set, as folders of files.

LETOR and MSLR-WEB come as folders ``Fold1`` to ``Fold5``, each with ``train.txt``, ``vali.txt`` and
``test.txt``. Files of any format in :mod:`treerank.datasets.formats` are read.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.sparse import csr_matrix, issparse

from treerank.datasets.formats import FORMATS, read_ranking_data
from treerank.datasets.letor_table import check_density
from treerank.display.results import Shown
from treerank.documents.columns import as_frame
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import RankingData
from treerank.documents.reading import take_columns
from treerank.parameters import check_arguments

_PARTS = ("train", "vali", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Split(Shown):
    """A training set and a test set of whole queries, or a test set alone.

    Parameters
    ----------
    name : str
        Unique among the splits.
    train : RankingData or None
        Documents to fit to; None where all rankers are fitted.
    test : RankingData
        Documents to score.
    validation : RankingData or None, default=None
        Documents for the choice of parameters and for early stopping.

    Examples
    --------
    >>> from treerank.datasets.web_search import make_web_search
    >>> train, test = (RankingData(*make_web_search(n, random_state=n)) for n in (40, 10))
    >>> Split("first", train, test).test_to_train
    0.25
    """

    name: str
    train: RankingData | None
    test: RankingData
    validation: RankingData | None = None

    def _shown(self) -> str:
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        present = [f"{name} {part!r}" for name, part in parts.items() if part is not None]
        return f"Split {self.name}: {', '.join(present)}."

    @property
    def fingerprint(self) -> str:
        """A hash of the training, validation and test data: equal data have equal hashes."""
        parts = (self.train, self.validation, self.test)
        return joblib.hash([None if part is None else tuple(part) for part in parts])

    @property
    def test_to_train(self) -> float:
        """Number of test queries divided by number of training queries.

        NaN without a training set.
        """
        if self.train is None:
            return math.nan
        return _n_queries(self.test) / _n_queries(self.train)


def _n_queries(data: RankingData) -> int:
    """Return the number of queries; ``qid`` may be names of columns."""
    _, (_, qid) = take_columns(data.X, y=data.y, qid=data.qid)
    return QueryGroups.from_qid(qid, len(data)).n_queries


@check_arguments
def load_folds(folder: str | Path, **options: Any) -> Iterator[Split]:
    """Read the folds of a data set, each when the iterator reaches it.

    Parameters
    ----------
    folder : str or path
        Holds folders ``Fold1``, ``Fold2`` and so on, each with the files ``train``, ``vali`` and
        ``test``, such as ``train.txt`` or ``train.txt.gz``, or these three files themselves. If one
        is missing, an error is raised before any is read.
    **options
        Options of :func:`~treerank.datasets.formats.read_ranking_data`.

    Examples
    --------
    >>> from treerank.datasets.letor import write_letor
    >>> folder = getfixture("tmp_path") / "Fold1"
    >>> folder.mkdir()
    >>> for part in ("train", "vali", "test"):
    ...     write_letor(folder / f"{part}.txt", [[1.0], [2.0]], [0, 1], [5, 5])
    >>> [(fold.name, fold.train.X.shape) for fold in load_folds(folder.parent)]
    [('Fold1', (2, 1))]
    """
    folders = fold_folders(folder)
    missing = [
        f"{folder / part}.txt" for folder in folders for part in _PARTS if not _find(folder, part)
    ]
    if missing:
        raise FileNotFoundError(
            f"folder must hold {', '.join(_PARTS)} as {' or '.join(FORMATS)}, itself or in folders "
            f"Fold1, Fold2, ...; missing: {', '.join(missing)}."
        )
    return (read_fold(folder, **options) for folder in folders)


def fold_folders(folder: str | Path) -> list[Path]:
    """Return the folders ``Fold1``, ``Fold2`` and so on in a folder, or else the folder itself."""
    folder = Path(folder)
    by_number = {
        int(match.group(1)): entry
        for entry in (folder.iterdir() if folder.is_dir() else ())
        if entry.is_dir() and (match := re.fullmatch(r"Fold(\d+)", entry.name))
    }
    return [by_number[number] for number in sorted(by_number)] or [folder]


def _find(folder, part):
    """Return the path of ``train``, ``vali`` or ``test`` (``part``) in a folder, None if missing.

    The suffixes of all formats are tried in the order of ``FORMATS``.
    """
    paths = [folder / f"{part}{suffix}" for suffix in FORMATS]
    return next((path for path in paths if path.is_file()), None)


def read_fold(folder: Path, **options: Any) -> Split:
    """Read the files ``train``, ``vali`` and ``test`` of a folder as one split of its name.

    All get the largest number of features of the three. ``options`` go to
    :func:`~treerank.datasets.formats.read_ranking_data`.
    """
    parts = [read_ranking_data(_find(folder, part), **options) for part in _PARTS]
    n_features = max(data.X.shape[1] for data in parts)
    train, validation, test = (_widened(data, n_features) for data in parts)
    return Split(folder.resolve().name, train, test, validation)


def _widened(data, n_features):
    """Return data padded to ``n_features`` columns: a feature that the file lacks is 0 throughout.

    Refuses data frames of different widths, whose columns have names.
    """
    n_missing = n_features - data.X.shape[1]
    if n_missing == 0:
        return data
    if as_frame(data.X) is not None:
        got = f"{data.X.shape[1]} features in one and {n_features} in another"
        raise ValueError(f"the parts of a fold must have the same columns; got {got}.")
    if not issparse(data.X):
        check_density("the parts of a fold", len(data), n_features, data.X.size)
        return replace(data, X=np.pad(data.X, ((0, 0), (0, n_missing))))
    arrays = (data.X.data, data.X.indices, data.X.indptr)
    return replace(data, X=csr_matrix(arrays, shape=(len(data), n_features)))
