"""Inputs: what scalers and imputers of scikit-learn do to each column in front of a ranker.

A pipeline becomes terms of its own inputs: thresholds of trees go through the transformers
backwards, and lines and networks take their factors. To add a transformer that changes each column
by itself, write a function that describes its columns and list it in ``_COLUMNS``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from treerank.checks import shown
from treerank.feature_parts.linear_term import LinearTerm
from treerank.feature_parts.network_term import Network
from treerank.feature_parts.terms import Terms, no_trees, total
from treerank.forests.forest import Forest
from treerank.forests.growing import GrowingForest

#: Numbers beyond which no value of a document is expected.
_LARGEST = 1e100
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


def terms_of(ranker: Any) -> Terms:
    """Return a ranker, or a pipeline that ends in one, as terms of its features."""
    if not isinstance(ranker, Pipeline):
        terms: Terms = ranker.terms()
        return terms
    inner, columns = terms_of(ranker[-1]), columns_of(ranker[:-1], ranker.n_features_in_)
    parts = [Terms(_forest(inner.forest, columns))]
    if inner.line is not None:
        parts.append(_line(inner.line, columns))
    none = no_trees(len(columns))
    parts += [Terms(none, networks=(_network(each, columns),)) for each in inner.networks]
    return total(parts) if len(parts) > 1 else parts[0]


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


def _forest(forest: Forest, columns: list[Column]) -> Forest:
    if forest.missing_up_to >= 0 and not forest.is_leaf.all():
        raise ValueError("trees must not take zeros as missing after transformers.")
    threshold, missing_left = forest.threshold.copy(), forest.missing_left.copy()
    by_set = forest.is_by_set
    for feature, column in enumerate(columns):
        nodes = np.flatnonzero(forest.feature == feature)
        is_changed = bool(column.functions) or column.filled is not None
        if is_changed and by_set[nodes].any():
            raise ValueError("columns of categories must not be scaled or filled by transformers.")
        if column.filled is not None:
            missing_left[nodes] = _fill(column) <= forest.threshold[nodes]
        threshold[nodes] = _largest_up_to(column, forest.threshold[nodes])
    return replace(forest, threshold=threshold, missing_left=missing_left, feature_names=None)


def _fill(column: Column) -> float:
    """Return what missing values become."""
    return float(column(np.array([column.filled]))[0])


def _largest_up_to(column: Column, thresholds: np.ndarray) -> np.ndarray:
    """Return the largest values that the column takes to each threshold or less, by bisection."""
    if not column.functions or len(thresholds) == 0:
        return thresholds
    low, high = (_order(np.full(len(thresholds), end)) for end in (-_LARGEST, _LARGEST))
    never = column(np.full(len(thresholds), -_LARGEST)) > thresholds
    always = column(np.full(len(thresholds), _LARGEST)) <= thresholds
    for _ in range(64):
        middle = low + ((high - low) >> np.uint64(1))
        is_up_to = column(_number(middle)) <= thresholds
        low, high = np.where(is_up_to, middle, low), np.where(is_up_to, high, middle)
    found = _number(low)
    return np.where(always, np.inf, np.where(never, -np.inf, found))


_SIGN = np.uint64(1 << 63)


def _order(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers in the order of the doubles."""
    bits = numbers.view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _number(order: np.ndarray) -> np.ndarray:
    """Return the doubles of whole numbers."""
    return np.where(order & _SIGN, order ^ _SIGN, ~order).view(np.float64)


def _line(line: LinearTerm, columns: list[Column]) -> Terms:
    """Return a line as a line of the columns before, and stumps for filled values."""
    coef, offset, stumps = np.zeros(len(columns)), np.zeros(len(columns)), GrowingForest()
    for j in line.features.tolist():
        column, factor, constant = columns[j], float(line.coef[j]), float(line.offset[j])
        coef[j] = factor * column.slope
        offset[j] = factor * column.shift + constant
        if column.filled is not None:
            present, missing = stumps.split(stumps.add_tree(), j, np.inf, False)
            stumps.values[present], stumps.values[missing] = 0.0, factor * _fill(column) + constant
    return Terms(stumps.forest(len(columns)), LinearTerm(coef, offset))


def _network(network: Network, columns: list[Column]) -> Network:
    """Return a network that standardizes the columns before."""
    if any(column.filled is not None for column in columns):
        raise ValueError(
            "networks must get columns that are scaled only; got some of SimpleImputer. Networks "
            "take missing values as the mean: leave SimpleImputer out."
        )
    slope = np.array([column.slope for column in columns])
    shift = np.array([column.shift for column in columns])
    return replace(network, mean=(network.mean - shift) / slope, inverse=network.inverse * slope)
