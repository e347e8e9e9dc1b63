"""Reading: documents as users pass them, which are arrays, data frames or batches of rows.

All rankers, and all functions that score documents for others, read them here. Where ``y``,
``qid`` or ``position`` is text, it is the name of a column of ``X``, which is then no feature.
``qid`` may be names of several columns, as ``("user", "week")``. What was read is checked by
:mod:`treerank.documents.features` and :mod:`treerank.documents.labels`.
Files are read by :mod:`treerank.datasets`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from treerank.checks import naming, quote, refuse_other_order
from treerank.documents.batched import BatchedMatrix
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import Columns, as_frame, call_without
from treerank.documents.embeddings import embedding_sizes, with_entries
from treerank.documents.features import check_features, n_features_of
from treerank.documents.ids import check_ids
from treerank.documents.labels import check_labels
from treerank.documents.queries import is_missing, joined_ids, objects
from treerank.documents.ranking_data import Batches
from treerank.spelling import spelled


@dataclass(frozen=True)
class Accepts:
    """What an estimator accepts beside a dense matrix in memory and a single label.

    Attributes
    ----------
    sparse : bool, default=False
        Whether ``fit`` and ``predict`` read sparse matrices.
    batches : bool, default=False
        Whether ``fit`` reads :class:`~treerank.documents.ranking_data.Batches`; ``predict`` of
        every ranker does.
    several_labels : bool, default=False
        Whether ``y`` may be several labels.
    clicks : bool, default=True
        Whether ``fit`` learns from clicks at positions.
    categories : bool, default=True
        Whether columns of text and of categories may be features.
    labels : bool, default=True
        Whether ``fit`` learns from labels. If not, a ranker that was fitted to test queries is as
        good on others.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> accepted_by(TreeDirectRanker("mlp")).sparse, accepted_by(TreeDirectRanker()).sparse
    (False, True)
    """

    sparse: bool = False
    batches: bool = False
    several_labels: bool = False
    clicks: bool = True
    categories: bool = True
    labels: bool = True


@dataclass(slots=True)
class DocumentTags(Tags):
    """The tags of scikit-learn, with ``accepts``: what else an estimator accepts."""

    accepts: Accepts = Accepts()


def accepted_by(estimator: Any) -> Accepts:
    """Return what an estimator accepts, which rankers declare by their tags."""
    if not hasattr(estimator, "__sklearn_tags__"):
        return Accepts()
    accepts: Accepts = getattr(get_tags(estimator), "accepts", Accepts())
    return accepts


def read_documents(estimator: Any, X: Any, y: Any = None, qid: Any = None) -> tuple[Any, Any, Any]:
    """Return ``(X, y, qid)``: features as a float matrix, and labels and query ids unchecked.

    ``estimator`` is fitted. ``y`` and ``qid`` may be names of columns of ``X``, which are left out
    of the features.
    """
    if n_features_of(estimator) is None:  # quicker than all that this checks
        check_is_fitted(estimator)
    X, (y, qid) = take_columns(X, y=y, qid=qid)
    return check_features(estimator, X), y, qid


def read_pairs(estimator: Any, X_a: Any, X_b: Any) -> tuple[Any, Any]:
    """Return the documents of both sides of pairs as checked matrices ``(X_a, X_b)``.

    They must have equally many rows, or one of them a single row, which is compared with all
    others.
    """
    check_is_fitted(estimator)
    with naming("X_a"):
        X_a = read_documents(estimator, _row_of(X_a))[0]
    with naming("X_b"):
        X_b = read_documents(estimator, _row_of(X_b))[0]
    check_n_pairs(X_a.shape[0], X_b.shape[0])
    return X_a, X_b


def _row_of(X: Any) -> Any:
    """Return a single document, given as a row or a series of pandas, as a table of one row."""
    if not is_row(X):
        return X
    return X.to_frame().T if hasattr(X, "to_frame") else np.asarray(X)[None]


def is_row(X: Any) -> bool:
    """Tell whether X is a single document without a second axis: a row or a series of pandas."""
    if hasattr(X, "to_frame") and hasattr(X, "iloc"):
        return True
    return isinstance(X, np.ndarray | list | tuple) and np.ndim(X) == 1 and len(X) > 0


def take_columns(X: Any, **arguments: Any) -> tuple[Any, list[Any]]:
    """Return ``(X, values)``: a frame without the columns that arguments name, and their values.

    ``values`` lists one entry per argument: the named column, or the argument itself if it is not
    text. Query ids may be named by several columns: then the id of a row is the tuple of its
    values.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"price": [9.5, 7.0], "clicks": [1, 0], "user": ["a", "a"]})
    >>> X, (y, qid) = take_columns(frame, y="clicks", qid="user")
    >>> X.columns, y.to_list(), qid.to_list()
    (['price'], [1, 0], ['a', 'a'])
    >>> X, (qid,) = take_columns(frame, qid=("user", "clicks"))
    >>> X.columns, qid.tolist()
    (['price'], [('a', 1), ('a', 0)])
    """
    if isinstance(X, str | Path):
        raise TypeError(
            f"X must be documents in memory; got {quote(X)}. Read a file first, as in "
            "fit(*read_parquet(path))."
        )
    if isinstance(X, tuple) and X and np.ndim(X[0]) > 1:
        raise TypeError("X must be documents alone; got a tuple. Unpack it, as in fit(*data).")
    frame: Any = as_frame(X)  # refuses frames that are not in memory, before anything else
    refuse_other_order({"X": X, **arguments})
    taken: dict[str, Any] = {}
    names: list[str] = []
    for name, values in arguments.items():
        if frame is None:
            are_names = name == "qid" and isinstance(values, tuple) and _are_texts(values)
            if are_names and len(values) != (X.shape[0] if hasattr(X, "shape") else len(X)):
                raise ValueError(f"qid must name columns of X; got {quote(values)} and an array.")
        elif name == "qid" and _are_names(values, frame.columns, len(frame)):
            taken[name] = _ids_of_columns(frame, values)
            names += values
        elif isinstance(values, Mapping) and values:
            _refuse_several_names(frame, name, [*values.values()], "a dict of names")
        elif isinstance(values, list | tuple) and values and len(values) < len(frame):
            _refuse_several_names(frame, name, [*values], "a list of names")
    named = {name: value for name, value in arguments.items() if isinstance(value, str)}
    if not named and not taken:
        return X, list(arguments.values())
    for name, column in named.items():
        if frame is None or column not in frame.columns:
            kind = "an array" if frame is None else f"a data frame of {quote(frame.columns)}"
            raise ValueError(f"{name} must name a column of X; got {quote(column)} and {kind}.")
    taken |= {name: frame[column].to_native() for name, column in named.items()}
    names = [*dict.fromkeys([*names, *named.values()])]
    return frame.drop(names).to_native(), [*(arguments | taken).values()]


def _are_texts(values: Sequence[Any]) -> bool:
    """Tell whether a sequence holds texts, and nothing else."""
    return len(values) > 0 and all(isinstance(value, str) for value in values)


def _are_names(qid: Any, columns: list[str], n_rows: int) -> bool:
    """Tell whether ``qid`` is a tuple or list of names of columns of a data frame, not of ids."""
    if not isinstance(qid, tuple | list) or not _are_texts(qid):
        return False
    are_columns = [name in columns for name in qid]
    # Text that is as long as the frame is ids, unless it is a tuple of names of columns.
    if isinstance(qid, list):
        return all(are_columns) and len(qid) != n_rows
    return any(are_columns) if len(qid) != n_rows else all(are_columns)


def _ids_of_columns(frame: Any, names: Sequence[str]) -> np.ndarray:
    """Return the query id of each row, a tuple of its values in the columns ``names``.

    Refuses names that are no columns, and missing values.
    """
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"qid must name columns of X; got {quote(name)} and a data frame of "
                f"{quote(frame.columns)}."
            )
    columns = [frame[name].to_list() for name in names]
    for name, column in zip(names, columns, strict=True):
        row = next((row for row, value in enumerate(column) if is_missing(value)), None)
        if row is not None:
            raise ValueError(
                f"qid must not be missing; got {column[row]} in column {quote(name)}, row {row}."
            )
    return objects([*zip(*columns, strict=True)])


def _refuse_several_names(frame: Any, name: str, values: list[Any], kind: str) -> None:
    """Refuse names of columns, ``kind`` of them, for ``name``, which takes one name or values."""
    if not all(isinstance(value, str) and value in frame.columns for value in values):
        return
    advice = f"Write {name}={quote(values[0])}."
    if len(values) > 1:
        shown = quote(values)
        chosen = f"X.select({shown})" if frame.implementation.is_pyarrow() else f"X[{shown}]"
        advice = f"For several columns write {call_without(frame, values)} and {name}={chosen}."
    raise TypeError(f"{name} must be the name of one column of X, or values; got {kind}. {advice}")


def stacked_rows(parts: Sequence[Any]) -> Any:
    """Concatenate the rows of arrays, of sparse matrices or of data frames."""
    if len(parts) == 1:
        return parts[0]
    if issparse(parts[0]):
        return vstack(parts, format="csr")
    frames: list[Any] = [as_frame(part) for part in parts]
    return np.concatenate(parts) if frames[0] is None else nw.concat(frames).to_native()


def documents_of_batches(
    ranker: Any, batches: Batches, *, reset: bool = False, earlier: Iterable[Columns] = ()
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return ``(X, y, qid)`` of batches; X is a matrix that is read in batches.

    ``reset`` replaces the ranker's columns, of which ``earlier`` fix the codes of categories.
    Refuses batches if the ranker does not read them.
    """
    if not accepted_by(ranker).batches:
        raise TypeError(
            f"X must be in memory for {quote(ranker)}; only rankers with trees of this "
            'package, as TreeDirectRanker("histogram"), are fitted to Batches.'
        )
    return check_batches(ranker, batches, reset=reset, earlier=earlier)


