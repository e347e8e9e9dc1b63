"""Folds: the ways in which a LETOR data set is split into train, validation and test.

LETOR and MSLR-WEB come as folders ``Fold1`` to ``Fold5``, each with ``train.txt``,
``vali.txt`` and ``test.txt``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, issparse

from treerank.datasets.letor import read_letor
from treerank.datasets.ranking_data import RankingData

_PARTS = ("train", "vali", "test")
_SUFFIXES = (".txt", ".txt.gz")


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of a data set; the three parts have the same number of features.

    Attributes
    ----------
    name : str
        Name of the fold's folder.
    train, validation, test : RankingData
        The parts.
    """

    name: str
    train: RankingData
    validation: RankingData
    test: RankingData


def load_folds(folder, **options) -> Iterator[Fold]:
    """Read the folds of a LETOR or MSLR-WEB folder, one at a time.

    Parameters
    ----------
    folder : path-like
        Holds ``Fold1``, ``Fold2`` and so on, each with ``train``, ``vali`` and ``test``, as
        ``.txt`` or ``.txt.gz``; or holds these three files itself and is the only fold.
    **options
        Options of :func:`~treerank.datasets.letor.read_letor`.

    Returns
    -------
    iterator of Fold
        Reads a fold only when it is asked for. That all files are there is checked at once.

    Examples
    --------
    >>> import tempfile
    >>> from treerank.datasets.letor import write_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "Fold1").mkdir()
    ...     for part in ("train", "vali", "test"):
    ...         write_letor(Path(folder, "Fold1", f"{part}.txt"), [[1.0], [2.0]], [0, 1], [5, 5])
    ...     for fold in load_folds(folder):
    ...         print(fold.name, fold.train.X.shape)
    Fold1 (2, 1)
    """
    folder = Path(folder)
    fold_folders = _fold_folders(folder)
    missing = [
        str(place / f"{part}.txt")
        for place in fold_folders
        for part in _PARTS
        if _find(place, part) is None
    ]
    if missing:
        raise FileNotFoundError(
            f"folder must hold {', '.join(_PARTS)} as .txt or .txt.gz, itself or in folders "
            f"Fold1, Fold2, ...; missing: {', '.join(missing)}."
        )
    return (_read_fold(place, options) for place in fold_folders)


def _fold_folders(folder):
    found = {
        int(match.group(1)): place
        for place in (folder.iterdir() if folder.is_dir() else ())
        if place.is_dir() and (match := re.fullmatch(r"Fold(\d+)", place.name))
    }
    return [found[number] for number in sorted(found)] or [folder]


def _find(folder, part):
    places = [folder / f"{part}{suffix}" for suffix in _SUFFIXES]
    return next((place for place in places if place.is_file()), None)


def _read_fold(folder, options):
    parts = [read_letor(_find(folder, part), **options) for part in _PARTS]
    n_features = max(data.X.shape[1] for data in parts)
    return Fold(folder.resolve().name, *(_widened(data, n_features) for data in parts))


def _widened(data, n_features):
    """Add the columns that only the other parts of a fold name."""
    n_missing = n_features - data.X.shape[1]
    if n_missing == 0:
        return data
    if not issparse(data.X):
        return replace(data, X=np.pad(data.X, ((0, 0), (0, n_missing))))
    arrays = (data.X.data, data.X.indices, data.X.indptr)
    return replace(data, X=csr_matrix(arrays, shape=(len(data), n_features)))
