"""XGBoost: its models in JSON, for XGBoost itself and for programs that read its files.

XGBoost rounds values to floats, goes left if ``value < threshold``, and adds floats. Codes of a set
go right. Trees that were grown on a sparse matrix take zeros as missing if XGBoost is given a
sparse matrix, which then has to be said: ``zero_up_to`` is -1 here.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.exports.comparison import BELOW_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import TREES, Written, json_with_trees

_NO_PARENT = 2**31 - 1


def write_xgboost(written: Written) -> str:
    """Return the model as JSON."""
    written = _with_sets_right(written)
    forest = written.forest
    starts = np.flatnonzero(np.isin(written.neighbors, forest.roots))
    trees = np.split(written.neighbors, starts[1:])
    place = np.zeros(forest.n_nodes, dtype=np.int64)
    place[written.neighbors] = np.arange(forest.n_nodes)
    width = str(forest.n_features)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)),
        "tree_info": [0] * len(trees),
        "trees": TREES,
    }
    learner = {
        "attributes": {},
        "feature_names": list(written.names),
        "feature_types": _types(written),
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": "0E0",
            "boost_from_average": "0",
            "num_class": "0",
            "num_feature": width,
            "num_target": "1",
        },
        "objective": {"lambdarank_param": {}, "name": "rank:pairwise"},
    }
    texts = (json.dumps(_tree(written, i, nodes, place)) for i, nodes in enumerate(trees))
    return json_with_trees({"learner": learner, "version": [3, 0, 0]}, texts)


def _with_sets_right(written: Written) -> Written:
    """Return a forest where codes of a set go right."""
    forest = written.forest
    if forest.categories is None:
        return written
    by_set = forest.categories.of_node >= 0
    changed = replace(
        forest,
        left=np.where(by_set, forest.right, forest.left),
        right=np.where(by_set, forest.left, forest.right),
        missing_left=forest.missing_left ^ by_set,
    )
    return replace(written, forest=changed)


def _tree(written: Written, number: int, nodes: np.ndarray, place: np.ndarray) -> dict[str, Any]:
    """Return one tree; children are next to each other, at their place in the forest."""
    forest = written.forest
    is_leaf, sets = forest.feature[nodes] < 0, forest.categories
    by_set = np.zeros_like(is_leaf) if sets is None else sets.of_node[nodes] >= 0
    first = np.where(is_leaf, -1, place[forest.left[nodes]] - place[nodes[0]])
    parents = np.full(len(nodes), _NO_PARENT)
    parents[first[~is_leaf]] = parents[first[~is_leaf] + 1] = np.flatnonzero(~is_leaf)
    conditions = np.where(is_leaf, forest.values[nodes, 0], written.thresholds[nodes])
    own_sets = [written.sets[node] for node in nodes[by_set].tolist()]
    sizes = [len(codes) for codes in own_sets]
    zeros = [0.0] * len(nodes)
    return {
        "base_weights": zeros,
        "categories": [int(code) for codes in own_sets for code in codes],
        "categories_nodes": np.flatnonzero(by_set).tolist(),
        "categories_segments": (np.cumsum(sizes, dtype=np.int64) - sizes).tolist(),
        "categories_sizes": sizes,
        "default_left": forest.missing_left[nodes].astype(int).tolist(),
        "id": number,
        "left_children": first.tolist(),
        "loss_changes": zeros,
        "parents": parents.tolist(),
        "right_children": np.where(is_leaf, -1, first + 1).tolist(),
        "split_conditions": conditions.tolist(),
        "split_indices": np.maximum(forest.feature[nodes], 0).tolist(),
        "split_type": by_set.astype(int).tolist(),
        "sum_hessian": zeros,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(forest.n_features),
            "num_nodes": str(len(nodes)),
            "size_leaf_vector": "1",
        },
    }


def _types(written: Written) -> list[str]:
    types = ["float"] * written.forest.n_features
    for node in written.sets:
        types[int(written.forest.feature[node])] = "c"
    return types


XGBOOST = Format(
    write_xgboost,
    Consumer(BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32", categories="single"),
    max_depth=4096,
    whole_codes=True,
)
