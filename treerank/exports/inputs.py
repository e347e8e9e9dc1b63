"""Inputs: what scalers and imputers of scikit-learn do to each column in front of a ranker.

A pipeline becomes terms of its own inputs: thresholds of trees go through the transformers
backwards, and lines and networks take their factors. To add a transformer that changes each column
by itself, write a function that describes its columns and list it in ``_COLUMNS``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from treerank.checks import shown

_Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Column:
    """A column that transformers return, as a function of the same column before them.

    Attributes
    ----------
    functions : tuple of callable
        Scalings, applied one after the other in the arithmetic of scikit-learn; they never fall,
        and missing values stay missing.
    slope, shift : float
        The column is ``slope * x + shift`` but for rounding.
    filled : float, default=None
        What missing values are replaced by before everything else.
    """

    functions: tuple[_Function, ...] = ()
    slope: float = 1.0
    shift: float = 0.0
    filled: float | None = None

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the column for values that are not missing."""
        for function in self.functions:
            values = function(values)
        return values

    def then(self, later: "Column") -> "Column":
        """Return this column as a later transformer changes it."""
        if later.filled is not None and self.functions:
            raise ValueError("SimpleImputer must be the first transformer of a column.")
        return Column(
            self.functions + later.functions,
            self.slope * later.slope,
            self.shift * later.slope + later.shift,
            self.filled if later.filled is None else later.filled,
        )


def columns_of(transformer: Any, n_columns: int) -> list[Column]:
    """Return the columns that a fitted transformer returns.

    Examples
    --------
    >>> columns = columns_of(StandardScaler().fit([[1.0], [3.0]]), 1)
    >>> columns[0].slope, columns[0].shift
    (1.0, -2.0)
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return [Column()] * n_columns
    if type(transformer) not in _COLUMNS:
        known = [each.__name__ for each in _COLUMNS]
        raise ValueError(
            f"transformers must be of {known} to be exported; got {shown(transformer)}. Export "
            "pipeline[-1] alone, and give the other program documents that are transformed."
        )
    return _COLUMNS[type(transformer)](transformer, n_columns)


def _pipeline(pipeline: Any, n_columns: int) -> list[Column]:
    columns = columns_of(None, n_columns)
    for _, step in pipeline.steps:
        later = columns_of(step, n_columns)
        columns = [one.then(two) for one, two in zip(columns, later, strict=True)]
    return columns


def _scaled(shifts: Any, scales: Any, n_columns: int) -> list[Column]:
    """Return columns less their shifts, over their scales."""
    shifts = np.zeros(n_columns) if shifts is None else np.asarray(shifts, dtype=np.float64)
    scales = np.ones(n_columns) if scales is None else np.asarray(scales, dtype=np.float64)

    def function(shift: float, scale: float) -> _Function:
        return lambda values: (values - shift) / scale

    pairs = zip(shifts.tolist(), scales.tolist(), strict=True)
    return [Column((function(*pair),), 1 / pair[1], -pair[0] / pair[1]) for pair in pairs]


def _min_max(transformer: Any, n_columns: int) -> list[Column]:
    if transformer.clip:
        raise ValueError("MinMaxScaler must have clip=False to be exported; got clip=True.")

    def function(scale: float, shift: float) -> _Function:
        return lambda values: values * scale + shift

    pairs = zip(transformer.scale_.tolist(), transformer.min_.tolist(), strict=True)
    return [Column((function(*pair),), *pair) for pair in pairs]


def _imputer(transformer: Any, n_columns: int) -> list[Column]:
    fills = np.asarray(transformer.statistics_, dtype=np.float64)
    is_nan = transformer.missing_values != transformer.missing_values
    if transformer.add_indicator or np.isnan(fills).any() or not is_nan:
        raise ValueError("SimpleImputer must fill NaN of known columns, without an indicator.")
    return [Column(filled=fill) for fill in fills.tolist()]


_COLUMNS: dict[type, Callable[[Any, int], list[Column]]] = {
    MaxAbsScaler: lambda each, n: _scaled(None, each.scale_, n),
    MinMaxScaler: _min_max,
    Pipeline: _pipeline,
    RobustScaler: lambda each, n: _scaled(each.center_, each.scale_, n),
    SimpleImputer: _imputer,
    StandardScaler: lambda each, n: _scaled(each.mean_ if each.with_mean else None, each.scale_, n),
}