def refuse_arrays(*arrays: Any) -> None:
    """Refuse further arrays where X is batches."""
    if any(array is not None for array in arrays):
        raise ValueError(
            "y, qid, weights, pairs and positions must be None where X is Batches, which hold "
            "labels and query ids."
        )


def check_batches(
    estimator: Any, batches: Iterable[Any], *, reset: bool, earlier: Iterable[Columns] = ()
) -> tuple[BatchedMatrix, np.ndarray, np.ndarray]:
    """Return ``(X, y, qid)`` of batches ``(X, y, qid)``; X is a matrix that is read in batches.

    ``reset`` replaces the estimator's columns, see :meth:`Columns.of` for ``earlier``.
    """
    if reset:
        _reset_columns(estimator, batches, earlier)

    def read() -> Iterator[np.ndarray]:
        for X, _, _ in batches:
            yield check_features(estimator, X)

    labels, ids, hashes = [], [], []
    for X, y, qid in batches:
        matrix = check_features(estimator, X)
        labels.append(_labels_of_batch(y, len(matrix)))
        ids.append(check_ids("qid", qid, len(matrix)))
        hashes.append(row_hashes(matrix))
    shape = sum(map(len, labels)), estimator.n_features_in_
    matrix = BatchedMatrix(read, shape, np.concatenate(hashes))
    y = np.concatenate(labels)
    path = getattr(batches, "path", None)
    if len(y) and np.isnan(y).all() and path is not None:
        raise ValueError(
            f"{path}: y must hold a label in some row; got NaN, no judgment, in all {len(y)}. If "
            f"another column holds the labels, write {spelled('label', 'NAME')}."
        )
    return matrix, check_labels(y), joined_ids(ids)


