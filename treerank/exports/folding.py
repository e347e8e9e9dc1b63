"""Folding of inputs: terms of scaled and filled columns as terms of the columns before."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treerank.exports.inputs import Column
from treerank.forests.forest import Forest
from treerank.imports.growing import GrowingForest
from treerank.terms.linear import LinearTerm
from treerank.terms.network import Network
from treerank.terms.terms import Terms, no_trees, total

#: Numbers beyond which no value of a document is expected.
_LARGEST = 1e100


def folded_inputs(terms: Terms, columns: Sequence[Column]) -> Terms:
    """Return terms that have the same scores for the columns before some transformers.

    Parameters
    ----------
    terms : Terms
        A model of transformed columns.
    columns : sequence of Column
        What the transformers do.

    Returns
    -------
    Terms
    """
    parts = [Terms(_forest(terms.forest, columns))]
    if terms.line is not None:
        parts.append(_line(terms.line, columns))
    none = no_trees(len(columns))
    parts += [Terms(none, networks=(_network(each, columns),)) for each in terms.networks]
    return total(parts) if len(parts) > 1 else parts[0]


def _forest(forest: Forest, columns: Sequence[Column]) -> Forest:
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


def _line(line: LinearTerm, columns: Sequence[Column]) -> Terms:
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


def _network(network: Network, columns: Sequence[Column]) -> Network:
    """Return a network that standardizes the columns before."""
    if any(column.filled is not None for column in columns):
        raise ValueError(
            "networks must get columns that are scaled only; got some of SimpleImputer. Networks "
            "take missing values as the mean: leave SimpleImputer out."
        )
    slope = np.array([column.slope for column in columns])
    shift = np.array([column.shift for column in columns])
    return replace(network, mean=(network.mean - shift) / slope, inverse=network.inverse * slope)
