"""Splits: the training, validation and test sets of a comparison, read when they are needed.

Every kind of split has a ``name`` and a ``split()`` that returns the three sets. To add a kind,
write such a class and have ``make_splits`` recognize its data.
"""

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.utils import _safe_indexing

from treerank.datasets.folds import Fold, fold_folders, load_folds
from treerank.datasets.ranking_data import RankingData
from treerank.inputs.grouping import check_qid
from treerank.model_selection import QueryKFold, QueryShuffleSplit


@dataclass(frozen=True, eq=False)
class Split:
    """Sets of whole queries.

    Attributes
    ----------
    name : str
        Unique among the splits.
    train, test : RankingData
        What to fit to and what to score.
    validation : RankingData or None
        What to choose parameters and to stop early by.
    """

    name: str
    train: RankingData
    test: RankingData
    validation: RankingData | None = None

    @property
    def fingerprint(self):
        """Text that two splits share only if their data are the same."""
        parts = (self.train, self.validation, self.test)
        return joblib.hash([None if part is None else tuple(part) for part in parts])

    @property
    def test_to_train(self):
        """Number of queries to test on, over the number to train on."""
        return len(np.unique(self.test.qid)) / len(np.unique(self.train.qid))


@dataclass(frozen=True, eq=False)
class RowSplit:
    """A split of one data set by rows."""

    name: str
    data: RankingData
    train: np.ndarray
    test: np.ndarray
    validation: np.ndarray | None = None

    def split(self):
        """Gather the rows."""
        validation = None if self.validation is None else self._taking(self.validation)
        return Split(self.name, self._taking(self.train), self._taking(self.test), validation)

    def _taking(self, rows):
        X, y, qid = self.data
        return RankingData(_safe_indexing(X, rows), y[rows], qid[rows])


@dataclass(frozen=True)
class FolderSplit:
    """A fold that is read from the files of its folder."""

    name: str
    folder: Path

    def split(self):
        """Read the files."""
        (fold,) = load_folds(self.folder)
        return Split(self.name, fold.train, fold.test, fold.validation)


@dataclass(frozen=True, eq=False)
class GivenSplit:
    """A split that is in memory already."""

    whole: Split

    @property
    def name(self):
        """Name of the split."""
        return self.whole.name

    def split(self):
        """Return it."""
        return self.whole


def make_splits(data, cv=None, *, validation_size=None, random_state=0):
    """List the splits of data.

    Parameters
    ----------
    data : path, iterable of Fold or Split, RankingData or tuple (X, y, qid)
        A LETOR folder or folds bring their splits along; others are split by ``cv``.
    cv : int, splitter or iterable of (train, test), default=None
        For data without splits: number of shuffled folds by query, 5 if None; or a splitter
        such as ``QueryShuffleSplit(15)``; or arrays of rows.
    validation_size : float or int, default=None
        Share or number of training queries to take as validation set where there is none.
    random_state : int, default=0
        Seed of the folds and of the validation sets.

    Returns
    -------
    list
    """
    if isinstance(data, str | Path):
        _refuse_cv(cv, validation_size)
        load_folds(data)  # names missing files before the work begins
        return [FolderSplit(place.resolve().name, place) for place in fold_folders(data)]
    if _is_data(data):
        data = _checked(data)
        return list(_row_splits(data, cv, validation_size, random_state))
    if not isinstance(data, Iterable):
        raise TypeError(f"data must be a folder, folds or (X, y, qid); got {type(data)}.")
    _refuse_cv(cv, validation_size)
    return [GivenSplit(_as_split(fold)) for fold in data]


def _refuse_cv(cv, validation_size):
    for name, value in {"cv": cv, "validation_size": validation_size}.items():
        if value is not None:
            raise ValueError(f"{name} must be None for data that come in folds; got {value!r}.")


def _is_data(data):
    is_tuple = isinstance(data, tuple) and len(data) == 3
    return isinstance(data, RankingData) or (
        is_tuple and not any(isinstance(part, Fold | Split) for part in data)
    )


def _checked(data):
    X, y, qid = data
    n_documents = X.shape[0] if hasattr(X, "shape") else len(X)
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (n_documents,):
        raise ValueError(f"y must have one entry per row of X; got {y.shape} for {n_documents}.")
    return RankingData(X, y, check_qid(qid, n_documents))


def _as_split(fold: Any):
    if isinstance(fold, Split):
        return fold
    if isinstance(fold, Fold):
        return Split(fold.name, fold.train, fold.test, fold.validation)
    raise TypeError(f"data must hold folds or splits; got {type(fold)}.")


def _row_splits(data, cv, validation_size, random_state):
    pairs = _index_pairs(data, cv, random_state)
    width = len(str(len(pairs)))
    for number, (train, test) in enumerate(pairs, start=1):
        shared = np.intersect1d(data.qid[train], data.qid[test])
        if len(shared):
            raise ValueError(
                "cv must keep queries whole; got documents of query "
                f"{shared.tolist()[0]!r} in both sets of split {number}."
            )
        validation = None
        if validation_size is not None:
            splitter = QueryShuffleSplit(1, test_size=validation_size, random_state=random_state)
            kept, held_out = next(splitter.split(train, qid=data.qid[train]))
            train, validation = train[kept], train[held_out]
        yield RowSplit(f"{number:0{width}d}", data, train, test, validation)


def _index_pairs(data, cv, random_state):
    if cv is None or isinstance(cv, numbers.Integral):
        cv = QueryKFold(5 if cv is None else int(cv), shuffle=True, random_state=random_state)
    if hasattr(cv, "split"):
        # Our splitters take qid in the place of scikit-learn's groups.
        return list(cv.split(data.y.reshape(-1, 1), data.y, groups=data.qid))
    return [(np.asarray(train), np.asarray(test)) for train, test in cv]
