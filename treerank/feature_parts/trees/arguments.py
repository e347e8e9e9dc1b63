"""Arguments: constraints, columns and parameters of engines, checked and translated for engines.

Users name a column by its number or by its name. Engines get numbers. Their own parameters,
``engine_params``, are handed on unchanged.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from treerank.checks import check_sequence, is_whole, quote
from treerank.feature_parts.engine_words import instead_of
from treerank.parameters import Rule

#: Characters with a meaning in JSON, XGBoost's dumps or lines of text, and lone surrogates.
_NOT_IN_NAMES = re.compile(r'[",:=\[\]{}<\s\x00-\x1f\x7f-\x9f\ud800-\udfff]')
#: Names of the columns of X, if it has any.
Names = Sequence[str] | None
#: Monotone constraints: a sign for each column, or signs for some columns.
Signs = Sequence[int] | Mapping[int | str, int]
#: Columns by number or by name.
SomeColumns = Annotated[Sequence[int | str] | np.ndarray, Rule(check_sequence)]
#: Interaction constraints: groups of columns.
Groups = Annotated[Iterable[Iterable[int | str]], Rule(check_sequence)]


def column_indices(
    name: str, columns: Iterable[Any], n_features: int, feature_names: Names = None
) -> tuple[int, ...]:
    """Return the sorted indices of columns given by index or by name.

    ``name`` is the argument that holds the columns, for messages. Refuses columns that do not
    exist.

    Examples
    --------
    >>> column_indices("categorical_features", ["b", 0], 3, ("a", "b", "c"))
    (0, 1)
    """
    check_sequence(name, columns)
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
    are_numbers = all(isinstance(sign, float | np.number) or is_whole(sign) for sign in signs)
    if len(signs) != n_features or not are_numbers or not set(signs) <= {-1, 0, 1}:
        raise ValueError(
            f"{name} must be -1, 0 or 1 for each of {n_features} features; "
            f"got {quote(constraints)}."
        )
    return tuple(int(sign) for sign in signs)


def constraints_of(
    part: Any, n_features: int, feature_names: Names, categorical: Collection[int] = ()
) -> dict[str, Any]:
    """Return the constraints of trees that are not None: by name, with indices of columns.

    "monotone_constraints" is a sign for each feature, "interaction_constraints" a list of groups of
    columns. ``part`` has both as attributes. Refuses signs of ``categorical`` columns: LightGBM
    would end the process.

    Examples
    --------
    >>> from treerank import LightGBMTrees
    >>> trees = LightGBMTrees(interaction_constraints=[["a", "c"], [1]])
    >>> constraints_of(trees, 3, ("a", "b", "c"))
    {'interaction_constraints': [[0, 2], [1]]}
    """
    name = "interaction_constraints"
    constraints: dict[str, Any] = {}
    if part.monotone_constraints is not None:
        signs = monotone_signs(part.monotone_constraints, n_features, feature_names)
        if any(signs[column] for column in categorical):
            raise ValueError(
                "monotone_constraints must be 0 for categories, which have no order; "
                f"got {quote(part.monotone_constraints)}."
            )
        constraints["monotone_constraints"] = signs
    if part.interaction_constraints is not None:
        groups = [
            list(column_indices(name, group, n_features, feature_names))
            for group in part.interaction_constraints
        ]
        constraints |= {name: groups} if any(groups) else {}
    return constraints


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
            raise ValueError(f"{name} must name features of X; got {quote(column)}.")
        return list(feature_names or ()).index(column)
    if not (is_whole(column) and 0 <= column < n_features):
        rule = f"columns from 0 to {n_features - 1}"
        raise ValueError(f"{name} must be {rule}; got {quote(column)}.")
    return int(column)


def check_engine_params(
    cls: type, params: dict[str, Any], *, taken: Collection[str], unused: Collection[str]
) -> None:
    """Refuse ``engine_params`` of trees of class ``cls`` that no engine can read.

    Also refuse names in ``taken``, which others set, and names in ``unused``, which would change
    nothing without a message: the engine then reads other data or has another objective.
    """
    for name, value in params.items():
        entries = value if isinstance(value, list | tuple) else [value]
        if not entries or not all(map(_is_readable, entries)):
            raise ValueError(
                "engine_params must be finite numbers, text, True or False, or lists of these; "
                f"got {quote(value)} for {quote(name)}."
            )
        if name in taken:
            raise ValueError(
                "engine_params must not hold what has an argument of its own, is set by this "
                f"package or makes leaves that are no numbers; got {quote(name)}"
                f"{instead_of(cls, name)}"
            )
        if name in unused:
            raise ValueError(
                "engine_params must have an effect on trees, which see neither labels nor queries; "
                f"got {quote(name)}{instead_of(cls, name)}"
            )


def _is_readable(value: Any) -> bool:
    """Return whether engines can read a value: text, or a finite number."""
    return isinstance(value, str) or (
        isinstance(value, bool | int | float | np.number | np.bool_) and bool(np.isfinite(value))
    )
