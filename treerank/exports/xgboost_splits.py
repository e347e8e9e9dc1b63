"""Trees of XGBoost's dump in JSON, for the plugins of OpenSearch and Elasticsearch.

The plugins read ``model/xgboost+json``, a list of trees with the keys below and no others. They
compare floats and go left if ``value < split_condition``. Missing values differ by version: in
OpenSearch from 3.8 on, and in Elasticsearch's plugin since February 2024, they go to ``missing``;
in OpenSearch 3.2 to 3.7 they go right; before, a missing value was 0.
"""

import json
from functools import partial

from treerank.exports.comparison import BELOW_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import TREES, Written, WrittenTree, json_with_trees


def write_xgboost_splits(written: Written) -> str:
    """Return the trees as a list of splits within splits."""
    names = [json.dumps(name) for name in written.names]
    return json_with_trees(TREES, (_tree(tree, names) for tree in written.trees()))


def _tree(tree: WrittenTree, names: list[str]) -> str:
    columns = tree.feature, tree.threshold, tree.right, tree.missing_left, tree.value, tree.depth
    texts = [
        f'{{"nodeid": {number}, "leaf": {value!r}}}'
        if feature < 0
        else f'{{"nodeid": {number}, "depth": {depth}, "split": {names[feature]}, '
        f'"split_condition": {threshold!r}, "yes": {number + 1}, "no": {right}, '
        f'"missing": {number + 1 if missing_left else right}, "children": ['
        for number, (feature, threshold, right, missing_left, value, depth) in enumerate(
            zip(*columns, strict=True)
        )
    ]
    return tree.nested(texts, ", ", "]}")


_consumer = partial(Consumer, BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32")
BY_SPLIT = Format(write_xgboost_splits, _consumer(missing="side"), max_depth=200)
RIGHT = Format(write_xgboost_splits, _consumer(missing="right"), max_depth=200)
ZEROS = Format(write_xgboost_splits, _consumer(missing="zero"), max_depth=200)
