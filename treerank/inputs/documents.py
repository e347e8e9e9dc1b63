"""Documents: X, y and qid as users pass them, checked by scikit-learn's rules.

The functions take the estimator because scikit-learn stores the number and the names of the
features in it and names it in error messages.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, validate_data

from treerank.inputs.columns import Columns, as_csr, as_frame
from treerank.inputs.grouping import QueryGroups

_NUMBERS = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


def check_documents(estimator: Any, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, np.ndarray]:
    """Return features and labels for ``fit``; ``reset`` replaces the columns of an earlier fit."""
    labels = validate_data(estimator, y=y, y_numeric=True).astype(np.float64)
    X = check_features(estimator, X, reset=reset)
    check_consistent_length(X, labels)
    return X, labels


def check_features(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Return features as a float matrix, dense or CSR; ``reset`` sets ``estimator.columns_``."""
    if issparse(X):
        return _check_sparse(estimator, X, reset)
    if as_frame(X) is None and (reset or not estimator.columns_.categories):
        if reset:
            estimator.columns_ = Columns()
        return validate_data(estimator, X, reset=reset, **_NUMBERS)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reset:
        estimator.columns_ = Columns.of(X)
    numbers = estimator.columns_.numbers(X)
    return check_array(numbers, input_name="X", estimator=estimator, **_NUMBERS)


def _check_sparse(estimator, X, reset):
    """Return sparse features as a CSR matrix; refuse them if the estimator needs dense ones."""
    reader = estimator._dense_reader()
    if reader is not None:
        raise TypeError(
            f"X must be dense for {reader}, which reads no sparse matrices; got {type(X)}. "
            "X.toarray() makes it dense."
        )
    if reset:
        estimator.columns_ = Columns()
    else:
        estimator.columns_.numbers(X)  # refuses a matrix where fit had categories
    return as_csr(validate_data(estimator, X, reset=reset, accept_sparse="csr", **_NUMBERS))


def check_labels(y: ArrayLike, n_documents: int, name: str = "y") -> np.ndarray:
    """Return one finite float64 label per document."""
    labels = check_array(y, ensure_2d=False, input_name=name).astype(np.float64).ravel()
    if len(labels) != n_documents:
        raise ValueError(
            f"{name} must have one entry per row of X; got {len(labels)} for {n_documents} rows."
        )
    return labels


def check_eval_set(estimator: Any, eval_set: Any) -> tuple[Any, np.ndarray, QueryGroups]:
    """Return features, labels and queries of an ``eval_set``: ``(X, y)`` or ``(X, y, qid)``."""
    if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
        size = f" of {len(eval_set)}" if isinstance(eval_set, tuple | list) else ""
        raise ValueError(f"eval_set must be (X, y) or (X, y, qid); got {type(eval_set)}{size}.")
    X, y, qid = (*eval_set, None)[:3]
    X = check_features(estimator, X)
    y = check_labels(y, X.shape[0], "y of eval_set")
    return X, y, QueryGroups.from_qid(qid, len(y))
