"""Joining: the trees of forests, one after the other, and some of the trees of a forest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.forests.forest import CategorySets, Forest

_PER_NODE = ("feature", "threshold", "missing_left", "values")


def joined(forests: Sequence[Forest], **fields: Any) -> Forest:
    """Return the trees of all forests of the same features, one after the other.

    ``fields`` are fields of the result that are not those of the first forest. Forests in which
    other numbers are missing are refused.
    """
    rules = {each.categories.rule for each in forests if each.categories is not None}
    zeros = {each.missing_up_to for each in forests}
    if len(zeros) > 1 or (len(rules) > 1 and zeros != {-1.0}):
        raise ValueError("forests must take the same numbers for missing values.")
    shifts = np.cumsum([0, *(each.n_nodes for each in forests)])[:-1].tolist()
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in forests])
        for name in (*_PER_NODE, "tree_output")
    }
    for name in ("roots", "left", "right"):
        shifted = [
            np.where((own := getattr(each, name)) < 0, -1, own + shift)
            for each, shift in zip(forests, shifts, strict=True)
        ]
        arrays[name] = np.concatenate(shifted).astype(np.int32)
    gains = [each.gain for each in forests if each.gain is not None]
    arrays["gain"] = np.concatenate(gains) if len(gains) == len(forests) else None
    arrays["categories"] = _joined_sets(forests)
    return replace(forests[0], **arrays | fields)


def summed(forests: Sequence[Forest], factor: float = 1.0) -> Forest:
    """Return the sum of forests of one output, times a number.

    Trees are added in double precision, so the last bits may differ.
    """
    return joined(
        forests,
        values=np.concatenate([each.values for each in forests]) * factor,
        constant=np.array([sum(factor * each.constant[0] for each in forests)]),
        sum_dtype="float64",
        feature_names=None,
        gain=None,
    )


def some_trees(forest: Forest, begin: int, end: int) -> Forest:
    """Return the forest of the trees from ``begin`` to ``end``."""
    tree = forest.tree_of_node
    kept = np.flatnonzero((tree >= begin) & (tree < end))
    number = np.full(forest.n_nodes + 1, -1, dtype=np.int32)  # the last one is that of no node
    number[kept] = np.arange(len(kept))
    return replace(
        forest,
        roots=number[forest.roots[begin:end]],
        left=number[forest.left[kept]],
        right=number[forest.right[kept]],
        tree_output=forest.tree_output[begin:end],
        gain=None if forest.gain is None else forest.gain[kept],
        categories=_sets_of(forest.categories, kept),
        **{name: getattr(forest, name)[kept] for name in _PER_NODE},
    )


def _joined_sets(forests: Sequence[Forest]) -> CategorySets | None:
    """Return the sets of all forests, one after the other."""
    known = [forest.categories for forest in forests if forest.categories is not None]
    if not known:
        return None
    sizes = np.concatenate([np.diff(sets.starts) for sets in known])
    n_sets = [len(sets.starts) - 1 for sets in known]
    first = np.cumsum(n_sets) - n_sets
    numbers = [sets.of_node[sets.of_node >= 0] + n for sets, n in zip(known, first, strict=True)]
    of_node = np.full(sum(forest.n_nodes for forest in forests), -1, dtype=np.int32)
    of_node[np.concatenate([forest.is_by_set for forest in forests])] = np.concatenate(numbers)
    codes = np.concatenate([sets.codes for sets in known])
    rules = {sets.rule for sets in known}
    rule = known[0].rule if len(rules) == 1 else "whole"
    return CategorySets(of_node, np.append(0, np.cumsum(sizes)), codes, rule)


def _sets_of(sets: CategorySets | None, nodes: np.ndarray) -> CategorySets | None:
    """Return the sets of some nodes, without those of all others."""
    if sets is None or not (sets.of_node[nodes] >= 0).any():
        return None
    is_used = np.isin(np.arange(len(sets.starts) - 1), sets.of_node[nodes])
    number = np.append(np.cumsum(is_used) - 1, -1).astype(np.int32)  # the last one is of no set
    sizes = np.diff(sets.starts)
    starts = np.append(0, np.cumsum(sizes[is_used]))
    codes = sets.codes[np.repeat(is_used, sizes)]
    return CategorySets(number[sets.of_node[nodes]], starts, codes, sets.rule)
