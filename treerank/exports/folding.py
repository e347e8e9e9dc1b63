"""Folding of inputs: terms of transformed columns as terms of the columns before."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treerank.exports.inputs import Column
from treerank.forests.forest import CategorySets, Forest
from treerank.imports.growing import GrowingForest
from treerank.terms.linear import LinearTerm
from treerank.terms.network import Affine, Network
from treerank.terms.terms import Terms, no_trees, total

#: Numbers beyond which no value of a document is expected.
_LARGEST = 1e100


def folded_inputs(terms: Terms, columns: Sequence[Column], n_features: int) -> Terms:
    """Return terms that have the same scores for the columns before some transformers.

    Parameters
    ----------
    terms : Terms
        A model of transformed columns.
    columns : sequence of Column
        What the transformers do.
    n_features : int
        Number of columns before.

    Returns
    -------
    Terms
    """
    parts = [Terms(_forest(terms.forest, columns, n_features))]
    if terms.line is not None:
        parts += _line(terms.line, columns, n_features)
    none = no_trees(n_features)
    parts += [
        Terms(none, networks=(_network(each, columns, n_features),)) for each in terms.networks
    ]
    return total(parts) if len(parts) > 1 else parts[0]


def _forest(forest: Forest, columns: Sequence[Column], n_features: int) -> Forest:
    is_split = ~forest.is_leaf
    sets = forest.categories
    if forest.missing_up_to >= 0 and is_split.any():
        raise ValueError("trees must not take zeros as missing after transformers.")
    threshold, missing_left = forest.threshold.copy(), forest.missing_left.copy()
    left, right = forest.left.copy(), forest.right.copy()
    feature = forest.feature.copy()
    by_set = np.zeros_like(is_split) if sets is None else sets.of_node >= 0
    codes: dict[int, float] = {}
    for place, column in enumerate(columns):
        nodes = np.flatnonzero(forest.feature == place)
        feature[nodes] = column.source
        if by_set[nodes].any() and (column.functions or column.category is not None):
            raise ValueError("columns of categories must not be scaled or coded by transformers.")
        if column.category is None:
            if column.filled is not None:
                fill = column(np.array([column.filled]))[0]
                missing_left[nodes] = fill <= forest.threshold[nodes]
            threshold[nodes] = _largest_up_to(column, forest.threshold[nodes])
            continue
        if ((forest.threshold[nodes] < 0) | (forest.threshold[nodes] >= 1)).any():
            raise ValueError("splits of columns of OneHotEncoder must part 0 from 1.")
        left[nodes], right[nodes] = forest.right[nodes], forest.left[nodes]
        missing_left[nodes] = _is_category(column)
        codes |= dict.fromkeys(nodes.tolist(), column.category)
    changed = replace(
        forest,
        n_features=n_features,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        left=left,
        right=right,
        feature_names=None,
    )
    return _with_codes(changed, codes) if codes else changed


def _is_category(column: Column) -> bool:
    """Tell whether missing values have the category of a column."""
    assert column.category is not None
    return bool(np.isnan(column.category)) or column.category == column.filled


def _with_codes(forest: Forest, codes: dict[int, float]) -> Forest:
    """Return a forest with a set of one code at some nodes."""
    if forest.categories is not None:
        raise ValueError("trees must not have categories beside those of OneHotEncoder.")
    of_node = np.full(forest.n_nodes, -1, dtype=np.int32)
    of_node[list(codes)] = np.arange(len(codes))
    numbers = np.array(list(codes.values()))
    known = ~np.isnan(numbers)  # of missing values alone, the set is empty
    starts = np.append(0, np.cumsum(known))
    sets = CategorySets(of_node, starts, numbers[known], "exact")
    return replace(forest, categories=sets, threshold=np.where(of_node >= 0, 0.0, forest.threshold))


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


def _line(line: LinearTerm, columns: Sequence[Column], n_features: int) -> list[Terms]:
    """Return a line as a line of the columns before, and stumps for codes and filled values."""
    coef, offset, stumps = np.zeros(n_features), np.zeros(n_features), GrowingForest()
    codes: dict[int, float] = {}
    for j in line.features.tolist():
        column, factor, constant = columns[j], float(line.coef[j]), float(line.offset[j])
        if column.category is not None:
            on, off = _stump(stumps, column.source, np.inf, _is_category(column))
            codes[stumps.roots[-1]] = column.category
            stumps.values[on], stumps.values[off] = factor + constant, constant
            continue
        if column.slope is None or column.shift is None:
            raise ValueError("lines must get columns that transformers shift and scale only.")
        coef[column.source] += factor * column.slope
        offset[column.source] += factor * column.shift + constant
        if column.filled is not None:
            present, missing = _stump(stumps, column.source, np.inf, False)
            fill = column(np.array([column.filled]))[0]
            stumps.values[present], stumps.values[missing] = 0.0, factor * fill + constant
    forest = stumps.forest(n_features)
    forest = _with_codes(forest, codes) if codes else forest
    return [Terms(forest, LinearTerm(coef, offset))]


def _stump(
    stumps: GrowingForest, feature: int, threshold: float, missing_left: bool
) -> tuple[int, int]:
    return stumps.split(stumps.add_tree(), feature, threshold, missing_left)


def _network(network: Network, columns: Sequence[Column], n_features: int) -> Network:
    """Return a network that standardizes the columns before."""
    mean, inverse = np.zeros(n_features), np.ones(n_features)
    chosen = np.zeros((len(columns), n_features))
    for j, column in enumerate(columns):
        is_new = column.filled is None and not chosen[:, column.source].any()
        if not is_new or column.slope is None or column.shift is None:
            raise ValueError("networks must get columns that are shifted and scaled once.")
        mean[column.source] = (network.mean[j] - column.shift) / column.slope
        inverse[column.source] = network.inverse[j] * column.slope
        chosen[j, column.source] = 1
    is_same = np.array_equal(chosen, np.eye(n_features))
    first = () if is_same else (Affine(chosen, np.zeros(len(chosen))),)
    return Network(mean, inverse, (*first, *network.layers), network.weight)
