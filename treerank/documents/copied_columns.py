"""Copied columns: a feature that equals the labels or the query ids, which has to be left out."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from treerank.checks import quote, warn_user
from treerank.documents.features import feature_names_of
from treerank.documents.queries import QueryGroups

#: With fewer rows, a column that equals the labels is no surprise.
_MANY = 1000


def warn_of_copied_columns(estimator: Any, X: Any, y: np.ndarray, qid: Any) -> None:
    """Warn of each column of checked features that holds the labels or the query ids.

    ``estimator`` knows the names and the categories of the columns. In few rows, a column may be
    equal by chance.
    """
    if len(y) < _MANY or not isinstance(X, np.ndarray):
        return
    judged = ~np.isnan(y)
    if judged.all():
        _warn_of_copies(estimator, X, "y", y)
    elif judged.sum() >= _MANY:  # an unjudged row may hold anything
        _warn_of_copies(estimator, X[judged], "y", y[judged], "judged rows")
    if qid is None or isinstance(qid, QueryGroups):  # groups have no ids
        return
    ids = np.asarray(qid)
    if ids.shape != y.shape:  # which is refused later
        return
    if ids.dtype.kind in "iuf":
        _warn_of_copies(estimator, X, "qid", ids)
        return
    sample = slice(None, None, len(ids) // 100)
    for column, categories in estimator.columns_.categories.items():
        code_of = {category: code for code, category in enumerate(categories)}
        for rows in (sample, slice(None)):
            codes = [code_of.get(value, np.nan) for value in ids[rows].tolist()]
            if not np.array_equal(X[rows, column], codes):
                break
        else:
            _warn_of_copy(estimator, column, "qid")


def warn_of_copies_by_row(estimator: Any, X: Any, by_row: Mapping[str, Any]) -> None:
    """Warn of each column of X that equals an argument with an entry per row, such as weights.

    ``by_row`` maps the names of the arguments to their values; None is skipped, and so is X of
    fewer than 1000 rows.
    """
    if X.shape[0] < _MANY or not isinstance(X, np.ndarray):
        return
    for name, column in by_row.items():
        values = np.asarray(column)
        if values.shape != X.shape[:1] or values.dtype.kind not in "iuf":  # refused later, if wrong
            continue
        is_known = ~np.isnan(values)
        if is_known.all():
            _warn_of_copies(estimator, X, name, values)
        elif is_known.sum() >= _MANY:
            _warn_of_copies(estimator, X[is_known], name, values[is_known], "judged rows")


def _warn_of_copies(estimator, X, name, values, rows="rows"):
    """Warn of each column of X that equals ``values``, unless these are all the same.

    ``name`` is the argument that has them, and ``rows`` what the message calls the rows.
    """
    sample = slice(None, None, len(values) // 100)
    for column in np.flatnonzero((X[sample] == values[sample, None]).all(axis=0)):
        if np.ptp(values) > 0 and np.array_equal(X[:, column], values):
            _warn_of_copy(estimator, column, name, rows)


def _warn_of_copy(estimator, column, name, rows="rows"):
    """Warn of one column that equals the argument ``name``.

    All workers of a fit word it the same, so it is shown once.
    """
    names = feature_names_of(estimator)
    label = column if names is None else quote(str(names[column]))
    warn_user(f"Column {label} of X equals {name} in all {rows}. Leave it out of X.")
