"""Building: forests made node by node, and forests made from other forests."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.forests.forest import CategorySets, CodeRule, Forest, SumDtype

_PER_NODE = ("feature", "threshold", "missing_left", "values")


class GrowingForest:
    """Trees that grow node by node, parents before children; a node is a leaf until it is split.

    Its arrays are as in :class:`~treerank.forests.forest.Forest`. The value of a new leaf is
    NaN, which a forest refuses, until you set it.

    Examples
    --------
    >>> growing = GrowingForest()
    >>> left, right = growing.split(growing.add_tree(), 0, 0.5, True)
    >>> growing.values[left], growing.values[right] = 1.0, 2.0
    >>> growing.forest(1).n_nodes
    3
    """

    def __init__(self) -> None:
        self.roots, self.feature, self.left, self.right = (array("i") for _ in range(4))
        self.missing_left = array("i")
        self.threshold, self.values = array("d"), array("d")

    def add_tree(self, value: float = math.nan) -> int:
        """Add a tree of one leaf and return its root."""
        self.roots.append(self._add())
        self.values[-1] = value
        return self.roots[-1]

    def split(
        self, node: int, feature: int, threshold: float, missing_left: bool
    ) -> tuple[int, int]:
        """Turn the leaf ``node`` into a split; return ``(left, right)``, numbers of its new leaves.

        Values up to ``threshold`` go left, and missing ones if ``missing_left``.
        """
        self.feature[node], self.threshold[node] = feature, threshold
        self.missing_left[node], self.values[node] = missing_left, 0.0
        self.left[node], self.right[node] = self._add(), self._add()
        return self.left[node], self.right[node]

    def forest(self, n_features: int, **fields: Any) -> Forest:
        """Return the forest of all trees; ``fields`` are further fields of :class:`Forest`."""
        return Forest(
            n_features=n_features,
            roots=np.array(self.roots, dtype=np.int32),
            feature=np.array(self.feature, dtype=np.int32),
            threshold=np.array(self.threshold, dtype=np.float64),
            left=np.array(self.left, dtype=np.int32),
            right=np.array(self.right, dtype=np.int32),
            missing_left=np.array(self.missing_left, dtype=bool),
            values=np.array(self.values, dtype=np.float64)[:, None],
            tree_output=np.zeros(len(self.roots), dtype=np.int32),
            constant=np.zeros(1),
            **fields,
        )

    def _add(self) -> int:
        for column in (self.feature, self.left, self.right):
            column.append(-1)
        self.threshold.append(0.0)
        self.missing_left.append(False)
        self.values.append(math.nan)
        return len(self.values) - 1


def sample_trees(
    n_features: int,
    n_categories: Mapping[int, int],
    *,
    rule: CodeRule = "exact",
    sum_dtype: SumDtype = "float64",
) -> Forest:
    """Return a tree that splits a column of numbers, and one for each column of categories.

    ``n_categories`` are the numbers of categories by column. The trees have the form of those that
    a fit would grow, for questions that depend on the form alone; their numbers mean nothing.

    Examples
    --------
    >>> trees = sample_trees(3, {1: 4})
    >>> trees.feature[~trees.is_leaf].tolist(), sorted(trees.features_by_set)
    ([0, 1], [1])
    """
    growing, sets = GrowingForest(), list[int]()
    numbers = [column for column in range(n_features) if column not in n_categories][:1]
    coded = [column for column, n in n_categories.items() if n > 0]
    for column in (*numbers, *coded):
        root = growing.add_tree()
        left, right = growing.split(root, column, 0.5, False)
        growing.values[left], growing.values[right] = -1.0, 1.0
        if column in n_categories:
            sets.append(root)
    categories = None
    if sets:
        of_node = np.full(len(growing.values), -1, dtype=np.int32)
        of_node[sets] = np.arange(len(sets), dtype=np.int32)
        categories = CategorySets(of_node, np.arange(len(sets) + 1), np.zeros(len(sets)), rule)
    return growing.forest(n_features, categories=categories, sum_dtype=sum_dtype)


def joined(forests: Sequence[Forest], **fields: Any) -> Forest:
    """Return the trees of several forests over the same features, one after the other.

    ``fields`` replace fields of the result, which else come from the first forest; its monotone
    constraints are dropped. Forests that treat different numbers as missing are refused.
    """
    rules = {forest.categories.rule for forest in forests if forest.categories is not None}
    magnitudes = {forest.missing_up_to for forest in forests}
    if len(magnitudes) > 1 or (len(rules) > 1 and magnitudes != {-1.0}):
        raise ValueError("forests must take the same numbers for missing values.")
    shifts = np.cumsum([0, *(forest.n_nodes for forest in forests)])[:-1].tolist()
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(forest, name) for forest in forests])
        for name in (*_PER_NODE, "tree_output")
    }
    for name in ("roots", "left", "right"):
        shifted = [
            np.where((nodes := getattr(forest, name)) < 0, -1, nodes + shift)
            for forest, shift in zip(forests, shifts, strict=True)
        ]
        arrays[name] = np.concatenate(shifted).astype(np.int32)
    gains = [forest.gain for forest in forests if forest.gain is not None]
    arrays["gain"] = np.concatenate(gains) if len(gains) == len(forests) else None
    arrays["categories"] = _joined_sets(forests)
    return replace(forests[0], monotone_constraints=None, **arrays | fields)


def summed(forests: Sequence[Forest], factor: float = 1.0) -> Forest:
    """Return the sum of forests with one output, multiplied by a factor.

    Trees are added in double precision, so the last bits may differ.
    """
    return joined(
        forests,
        values=np.concatenate([forest.values for forest in forests]) * factor,
        constant=np.array([sum(factor * forest.constant[0] for forest in forests)]),
        sum_dtype="float64",
        feature_names=None,
        gain=None,
    )


def some_trees(forest: Forest, begin: int, end: int) -> Forest:
    """Return the forest of the trees with the numbers from ``begin`` to ``end`` - 1."""
    tree = forest.tree_of_node
    nodes = np.flatnonzero((tree >= begin) & (tree < end))
    number = np.full(forest.n_nodes + 1, -1, dtype=np.int32)  # index -1, no child, stays -1
    number[nodes] = np.arange(len(nodes))
    return replace(
        forest,
        roots=number[forest.roots[begin:end]],
        left=number[forest.left[nodes]],
        right=number[forest.right[nodes]],
        tree_output=forest.tree_output[begin:end],
        gain=None if forest.gain is None else forest.gain[nodes],
        categories=_sets_of(forest.categories, nodes),
        **{name: getattr(forest, name)[nodes] for name in _PER_NODE},
    )


def folded(forest: Forest, weight: np.ndarray) -> Forest:
    """Return a forest with one output, the weighted sum of the outputs of a forest.

    A single output of weight 1 is returned unchanged. Otherwise trees are added in double
    precision, so the last bits of the sum may differ.
    """
    if len(weight) == 1 and weight[0] == 1:
        return forest
    if forest.values.shape[1] > 1:
        values = forest.values @ weight
    else:
        values = forest.values[:, 0] * weight[forest.tree_output[forest.tree_of_node]]
    return replace(
        forest,
        values=values[:, None],
        tree_output=np.zeros(forest.n_trees, dtype=np.int32),
        constant=np.array([forest.constant @ weight]),
        sum_dtype="float64",
        monotone_constraints=None,
    )


def without_empty_sets(forest: Forest) -> Forest:
    """Return a forest in which splits by an empty set of categories are splits by threshold.

    Many programs cannot read an empty set. Only missing values go left at such a split, so its
    threshold becomes minus infinity. A split is kept where zeros would then go left, too.
    """
    sets = forest.categories
    if sets is None:
        return forest
    is_empty = np.append(np.diff(sets.starts) == 0, False)[sets.of_node]
    if forest.missing_up_to >= 0 and sets.rule != "single":
        is_empty &= ~forest.missing_left  # zeros are missing at splits by threshold only
    if not is_empty.any():
        return forest
    of_node = np.where(is_empty, np.int32(-1), sets.of_node)
    return replace(
        forest,
        threshold=np.where(is_empty, -np.inf, forest.threshold),
        categories=replace(sets, of_node=of_node) if (of_node >= 0).any() else None,
    )


def with_constant_tree(forest: Forest, *, always: bool = False) -> Forest:
    """Return a forest with one output whose constant is a first tree of one leaf.

    Scores have the same bits. A constant of 0 gets such a tree only with ``always``.
    """
    if forest.constant[0] == 0 and not always:
        return forest
    leaf = {"feature": -1, "threshold": 0.0, "left": -1, "right": -1, "missing_left": False}
    arrays: dict[str, Any] = {
        name: np.pad(getattr(forest, name), (0, 1), constant_values=value)
        for name, value in leaf.items()
    }
    sets = forest.categories
    return replace(
        forest,
        **arrays,
        roots=np.append(np.int32(forest.n_nodes), forest.roots),
        values=np.append(forest.values, forest.constant[:, None], axis=0),
        tree_output=np.zeros(forest.n_trees + 1, dtype=np.int32),
        constant=np.zeros(1),
        categories=sets and replace(sets, of_node=np.append(sets.of_node, np.int32(-1))),
        gain=None,
    )


def _joined_sets(forests: Sequence[Forest]) -> CategorySets | None:
    """Return the category sets of several forests as one value, or None without any.

    Its rule is "whole" if the forests have different rules.
    """
    forest_sets = [forest.categories for forest in forests if forest.categories is not None]
    if not forest_sets:
        return None
    sizes = np.concatenate([np.diff(sets.starts) for sets in forest_sets])
    n_sets = [len(sets.starts) - 1 for sets in forest_sets]
    first = np.cumsum(n_sets) - n_sets
    numbers = [
        sets.of_node[sets.of_node >= 0] + n for sets, n in zip(forest_sets, first, strict=True)
    ]
    of_node = np.full(sum(forest.n_nodes for forest in forests), -1, dtype=np.int32)
    of_node[np.concatenate([forest.is_by_set for forest in forests])] = np.concatenate(numbers)
    codes = np.concatenate([sets.codes for sets in forest_sets])
    rules = {sets.rule for sets in forest_sets}
    rule = forest_sets[0].rule if len(rules) == 1 else "whole"
    return CategorySets(of_node, np.append(0, np.cumsum(sizes)), codes, rule)


def _sets_of(sets: CategorySets | None, nodes: np.ndarray) -> CategorySets | None:
    """Return the category sets of the nodes with these numbers, or None without any."""
    if sets is None or not (sets.of_node[nodes] >= 0).any():
        return None
    is_used = np.isin(np.arange(len(sets.starts) - 1), sets.of_node[nodes])
    number = np.append(np.cumsum(is_used) - 1, -1).astype(np.int32)  # index -1, no set, stays -1
    sizes = np.diff(sets.starts)
    starts = np.append(0, np.cumsum(sizes[is_used]))
    codes = sets.codes[np.repeat(is_used, sizes)]
    return CategorySets(number[sets.of_node[nodes]], starts, codes, sets.rule)
