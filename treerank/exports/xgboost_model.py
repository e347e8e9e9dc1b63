"""XGBoost: its models in JSON, for XGBoost itself and for programs that read its files.

XGBoost rounds values to single precision, goes left if ``value < threshold``, and adds in single
precision. The codes in a split's set of categories go right. Trees that were grown on a sparse
matrix treat zeros as missing only if XGBoost gets a sparse matrix, which the file cannot say:
``zero_up_to`` is -1 here.

A forest has no sums of hessians, by which XGBoost weighs leaves in SHAP values. So the hessian of
each leaf is 1 here.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.exports.consumer import Consumer
from treerank.exports.feature_names import NameRule
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import BELOW_SINGLE
from treerank.exports.written import Written

_NO_PARENT = 2**31 - 1


def write_xgboost(written: Written) -> str:
    """Return the model as JSON."""
    forest = written.forest
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(forest.n_trees)},
        "iteration_indptr": list(range(forest.n_trees + 1)),
        "tree_info": [0] * forest.n_trees,
        "trees": list(_trees(written)),
    }
    learner = {
        "attributes": {},
        "feature_names": written.names,
        "feature_types": _types(written),
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": "0E0",
            "boost_from_average": "0",
            "num_class": "0",
            "num_feature": str(forest.n_features),
            "num_target": "1",
        },
        "objective": {"lambdarank_param": {}, "name": "rank:pairwise"},
    }
    # Of JSON's escapes, XGBoost only reads those with one letter, such as \n.
    document = {"learner": learner, "version": [3, 0, 0]}
    return json.dumps(document, default=np.ndarray.tolist, ensure_ascii=False)


def _trees(written: Written) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each tree, in which lists of numbers are arrays."""
    written = _with_sets_right(written)
    forest = written.forest
    starts = forest.index_by_tree[forest.roots]
    n_leaves = (forest.preorder[1] + 1) // 2  # every split has two children
    for number, nodes in enumerate(np.split(forest.by_tree, starts[1:])):
        yield _tree(written, number, nodes, n_leaves[nodes])


def _with_sets_right(written: Written) -> Written:
    """Return a model whose splits by category send codes of the set right, as XGBoost does."""
    forest, by_set = written.forest, written.forest.is_by_set
    changed = replace(
        forest,
        left=np.where(by_set, forest.right, forest.left),
        right=np.where(by_set, forest.left, forest.right),
        missing_left=forest.missing_left ^ by_set,
    )
    return replace(written, forest=changed)


def _tree(written: Written, number: int, nodes: np.ndarray, n_leaves: np.ndarray) -> dict[str, Any]:
    """Return the JSON object of one tree.

    ``nodes`` are its nodes in the forest, siblings adjacent, and ``n_leaves`` the number of leaves
    of each: those below a split, and 1 for a leaf.
    """
    forest = written.forest
    index, is_leaf, by_set = forest.index_by_tree, forest.is_leaf[nodes], forest.is_by_set[nodes]
    first = np.where(is_leaf, -1, index[forest.left[nodes]] - index[nodes[0]])
    parents = np.full(len(nodes), _NO_PARENT, dtype=np.int32)
    parents[first[~is_leaf]] = parents[first[~is_leaf] + 1] = np.flatnonzero(~is_leaf)
    conditions = np.where(is_leaf, forest.values[nodes, 0], written.thresholds[nodes])
    own_sets = [written.sets[node] for node in nodes[by_set].tolist()]
    sizes = np.array([len(codes) for codes in own_sets], dtype=np.int64)
    leaf_values = np.where(is_leaf, forest.values[nodes, 0], 0.0).astype(np.float32)
    codes = [code for category_codes in own_sets for code in category_codes]
    return {
        "base_weights": leaf_values,  # which some readers of these files add up
        "categories": np.array(codes, dtype=np.int32),
        "categories_nodes": np.flatnonzero(by_set).astype(np.int32),
        "categories_segments": np.cumsum(sizes) - sizes,
        "categories_sizes": sizes,
        "default_left": forest.missing_left[nodes].astype(np.uint8),
        "id": number,
        "left_children": first.astype(np.int32),
        "loss_changes": np.zeros(len(nodes), dtype=np.float32),
        "parents": parents,
        "right_children": np.where(is_leaf, -1, first + 1).astype(np.int32),
        "split_conditions": conditions.astype(np.float32),
        "split_indices": np.maximum(forest.feature[nodes], 0).astype(np.int32),
        "split_type": by_set.astype(np.uint8),
        "sum_hessian": n_leaves.astype(np.float32),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(forest.n_features),
            "num_nodes": str(len(nodes)),
            "size_leaf_vector": "1",
        },
    }


def _refuses(char: str) -> bool:
    """Tell whether XGBoost does not allow a character in names, or reads no escape of it."""
    return char in "[]<" or (char < " " and char not in "\t\n\r")


def _types(written: Written) -> list[str]:
    types = ["float"] * written.forest.n_features
    for node in written.sets:
        types[int(written.forest.feature[node])] = "c"
    return types


XGBOOST = ExportFormat(
    write_xgboost,
    Consumer(
        BELOW_SINGLE,
        leaf_dtype="float32",
        sum_dtype="float32",
        categories="single",
        largest=float(np.finfo(np.float32).max),
    ),
    max_depth=4096,
    codes=range(2**16),
    names=NameRule(_refuses),
)
