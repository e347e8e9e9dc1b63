"""Inputs: what transformers of scikit-learn do to each column in front of a ranker.

A pipeline becomes terms of its own inputs: thresholds of trees go through the transformers
backwards, and lines and networks take their factors. Each column that the transformers return comes
from one column that they get. To add a transformer, write a function that describes its columns and
list it in ``_COLUMNS``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from treerank.checks import shown

_Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Column:
    """A column that transformers return, as a function of one column that they get.

    Attributes
    ----------
    source : int
        The column that they get.
    functions : tuple of callable
        Functions that never fall, applied one after the other; missing values stay missing.
    slope, shift : float or None
        The column is ``slope * x + shift``; ``None`` if it is no such function.
    category : float, default=None
        The column is 1 for this value and 0 for all others, missing values among them; NaN stands
        for a missing value.
    filled : float, default=None
        What missing values are replaced by before everything else.
    """

    source: int
    functions: tuple[_Function, ...] = ()
    slope: float | None = 1.0
    shift: float | None = 0.0
    category: float | None = None
    filled: float | None = None

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the column for values of its source that are not missing."""
        for function in self.functions:
            values = function(values)
        return values

    def then(self, later: "Column") -> "Column":
        """Return this column as a later transformer changes it."""
        if later.filled is not None and (self.functions or self.category is not None):
            raise ValueError("SimpleImputer must be the first transformer of a column.")
        if later.category is not None and (self.functions or self.category is not None):
            raise ValueError("OneHotEncoder must be the first transformer of a column.")
        if self.category is not None and later.functions:
            raise ValueError("OneHotEncoder must be the last transformer of a column.")
        affine: dict[str, float | None] = {"slope": None, "shift": None}
        if None not in (self.slope, later.slope):
            affine = {
                "slope": self.slope * later.slope,  # type: ignore[operator]
                "shift": self.shift * later.slope + later.shift,  # type: ignore[operator]
            }
        return Column(
            self.source,
            self.functions + later.functions,
            **affine,
            category=self.category if later.category is None else later.category,
            filled=self.filled if later.filled is None else later.filled,
        )


def columns_of(transformer: Any, n_inputs: int) -> list[Column]:
    """Return the columns that a fitted transformer returns.

    Examples
    --------
    >>> columns = columns_of(StandardScaler().fit([[1.0], [3.0]]), 1)
    >>> columns[0].slope, columns[0].shift
    (1.0, -2.0)
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return [Column(j) for j in range(n_inputs)]
    if type(transformer) not in _COLUMNS:
        known = [each.__name__ for each in _COLUMNS]
        raise ValueError(f"transformers must be of {known}; got {shown(transformer)}.")
    return _COLUMNS[type(transformer)](transformer, n_inputs)


def _pipeline(pipeline: Any, n_inputs: int) -> list[Column]:
    columns = columns_of(None, n_inputs)
    for _, step in pipeline.steps:
        later = columns_of(step, len(columns))
        columns = [columns[each.source].then(each) for each in later]
    return columns


def _column_transformer(transformer: Any, n_inputs: int) -> list[Column]:
    places: dict[int, Column] = {}
    names = list(getattr(transformer, "feature_names_in_", ()))
    for name, step, chosen in transformer.transformers_:
        output = transformer.output_indices_[name]
        if output.stop == output.start:
            continue
        sources = _places(chosen, names, n_inputs)
        own = columns_of(step, len(sources))
        for place, column in zip(range(output.start, output.stop), own, strict=True):
            places[place] = replace(column, source=sources[column.source])
    return [places[place] for place in sorted(places)]


def _places(chosen: Any, names: list[str], n_inputs: int) -> list[int]:
    """Return the numbers of chosen columns, which are given as any of scikit-learn's ways."""
    if isinstance(chosen, slice):
        start = names.index(chosen.start) if isinstance(chosen.start, str) else chosen.start
        stop = names.index(chosen.stop) + 1 if isinstance(chosen.stop, str) else chosen.stop
        return list(range(n_inputs))[start : stop : chosen.step]
    chosen = [chosen] if isinstance(chosen, str | int) else list(chosen)
    if chosen and isinstance(chosen[0], bool | np.bool_):
        return np.flatnonzero(chosen).tolist()
    return [names.index(each) if isinstance(each, str) else int(each) for each in chosen]


