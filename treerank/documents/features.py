"""Documents: X, y and qid as users pass them, checked by scikit-learn's rules.

The functions take the estimator because scikit-learn stores the number and the names of the
features in it and names it in error messages. Of the rest of it they use ``columns_``, and the tag
``input_tags.sparse``. Positions at which documents were shown are checked here, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.utils import check_array, column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from treerank.checks import (
    check_column,
    has_methods,
    is_whole,
    naming,
    quote,
    refuse_masked,
    refuse_rounded,
    refuse_where,
    warn_user,
)
from treerank.documents.batched import BatchedMatrix
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import Columns, as_csr, as_frame, fitted_columns, warn_of_names
from treerank.documents.queries import QueryGroups, check_qid, joined_ids
from treerank.documents.rows import Rows

_NUMBERS = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
#: With fewer rows, a column that equals the labels is no surprise.
_MANY = 1000
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_documents(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    reset: bool,
    earlier: Iterable[Columns] = (),
    some_unjudged: bool = False,
    columns: Columns | None = None,
) -> tuple[Any, np.ndarray]:
    """Return features and labels for ``fit``; ``reset`` replaces the columns of an earlier fit.

    ``earlier`` are columns of models that are given to the estimator, see :meth:`Columns.of`.
    ``columns`` are those of X where more is known of them than its rows tell.
    """
    labels = check_labels(y, some_unjudged=some_unjudged)
    X = check_features(estimator, X, reset=reset, earlier=earlier, columns=columns)
    labels = check_labels(labels, X.shape[0], some_unjudged=some_unjudged)
    if reset and len(labels) >= _MANY and isinstance(X, np.ndarray):
        _warn_of_copies(estimator, X, "y", labels)
    return X, labels


def warn_of_query_ids(estimator: Any, X: Any, qid: Any) -> None:
    """Warn of a column of checked features that holds the ids; of few rows, it may be a toy."""
    if qid is None or not isinstance(X, np.ndarray) or len(X) < _MANY:
        return
    if isinstance(qid, QueryGroups):  # which have no ids
        return
    ids = np.asarray(qid)
    if ids.dtype.kind in "iuf":
        _warn_of_copies(estimator, X, "qid", ids)
        return
    some = slice(None, None, len(ids) // 100)
    for column, categories in estimator.columns_.categories.items():
        code_of = {category: code for code, category in enumerate(categories)}
        for rows in (some, slice(None)):
            codes = [code_of.get(each, np.nan) for each in ids[rows].tolist()]
            if not np.array_equal(X[rows, column], codes):
                break
        else:
            _warn_of_copy(estimator, column, "qid")


def _warn_of_copies(estimator, X, name, values):
    """Warn of each column that holds the labels or the query ids."""
    some = slice(None, None, len(values) // 100)
    for column in np.flatnonzero((X[some] == values[some, None]).all(axis=0)):
        if np.ptp(values) > 0 and np.array_equal(X[:, column], values):
            _warn_of_copy(estimator, column, name)


def _warn_of_copy(estimator, column, name):
    """Warn without the number of rows: each of several workers has some, and all say this."""
    names = feature_names_of(estimator)
    shown = column if names is None else quote(str(names[column]))
    warn_user(f"Column {shown} of X equals {name} in all rows. Leave it out of X.")


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
    ``columns`` are those of a data frame where more is known of them than its rows tell.
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
        if as_frame(X) is None:
            if reset:
                estimator.columns_ = Columns()
            X = _as_array(estimator.columns_.numbers(X))
            return validate_data(estimator, X, reset=reset, **numbers_rule)
        X = X if reset else fitted_columns(X, feature_names_of(estimator))
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if reset:
            warn_of_names(X)
            estimator.columns_ = Columns.of(X, earlier) if columns is None else columns
        numbers = estimator.columns_.numbers(X)
        return check_array(numbers, input_name="X", estimator=estimator, **numbers_rule)


def set_columns(estimator: Any, rows: Rows) -> None:
    """Let an estimator that is being fitted know the columns of its documents."""
    estimator.columns_, estimator.n_features_in_ = rows.columns, rows.shape[1]
    vars(estimator).pop("feature_names_in_", None)
    if rows.columns.names is not None:
        estimator.feature_names_in_ = np.array(rows.columns.names, dtype=object)


def _read_rows(estimator, rows, reset):
    """Return the matrix of documents that another estimator has read."""
    if rows.is_sparse:
        _refuse_sparse(estimator, rows.values)
    if reset:
        set_columns(estimator, rows)
    elif rows.columns != estimator.columns_ or rows.shape[1] != n_features_of(estimator):
        expected = f"{n_features_of(estimator)} columns as in fit, {estimator.columns_}"
        raise ValueError(f"X must have {expected}; got {rows.shape[1]}, {rows.columns}.")
    return rows.array()


def _is_checked(estimator, X):
    """Tell whether X surely is what the checks return, which take longer than to score a query."""
    if type(X) is not np.ndarray or X.dtype not in _FLOATS or X.ndim != 2 or len(X) == 0:
        return False
    if X.shape[1] != n_features_of(estimator) or feature_names_of(estimator) is not None:
        return False
    return not has_infinite(X) and not estimator.columns_.categories


def n_features_of(estimator: Any) -> int | None:
    """Return the number of features that an estimator was fitted to; ``None`` before ``fit``."""
    found: int | None = getattr(estimator, "n_features_in_", None)
    return found


def feature_names_of(estimator: Any) -> np.ndarray | None:
    """Return the names of the features that an estimator was fitted to, if they had names."""
    found: np.ndarray | None = getattr(estimator, "feature_names_in_", None)
    return found


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


def check_matrix(name: str, X: Any) -> Any:
    """Return features that no ranker reads as a float matrix, dense or CSR; text is numbered.

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
        columns, is_frame = Columns.of(X), as_frame(X) is not None
        numbers = columns.numbers(X) if is_frame else _as_array(columns.numbers(X))
        return check_array(numbers, input_name=name, **_NUMBERS)


