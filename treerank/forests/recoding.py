"""Recoding: the same trees for documents with other columns, or with other codes of categories.

Trees identify columns by number and categories by code. Documents that were read for another model
may have columns in another order, further columns, or other categories.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.documents.columns import Columns, default_names
from treerank.forests.forest import CategorySets, Forest


def recoded(forest: Forest, columns: Columns, n_features: int) -> Forest:
    """Return the trees for documents of these columns; refuse columns that they cannot read.

    Columns are found by name where both have names, and by position otherwise; there are
    ``n_features``. Trees without names have the default ones where the columns do. A category is
    found by its value. The trees treat a new category as a missing value.

    Examples
    --------
    >>> import pandas as pd
    >>> from treerank import HistogramTrees, TreeDirectRanker
    >>> frame = pd.DataFrame({"shop": ["b", "c"] * 50, "price": 1.0})
    >>> ranker = TreeDirectRanker(HistogramTrees(1)).fit(frame, frame["shop"] == "c")
    >>> trees = ranker.forest()
    >>> trees.feature.max(), trees.categories.codes, trees.levels
    (np.int32(0), array([1.]), {0: ['b', 'c']})
    >>> other = Columns({1: ["a", "b", "c"]}, names=("price", "shop"))
    >>> trees = recoded(trees, other, 2)
    >>> trees.feature.max(), trees.categories.codes, trees.levels
    (np.int32(1), array([2.]), {1: ['a', 'b', 'c']})
    """
    used = np.unique(forest.feature[~forest.is_leaf])
    positions = _positions(forest, columns, n_features, used)
    old_levels, levels = forest.levels or {}, columns.categories
    moved = [j for j in used.tolist() if levels.get(positions[j]) != old_levels.get(j)]
    for j in moved:
        _check_kind(forest, columns, j, positions[j])
    pairs = {j: (old_levels[j], levels[positions[j]]) for j in moved if positions[j] in levels}
    translated = _with_other_codes(forest, {j: _codes(*pair) for j, pair in pairs.items()})
    number = np.full(forest.n_features + 1, -1, dtype=np.int32)  # index -1, a leaf, stays -1
    number[used] = [positions[j] for j in used.tolist()]
    return replace(
        translated,
        n_features=n_features,
        feature=number[forest.feature],
        feature_names=columns.names,
        has_all_columns=True,
        levels=levels or (forest.levels if columns.names is None else None),
        monotone_constraints=None,
    )


def _positions(
    forest: Forest, columns: Columns, n_features: int, used: np.ndarray
) -> dict[int, int]:
    """Return, for each feature in ``used``, its position among the columns.

    Refuses columns that are missing, or whose name is there twice.
    """
    names: Any = forest.feature_names
    if names is None and forest.n_features == n_features:
        names = default_names(columns.names or (), n_features)
    if names is None or columns.names is None:
        if forest.n_features != n_features:
            raise ValueError(
                f"X must have {forest.n_features} columns, as the given trees; got {n_features}."
            )
        return {j: j for j in used.tolist()}
    index = {name: position for position, name in enumerate(columns.names)}
    counts = Counter(names)
    for j in used.tolist():
        if names[j] not in index or counts[names[j]] > 1:
            problem = "is missing from" if names[j] not in index else "is not the only one in"
            raise ValueError(
                f"X must have the columns of the given trees; {quote(names[j])} {problem} "
                f"{quote(list(columns.names))}. dataclasses.replace(trees, feature_names=None) are "
                "trees that read columns by position."
            )
    return {j: index[names[j]] for j in used.tolist()}


def _check_kind(forest: Forest, columns: Columns, feature: int, position: int) -> None:
    """Refuse a column of categories where the trees read numbers, and the reverse.

    ``feature`` is its index in the trees, and ``position`` that among the columns.
    """
    reads_levels, has_levels = feature in (forest.levels or {}), position in columns.categories
    if reads_levels == has_levels or (reads_levels and columns.names is None):
        return  # an array without names holds codes
    name = quote(columns.names[position]) if columns.names is not None else position
    kinds = ("categories", "numbers") if reads_levels else ("numbers", "categories")
    raise TypeError(
        f"Column {name} of X must hold {kinds[0]}, as the given trees read it; got {kinds[1]}."
    )


def _codes(old_levels: list[Any], levels: list[Any]) -> np.ndarray:
    """Return, for each of ``levels``, its code in the trees, whose categories are ``old_levels``.

    A new category has -1.
    """
    code_of = {level: code for code, level in enumerate(old_levels)}
    return np.array([code_of.get(level, -1) for level in levels], dtype=np.int64)


def _with_other_codes(forest: Forest, codes: dict[int, np.ndarray]) -> Forest:
    """Return the forest with its splits on recoded features as sets of the new codes.

    ``codes[feature][new_code]`` is the old code, or -1 for a category that the trees do not know;
    it goes where missing values go. A split that sends all codes the same way as before is kept, a
    threshold included. Trees that take 0 for a missing value, where the new code 0 would go to the
    other side, are refused.
    """
    sets: dict[int, np.ndarray] = {}
    old_sets = forest.categories
    rule: Any = "exact" if old_sets is None else old_sets.rule
    for feature, old in codes.items():
        for node in np.flatnonzero(forest.feature == feature).tolist():
            goes_left = _goes_left(forest, node, old)
            if (goes_left == _goes_left(forest, node, np.arange(len(old)))).all():
                continue
            # Under this rule, a set takes the code 0 for a missing value, too.
            zero_is_missing = forest.missing_up_to >= 0 and rule == "single"
            if zero_is_missing and goes_left[0] != forest.missing_left[node]:
                raise ValueError(
                    "trees must not take 0 for a missing value where categories are coded anew; "
                    "got such trees, of zero_as_missing=True. Grow them without it."
                )
            sets[node] = np.flatnonzero(goes_left).astype(np.float64)
    if not sets:
        return forest
    of_node = np.full(forest.n_nodes, -1, dtype=np.int32)
    if old_sets is not None:
        pieces = np.split(old_sets.codes, old_sets.starts[1:-1])
        nodes = np.flatnonzero(old_sets.of_node >= 0).tolist()
        sets = {node: pieces[old_sets.of_node[node]] for node in nodes} | sets
    for number, node in enumerate(sets):
        of_node[node] = number
    starts = np.cumsum([0, *map(len, sets.values())])
    return replace(
        forest,
        categories=CategorySets(
            of_node=of_node,
            starts=starts,
            codes=np.concatenate([*sets.values()]),
            rule=rule,
        ),
    )


def _goes_left(forest: Forest, node: int, codes: np.ndarray) -> np.ndarray:
    """Return whether each code goes left at a split; -1 is a missing value."""
    sets = forest.categories
    if sets is not None and sets.of_node[node] >= 0:
        number = sets.of_node[node]
        left = np.isin(codes, sets.codes[sets.starts[number] : sets.starts[number + 1]])
    else:
        left = codes <= forest.threshold[node]
    is_missing = codes < 0
    if _takes_zero_for_missing(forest, node):
        is_missing |= codes <= forest.missing_up_to
    return np.where(is_missing, forest.missing_left[node], left)


def _takes_zero_for_missing(forest: Forest, node: int) -> bool:
    """Return whether numbers near 0 are missing values at a split."""
    sets = forest.categories
    if forest.missing_up_to < 0:
        return False
    return sets is None or sets.of_node[node] < 0 or sets.rule == "single"