def _affine(shifts: Any, scales: Any, n: int) -> list[Column]:
    """Return columns less their shifts, over their scales."""
    shifts = np.zeros(n) if shifts is None else np.asarray(shifts, dtype=np.float64)
    scales = np.ones(n) if scales is None else np.asarray(scales, dtype=np.float64)
    return [
        Column(j, (_Line(shift, scale),), 1 / scale, -shift / scale)
        for j, (shift, scale) in enumerate(zip(shifts.tolist(), scales.tolist(), strict=True))
    ]


@dataclass(frozen=True)
class _Line:
    """Subtract a number, and divide by another one."""

    shift: float
    scale: float

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the changed values."""
        return (values - self.shift) / self.scale


def _min_max(transformer: Any, n_inputs: int) -> list[Column]:
    low, high = transformer.feature_range

    def function(scale: float, shift: float) -> _Function:
        def scaled(values: np.ndarray) -> np.ndarray:
            values = values * scale + shift
            return np.clip(values, low, high) if transformer.clip else values

        return scaled

    pairs = zip(transformer.scale_.tolist(), transformer.min_.tolist(), strict=True)
    return [
        Column(j, (function(*pair),), *((None, None) if transformer.clip else pair))
        for j, pair in enumerate(pairs)
    ]


def _quantiles(transformer: Any, n_inputs: int) -> list[Column]:
    def function(j: int) -> _Function:
        def ranks(values: np.ndarray) -> np.ndarray:
            rows = np.zeros((len(values), n_inputs))
            rows[:, j] = values
            column: np.ndarray = transformer.transform(rows)[:, j]
            return column

        return ranks

    return [Column(j, (function(j),), None, None) for j in range(n_inputs)]


def _imputer(transformer: Any, n_inputs: int) -> list[Column]:
    fills = np.asarray(transformer.statistics_, dtype=np.float64)
    is_nan = transformer.missing_values != transformer.missing_values
    if transformer.add_indicator or np.isnan(fills).any() or not is_nan:
        raise ValueError("SimpleImputer must fill NaN of known columns, without an indicator.")
    return [Column(j, filled=fill) for j, fill in enumerate(fills.tolist())]


def _one_hot(transformer: Any, n_inputs: int) -> list[Column]:
    if (transformer.max_categories, transformer.min_frequency) != (None, None):
        raise ValueError("OneHotEncoder must not join infrequent categories.")
    dropped = transformer.drop_idx_ if transformer.drop_idx_ is not None else [None] * n_inputs
    columns = []
    for j, (categories, left_out) in enumerate(zip(transformer.categories_, dropped, strict=True)):
        if categories.dtype.kind not in "biuf":
            raise ValueError(f"OneHotEncoder must see numbers; got {categories[0]!r:.50}.")
        kept = np.delete(categories.astype(np.float64), [] if left_out is None else [left_out])
        columns += [Column(j, slope=None, shift=None, category=code) for code in kept.tolist()]
    return columns


def _identity(transformer: Any, n_inputs: int) -> list[Column]:
    if transformer.func is not None:
        raise ValueError(f"FunctionTransformer must be the identity; got {transformer.func!r:.80}.")
    return columns_of(None, n_inputs)


_COLUMNS: dict[type, Callable[[Any, int], list[Column]]] = {
    ColumnTransformer: _column_transformer,
    FunctionTransformer: _identity,
    MaxAbsScaler: lambda each, n: _affine(None, each.scale_, n),
    MinMaxScaler: _min_max,
    OneHotEncoder: _one_hot,
    Pipeline: _pipeline,
    QuantileTransformer: _quantiles,
    RobustScaler: lambda each, n: _affine(each.center_, each.scale_, n),
    SimpleImputer: _imputer,
    StandardScaler: lambda each, n: _affine(each.mean_ if each.with_mean else None, each.scale_, n),
}