def check_batches(
    estimator: Any, batches: Iterable[Any], *, reset: bool, earlier: Iterable[Columns] = ()
) -> tuple[BatchedMatrix, np.ndarray, np.ndarray]:
    """Return features, labels and query ids of batches ``(X, y, qid)``; reads all of them once."""
    if reset:
        _reset_columns(estimator, batches, earlier)

    def read() -> Iterator[np.ndarray]:
        for X, _, _ in batches:
            yield check_features(estimator, X)

    labels, ids, hashes = [], [], []
    for X, y, qid in batches:
        matrix = check_features(estimator, X)
        labels.append(check_labels(y, len(matrix)))
        ids.append(check_ids("qid", qid, len(matrix)))
        hashes.append(row_hashes(matrix))
    shape = sum(map(len, labels)), estimator.n_features_in_
    matrix = BatchedMatrix(read, shape, np.concatenate(hashes))
    return matrix, np.concatenate(labels), joined_ids(ids)


def _reset_columns(estimator, batches, earlier):
    """Set the names and the categories of the columns of an estimator."""
    first = next(iter(batches), None)
    if first is None:
        raise ValueError("X must have rows; got no batch.")
    check_features(estimator, next(iter(first)), reset=True)
    estimator.columns_ = Columns.of_batches((X for X, _, _ in batches), earlier)


def _as_array(X):
    """Return an array; refuse masked entries and dates, which scikit-learn takes for numbers."""
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
                f"got an array that is not: {error}."
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
    """Return sparse features as a CSR matrix; refuse them if the estimator needs dense ones."""
    _refuse_sparse(estimator, X)
    if reset:
        estimator.columns_ = Columns()
    else:
        estimator.columns_.numbers(X)  # refuses a matrix where fit had categories
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


def refuse_complex(X: Any, name: str = "X") -> None:
    """Refuse an array of complex numbers in the words of scikit-learn, which prints all of them.

    Examples
    --------
    >>> refuse_complex(np.array([1j]))
    Traceback (most recent call last):
    ...
    ValueError: X must be real numbers: Complex data not supported; got complex128.
    """
    if X.dtype.kind == "c":
        raise ValueError(f"{name} must be real numbers: Complex data not supported; got {X.dtype}.")


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


