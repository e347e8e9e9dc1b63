"""Columns: how users speak of features, by number, name or mask, and how engines want them."""

import numpy as np


def column_indices(columns, n_features, feature_names=None, *, name):
    """Return the sorted indices of columns given by index, by name or as a boolean mask.

    Examples
    --------
    >>> column_indices(["b", 0], 3, ("a", "b", "c"), name="categorical_features")
    (0, 1)
    >>> column_indices([False, False, True], 3, name="categorical_features")
    (2,)
    """
    if columns is None:
        return ()
    columns = list(columns)
    if columns and all(isinstance(column, bool | np.bool_) for column in columns):
        if len(columns) != n_features:
            raise ValueError(
                f"{name} must have one entry per feature as a mask; got {len(columns)} "
                f"for {n_features} features."
            )
        return tuple(int(i) for i in np.flatnonzero(columns))
    return tuple(sorted({_index(c, n_features, feature_names, name) for c in columns}))


def monotone_signs(constraints, n_features, feature_names=None):
    """Return -1, 0 or 1 per feature from a sequence of them or a dict by column.

    Examples
    --------
    >>> monotone_signs({"b": -1}, 3, ("a", "b", "c"))
    (0, -1, 0)
    """
    name = "monotone_constraints"
    if isinstance(constraints, dict):
        signs = [0] * n_features
        for column, sign in constraints.items():
            signs[_index(column, n_features, feature_names, name)] = sign
    else:
        signs = list(constraints)
    if len(signs) != n_features or any(sign not in (-1, 0, 1) for sign in signs):
        raise ValueError(
            f"{name} must be -1, 0 or 1 for each of {n_features} features; got {constraints!r}."
        )
    return tuple(int(sign) for sign in signs)


def interaction_groups(constraints, n_features, feature_names=None):
    """Return lists of column indices that may meet on a path of a tree."""
    name = "interaction_constraints"
    return [list(column_indices(c, n_features, feature_names, name=name)) for c in constraints]


def engine_names(feature_names, forbidden):
    """Return names an engine accepts: forbidden characters replaced, and still all different."""
    if feature_names is None:
        return None
    table = str.maketrans(dict.fromkeys(forbidden, "_"))
    names = [str(name).translate(table) for name in feature_names]
    if len(set(names)) < len(names):
        names = [f"{name}_{i}" for i, name in enumerate(names)]
    return names


def _index(column, n_features, feature_names, name):
    if isinstance(column, str):
        if column not in (feature_names or ()):
            raise ValueError(f"{name} must name features of X; got {column!r}.")
        return list(feature_names).index(column)
    if not (isinstance(column, int | np.integer) and 0 <= column < n_features):
        raise ValueError(f"{name} must be columns from 0 to {n_features - 1}; got {column!r}.")
    return int(column)
