"""Copied columns: a feature that equals the labels or the query ids, which has to be left out."""

from typing import Any

import numpy as np

from treerank.checks import quote, warn_user
from treerank.documents.features import feature_names_of
from treerank.documents.queries import QueryGroups

#: With fewer rows, a column that equals the labels is no surprise.
_MANY = 1000


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


def warn_of_label_copies(estimator: Any, X: Any, labels: np.ndarray) -> None:
    """Warn of each column of checked features that holds the labels; of few rows, it may be a toy.

    ``estimator`` knows the names of the columns.
    """
    if len(labels) >= _MANY and isinstance(X, np.ndarray):
        _warn_of_copies(estimator, X, "y", labels)


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
