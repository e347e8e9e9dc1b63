"""Features: X as users pass it, checked by scikit-learn's rules and returned as a float matrix.

The functions take the estimator because scikit-learn stores the number and the names of the
features in it, and names it in error messages. Of its other attributes they use ``columns_``, and
the tag ``input_tags.sparse``.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from treerank.checks import has_methods, naming, quote, refuse_complex, refuse_masked
from treerank.documents.batched import BatchedMatrix
from treerank.documents.columns import (
    Columns,
    as_csr,
    as_frame,
    fitted_columns,
    refuse_records,
    refuse_unordered_numbers,
    warn_of_names,
)
from treerank.documents.conversions import shown_type
from treerank.documents.embeddings import with_entries
from treerank.documents.queries import is_missing
from treerank.documents.rows import Rows

_NUMBERS = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_features(
    estimator: Any,
    X: Any,
    *,
    reset: bool = False,
    earlier: Iterable[Columns] = (),
    columns: Columns | None = None,
) -> Any:
    """Return features as a float matrix, dense or CSR; ``reset`` sets ``estimator.columns_``.

    ``earlier`` are columns of models that are given to the estimator, see :meth:`Columns.of`.
    ``columns`` replace the columns that are derived from a data frame, where the categories of
    further rows are known.
    """
    if isinstance(X, BatchedMatrix) or (not reset and _is_checked(estimator, X)):
        return X
    numbers_rule = _NUMBERS if reset else _NUMBERS | {"ensure_min_samples": 0}
    with naming("X"), config_context(assume_finite=False):
        if isinstance(X, Rows):
            return _read_rows(estimator, X, reset)
        if not reset and isinstance(X, list | tuple) and len(X) == 0:
            X = np.empty((0, n_features_of(estimator) or 0))
        if issparse(X):
            return _check_sparse(estimator, X, reset)
        if isinstance(X, np.ndarray) or as_frame(X) is None:
            if reset:
                estimator.columns_ = Columns()
            estimator.columns_.refuse_arrays_for_categories()
            return validate_data(estimator, _as_array(X), reset=reset, **numbers_rule)
        if reset:
            X = with_entries(X)
        else:
            names, is_of_other = feature_names_of(estimator), estimator.columns_.takes_codes
            X = fitted_columns(X, names, of_other_program=is_of_other)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if reset:
            refuse_unordered_numbers(X)
            warn_of_names(X)
            estimator.columns_ = Columns.of(X, earlier) if columns is None else columns
        numbers = estimator.columns_.numbers(X)
        return check_array(numbers, input_name="X", estimator=estimator, **numbers_rule)


def set_columns(estimator: Any, columns: Columns, n_features: int) -> None:
    """Set the attributes by which a fitted estimator knows the columns of its documents."""
    estimator.columns_, estimator.n_features_in_ = columns, n_features
    vars(estimator).pop("feature_names_in_", None)
    if columns.names is not None:
        estimator.feature_names_in_ = np.array(columns.names, dtype=object)


def _read_rows(estimator, rows, reset):
    """Return the matrix of documents that were read before, as ``Rows``.

    ``reset`` sets the estimator's columns; otherwise other columns than in ``fit`` are refused.
    """
    if rows.is_sparse:
        _refuse_sparse(estimator, rows.values)
    if reset:
        set_columns(estimator, rows.columns, rows.shape[1])
        return rows.array()
    # Whether arrays are taken does not matter: categories are codes in all rows.
    columns = replace(rows.columns, takes_codes=estimator.columns_.takes_codes)
    if columns != estimator.columns_ or rows.shape[1] != n_features_of(estimator):
        expected = _shown_columns(estimator.columns_, n_features_of(estimator))
        given = _shown_columns(columns, rows.shape[1])
        raise ValueError(f"X must have {expected}, as in fit; got {given}.")
    return rows.array()


def _shown_columns(columns, n_features):
    """Return the number of columns, their names and their categories, for a message.

    Examples
    --------
    >>> _shown_columns(Columns({1: ["blue", "red"]}, names=("price", "color")), 2)
    "2 columns ['price', 'color'] with the categories {'color': ['blue', 'red']}"
    >>> _shown_columns(Columns(), 2)
    '2 columns without names'
    """
    names = columns.names
    shown = "without names" if names is None else quote([*names])
    if columns.categories:
        named = {c if names is None else names[c]: v for c, v in columns.categories.items()}
        shown += f" with the categories {quote(named)}"
    return f"{n_features} columns {shown}"


def _is_checked(estimator, X):
    """Tell quickly whether X is a float matrix of the right width without infinite numbers.

    Checks take longer than scoring a query. False if columns have names or categories.
    """
    if type(X) is not np.ndarray or X.dtype not in _FLOATS or X.ndim != 2 or len(X) == 0:
        return False
    if X.shape[1] != n_features_of(estimator) or feature_names_of(estimator) is not None:
        return False
    return not has_infinite(X) and not estimator.columns_.categories


def n_features_of(estimator: Any) -> int | None:
    """Return the number of features that an estimator was fitted to; ``None`` before ``fit``."""
    n_features: int | None = getattr(estimator, "n_features_in_", None)
    return n_features


def feature_names_of(estimator: Any) -> np.ndarray | None:
    """Return the names of the features that an estimator was fitted to, if they had names."""
    names: np.ndarray | None = getattr(estimator, "feature_names_in_", None)
    return names


def shown_names(estimator: Any) -> list[str]:
    """Return the names of the features of a fitted estimator; f0, f1 and so on if it has none.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> shown_names(RankSVM().fit([[1.0, 2.0], [2.0, 0.0]], [0, 1]))
    ['f0', 'f1']
    """
    names = feature_names_of(estimator)
    if names is None:
        return [f"f{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def has_infinite(X: np.ndarray) -> bool:
    """Tell whether an array has an infinite number; missing values do not count.

    Examples
    --------
    >>> has_infinite(np.array([1.0, np.nan])), has_infinite(np.array([np.nan, -np.inf]))
    (False, True)
    """
    least, most = (f.reduce(X, axis=None, initial=np.nan) for f in (np.fmin, np.fmax))
    return bool(least == -np.inf or most == np.inf)


def check_matrix(name: str, X: Any, columns: Columns | None = None) -> Any:
    """Return features as a float matrix, dense or CSR, outside of a ranker; text becomes codes.

    ``columns`` give the codes of a data frame's categories, by default those of ``X`` itself.

    Examples
    --------
    >>> check_matrix("X", [[1, None]])
    array([[ 1., nan]])
    """
    with naming(name), config_context(assume_finite=False):
        if issparse(X):
            refuse_complex(X)
            _check_indices(X)
            return as_csr(check_array(X, accept_sparse="csr", input_name=name, **_NUMBERS))
        X = with_entries(X)
        columns, is_frame = columns or Columns.of(X), as_frame(X) is not None
        numbers = columns.numbers(X) if is_frame else _as_array(columns.numbers(X))
        return check_array(numbers, input_name=name, **_NUMBERS)


def check_alike(X: Any, reference: Any) -> tuple[Any, Any, Collection[int]]:
    """Return ``(X, reference, categorical)``: matrices of the same columns, and the coded ones.

    Columns of two data frames are found by the names in ``X``, and the same category has the same
    code in both.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"color": ["red", "blue"], "price": [9.5, 7.0]})
    >>> check_alike(X, pd.DataFrame({"price": [8.0], "color": ["red"]}))
    (array([[1. , 9.5],
           [0. , 7. ]]), array([[1., 8.]]), (0,))
    """
    X, reference = with_entries(X), with_entries(reference)
    columns, other = Columns.of(X), as_frame(reference, "reference")
    if columns.names is not None and other is not None:
        missing = [name for name in columns.names if name not in other.columns]
        if missing:
            raise ValueError(
                f"reference must have the columns of X; {quote(missing[0])} is missing from "
                f"{quote(other.columns)}."
            )
        reference = other.select(columns.names).to_native()
    elif other is not None:
        with naming("reference"):
            refuse_unordered_numbers(reference)
    coded = Columns.of(reference, [columns]).categories
    _refuse_uncoded("X", X, "reference", coded.keys() - columns.categories.keys())
    _refuse_uncoded("reference", reference, "X", columns.categories.keys() - coded.keys())
    columns = replace(columns, categories=columns.categories | coded)
    X, reference = check_matrix("X", X, columns), check_matrix("reference", reference, columns)
    if X.shape[1] != reference.shape[1]:
        widths = f"{reference.shape[1]} and {X.shape[1]}"
        raise ValueError(f"reference must have as many columns as X; got {widths}.")
    return X, reference, tuple(columns.categories)


def _refuse_uncoded(name, X, other, positions):
    """Refuse documents without categories in columns in which the ``other`` ones have them.

    A column without values is none of these.
    """
    frame: Any = as_frame(X)
    if frame is None:
        if not positions:
            return
        shown = quote(sorted(positions))
        raise TypeError(
            f"{name} must be a data frame, as {other}, in which columns {shown} are categories."
        )
    for position in [at for at in sorted(positions) if at < frame.shape[1]]:
        column = frame[:, position]
        if not all(map(is_missing, column.to_list())):
            raise TypeError(
                f"{name} must hold categories in column {quote(column.name)}, as {other}; got "
                f"{shown_type(column)}."
            )


def _as_array(X):
    """Return an array of two dimensions; refuse masked entries, dates and complex numbers."""
    if not isinstance(X, np.ndarray):
        refuse_records(X)
    refuse_masked("X", X)
    try:
        array = np.asarray(X)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"X must have equally many numbers in each row; got {reason}.") from error
    if array.dtype.kind in "SUOT" and array.ndim:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"X must hold numbers, or be a data frame, whose columns of text are categories; "
                f"got an array that is not: {error!s:.200}."
            ) from error
    if array.dtype.kind in "mM":
        raise TypeError(f"X must be numbers; got {array.dtype}.")
    refuse_complex(array)
    if array.ndim == 1:
        raise ValueError(
            f"X must have a row for each document; got {len(array)} numbers. Reshape your data: "
            "X.reshape(1, -1) is one document, X.reshape(-1, 1) is one feature."
        )
    if array.ndim == 0:  # anything, such as batches of rows
        raise TypeError(f"X must be a matrix in memory; got {type(X)}.")
    return array


def _check_sparse(estimator, X, reset):
    """Return sparse features as a CSR matrix; refuse them if the estimator needs dense ones.

    ``reset`` sets the estimator's columns.
    """
    _refuse_sparse(estimator, X)
    if reset:
        estimator.columns_ = Columns()
    else:
        estimator.columns_.refuse_arrays_for_categories()
    refuse_complex(X)
    _check_indices(X)
    return as_csr(
        validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            **_NUMBERS,
            ensure_min_samples=int(reset),
        )
    )


def _refuse_sparse(estimator, X):
    """Refuse a sparse matrix if the estimator needs a dense one."""
    if not get_tags(estimator).input_tags.sparse:
        raise TypeError(
            f"X must be dense for {quote(estimator)}, which reads no sparse matrices; "
            f"got {type(X)}. X.toarray() makes it dense."
        )


def _check_indices(X):
    """Refuse indices that point outside of the matrix: compiled code would follow them."""
    if X.format == "coo":
        type(X)((X.data, X.coords), shape=X.shape)  # checks them
    elif X.format in ("bsr", "csc", "csr"):
        X.check_format(full_check=True)


def check_fitted(name: str, estimator: Any) -> None:
    """Refuse an object that is not a fitted estimator."""
    if not has_methods(estimator, "fit"):
        raise TypeError(f"{name} must be a fitted ranker; got {quote(estimator)}.")
    check_is_fitted(estimator)
