"""Conversion of histogram trees into the neutral form of all trees."""

import numpy as np

from treerank.feature_parts.histogram.forest import Forest
from treerank.forests.forest import CategorySets
from treerank.forests.forest import Forest as NeutralForest


def as_neutral(forest: Forest) -> NeutralForest:
    """Return histogram trees in neutral form, whose scores are the same bit for bit."""
    is_leaf = forest.is_leaf
    first = forest.first.astype(np.int32)
    sets, others_left = _category_sets(forest)
    # In neutral form, codes outside of a set go right. Where they go left, the set is that of the
    # codes that go right, and the children change places.
    left, right = first + others_left, first + 1 - others_left
    by_set = forest.set_of_node >= 0
    return NeutralForest(
        n_features=int(forest.n_features),
        roots=forest.starts[:-1].astype(np.int32),
        feature=np.where(is_leaf, -1, forest.feature.astype(np.int64)).astype(np.int32),
        threshold=np.where(is_leaf | by_set, 0.0, forest.threshold),
        left=np.where(is_leaf, -1, left).astype(np.int32),
        right=np.where(is_leaf, -1, right).astype(np.int32),
        missing_left=~is_leaf & ~by_set & ~forest.missing_right.astype(bool),
        values=forest.values,
        tree_output=np.zeros(forest.n_trees, dtype=np.int32),
        constant=np.zeros(forest.n_outputs),
        categories=sets,
    )


def _category_sets(forest):
    """Return the sets of codes, and 1 for each node where the codes outside of its set go left."""
    n_codes = forest.n_codes[forest.table_of_set].astype(np.int64)
    others = forest.sets[np.arange(len(n_codes)), n_codes]
    in_set = forest.sets != others[:, None]
    in_set &= np.arange(256) < n_codes[:, None]
    codes = [forest.tables[t][kept] for t, kept in zip(forest.table_of_set, in_set, strict=True)]
    others_left = np.where(forest.set_of_node >= 0, np.append(others, 0)[forest.set_of_node], 0)
    if not codes:
        return None, others_left
    starts = np.append(0, np.cumsum(in_set.sum(axis=1)))
    of_node = forest.set_of_node.astype(np.int32)
    sets = CategorySets(of_node, starts.astype(np.int64), np.concatenate(codes), "exact")
    return sets, others_left
