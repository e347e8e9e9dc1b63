"""Copied columns: features that equal labels, query ids or weights, and have to be left out."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from treerank.checks import quote, warn_user
from treerank.documents.features import feature_names_of
from treerank.documents.stacked import StackedMatrix

#: With fewer rows, a column that equals the labels is no surprise.
_MANY = 1000


def warn_of_copied_columns(estimator: Any, X: Any, by_row: Mapping[str, Any]) -> None:
    """Warn of each column of checked features that equals what else ``fit`` is given by row.

    ``estimator`` knows the names and the categories of the columns. ``by_row`` maps the names of
    arguments, such as ``y``, ``qid`` and weights, to their values; what has no entry per row is
    skipped. In few rows, a column may be equal by chance.
    """
    if X.shape[0] < _MANY or not isinstance(X, np.ndarray | StackedMatrix):
        return
    for name, column in by_row.items():
        values = np.asarray(column)
        if values.shape != X.shape[:1]:  # None, groups without ids, and what is refused later
            continue
        if values.dtype.kind in "iuf":
            is_known = ~np.isnan(values)
            if is_known.all():
                _warn_of_copies(estimator, X, name, values)
            elif is_known.sum() >= _MANY:  # an unjudged row may hold anything
                _warn_of_copies(estimator, X[is_known], name, values[is_known], "judged rows")
        elif name == "qid":
            _warn_of_copied_texts(estimator, X, values)


def _warn_of_copied_texts(estimator, X, ids):
    """Warn of each column of X whose categories are the query ids."""
    sample = slice(None, None, len(ids) // 100)
    for column, categories in estimator.columns_.categories.items():
        code_of = {category: code for code, category in enumerate(categories)}
        for rows in (sample, slice(None)):
            codes = [code_of.get(value, np.nan) for value in ids[rows].tolist()]
            if not np.array_equal(X[rows, column], codes):
                break
        else:
            _warn_of_copy(estimator, column, "qid")


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
