"""Column arguments: the ways in which users name columns, turned into what engines read.

Users name a column by its number or by its name, and several columns also by a boolean mask.
Engines get numbers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

#: Characters of JSON, of XGBoost's dumps and of lines of text, and halves of characters.
_NOT_IN_NAMES = re.compile(r'[",:=\[\]{}<\s\x00-\x1f\x7f-\x9f\ud800-\udfff]')
#: Names of the columns of X, if it has any.
Names = Sequence[str] | None
#: Monotone constraints: a sign for each column, or signs for some columns.
Signs = Sequence[int] | Mapping[int | str, int]


def column_indices(
    name: str, columns: Iterable[Any], n_features: int, feature_names: Names = None
) -> tuple[int, ...]:
    """Return the sorted numbers of columns given by number, by name or as a boolean mask.

    Parameters
    ----------
    name : str
        The argument that holds the columns, for messages.
    columns : sequence of int or str, or of bool with one entry per feature
        The columns.
    n_features : int
        Number of columns of X.
    feature_names : sequence of str, default=None
        Names of the columns of X.

    Returns
    -------
    tuple of int
        Numbers of the columns.

    Examples
    --------
    >>> column_indices("categorical_features", ["b", 0], 3, ("a", "b", "c"))
    (0, 1)
    >>> column_indices("categorical_features", [False, False, True], 3)
    (2,)
    """
    columns = list(columns)
    if columns and all(isinstance(column, bool | np.bool_) for column in columns):
        if len(columns) != n_features:
            raise ValueError(
                f"{name} must have one entry per feature as a mask; got {len(columns)} "
                f"for {n_features} features."
            )
        return tuple(int(i) for i in np.flatnonzero(columns))
    return tuple(sorted({_index(name, c, n_features, feature_names) for c in columns}))


def monotone_signs(
    constraints: Signs, n_features: int, feature_names: Names = None
) -> tuple[int, ...]:
    """Return -1, 0 or 1 for each feature, from a sequence of signs or a dict of column to sign.

    Examples
    --------
    >>> monotone_signs({"b": -1}, 3, ("a", "b", "c"))
    (0, -1, 0)
    """
    name = "monotone_constraints"
    if isinstance(constraints, Mapping):
        signs = [0] * n_features
        for column, sign in constraints.items():
            signs[_index(name, column, n_features, feature_names)] = sign
    else:
        signs = list(constraints)
    if len(signs) != n_features or any(sign not in (-1, 0, 1) for sign in signs):
        raise ValueError(
            f"{name} must be -1, 0 or 1 for each of {n_features} features; got {constraints!r}."
        )
    return tuple(int(sign) for sign in signs)


def interaction_groups(
    constraints: Iterable[Iterable[Any]], n_features: int, feature_names: Names = None
) -> list[list[int]]:
    """Return groups of column numbers; the features on a path of a tree are of one group.

    Examples
    --------
    >>> interaction_groups([["a", "c"], [1]], 3, ("a", "b", "c"))
    [[0, 2], [1]]
    """
    name = "interaction_constraints"
    return [list(column_indices(name, group, n_features, feature_names)) for group in constraints]


def engine_names(feature_names: Names) -> list[str] | None:
    """Return distinct feature names without the characters that engines cannot store.

    Examples
    --------
    >>> engine_names(["a[0]", "b", ""])
    ['a_0_', 'b', '_']
    """
    if feature_names is None:
        return None
    names = [_NOT_IN_NAMES.sub("_", str(name)) or "_" for name in feature_names]
    if len(set(names)) < len(names):
        names = [f"{name}_{i}" for i, name in enumerate(names)]
    return names


def _index(name: str, column: Any, n_features: int, feature_names: Names) -> int:
    if isinstance(column, str):
        if column not in (feature_names or ()):
            raise ValueError(f"{name} must name features of X; got {column!r}.")
        return list(feature_names or ()).index(column)
    if not (isinstance(column, int | np.integer) and 0 <= column < n_features):
        raise ValueError(f"{name} must be columns from 0 to {n_features - 1}; got {column!r}.")
    return int(column)
