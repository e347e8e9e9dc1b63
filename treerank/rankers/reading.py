"""Reading: the documents of a ranker's methods, which may be a file, named columns or batches."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treerank.checks import shown
from treerank.datasets.ranking_data import Batches
from treerank.datasets.tables import take_columns, take_named
from treerank.inputs.batched import BatchedMatrix
from treerank.inputs.documents import check_batches, check_features, parts_of_eval_set
from treerank.inputs.grouping import check_qid, joined_ids

_BOTH = ("y", "qid")


def read_columns(
    ranker: Any,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    needed: Collection[str] = _BOTH,
    others: Collection[str] = (),
) -> tuple[Any, Any, Any]:
    """Return features, labels and query ids for a fitted ranker, which knows its columns.

    Columns named by ``others`` stay among the features.
    """
    names = getattr(ranker, "feature_names_in_", None)
    features = None if names is None else [*names, *others]
    n_features = getattr(ranker, "n_features_in_", None)
    return take_columns(X, y, qid, needed=needed, features=features, n_features=n_features)


def read_training_set(
    ranker: Any, X: Any, y: Any, qid: Any, position: Any, *others: Any, reset: bool
) -> tuple[Any, Any, Any, Any]:
    """Return features, labels, queries and positions for ``fit``; ``reset`` forgets the columns."""
    if isinstance(X, Batches):
        _check_reads_batches(ranker)
        _refuse_arrays(y, qid, position, *others)
        return *check_batches(ranker, X, reset=reset), None
    if reset:
        X, y, qid = take_columns(X, y, qid)
    else:
        named = [position] if isinstance(position, str) else []
        X, y, qid = read_columns(ranker, X, y, qid, others=named)
    X, (position,) = take_named(X, position=position)
    return X, y, qid, position


def read_eval_set(ranker: Any, eval_set: Any) -> tuple[Any, Any, Any]:
    """Return X, y and qid of an ``eval_set``, which may be a file, batches, or name columns."""
    if isinstance(eval_set, Batches):
        _check_reads_batches(ranker)
        return check_batches(ranker, eval_set, reset=False)
    if isinstance(eval_set, str | Path):
        return read_columns(ranker, eval_set)
    parts = parts_of_eval_set(eval_set)
    return parts if len(eval_set) == 2 else read_columns(ranker, *parts)


def read_and_score(
    ranker: Any, X: Any, y: Any = None, qid: Any = None, *, needed: Collection[str] = _BOTH
) -> tuple[np.ndarray, Any, Any]:
    """Return scores, labels and query ids."""
    if not hasattr(ranker, "n_features_in_"):  # which is sooner known than all that this checks
        check_is_fitted(ranker)
    if not isinstance(X, Batches):
        X, y, qid = read_columns(ranker, X, y, qid, needed=needed)
        return ranker._scores(check_features(ranker, X)), y, qid
    _refuse_arrays(y, qid)
    parts = [(ranker._scores(check_features(ranker, part.X)), part.y, part.qid) for part in X]
    if not parts:
        raise ValueError("X must have rows; got no batch.")
    scores, labels, ids = zip(*parts, strict=True)
    joined = joined_ids([check_qid(part) for part in ids])
    return np.concatenate(scores), np.concatenate(labels), joined


def scores_of(ranker: Any, X: Any) -> np.ndarray:
    """Return the score of each row of a checked matrix, which may be read in batches."""
    if isinstance(X, BatchedMatrix):
        return np.concatenate([ranker._scores(batch) for _, batch in X.batches()])
    scores: np.ndarray = ranker._scores(X)
    return scores


def _check_reads_batches(ranker):
    """Refuse batches if the ranker needs all rows in memory."""
    if not ranker._reads_batches():
        raise TypeError(
            f"X must be in memory for {shown(ranker)}; only rankers whose feature_part is trees of "
            "LightGBM, of XGBoost or of this package are fitted to Batches."
        )


def _refuse_arrays(*arrays):
    """Refuse arrays next to batches."""
    if any(array is not None for array in arrays):
        raise ValueError(
            "y, qid, weights, pairs and positions must be None where X is Batches, which hold "
            "labels and query ids."
        )