def split_labels(y: Any) -> dict[str, np.ndarray] | None:
    """Return several labels by name, or ``None`` if ``y`` is a single one.

    Several labels are a mapping from names to columns, a data frame, or an array of two dimensions
    whose columns are named "0", "1" and so on.
    """
    if isinstance(y, Mapping):
        if not y:
            raise ValueError(f"y must hold at least one label; got {y!r}.")
        return {str(name): np.asarray(column) for name, column in y.items()}
    frame = as_frame(y, "y")
    if frame is not None:
        several = len(frame.columns) > 1
        return {name: frame[name].to_numpy() for name in frame.columns} if several else None
    values = np.asarray(y, dtype=None if hasattr(y, "ndim") else object)
    if values.ndim != 2 or values.shape[1] < 2:
        return None
    return {str(c): np.asarray(y)[:, c] for c in range(values.shape[1])}


def refuse_several_labels(y: Any, where: str = "", advice: str = "", name: str = "y") -> None:
    """Refuse several labels where a single one is needed."""
    labels = split_labels(y)
    if labels is not None:
        raise ValueError(f"{name} must be a single label{where}; got {quote([*labels])}. {advice}")


def check_labels(
    y: ArrayLike, n_documents: int | None = None, name: str = "y", *, some_unjudged: bool = False
) -> np.ndarray:
    """Return one finite float64 label per document, or NaN for some that are not judged.

    A column of a matrix or of a data frame is a warning.
    """
    if y is None:  # scikit-learn's checks look for the words in the middle
        raise ValueError(
            f"{name} must be one label per row of X: fit requires {name} to be passed, but the "
            f"target {name} is None. Data that a reader returned unpack, as in fit(*data)."
        )
    refuse_masked(name, y)
    refuse_several_labels(y, advice="Pass one of them.", name=name)
    with naming(name):
        refuse_complex(np.asarray(y), name)
        if np.asarray(y).ndim == 0:  # as NumPy sees a dict, a generator and a sparse matrix
            raise ValueError(f"{name} must be an array or a list of labels; got {quote(y)}.")
        labels = column_or_1d(y, input_name=name, warn=True)
        labels = check_column(name, labels, n_documents, some_unjudged=some_unjudged)
        refuse_rounded(name, y, labels)
    return labels


def check_ids(name: str, values: Any, n_rows: int | None = None) -> np.ndarray:
    """Return ids as an array of numbers or of text; refuse missing ones.

    Examples
    --------
    >>> check_ids("session", ["a", "b"]), check_ids("session", [7.0, 2.0])
    (array(['a', 'b'], dtype='<U1'), array([7., 2.]))
    """
    found = check_qid(values, n_rows, name=name)
    ids = np.asarray(values)
    ids = np.asarray(ids.tolist()) if ids.dtype.kind == "T" else ids
    are_numbered = found.dtype.kind == "i" and ids.dtype.kind in "SU"
    if are_numbered and len({*ids.tolist()}) <= found.max(initial=-1):  # such as 1 and "1"
        raise ValueError(f"{name} must be ids that differ as text; got {quote(values)}.")
    if isinstance(values, list | tuple) and ids.dtype.kind == "f":
        is_rounded = any(is_whole(value) and abs(value) >= 2**53 for value in values)
        return np.asarray(values, dtype=object) if is_rounded else ids
    return ids


def text_ids(name: str, values: Any, n_rows: int | None = None) -> np.ndarray:
    """Return ids as :func:`check_ids` does, but bytes as text.

    Examples
    --------
    >>> text_ids("qid", [b"a", b"b"])
    array(['a', 'b'], dtype=object)
    """
    ids = check_ids(name, values, n_rows)
    if ids.dtype.kind not in "OS":
        return ids
    try:
        texts = [x.decode("utf-8") if isinstance(x, bytes) else x for x in ids]
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} must be text in UTF-8; got {quote(error.object)}.") from error
    return np.fromiter(texts, dtype=object)


def parts_of_eval_set(eval_set: Any, name: str = "eval_set") -> tuple[Any, Any, Any]:
    """Return X, y and qid of an ``eval_set``; refuse what is no ``(X, y)`` or ``(X, y, qid)``.

    What a reader of files returned unpacks as ``(X, y, qid)``.

    Examples
    --------
    >>> parts_of_eval_set(([[1.0]], [2]))
    ([[1.0]], [2], None)
    """
    eval_set = unpacked(eval_set)
    is_list = isinstance(eval_set, tuple | list)
    first: Any = eval_set[0] if is_list and eval_set else None
    are_sets = isinstance(first, tuple) and len(first) > 0
    if not is_list or len(eval_set) not in (2, 3) or (are_sets and np.ndim(first[0]) > 1):
        size = f" of {len(eval_set)}" if is_list else ""
        several = ", a list of such tuples, or a share of the queries such as 0.2"
        several = several if name == "eval_set" else ""
        raise ValueError(
            f"{name} must be (X, y) or (X, y, qid){several}; got {type(eval_set)}{size}."
        )
    X, y, qid = (*eval_set, None)[:3]
    return X, y, qid


