"""Trees of XGBoost's dump in JSON, for the plugins of OpenSearch and Elasticsearch.

The plugins read ``model/xgboost+json``, a list of trees with the keys below and no others. They
compare floats and go left if ``value < split_condition``. Missing values differ by version: in
OpenSearch from 3.8 on, and in Elasticsearch's plugin since February 2024, they go to ``missing``;
in OpenSearch 3.2 to 3.7 they go right; before, a missing value was 0.
"""

import json
from functools import partial
from typing import Any

from treerank.exports.comparison import BELOW_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import Written


def write_xgboost_splits(written: Written) -> str:
    """Return the trees as a list of splits within splits."""
    return json.dumps([_tree(written, root) for root in written.roots])


def _tree(written: Written, root: int) -> dict[str, Any]:
    nodes = written.columns
    number = {node: place for place, node in enumerate(written.nodes_of(root))}
    depth = {root: 0}
    for node in number:
        for child in (nodes["left"][node], nodes["right"][node]):
            depth[child] = depth[node] + 1

    def leaf(node: int) -> dict[str, Any]:
        return {"nodeid": number[node], "leaf": nodes["value"][node]}

    def split(node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {
            "nodeid": number[node],
            "depth": depth[node],
            "split": written.names[nodes["feature"][node]],
            "split_condition": nodes["threshold"][node],
            "yes": left["nodeid"],
            "no": right["nodeid"],
            "missing": left["nodeid"] if nodes["missing_left"][node] else right["nodeid"],
            "children": [left, right],
        }

    return written.nested(root, split, leaf)


_consumer = partial(Consumer, BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32")
BY_SPLIT = Format(write_xgboost_splits, _consumer(missing="side"), max_depth=200)
RIGHT = Format(write_xgboost_splits, _consumer(missing="right"), max_depth=200)
ZEROS = Format(write_xgboost_splits, _consumer(missing="zero"), max_depth=200)