def _labels_of_batch(y: Any, n_documents: int) -> np.ndarray:
    """Return the checked labels of a batch, which may all be NaN."""
    values = np.asarray(y)  # also of a list, and of columns of data frames
    is_column = values.shape == (n_documents,) and values.dtype.kind in "fO"
    if is_column and all(map(is_missing, values.tolist())):
        return np.full(n_documents, np.nan)
    return check_labels(y, n_documents)


def _reset_columns(estimator, batches, earlier):
    """Set the names and categories of the columns of an estimator, from all batches."""
    first = next((batch for batch in batches if len(batch)), None)  # some may be without rows
    if first is None:
        raise ValueError("X must have rows; got no batch with any.")
    X = next(iter(first))
    # Further batches are read only if a column of lists is all missing in the first one.
    sizes = embedding_sizes(chain([X], (X for X, _, _ in batches)))
    check_features(estimator, with_entries(X, sizes), reset=True)
    estimator.columns_ = Columns.of_batches((X for X, _, _ in batches), earlier, sizes)


def check_n_pairs(n_a: int, n_b: int) -> int:
    """Return the number of pairs of rows; refuse unequal numbers unless one of them is 1."""
    if n_a != n_b and 1 not in (n_a, n_b):
        raise ValueError(
            "X_a and X_b must have equally many rows, or one of them a single row; got "
            f"{n_a} and {n_b}."
        )
    return n_a if n_b == 1 else n_b