def unpacked(given: Any) -> Any:
    """Return what a reader of files returned as ``(X, y, qid)``, and anything else as it is."""
    is_read = hasattr(given, "qid") and as_frame(given) is None
    return tuple(given) if is_read else given


def check_eval_set(estimator: Any, X: Any, y: Any, qid: Any) -> tuple[Any, np.ndarray, QueryGroups]:
    """Return features, labels and queries of the judged documents of an ``eval_set``."""
    X = check_features(estimator, X)
    y = check_labels(y, X.shape[0], some_unjudged=True)
    groups = QueryGroups.from_qid(qid, len(y))
    judged = np.flatnonzero(~np.isnan(y))
    return (X, y, groups) if len(judged) == len(y) else (X[judged], y[judged], groups.among(judged))


def check_fitted(name: str, estimator: Any) -> None:
    """Refuse what is no estimator that was fitted."""
    if not has_methods(estimator, "fit"):
        raise TypeError(f"{name} must be a fitted ranker; got {quote(estimator)}.")
    check_is_fitted(estimator)


def check_n_pairs(n_a: int, n_b: int) -> int:
    """Return the number of pairs of rows; refuse unequal numbers unless one of them is 1."""
    if n_a != n_b and 1 not in (n_a, n_b):
        raise ValueError(
            "X_a and X_b must have equally many rows, or one of them a single row; got "
            f"{n_a} and {n_b}."
        )
    return n_a if n_b == 1 else n_b


#: Largest position: there are sums for each query and position.
LAST_POSITION = 1000


def check_positions(position: ArrayLike | None, y: np.ndarray) -> np.ndarray | None:
    """Return the position of each document as a whole number; ``None`` stays ``None``.

    Where positions are given, ``y`` are clicks. Anything else than 0 and 1 is refused.

    Examples
    --------
    >>> check_positions([1, 2], np.array([0.0, 1.0]))
    array([1, 2])
    >>> check_positions([0, 1], np.array([0.0, 1.0]))
    Traceback (most recent call last):
    ...
    ValueError: position must be a whole number from 1 to 1000; got 0.0 in row 0. Add 1 to \
positions from 0.
    """
    if position is None:
        return None
    found = check_whole_positions(position, len(y))
    refuse_where((y != 0) & (y != 1), y, "y must be a click, 0 or 1, where position is given")
    return found


def check_whole_positions(position: ArrayLike, n_rows: int | None = None) -> np.ndarray:
    """Return positions as whole numbers; refuse what is none.

    Examples
    --------
    >>> check_whole_positions([1, 2.5])
    Traceback (most recent call last):
    ...
    ValueError: position must be a whole number from 1 to 1000; got 2.5 in row 1.
    """
    found = check_column("position", position, n_rows)
    wrong = (found != np.floor(found)) | (found < 1) | (found > LAST_POSITION)
    advice = " Add 1 to positions from 0." if found.min(initial=1) == 0 else ""
    rule = f"position must be a whole number from 1 to {LAST_POSITION}"
    refuse_where(wrong, found, rule, advice)
    return found.astype(np.int64)


def check_any_click(name: str, clicks: np.ndarray) -> None:
    """Refuse clicks, or sums of them, that are all 0: nothing can be learned from them.

    Examples
    --------
    >>> check_any_click("click", np.zeros(3))
    Traceback (most recent call last):
    ...
    ValueError: click must be 1 in some row; got none.
    """
    if not clicks.any():
        raise ValueError(f"{name} must be 1 in some row; got none.")


def warn_without_qid(qid: Any, n_documents: int) -> None:
    """Warn of one query of many documents: mostly, ``qid`` was forgotten."""
    if qid is None and n_documents >= _MANY:
        warn_user(
            f"qid is None, so all {n_documents} documents are taken for one query. Pass qid, the "
            "query of each document; qid=np.zeros(len(y)) says that there is a single one."
        )
